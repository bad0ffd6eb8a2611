// site.mjs -- opens pages of the site as files in Chromium: node site.mjs ARGUMENTS.json. Prints what it
// saw as JSON.
// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { modules, chromium: executablePath, site, pages, pictures, served, questions } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(`${modules}/x.js`)("playwright-core");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const out = { asked: [], errors: [], background: {}, contrast: {}, found: {}, answers: [], phone: [], print: [] };

for (const scheme of ["light", "dark"]) {
  const page = await browser.newPage({ viewport: { width: 1300, height: 900 }, colorScheme: scheme });
  page.on("request", (r) => /^https?:/.test(r.url()) && out.asked.push(r.url()));
  page.on("pageerror", (e) => out.errors.push(String(e)));
  for (const name of pages) {
    await page.goto(`file://${site}/${name}.html`);
    await page.screenshot({ path: `${pictures}/site-${name.replace("/", "-")}-${scheme}.png` });
  }
  out.background[scheme] = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  out.contrast[scheme] = await page.evaluate(() => getComputedStyle(document.querySelector("article p a")).color);
  await page.keyboard.press("/");
  await page.keyboard.type("maxIterations", { delay: 20 });
  await page.waitForSelector(".md-search-result__item", { timeout: 60000 });
  out.found[scheme] = await page.locator(".md-search-result__item").count();
  // A question is searched without its small words: the first hit is the page that answers it.
  // So is a word of another tool. The search begins when a key is released.
  for (const [question, to] of Object.entries(questions)) {
    await page.fill("[data-md-component=search-query]", question);
    await page.keyboard.press("End");
    const first = page.locator(`.md-search-result__item:first-child a[href*='${to}']`).first();
    await first.waitFor({ timeout: 60000 }).catch(() => out.answers.push(`${question}: ${to} is not the first result`));
    // A page says which words of the question it does not have, and no others.
    const missing = (await page.locator(".md-search-result__terms del").allInnerTexts()).filter((word) => !question.toLowerCase().includes(word.toLowerCase()));
    if (missing.length) out.answers.push(`${question}: nobody typed ${missing[0]}`);
  }
  if (await page.locator(".md-search-result .md-tag:visible").count()) out.answers.push("names for the search are shown");
  await page.close();
}
// On a phone no page is wider than the screen; what is too wide scrolls inside of its frame.
const phone = await browser.newPage({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 });
for (const name of pages) {
  await phone.goto(`file://${site}/${name}.html`);
  await phone.screenshot({ path: `${pictures}/site-${name.replace("/", "-")}-phone.png` });
  const wide = await phone.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (wide > 1) out.phone.push(`${name}: ${wide} pixels too wide`);
}
await phone.close();

// On paper there are the words of the page, and no menus.
const paper = await browser.newPage({ viewport: { width: 794, height: 1123 } });
await paper.emulateMedia({ media: "print" });
for (const name of pages) {
  await paper.goto(`file://${site}/${name}.html`);
  await paper.screenshot({ path: `${pictures}/site-${name.replace("/", "-")}-print.png` });
  for (const part of [".md-header", ".md-tabs", ".md-sidebar", ".md-footer"]) {
    if (await paper.locator(part).evaluateAll((all) => all.some((e) => e.offsetHeight > 0))) out.print.push(`${name}: ${part}`);
  }
}
await paper.close();

// "Try it" opens the program beside its page, or in place of it where there is no room.
if (served) {
  const wide = await browser.newPage({ viewport: { width: 1300, height: 900 } });
  wide.on("pageerror", (e) => out.errors.push(String(e)));
  await wide.goto(`${served}/manual/guide.html`);
  out.offered = await wide.locator(".try a").count();
  await wide.locator(".try a").first().click();
  const tried = wide.frameLocator("#tried iframe");
  await tried.locator("#verdict", { hasText: "No problems." }).waitFor({ timeout: 60000 });
  await tried.locator("#run").click();
  await tried.frameLocator("#document").locator("#document").getByText("Hello").first().waitFor({ timeout: 60000 });
  await wide.screenshot({ path: `${pictures}/site-try-it.png` });
  out.beside = await wide.evaluate(() => document.querySelector("article").getBoundingClientRect().right <= document.querySelector("#tried").getBoundingClientRect().left);
  await wide.keyboard.press("Shift+Tab");
  await wide.locator("#tried button").click();
  out.closed = (await wide.isHidden("#tried")) && (await wide.evaluate(() => document.activeElement.closest(".try") !== null));
  await wide.close();
  const narrow = await browser.newPage({ viewport: { width: 390, height: 844 } });
  await narrow.goto(`${served}/manual/guide.html`);
  await narrow.locator(".try a").first().click();
  await narrow.locator("#verdict", { hasText: "No problems." }).waitFor({ timeout: 60000 });
  out.narrow = new URL(narrow.url()).pathname;
  await narrow.close();
}
await browser.close();
console.log(JSON.stringify(out));
