// command.js -- finds the command pdl, and starts its processes, which end together with the extension.
// SPDX-License-Identifier: Apache-2.0
"use strict";
const vscode = require("vscode");
const fs = require("fs");
const path = require("path");
const childProcess = require("child_process");

const running = new Set();

// Returns the command: that of the setting, or else the one that came with the extension, or else `pdl` on the path.
function command(context) {
  const set = vscode.workspace.getConfiguration("pdl").get("path");
  if (set) return set;
  const own = path.join(context.extensionPath, "bin", "pdl");
  return fs.existsSync(own) ? own : "pdl";
}

// Starts pdl in the folder of a file. input: "pipe" for a program whose questions are answered elsewhere, because `read` fails at the end of
// standard input.
function start(context, words, file, input = "ignore") {
  const child = childProcess.spawn(command(context), words, { cwd: path.dirname(file), stdio: [input, "pipe", "pipe"] });
  running.add(child);
  child.on("exit", () => running.delete(child));
  child.on("error", () => running.delete(child));
  return child;
}

function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGINT");
  setTimeout(() => child.exitCode === null && child.signalCode === null && child.kill("SIGKILL"), 3000).unref();
}

// Ends all processes at once, because an editor that closes does not wait for timers.
function stopAll() {
  for (const child of running) child.kill("SIGTERM");
  running.clear();
}

module.exports = { command, start, stop, stopAll };
