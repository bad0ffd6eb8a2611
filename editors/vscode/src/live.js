// live.js -- shows the Live Document beside the editor. The command serves the page on this machine, and a panel
// shows the page.
// SPDX-License-Identifier: Apache-2.0
"use strict";
const vscode = require("vscode");
const path = require("path");
const { start, stop } = require("./command");

const LOOPBACK = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/;

// Returns the origins of the pages around the panel: those of the application, or of the server that shows VS Code in a browser. The server
// of the run answers only this machine. For a browser elsewhere, which cannot get the page, returns undefined.
async function frames() {
  if (vscode.env.uiKind === vscode.UIKind.Desktop) return vscode.env.remoteName ? undefined : "vscode-webview:,vscode-file:";
  const outside = await vscode.env.asExternalUri(vscode.Uri.parse("http://127.0.0.1:1/"));
  return LOOPBACK.test(outside.authority) ? `${outside.scheme}://${outside.authority}` : undefined;
}

function page(address) {
  const origin = new URL(address).origin;
  const quoted = address.replace(/&/g, "&amp;").replace(/"/g, "&quot;");
  return `<!DOCTYPE html><html><head><meta http-equiv="Content-Security-Policy" content="default-src 'none'; frame-src ${origin}; style-src 'unsafe-inline'">
<style>html,body,iframe{margin:0;padding:0;width:100%;height:100vh;border:0;background:#fff}</style></head><body><iframe title="Live Document" src="${quoted}"></iframe></body></html>`;
}

const words = (text) => `<!DOCTYPE html><html><body><p>${text}</p></body></html>`;

// Calls `then` with the address of the page. The command prints the address once, and it can be used once.
function onAddress(child, output, then) {
  let seen = "";
  const take = (data) => {
    output.append(String(data));
    if (seen === undefined) return;
    seen += data;
    const address = /http:\/\/127\.0\.0\.1:\d+\/\S*/.exec(seen);
    if (!address) return;
    seen = undefined;
    then(address[0]);
  };
  child.stderr.on("data", take);
  child.stdout.on("data", (data) => output.append(String(data)));
}

// more: the words that are given in place of the file, such as -e PROGRAM.
async function liveDocument(context, file, more) {
  const around = await frames();
  const output = vscode.window.createOutputChannel("PDL " + path.basename(file));
  const child = start(context, ["--view", ...(around ? ["--view-frame", around] : []), ...(more || [file])], file, "pipe");
  child.on("error", (e) => vscode.window.showErrorMessage("pdl cannot be started: " + e.message));
  if (!around) {
    onAddress(child, output, (address) => vscode.env.openExternal(vscode.Uri.parse(address, true)));
    return undefined;
  }
  const panel = vscode.window.createWebviewPanel("pdl.live", "Live: " + path.basename(file), vscode.ViewColumn.Beside, { enableScripts: true, retainContextWhenHidden: true });
  panel.webview.html = words("The program starts.");
  panel.onDidDispose(() => { stop(child); output.dispose(); });
  let shown = false;
  onAddress(child, output, (address) => { shown = true; panel.webview.html = page(address); });
  child.on("exit", (code) => {
    if (shown) return;
    panel.webview.html = words(`The program ended with exit code ${code} before it could be shown; what it said is in the output panel.`);
    output.show(true);
  });
  return panel;
}

module.exports = { liveDocument };
