// exports.js -- what a person can take along of a run: its text, an outline, its trace.
// SPDX-License-Identifier: Apache-2.0
import { byId, clear, make, saveFile } from "./dom.js";

// Exports of one whole run.
function exportsOf(run) {
  const outline = async () => {
    const lines = [];
    const stack = [await run.box(0)];
    while (stack.length && lines.length < 5000) {
      const box = stack.pop();
      lines.push(`${"  ".repeat(box.depth)}- **${box.kind}**${box.def ? ` \`${box.def}\`` : ""}` +
        (box.n || !box.text ? "" : `: ${box.text.replaceAll("\n", " ")}`));
      stack.push(...(await run.children(box, 0, 500)).toReversed());
    }
    saveFile("run.md", "text/markdown", `${lines.join("\n")}\n`);
  };
  const ways = [["Text", async () => saveFile("run.txt", "text/plain", await run.text(0))], ["Markdown", outline]];
  if (run.trace) ways.push(["Trace", async () => saveFile("run_trace.json", "application/json", await run.trace())]);
  return ways;
}

export function fillExport(runs, report) {
  const name = (run) => (runs.length > 1 ? ` of ${run.summary.name}` : "");
  clear(byId("export")).append(...runs.flatMap((run) => exportsOf(run).map(([title, save]) =>
    make("button", { type: "button", onclick: () => save().catch((e) => report(e.message)) }, title + name(run)))));
}
