// exports.js -- the files that a person can download from a run: its text, the document as Markdown, its trace.
// SPDX-License-Identifier: Apache-2.0
import { byId, clear, makeButton, saveFile } from "./dom.js";

// Exports of one whole run.
function exportsOf(run) {
  const ways = [["Text", async () => saveFile("run.txt", "text/plain", await run.text(0))]];
  if (run.markdown) ways.push(["Markdown", async () => saveFile("run.md", "text/markdown", await run.markdown())]);
  if (run.trace) ways.push(["Trace", async () => saveFile("run_trace.json", "application/json", await run.trace())]);
  return ways;
}

export function fillExport(runs, report) {
  const name = (run) => (runs.length > 1 ? ` of ${run.summary.name}` : "");
  clear(byId("export")).append(...runs.flatMap((run) => exportsOf(run).map(([title, save]) =>
    makeButton({ onclick: () => save().catch((e) => report(e.message)) }, title + name(run)))));
}
