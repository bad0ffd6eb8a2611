// page.mjs -- drives the Live Document in Chromium: node page.mjs STEPS.json. Steps are lists of a
// word and its arguments; what they give is printed as one JSON list.
// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const { modules, chromium: executablePath, steps } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(`${modules}/x.js`)("playwright-core");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const out = [];
let page = null;
let fresh = null; // the page, as long as the next file may be opened in it: a new one costs twice as much as the file
let problems = [];
let server = null;
let address = null;

const tabs = [];

function watch() {
  page.on("pageerror", (e) => problems.push(String(e)));
  page.on("console", (m) => m.type() === "error" && problems.push(m.text()));
  page.on("dialog", (d) => problems.push(`dialog ${d.message()}`) && d.dismiss());
}

// Waits until the page has not changed for a moment, since a fixed time is too short on a busy machine; at most a few seconds, for pages that are live.
async function settle() {
  await page.waitForTimeout(50);
  await page.evaluate(() => new Promise((done) => {
    let quiet = setTimeout(finish, 100);
    const most = setTimeout(finish, 2000);
    const seen = new MutationObserver(() => {
      clearTimeout(quiet);
      quiet = setTimeout(finish, 100);
    });
    seen.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    function finish() {
      clearTimeout(quiet);
      clearTimeout(most);
      seen.disconnect();
      done();
    }
  })).catch(() => null); // the press left the page
}

const SIZE = { width: 1200, height: 900 };
const STEP_MS = 120000;
const LASTING = ["tab", "copied", "visit", "media", "feature", "press", "click", "fill", "close"]; // words after which a page is not as a new one

const isPlain = (url, options) => url.startsWith("file:") && Object.keys(options).every((name) => name === "viewport" || name === "colorScheme");

// Makes the page that showed the last file ready for another one. -> whether it could
async function again(url, options) {
  if (!fresh || !isPlain(url, options)) return false;
  await page.evaluate(() => (localStorage.clear(), sessionStorage.clear()));
  if (page.url().split("#")[0] === url.split("#")[0]) await page.goto("about:blank"); // else it would only jump
  await page.setViewportSize(options.viewport ?? SIZE);
  await page.emulateMedia({ colorScheme: options.colorScheme ?? "light" });
  return true;
}

async function anew(options) {
  for (const context of browser.contexts()) await context.close(); // pages that nobody looks at cost time
  page = await (await browser.newContext({ viewport: SIZE, ...options })).newPage();
  tabs.splice(0, tabs.length, page);
  watch();
}

const words = {
  async open(url, options = {}) {
    if (!(await again(url, options))) await anew(options);
    fresh = isPlain(url, options) ? page : null;
    problems = [];
    const start = Date.now();
    await page.goto(url);
    await page.waitForSelector("body[data-ready], #notice:not([hidden])", { timeout: 20000 });
    return Date.now() - start;
  },
  // Another tab of the same browser, with the same page.
  async tab() {
    const address = new URL(page.url()).origin;
    page = await page.context().newPage();
    tabs.push(page);
    watch();
    await page.goto(`${address}/#boxes`);
    await page.waitForSelector("body[data-ready]");
  },
  turn: (n) => (page = tabs[n]) && true,
  // What a person gets who marks an element and copies it.
  async copied(selector) {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.bringToFront();
    await page.evaluate((s) => getSelection().selectAllChildren(document.querySelector(s)), selector);
    await page.keyboard.press("Control+c");
    return page.evaluate(() => navigator.clipboard.readText());
  },
  // Elements with a role that a screen reader names, but without a name.
  async nameless() {
    const roles = ["button", "textbox", "combobox", "checkbox", "slider", "treeitem", "tree", "option", "listbox", "region", "search", "navigation", "image"];
    const { nodes } = await (await page.context().newCDPSession(page)).send("Accessibility.getFullAXTree");
    return nodes.filter((n) => !n.ignored && roles.includes(n.role?.value) && !n.name?.value).map((n) => n.role.value);
  },
  // The names that a screen reader gets of the elements with a role.
  async names(role) {
    const { nodes } = await (await page.context().newCDPSession(page)).send("Accessibility.getFullAXTree");
    return nodes.filter((n) => !n.ignored && n.role?.value === role).map((n) => n.name?.value);
  },
  async visit(url) {
    page = await browser.newPage();
    return (await page.goto(url))?.status();
  },
  problems: async () => problems,
  press: (key) => page.keyboard.press(key).then(settle),
  click: (selector) => page.click(selector).then(settle),
  fill: (selector, text) => page.fill(selector, text),
  wait: (selector) => page.waitForSelector(selector, { timeout: 15000 }).then(() => true),
  text: (selector) => page.locator(selector).first().textContent(),
  texts: (selector) => page.locator(selector).allTextContents(),
  count: (selector) => page.locator(selector).count(),
  attribute: (selector, name) => page.locator(selector).first().getAttribute(name),
  evaluate: (code) => page.evaluate(code),
  // A number is the quality of a JPEG.
  shot: (path, quality) => page.screenshot(quality ? { path, type: "jpeg", quality } : { path }).then(() => true),
  // The window is made larger or smaller.
  resize: (size) => page.setViewportSize(size).then(settle),
  media: (options) => page.emulateMedia(options),
  // What playwright has no word for: ["prefers-contrast", "more"].
  async feature(name, value) {
    const session = await page.context().newCDPSession(page);
    await session.send("Emulation.setEmulatedMedia", { features: [{ name, value }] });
  },
  // What is wrong for people who use a keyboard or a screen reader, as axe-core sees it, but for these rules.
  async axe(...except) {
    await page.evaluate(readFileSync(`${modules}/axe-core/axe.min.js`, "utf8"));
    const found = await page.evaluate((rules) => window.axe.run(document, { rules }), Object.fromEntries(except.map((r) => [r, { enabled: false }])));
    return found.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" | ")}`);
  },
  // A server that is started while the page is open; `enter` opens its address as another tab of the browser does.
  async serve(...command) {
    server = spawn(command[0], command.slice(1), { stdio: ["ignore", "pipe", "pipe"] });
    const lines = createInterface({ input: command.includes("--view") ? server.stderr : server.stdout });
    for await (const line of lines) {
      address = /http:\S+/.exec(line)?.[0];
      if (address) return true;
    }
    return false;
  },
  enter: () => page.evaluate((url) => fetch(url).then((reply) => reply.status), address),
  stop: () => server.kill("SIGKILL"),
  kill: (pid) => process.kill(pid, "SIGKILL") && null,
  interrupt: (pid) => process.kill(pid, "SIGINT") && null,
  pause: (ms) => page.waitForTimeout(ms),
  async frame_texts(selector) {
    const found = page.frameLocator("iframe").locator(selector);
    await found.first().waitFor({ timeout: 15000 });
    return found.allTextContents();
  },
  // A frame that was refused shows a page of the browser, which may never answer a question.
  async frame_count(selector) {
    if (page.frames()[1]?.url().startsWith("chrome-error:")) return 0;
    return page.frameLocator("iframe").locator(selector).count();
  },
  close: () => page.close(),
};

// A step that never ends is one that failed, and not a test that hangs.
function within(ms, promise) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`no end after ${ms} ms`)), ms)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

for (const [word, ...args] of steps) {
  if (LASTING.includes(word)) fresh = null;
  try {
    out.push((await within(STEP_MS, words[word](...args))) ?? null);
  } catch (e) {
    out.push({ failed: `${word} ${JSON.stringify(args)}: ${String(e).split("\n")[0]}` });
  }
}
server?.kill("SIGKILL");
await within(20000, browser.close()).catch(() => {}); // its process ends with this one
process.stdout.write(JSON.stringify(out) + "\n", () => process.exit(0));
