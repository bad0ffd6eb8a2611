// tests.js -- the test explorer: the tests of NAME.test.yaml, which `pdl test` runs without a model, and programs test_*.pdl and *.test.pdl, which pass
// when they end with exit code 0.
// SPDX-License-Identifier: Apache-2.0
"use strict";
const vscode = require("vscode");
const path = require("path");
const { start, stop } = require("./command");

const PATTERN = "**/{*.test.yaml,test_*.pdl,*.test.pdl}";

// Returns the names of the tests in a file, with their lines. Each test has an entry `- name: TEXT`.
function namesOf(text) {
  const found = [];
  text.split(/\r?\n/).forEach((line, row) => {
    const m = /^\s*(?:-\s+)?name:\s*(.+?)\s*$/.exec(line);
    if (m) found.push({ row, name: m[1].replace(/^(["'])(.*)\1$/, "$2") });
  });
  return found;
}

// Finds the verdict about a test, which is on a line such as "ok FOLDER/greet.pdl: greets" or "FAIL FOLDER/greet.pdl:
// greets: what is wrong".
function verdictOf(output, name) {
  for (const line of output.split("\n")) {
    const m = /^(ok {2}|FAIL) .*?\.pdl: (.*)$/.exec(line);
    if (m && (m[2] === name || m[2].startsWith(name + ": "))) return { passed: m[1] !== "FAIL", problem: m[2].slice(name.length + 2) };
  }
  return undefined;
}

function execute(context, words, file, token) {
  return new Promise((done) => {
    const child = start(context, words, file);
    let out = "";
    child.stdout.on("data", (d) => { out += d; });
    child.stderr.on("data", (d) => { out += d; });
    child.on("error", (e) => done({ code: -1, out: String(e) }));
    child.on("close", (code) => done({ code, out }));
    token.onCancellationRequested(() => stop(child));
  });
}

async function runFile(context, run, item, wanted, token) {
  const file = item.uri.fsPath;
  const cases = [...item.children].map(([, child]) => child).filter((child) => wanted === item || wanted === child);
  [item, ...cases].forEach((x) => run.started(x));
  const yaml = file.endsWith(".yaml");
  const { code, out } = await execute(context, yaml ? ["test", file] : [file], file, token);
  run.appendOutput(out.replace(/\r?\n/g, "\r\n"), undefined, item);
  for (const child of cases) {
    const verdict = verdictOf(out, child.label);
    if (!verdict) run.errored(child, new vscode.TestMessage(out));
    else if (verdict.passed) run.passed(child);
    else run.failed(child, new vscode.TestMessage(verdict.problem));
  }
  if (wanted !== item) return;
  if (code === 0) run.passed(item);
  else run.failed(item, new vscode.TestMessage(out));
}

function explorer(context) {
  const controller = vscode.tests.createTestController("pdl", "PDL");
  const add = async (uri) => {
    const item = controller.createTestItem(uri.toString(), path.basename(uri.fsPath), uri);
    controller.items.add(item);
    if (!uri.fsPath.endsWith(".yaml")) return;
    const text = new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
    item.children.replace(namesOf(text).map(({ row, name }) => {
      const child = controller.createTestItem(`${uri}#${name}`, name, uri);
      child.range = new vscode.Range(row, 0, row, 0);
      return child;
    }));
  };
  const scan = async () => Promise.all((await vscode.workspace.findFiles(PATTERN, "**/node_modules/**")).map(add));
  controller.resolveHandler = (item) => (item ? undefined : scan());
  controller.refreshHandler = scan;
  controller.createRunProfile("Run", vscode.TestRunProfileKind.Run, async (request, token) => {
    const run = controller.createTestRun(request);
    for (const wanted of request.include || [...controller.items].map(([, item]) => item)) {
      if (token.isCancellationRequested) break;
      await runFile(context, run, wanted.parent || wanted, wanted, token);
    }
    run.end();
  }, true);
  const watcher = vscode.workspace.createFileSystemWatcher(PATTERN);
  watcher.onDidCreate(add);
  watcher.onDidChange(add);
  watcher.onDidDelete((uri) => controller.items.delete(uri.toString()));
  scan();
  return [controller, watcher];
}

module.exports = { explorer };
