// vscode.mjs -- drives the extension in a VS Code that a browser shows: node vscode.mjs TASK.json. Each scenario reads
// what the person at the screen would read; what it gave is printed as one JSON object, NAME: text or {failed}.
// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";

const task = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(`${task.modules}/x.js`)("playwright-core");
const browser = await chromium.launch({ executablePath: task.chromium, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1100, height: 640 } });
const PATIENCE = task.patience ?? 60000;
page.setDefaultTimeout(PATIENCE);
const out = {};

const editor = () => page.locator(".editor-instance .monaco-editor").first();
const line = (text) => editor().locator(".view-line").filter({ hasText: text }).first();
const shot = (name) => page.screenshot({ path: `${task.pictures}/vscode-${name}.png` });

// Waits until `read` gives something that holds, however slow the machine is.
async function until(read, holds = (x) => x) {
  const end = Date.now() + PATIENCE;
  let last;
  while (Date.now() < end) {
    last = await read().catch(() => null);
    if (holds(last)) return last;
    await page.waitForTimeout(200);
  }
  throw new Error(`not within ${PATIENCE} ms: ${JSON.stringify(last)}`);
}

async function command(title) {
  await page.keyboard.press("F1");
  const box = page.locator(".quick-input-widget input").first();
  await box.fill(`>${title}`);
  await page.locator(".quick-input-list .monaco-list-row").filter({ hasText: title }).first().click();
}

async function open(name) {
  await page.keyboard.press("Control+P");
  await page.locator(".quick-input-widget input").first().fill(name);
  await page.locator(".quick-input-list .monaco-list-row").filter({ hasText: name }).first().click();
  await page.locator(`.tab.active[data-resource-name="${name}"]`).waitFor();
  await editor().locator(".view-line").first().waitFor();
}

async function goto(row, column) {
  await page.keyboard.press("Control+G");
  await page.locator(".quick-input-widget input").first().fill(`:${row}:${column}`);
  await page.locator(".quick-input-list .monaco-list-row").first().waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".quick-input-widget").first().waitFor({ state: "hidden" }); // the next keys are the editor's
}

// Processes of this machine that show a run of a program of the task.
function viewers() {
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return words.includes("--view") && words.some((w) => w.startsWith(task.programs));
    } catch {
      return false;
    }
  }).length;
}

const scenarios = {
  // Colours of the grammar: words of one line and the style that each has.
  async highlighting() {
    await open("greet.pdl");
    return until(
      () => line("function:").evaluate((e) => {
        const colour = (text) => [...document.querySelectorAll(".view-line span span")].filter((s) => s.textContent.includes(text)).map((s) => getComputedStyle(s).color)[0];
        return { keyword: colour("function"), variable: colour("who"), comment: colour("Three") };
      }),
      (c) => c && c.keyword && c.comment && c.keyword !== c.comment && c.keyword !== c.variable,
    );
  },
  async lens() {
    return until(async () => (await page.locator(".codelens-decoration a").allTextContents()), (x) => x && x.includes("Run"));
  },
  // A name of a variable gets a letter too many, and loses it again.
  async underline() {
    const marks = page.locator(".squiggly-error, .squiggly-warning");
    await goto(15, 17);
    await page.keyboard.type("m");
    await until(() => marks.count());
    await command("Problems: Focus on Problems View");
    const told = await until(() => page.locator(".markers-panel .monaco-list-row").allTextContents(), (rows) => rows && rows.some((r) => r.includes("whom")));
    await page.waitForTimeout(1000);
    told.splice(0, told.length, ...(await page.locator(".markers-panel .monaco-list-row").allTextContents()));
    await shot("diagnostics");
    await command("View: Hide Panel");
    await open("greet.pdl");
    await page.keyboard.press("Backspace");
    await until(() => marks.count(), (n) => n === 0);
    return told.join("\n");
  },
  async completion() {
    await goto(13, 19);
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.keyboard.type("con");
    const labels = await until(() => page.locator(".suggest-widget.visible .monaco-list-row .label-name").allTextContents(), (x) => x && x.includes("contribute"));
    await shot("completion");
    await page.keyboard.press("Escape");
    await command("File: Revert File");
    return labels;
  },
  async hover() {
    await line("call:").locator("span span").filter({ hasText: "call" }).first().hover();
    const text = await until(() => page.locator(".monaco-resizable-hover .monaco-hover-content").first().innerText());
    await shot("hover");
    await page.keyboard.press("Escape");
    await page.mouse.move(5, 5);
    return text;
  },
  async run() {
    await goto(1, 1);
    await page.locator(".codelens-decoration a").filter({ hasText: /^Run$/ }).first().click();
    const text = await until(() => page.locator(".xterm-rows").first().innerText(), (t) => t && t.includes("Grace!"));
    await shot("run");
    await command("Terminal: Kill All Terminals");
    return text;
  },
  // The panel shows the page of the run; the process ends with the extension.
  async live() {
    await page.locator(".codelens-decoration a").filter({ hasText: /^Run with view$/ }).first().click();
    let seen = [];
    const text = await until(async () => {
      const frames = page.frames().filter((f) => /^http:\/\/127\.0\.0\.1/.test(f.url()) && new URL(f.url()).origin !== new URL(task.address).origin);
      seen = await Promise.all(frames.map((f) => f.locator("body").innerText({ timeout: 2000 }).catch(String)));
      return seen.find((t) => t.includes("Finished") && t.includes("Hello, Ada!"));
    }).catch((e) => { throw new Error(`${e} ${JSON.stringify(seen)}`); });
    await shot("live-document");
    const before = viewers();
    await command("Developer: Reload Window");
    await until(async () => viewers(), (n) => n === 0);
    await page.locator(".monaco-workbench").waitFor();
    await command("View: Close All Editors");
    await open("greet.pdl");
    await until(async () => (await page.locator(".codelens-decoration a").allTextContents()).includes("Run"));
    return { text, before };
  },
  async rename() {
    await goto(11, 4);
    await page.keyboard.press("F2");
    const box = page.locator(".rename-box input");
    await box.fill("person");
    await page.keyboard.press("Enter");
    await line("name: ${ person }").waitFor(); // a hint stands in the line of the definition
    const text = await editor().locator(".view-line").allTextContents();
    await command("File: Revert File");
    await line("name: ${ who }").waitFor();
    return text.map((t) => t.replaceAll("\u00a0", " "));
  },
  async format() {
    await open("messy.pdl");
    await command("Format Document");
    await line("- a${ b }").waitFor().catch(() => {});
    const text = (await editor().locator(".view-line").allTextContents()).map((t) => t.replaceAll("\u00a0", " "));
    await command("File: Revert File");
    await open("greet.pdl");
    return text;
  },
  async task() {
    await command("Tasks: Run Task");
    const row = (text) => page.locator(".quick-input-list .monaco-list-row").filter({ hasText: text }).first();
    await row("pdl").click();
    await row("greet.pdl").click();
    const scan = row("Continue without scanning");
    await scan.click({ timeout: 5000 }).catch(() => {});
    const text = await until(() => page.locator(".xterm-rows").first().innerText(), (t) => t && t.includes("Grace!"));
    await command("Terminal: Kill All Terminals");
    return text;
  },
  async tests() {
    await command("Test: Run All Tests");
    await command("Testing: Focus on Test Explorer View");
    const labels = () => page.locator(".test-explorer .monaco-list-row").evaluateAll((rows) => rows.map((r) => r.getAttribute("aria-label")));
    const rows = await until(async () => {
      for (const e of await page.locator(".test-explorer .monaco-list-row[aria-expanded=false] .monaco-tl-twistie").all()) await e.click();
      return labels();
    }, (x) => x && x.some((l) => l.includes("greets") && l.includes("Passed")) && x.some((l) => l.includes("insults") && l.includes("Failed")));
    await shot("tests");
    return rows;
  },
  async debugger() {
    await open("greet.pdl");
    await goto(13, 3);
    await page.keyboard.press("F9");
    await page.locator(".codicon-debug-breakpoint, .codicon-debug-breakpoint-unverified").first().waitFor();
    await page.keyboard.press("F5");
    await page.locator(".debug-top-stack-frame-line").first().waitFor();
    const scope = page.locator(".debug-viewlet .monaco-list-row[aria-expanded=false]").filter({ hasText: /^Variables$/ });
    await page.locator(".debug-viewlet .monaco-list-row").filter({ hasText: /^Variables$/ }).first().waitFor();
    if (await scope.count()) await scope.first().click();
    const row = await until(() => page.locator(".debug-viewlet .monaco-list-row").allTextContents(), (rows) => rows && rows.some((r) => r.includes("who")));
    await shot("debugger");
    return row;
  },
};

await page.goto(task.address);
await page.locator(".monaco-workbench").waitFor();
for (const name of Object.keys(scenarios).filter((n) => !task.only || task.only.includes(n))) {
  try {
    out[name] = await scenarios[name]();
  } catch (e) {
    out[name] = { failed: String(e).slice(0, 600) };
    await page.screenshot({ path: `${task.pictures}/failed-${name}.png` }).catch(() => {});
  }
}
await browser.close();
console.log(JSON.stringify(out));
