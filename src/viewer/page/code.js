// code.js -- the program beside the boxes: a box marks its lines, a line chooses its boxes.
// SPDX-License-Identifier: Apache-2.0
import { make, clear } from "./dom.js";

const WORDS = /(#.*$)|("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|(\$\{[^}]*\})|(^\s*(?:- )*[\w."'-]+:)/gm;
const CLASSES = ["code-comment", "code-string", "code-expression", "code-key"];

// A line of YAML with its comments, texts, expressions and keys marked.
function coloured(line) {
  const out = [];
  let from = 0;
  for (const match of line.matchAll(WORDS)) {
    const which = match.slice(1).findIndex((g) => g !== undefined);
    out.push(line.slice(from, match.index), make("span", { class: CLASSES[which] }, match[0]));
    from = match.index + match[0].length;
  }
  out.push(line.slice(from));
  return out;
}

// The pane. choose(id) is called when a person chooses a line that made boxes.
export class CodePane {
  constructor(element, run, choose) {
    this.element = element;
    this.run = run;
    this.choose = choose;
    this.lines = null;
    this.turn = { line: 0, next: 0 };
  }

  async load() {
    if (this.lines) return;
    const { source_name: name, source } = await this.run.source();
    const list = make("ol", { class: "lines" });
    this.lines = source.replace(/\n$/, "").split("\n").map((text, i) =>
      make("li", { tabindex: "-1", "data-line": i + 1, onclick: () => this.onLine(i + 1) },
        make("code", {}, coloured(text))));
    list.append(...this.lines);
    clear(this.element).append(
      make("h2", {}, name || "Program"),
      name ? "" : make("p", { class: "hint" },
        "Written from the blocks of the trace, which holds no source text. " +
        "pdl view --source FILE shows the file."),
      list);
  }

  // The same line again chooses its next box: a loop makes many.
  async onLine(line) {
    const ids = await this.run.boxesOfLine(line);
    if (!ids.length) return;
    this.turn = { line, next: this.turn.line === line ? (this.turn.next + 1) % ids.length : 0 };
    this.choose(ids[this.turn.next]);
  }

  async mark(box) {
    await this.load();
    for (const e of this.element.querySelectorAll(".marked")) e.classList.remove("marked");
    if (!box.line) return;
    for (let n = box.line; n <= (box.to ?? box.line); n++) this.lines[n - 1]?.classList.add("marked");
    this.lines[box.line - 1]?.scrollIntoView({ block: "nearest" });
  }
}
