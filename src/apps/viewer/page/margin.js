// margin.js -- shows program lines beside the items of a document.
// SPDX-License-Identifier: Apache-2.0
import { make } from "./dom.js";

const MAX_LINES = 14; // maximum number of lines beside one row
const WHOLE = 34; // an expression with more characters may be broken at the end of a line

// Makes the elements of a line of the program, in which keys and expressions are marked.
export function lineOf(text) {
  const [, before, key, rest] = /^(\s*(?:- )?)([\w-]+:(?=\s|$))?(.*)$/s.exec(text);
  const parts = rest.split(/(\$\{.*?\})/s).map((p) => (p.startsWith("${") ? make("b", { class: p.length <= WHOLE ? "whole" : null }, p) : p));
  return [before, key ? make("i", {}, key) : null, ...parts].filter((p) => p !== null && p !== "");
}

// Makes the element of a line. A line that is too long continues two characters to the right of its
// beginning.
function codeLine(text) {
  const line = make("span.code-line", {}, ...lineOf(text), "\n");
  const inner = /^ */.exec(text)[0].length + 2;
  line.style.paddingLeft = `${inner}ch`;
  line.style.textIndent = `-${inner}ch`;
  return line;
}

export class Lines {
  constructor(run) {
    this.run = run;
    this.files = [];
  }

  async load() {
    const s = await this.run.source();
    this.files = [s, ...(s.included ?? [])].map((f) => ({ lines: f.source.split("\n"), written: f.written }));
  }

  // Returns lines of the program as elements.
  code(file, from, to) {
    const lines = this.files[file]?.lines.slice(from - 1, to) ?? [];
    const indent = Math.min(...lines.filter((l) => l.trim()).map((l) => /^ */.exec(l)[0].length), 99);
    const cut = lines.length > MAX_LINES;
    return make("pre", {}, ...lines.slice(0, MAX_LINES).map((l) => codeLine(l.slice(indent))), cut ? "…" : "");
  }

  // Returns the lines of a definition, with the line above them when that line holds only the key.
  withKey(source, name) {
    const above = this.files[source.file]?.lines[source.line - 2]?.trim();
    return above === `${name}:` ? { ...source, line: source.line - 1 } : source;
  }

  // Returns the content of the margin for these items: each of their lines once, up to MAX_LINES lines.
  of(items) {
    const ranges = [];
    for (const { source } of items) {
      if (!source) continue;
      const last = ranges.at(-1);
      if (last && last.file === source.file && source.line >= last.line && source.line <= last.to + 1) last.to = Math.max(last.to, source.to);
      else if (!ranges.some((r) => r.file === source.file && r.line <= source.line && r.to >= source.to)) ranges.push({ ...source });
    }
    const few = [];
    let room = MAX_LINES;
    for (const r of ranges) {
      if (room <= 0) break;
      few.push(make("span.place", {}, `${r.name || "program"}, line ${r.line}`), this.code(r.file, r.line, Math.min(r.to, r.line + room - 1)));
      room -= r.to - r.line + 2;
    }
    return make("div.source", few.length ? { role: "group", "aria-label": "Program" } : {}, ...few);
  }

  // Returns the lines of an item as an element that can be opened, for a window that is too narrow for the margin.
  here(item) {
    return this.folded(this.of([item])) ?? "";
  }

  // Returns a copy of what is in the margin as an element that can be opened; null when the margin is empty.
  folded(margin) {
    const parts = [...margin.cloneNode(true).children];
    if (!parts.length) return null;
    const isOne = parts.length === 2; // one place and its lines
    return make("details", { class: "lines-here" }, make("summary", {}, isOne ? parts[0].textContent : "Program lines"), make("div.source", {}, ...(isOne ? parts.slice(1) : parts)));
  }

  // Returns the line of a failure, with a mark below it.
  fault(item) {
    const { source } = item;
    const text = source && this.files[source.file]?.lines[source.line - 1];
    if (text === undefined || text === null || !source) return null;
    const at = (source.column ?? 1) - 1;
    const width = source.width || text.length;
    return make("pre", {}, make("span.place", {}, `${source.name || "program"}, line ${source.line}`),
      text.slice(0, at), make("u", {}, text.slice(at, at + width)), text.slice(at + width));
  }
}
