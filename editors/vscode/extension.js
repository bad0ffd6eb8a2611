// extension.js -- PDL in VS Code: starts `pdl lsp` and `pdl dap`, runs programs, shows the Live Document beside the editor.
// SPDX-License-Identifier: Apache-2.0
"use strict";
const vscode = require("vscode");
const fs = require("fs");
const path = require("path");
const childProcess = require("child_process");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

// The setting, the command that came with the extension, or that of the path.
function command(context) {
  const set = vscode.workspace.getConfiguration("pdl").get("path");
  if (set) return set;
  const own = path.join(context.extensionPath, "bin", "pdl");
  return fs.existsSync(own) ? own : "pdl";
}

async function startServer(context) {
  const prices = vscode.workspace.getConfiguration("pdl").get("prices");
  // No `transport`: the client speaks over standard input and output without it, and would add an option --stdio with it.
  const run = { command: command(context), args: prices ? ["lsp", "--prices", prices] : ["lsp"] };
  client = new LanguageClient("pdl", "PDL", { run, debug: run }, {
    documentSelector: [{ language: "pdl" }],
    middleware: { executeCommand: (name, args) => vscode.commands.executeCommand(name, ...args) },
    initializationOptions: {},
  });
  // Commands of lenses are registered below, by this extension: the client leaves them alone.
  client.registerFeature({ getState: () => ({ kind: "static" }), fillClientCapabilities() {}, preInitialize(capabilities) { delete capabilities.executeCommandProvider; }, initialize() {}, dispose() {}, clear() {} });
  await client.start();
}

function fileOf(argument) {
  if (argument && argument.uri) return vscode.Uri.parse(argument.uri).fsPath;
  if (argument instanceof vscode.Uri) return argument.fsPath;
  const editor = vscode.window.activeTextEditor;
  return editor && editor.document.languageId === "pdl" ? editor.document.uri.fsPath : undefined;
}

function quote(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'";
}

function terminal(file, words) {
  const t = vscode.window.terminals.find((x) => x.name === "PDL") || vscode.window.createTerminal({ name: "PDL", cwd: path.dirname(file) });
  t.show(true);
  t.sendText(words.map(quote).join(" "));
}

// The values of a function's parameters, as YAML; undefined: the user gave up.
async function askValues(names) {
  const values = {};
  for (const name of names || []) {
    const text = await vscode.window.showInputBox({ title: "Argument " + name, prompt: "A value in YAML, as 3, text or [1, 2]" });
    if (text === undefined) return undefined;
    values[name] = text;
  }
  return values;
}

// A lens over a function: the server writes the program that calls it.
async function runFunction(context, name, argument) {
  const values = await askValues(argument.parameters);
  if (!values) return;
  const line = await client.sendRequest("workspace/executeCommand", { command: name, arguments: [{ ...argument, values }] });
  const [, ...words] = line.argv;
  terminal(fileOf(argument), [command(context), ...words.filter((w) => w !== "-"), "-e", line.program]);
}

async function run(context, name, before, argument) {
  const file = fileOf(argument);
  if (!file) return vscode.window.showErrorMessage("Open a PDL program first.");
  await vscode.workspace.saveAll(false);
  if (argument && argument.function) return runFunction(context, name, argument);
  const more = name === "pdl.run" ? vscode.workspace.getConfiguration("pdl").get("runArguments") : [];
  return terminal(file, [command(context), ...before, ...more, file]);
}

// --- Live Document: the command serves the page on this machine; the panel shows it --------------------------------------------------------

async function liveDocument(context, argument) {
  const file = fileOf(argument);
  if (!file) return vscode.window.showErrorMessage("Open a PDL program first.");
  await vscode.workspace.saveAll(false);
  const output = vscode.window.createOutputChannel("PDL " + path.basename(file));
  const child = childProcess.spawn(command(context), ["--view", file], { cwd: path.dirname(file) });
  const panel = vscode.window.createWebviewPanel("pdl.live", "Live: " + path.basename(file), vscode.ViewColumn.Beside, { enableScripts: true, retainContextWhenHidden: true });
  panel.webview.html = "<p>The program starts.</p>";
  panel.onDidDispose(() => child.kill("SIGINT"));
  let seen = "";
  const found = async (text) => {
    const address = /http:\/\/127\.0\.0\.1:\d+\/\S*/.exec(text);
    if (!address) return;
    const uri = await vscode.env.asExternalUri(vscode.Uri.parse(address[0], true));
    panel.webview.html = `<!DOCTYPE html><html><head><meta http-equiv="Content-Security-Policy" content="default-src 'none'; frame-src ${uri.scheme}://${uri.authority}; style-src 'unsafe-inline'">
<style>html,body,iframe{margin:0;padding:0;width:100%;height:100vh;border:0;background:#fff}</style></head><body><iframe src="${uri.toString(true).replace(/"/g, "&quot;")}"></iframe></body></html>`;
    seen = null;
  };
  child.stderr.on("data", (data) => {
    output.append(String(data));
    if (seen === null) return;
    seen += data;
    found(seen);
  });
  child.stdout.on("data", (data) => output.append(String(data)));
  child.on("error", (e) => vscode.window.showErrorMessage("pdl cannot be started: " + e.message));
  return panel;
}

// --- tasks, tests, debugger ------------------------------------------------------------------------------------------------------------------

function task(context, definition, scope) {
  const words = [...(definition.arguments || []), definition.program];
  return new vscode.Task(definition, scope || vscode.TaskScope.Workspace, path.basename(definition.program), "pdl", new vscode.ProcessExecution(command(context), words));
}

const tasks = (context) => ({
  async provideTasks() {
    const files = await vscode.workspace.findFiles("**/*.pdl", "**/{node_modules,build,dist}/**", 200);
    return files.map((f) => task(context, { type: "pdl", program: f.fsPath }));
  },
  resolveTask: (t) => (t.definition.program ? task(context, t.definition, t.scope) : undefined),
});

// Programs called test_*.pdl or *.test.pdl are tests: one passes when it ends with exit code 0.
function tests(context) {
  const controller = vscode.tests.createTestController("pdl", "PDL");
  const pattern = "**/{test_*,*.test}.pdl";
  const add = (uri) => controller.items.add(controller.createTestItem(uri.toString(), path.basename(uri.fsPath), uri));
  const scan = async () => (await vscode.workspace.findFiles(pattern, "**/node_modules/**")).forEach(add);
  controller.resolveHandler = scan;
  controller.createRunProfile("Run", vscode.TestRunProfileKind.Run, async (request, token) => {
    const run_ = controller.createTestRun(request);
    const wanted = request.include || [...controller.items].map(([, item]) => item);
    for (const item of wanted) {
      if (token.isCancellationRequested) break;
      run_.started(item);
      await new Promise((done) => {
        const child = childProcess.execFile(command(context), [item.uri.fsPath], { cwd: path.dirname(item.uri.fsPath) }, (error, stdout, stderr) => {
          run_.appendOutput((stdout + stderr).replace(/\r?\n/g, "\r\n"), undefined, item);
          if (error) run_.failed(item, new vscode.TestMessage(stderr || String(error)));
          else run_.passed(item);
          done();
        });
        token.onCancellationRequested(() => child.kill());
      });
    }
    run_.end();
  }, true);
  const watcher = vscode.workspace.createFileSystemWatcher(pattern);
  watcher.onDidCreate(add);
  watcher.onDidDelete((uri) => controller.items.delete(uri.toString()));
  scan();
  return [controller, watcher];
}

const debuggers = (context) => ({
  createDebugAdapterDescriptor: () => new vscode.DebugAdapterExecutable(command(context), ["dap"]),
});

const configurations = {
  resolveDebugConfiguration(folder, configuration) {
    const editor = vscode.window.activeTextEditor;
    if (!configuration.type && editor && editor.document.languageId === "pdl")
      return { type: "pdl", request: "launch", name: "Run program", program: editor.document.uri.fsPath };
    return configuration;
  },
};

async function activate(context) {
  const add = (...things) => context.subscriptions.push(...things);
  const register = (name, fn) => add(vscode.commands.registerCommand(name, fn));
  register("pdl.run", (a) => run(context, "pdl.run", [], a));
  register("pdl.test", (a) => run(context, "pdl.test", [], a));
  register("pdl.explain", (a) => run(context, "pdl.explain", ["explain"], a));
  register("pdl.view", (a) => liveDocument(context, a));
  register("pdl.restart", async () => { if (client) await client.stop(); await startServer(context); });
  add(vscode.tasks.registerTaskProvider("pdl", tasks(context)));
  add(vscode.debug.registerDebugAdapterDescriptorFactory("pdl", debuggers(context)));
  add(vscode.debug.registerDebugConfigurationProvider("pdl", configurations));
  add(...tests(context));
  try {
    await startServer(context);
  } catch (e) {
    vscode.window.showErrorMessage("The language server of PDL cannot be started (setting pdl.path): " + e.message);
  }
}

const deactivate = () => (client ? client.stop() : undefined);
module.exports = { activate, deactivate };
