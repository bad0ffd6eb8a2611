// extension.js -- PDL in VS Code: starts `pdl lsp` and `pdl dap`, runs programs, shows the Live Document beside the editor.
// SPDX-License-Identifier: Apache-2.0
"use strict";
const vscode = require("vscode");
const fs = require("fs");
const path = require("path");
const { LanguageClient } = require("vscode-languageclient/node");
const { command, stopAll } = require("./command");
const { liveDocument } = require("./live");
const { explorer } = require("./tests");

let client;

async function startServer(context) {
  const settings = vscode.workspace.getConfiguration("pdl"), prices = settings.get("prices");
  const args = ["lsp", ...(settings.get("keys") ? ["--env"] : []), ...(prices ? ["--prices", prices] : [])];
  // No `transport` is given: the client uses standard input and output anyway, and with a `transport` it would add the
  // option --stdio.
  const run = { command: command(context), args };
  client = new LanguageClient("pdl", "PDL", { run, debug: run }, {
    documentSelector: [{ language: "pdl" }],
    middleware: { executeCommand: (name, args) => vscode.commands.executeCommand(name, ...args) },
    initializationOptions: {},
  });
  // This extension registers the commands of lenses below, so the client must not register them, too.
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

// Asks for the values of a function's parameters, and returns them as YAML. Returns undefined when the user cancels.
async function askValues(names) {
  const values = {};
  for (const name of names || []) {
    const text = await vscode.window.showInputBox({ title: "Argument " + name, prompt: "A value in YAML, as 3, text or [1, 2]" });
    if (text === undefined) return undefined;
    values[name] = text;
  }
  return values;
}

// Runs the lens above a function. The server writes the program that calls the function.
async function runFunction(context, name, argument) {
  const values = await askValues(argument.parameters);
  if (!values) return;
  const line = await client.sendRequest("workspace/executeCommand", { command: name, arguments: [{ ...argument, values }] });
  if (name === "pdl.view") return liveDocument(context, fileOf(argument), ["-e", line.program]);
  const [, ...words] = line.argv;
  return terminal(fileOf(argument), [command(context), ...words.filter((w) => w !== "-"), "-e", line.program]);
}

// Returns true when NAME.test.yaml beside NAME.pdl has the tests of the program. Other programs are tests themselves.
function hasTests(argument) {
  const file = fileOf(argument);
  return file !== undefined && fs.existsSync(file.replace(/\.pdl$/, ".test.yaml"));
}

async function view(context, argument) {
  const file = fileOf(argument);
  if (!file) return vscode.window.showErrorMessage("Open a PDL program first.");
  await vscode.workspace.saveAll(false);
  return argument && argument.function ? runFunction(context, "pdl.view", argument) : liveDocument(context, file);
}

async function run(context, name, before, argument) {
  const file = fileOf(argument);
  if (!file) return vscode.window.showErrorMessage("Open a PDL program first.");
  await vscode.workspace.saveAll(false);
  if (argument && argument.function) return runFunction(context, name, argument);
  const more = name === "pdl.run" ? vscode.workspace.getConfiguration("pdl").get("runArguments") : [];
  return terminal(file, [command(context), ...before, ...more, file]);
}

// --- tasks and debugger ------------------------------------------------------------------------------------------------------------------

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
  register("pdl.test", (a) => run(context, "pdl.test", hasTests(a) ? ["test"] : [], a));
  register("pdl.explain", (a) => run(context, "pdl.explain", ["explain"], a));
  register("pdl.view", (a) => view(context, a));
  register("pdl.restart", async () => { if (client) await client.stop(); await startServer(context); });
  add(vscode.tasks.registerTaskProvider("pdl", tasks(context)));
  add(vscode.debug.registerDebugAdapterDescriptorFactory("pdl", debuggers(context)));
  add(vscode.debug.registerDebugConfigurationProvider("pdl", configurations));
  add(...explorer(context));
  try {
    await startServer(context);
  } catch (e) {
    vscode.window.showErrorMessage("The language server of PDL cannot be started (setting pdl.path): " + e.message);
  }
}

// Ends the processes that were started for panels and tests, because the editor closes.
function deactivate() {
  stopAll();
  return client ? client.stop() : undefined;
}

module.exports = { activate, deactivate };
