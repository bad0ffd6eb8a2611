// panel.mjs -- opens the Live Document as the extension does, with a stub of VS Code: node panel.mjs FOLDER PDL FILE. Prints what the
// run said, and the list of runs that the page gets while the question waits.
// SPDX-License-Identifier: Apache-2.0
import { createRequire } from "node:module";
import Module from "node:module";

const [, , extension, pdl, file] = process.argv;
const said = [];
const panel = { webview: { html: "" }, onDidDispose: () => {} };
const vscode = {
  env: { uiKind: 1 }, UIKind: { Desktop: 1 }, ViewColumn: { Beside: 2 },
  workspace: { getConfiguration: () => ({ get: () => pdl }) },
  window: { createOutputChannel: () => ({ append: (s) => said.push(s), show: () => {}, dispose: () => {} }), createWebviewPanel: () => panel, showErrorMessage: (s) => said.push(s) },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
const require = createRequire(`${extension}/src/live.js`);
const { liveDocument } = require("./live.js");
const { stopAll } = require("./command.js");
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const until = async (is) => { for (let i = 0; i < 200 && !(await is()); i++) await pause(50); };

await liveDocument({ extensionPath: extension }, file);
await until(() => panel.webview.html.includes("<iframe"));
const address = /src="([^"]+)"/.exec(panel.webview.html)[1];
const cookie = (await fetch(address, { redirect: "manual" })).headers.get("set-cookie").split(";")[0];
const ask = async (path) => (await fetch(new URL(path, address), { headers: { cookie } })).text();
await until(() => /sent\?|EOF/.test(said.join("")));
await pause(500);
console.log(JSON.stringify({ said: said.join(""), runs: JSON.parse(await ask("/api/runs")) }));
stopAll();
process.exit(0);
