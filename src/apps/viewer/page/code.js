// code.js -- shows the program beside the boxes. Choosing a box marks its lines, and choosing a line chooses its boxes.
// When a box of an included or imported file is chosen, that file is shown in place of the program.
// SPDX-License-Identifier: Apache-2.0
import { make, clear, makeWalkable } from "./dom.js";
import { listChanges } from "./text.js";

const MAX_SHORT = 2000; // lines
const WORDS = /(#.*$)|("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|(\$\{[^}]*\})|(^\s*(?:- )*[\w."'-]+:)/gm;
const CLASSES = ["code-comment", "code-string", "code-expression", "code-key"];

// Makes the elements of a line of YAML, in which comments, texts, expressions and keys are marked.
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

export function linesOf(source) {
  return source.replace(/\n$/, "").split("\n");
}

// Returns the program of a run and the files that it includes or imports, as [{source_name, source, written}].
export async function filesOf(run) {
  const { source_name, source, written, included = [] } = await run.source();
  return [{ source_name, source, written }, ...included];
}

// Makes a list of lines in which the arrow keys move; the Tab key reaches its first line.
function listOfLines(name, className) {
  return make("ol", { class: className, role: "listbox", "aria-multiselectable": "true", "aria-label": `Lines of ${name || "the program"}` });
}

function reach(list) {
  if (list.firstChild) list.firstChild.tabIndex = 0;
}

// Marks the lines that belong to a box. After that, the Tab key reaches the first of them.
function markLines(element, lines) {
  for (const e of element.querySelectorAll(".marked")) {
    e.classList.remove("marked");
    e.setAttribute("aria-selected", "false");
  }
  for (const e of lines) {
    e.classList.add("marked");
    e.setAttribute("aria-selected", "true");
  }
  if (!lines.length) return;
  for (const e of element.querySelectorAll("[role=option][tabindex='0']")) e.tabIndex = -1;
  lines[0].tabIndex = 0;
  for (const e of [lines.at(-1), lines[0]]) e.scrollIntoView({ block: "nearest" });
}

export const WRITTEN = "The lines of the program are written from the blocks of the trace, which holds no source text. " +
  "pdl view --source FILE shows the file.";

// The pane with the program. choose(id) is called when a person chooses a line that made boxes.
export class CodePane {
  constructor(element, run, choose) {
    this.element = element;
    this.run = run;
    this.choose = choose;
    this.files = null;
    this.shown = 0;
    this.turn = { line: 0, next: 0 };
    makeWalkable(element, "[role=option]", (line) => line.click());
  }

  // Returns true when all lines of the program can be shown at once without a delay.
  async isShort() {
    return linesOf((await this.run.source()).source).length <= MAX_SHORT;
  }

  async load() {
    if (this.files) return;
    this.files = await filesOf(this.run);
    this.show(0);
  }

  show(number) {
    const { source_name: name, source, written } = this.files[number];
    const list = listOfLines(name, "lines");
    this.shown = number;
    this.lines = linesOf(source).map((text, i) =>
      make("li", { role: "option", "aria-selected": "false", tabindex: "-1", "data-line": i + 1, onclick: () => this.onLine(i + 1) },
        make("code", {}, coloured(text))));
    list.append(...this.lines);
    reach(list);
    clear(this.element).append(make("h2", {}, name || "Program"), this.chooser(),
      written ? make("p.hint", {}, WRITTEN) : "", list);
  }

  // Makes the list of files, when there are several.
  chooser() {
    if (this.files.length < 2) return "";
    return make("select", { "aria-label": "File", onchange: (e) => this.show(Number(e.target.value)) },
      this.files.map((f, i) => make("option", { value: i, selected: i === this.shown }, f.source_name || "Program")));
  }

  // Chooses a box of the line. When the same line is chosen again, its next box is chosen, because a line in a loop
  // makes many boxes.
  async onLine(line) {
    const file = this.shown;
    const ids = await this.run.boxesOfLine(line, file);
    if (!ids.length) return;
    const again = this.turn.line === line && this.turn.file === file;
    this.turn = { line, file, next: again ? (this.turn.next + 1) % ids.length : 0 };
    this.choose(ids[this.turn.next]);
  }

  async mark(box) {
    await this.load();
    const file = box.file ?? 0;
    // the run is in progress, and may have read more files
    if (box.line && file >= this.files.length) this.files = await filesOf(this.run);
    if (box.line && file !== this.shown && file in this.files) this.show(file);
    const has = box.line && file === this.shown;
    markLines(this.element, has ? this.lines.slice(box.line - 1, box.to ?? box.line) : []);
  }
}

// Shows the programs of two runs as one text, in which lines that only one of them has are marked. choose(side, id) is
// called for a chosen line.
export class CodeComparison {
  constructor(element, runs, choose) {
    this.element = element;
    this.runs = runs;
    this.choose = choose;
    this.places = null; // for each side and file, the elements of its lines
    makeWalkable(element, "[role=option]", (line) => line.click());
  }

  async isShort() {
    const lists = await Promise.all(this.runs.map(filesOf));
    return lists.flat().reduce((n, f) => n + linesOf(f.source).length, 0) <= MAX_SHORT;
  }

  line(tag, numbers, text, files) {
    const side = numbers[1] ? 1 : 0;
    const element = make("li", { class: tag ? `line-${tag}` : null, role: "option", "aria-selected": "false", tabindex: "-1", "data-before": numbers[0], "data-after": numbers[1],
      onclick: () => this.onLine(side, numbers[side], files[side]) }, tag ? make(tag, {}, coloured(text)) : make("code", {}, coloured(text)));
    for (const i of [0, 1]) if (numbers[i]) this.places[i].set(`${files[i]}:${numbers[i]}`, element);
    return element;
  }

  file(name, sources, files) {
    const at = [0, 0];
    const next = (...sides) => [0, 1].map((i) => (sides.includes(i) ? ++at[i] : null));
    const list = listOfLines(name, "lines compared-lines");
    let changed = 0;
    for (const [both, gone, come] of listChanges(...sources.map((s) => (s === undefined ? [] : linesOf(s))))) {
      list.append(...both.map((l) => this.line(null, next(0, 1), l, files)), ...gone.map((l) => this.line("del", next(0), l, files)),
        ...come.map((l) => this.line("ins", next(1), l, files)));
      changed += gone.length + come.length;
    }
    reach(list);
    return [make("h2", {}, name || "Program"), make("p.hint", {}, changed ? `${changed} lines differ` : "the same in both runs"), list];
  }

  async load() {
    if (this.places) return;
    this.places = [new Map(), new Map()];
    const lists = await Promise.all(this.runs.map(filesOf));
    const names = [...new Set(lists.flatMap((l) => l.slice(1).map((f) => f.source_name)))];
    const rows = [[lists.map((l) => l[0].source_name).join(" and "), [0, 0]],
      ...names.map((n) => [n, lists.map((l) => l.findIndex((f, i) => i && f.source_name === n))])];
    if (lists[0][0].source_name === lists[1][0].source_name) rows[0][0] = lists[0][0].source_name;
    clear(this.element).append(...rows.flatMap(([name, files]) => this.file(name, files.map((f, i) => lists[i][f]?.source), files)));
  }

  async onLine(side, line, file) {
    const ids = await this.runs[side].boxesOfLine(line, file);
    if (ids.length) this.choose(side, ids[0]);
  }

  async mark(side, box) {
    await this.load();
    const count = box.line ? (box.to ?? box.line) - box.line + 1 : 0;
    const lines = Array.from({ length: count }, (_, i) => this.places[side].get(`${box.file ?? 0}:${box.line + i}`));
    markLines(this.element, lines.filter(Boolean));
  }
}
