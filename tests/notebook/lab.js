// lab.js -- drives JupyterLab in a browser: lab.js URL FOLDER-OF-PICTURES CHROMIUM. Prints `ok NAME` or `not ok NAME: WHY` for each thing that it
// looks at. The notebook is made by test_lab.py.
// SPDX-License-Identifier: Apache-2.0
"use strict";
const { chromium } = require("playwright-core");
const path = require("path");

const [url, pictures, executablePath] = process.argv.slice(2);
let page;

const cell = i => page.locator(".jp-Notebook .jp-CodeCell").nth(i);
const output = i => cell(i).locator(".jp-OutputArea-output").allInnerTexts().then(parts => parts.join(""));

async function until(what, seconds = 20) {
  const end = Date.now() + 1000 * seconds;
  for (;;) {
    if (await what()) return;
    if (Date.now() > end) throw new Error("not within " + seconds + " s: " + what);
    await page.waitForTimeout(20);
  }
}

async function run(i) {
  await cell(i).locator(".cm-content").click();
  await page.keyboard.press("Control+Enter");
}

async function check(name, steps) {
  try {
    await steps();
    console.log("ok " + name);
  } catch (e) {
    console.log("not ok " + name + ": " + String(e && e.message || e).split("\n").slice(0, 4).join(" "));
  }
  await page.screenshot({ path: path.join(pictures, name.replace(/\W+/g, "-") + ".png") }).catch(() => {});
}

function expect(ok, why) {
  if (!ok) throw new Error(why);
}

const CHECKS = {
  "a streamed cell": async () => {
    await run(0);
    await until(async () => /ready/.test(await output(0)), 60);
    await run(1);
    const seen = new Set();
    await until(async () => {
      seen.add((await output(1)).trim());
      return seen.has("said: one two three");
    });
    expect(seen.has("said: one") || seen.has("said: one two"), "it came at once: " + [...seen]);
    expect((await cell(1).locator(".ansi-green-fg").count()) > 0, "the model is not green");
  },
  "highlighting of YAML": async () => {
    await until(async () => (await cell(1).locator(".cm-content").getAttribute("data-language")) === "yaml");
    expect((await cell(0).locator(".cm-content").getAttribute("data-language")) !== "yaml", "Python is shown as YAML");
  },
  "a viewer with a click": async () => {
    await run(2);
    const frame = cell(2).frameLocator("iframe.pdl-run");
    const piece = frame.getByText("one two three", { exact: true }).first();
    await piece.waitFor({ timeout: 20000 });
    const before = await frame.locator("body").innerText();
    await piece.click();
    await until(async () => (await frame.locator("body").innerText()) !== before);
    expect(/Call 1, as it was sent[\s\S]*hello[\s\S]*Reply/.test(await frame.locator("body").innerText()), "the click does not show the call");
    await cell(2).locator("iframe").scrollIntoViewIfNeeded();
  },
  "an error": async () => {
    await run(3);
    await until(async () => /undefined/.test(await output(3)));
    const text = await output(3);
    expect(/<cell 4>:2/.test(text), "the cell is not named: " + text);
    expect(/\^\^\^/.test(text), "there is no caret: " + text);
    expect(!/Traceback/.test(text), "there is a traceback");
    await cell(3).scrollIntoViewIfNeeded();
  },
  "an interrupt": async () => {
    await run(4);
    await until(async () => /started/.test(await output(4)));
    await page.keyboard.press("Escape");
    const before = Date.now();
    await page.keyboard.press("i");
    await page.keyboard.press("i");
    await until(async () => /interrupted/.test(await output(4)));
    console.log("# seen " + (Date.now() - before) + " ms after the keys");
    expect(/started/.test(await output(4)), "what was printed is gone");
    await cell(4).scrollIntoViewIfNeeded();
  },
  "the input box": async () => {
    await run(5);
    const box = cell(5).locator(".jp-Stdin-input");
    await until(async () => (await box.count()) > 0);
    await box.fill("Ada");
    await box.press("Enter");
    await until(async () => /Hello Ada!/.test(await output(5)));
  },
  "completion": async () => {
    await cell(6).locator(".cm-content").click();
    await page.keyboard.press("Control+End");
    await page.keyboard.press("Tab");
    await until(async () => (await page.locator(".jp-Completer-item").count()) > 0);
    const items = await page.locator(".jp-Completer-item").allInnerTexts();
    expect(items.some(t => /description:/.test(t)) && items.some(t => /def:/.test(t)), "offered are " + items.join(", ").slice(0, 200));
  },
};

async function main() {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  page = await browser.newPage({ viewport: { width: 1200, height: 1000 } });
  const outside = [];
  page.on("request", r => { if (!/^(data|blob):/.test(r.url()) && new URL(r.url()).hostname !== "127.0.0.1") outside.push(r.url()); });
  page.on("pageerror", e => console.log("# " + e));
  await page.goto(url, { waitUntil: "domcontentloaded", timeout: 90000 });
  await page.locator(".jp-Notebook .jp-CodeCell .cm-content").first().waitFor({ timeout: 90000 });
  await until(async () => (await page.locator(".jp-Notebook .jp-CodeCell").count()) === 7, 60);
  await page.getByText("Python 3 (ipykernel) | Idle").waitFor({ timeout: 60000 });
  for (const [name, steps] of Object.entries(CHECKS)) await check(name, steps);
  console.log(outside.length ? "not ok nothing is loaded from elsewhere: " + outside[0] : "ok nothing is loaded from elsewhere");
  await browser.close();
}

main().then(() => process.exit(0), async e => {
  console.log("not ok the page: " + String(e).split("\n")[0]);
  await page.screenshot({ path: path.join(pictures, "page.png") }).catch(() => {});
  process.exit(0);
});
