// site.mjs -- opens pages of the site as files in Chromium: node site.mjs ARGUMENTS.json. Prints what it
// saw as JSON.
// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { modules, chromium: executablePath, site, pages, pictures } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(`${modules}/x.js`)("playwright-core");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const out = { asked: [], errors: [], background: {}, contrast: {}, found: {} };

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
  await page.close();
}
await browser.close();
console.log(JSON.stringify(out));
