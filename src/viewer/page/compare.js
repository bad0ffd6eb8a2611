// compare.js -- two runs side by side. Boxes of the same place stand beside each other, words that
// changed are marked, and a box that the other run does not have says so.
// SPDX-License-Identifier: Apache-2.0
import { make, duration } from "./dom.js";
import { wordChanges } from "./text.js";

const PAIRS_AT_ONCE = 200; // children that are compared at once
const PAIRS_AT_FIRST = 300;

// What a box is recognised by. Functions have no place, so the step in the source counts, too, and
// of several equal ones the number.
function keysOf(boxes) {
  const seen = new Map();
  return boxes.map((b) => {
    const key = `${b.kind} ${b.place ?? ""} ${b.step ?? ""}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
    return `${key} ${seen.get(key)}`;
  });
}

// The children of two boxes as pairs: those of one place belong together. Order is that of the
// second run, with what is missing there where it stood.
function pairs(left, right) {
  const [leftKeys, rightKeys] = [left, right].map(keysOf);
  const byPlace = new Map(left.map((b, i) => [leftKeys[i], b]));
  const used = new Set();
  const out = [];
  const waiting = [...left];
  for (const [i, b] of right.entries()) {
    const other = byPlace.get(rightKeys[i]);
    if (other) {
      while (waiting.length && waiting[0] !== other) {
        const gone = waiting.shift();
        if (!used.has(gone)) out.push([gone, null]);
      }
      waiting.shift();
      used.add(other);
    }
    out.push([other ?? null, b]);
  }
  for (const gone of waiting) if (!used.has(gone)) out.push([gone, null]);
  return out;
}

function numbers(box) {
  const time = box.end > box.start ? duration(box.end - box.start) : "";
  return make("span", { class: "numbers" }, `${box.tokens ? `${box.tokens} tokens ` : ""}${time}`);
}

export class Comparison {
  constructor(element, runs, onChoose) {
    this.element = element;
    this.runs = runs;
    this.onChoose = onChoose;
    this.shown = 0;
    element.classList.add("compared");
    element.addEventListener("keydown", (e) => this.onKey(e));
  }

  async start() {
    const roots = await Promise.all(this.runs.map((r) => r.box(0)));
    const row = await this.row(roots);
    row.querySelector("[role=treeitem]").tabIndex = 0;
    this.element.replaceChildren(row);
    await this.openSome(row);
  }

  async openSome(row) {
    const queue = [row];
    while (queue.length && this.shown < PAIRS_AT_FIRST) {
      const next = queue.shift();
      await this.open(next);
      queue.push(...next.querySelectorAll(":scope > .rows > .row"));
    }
  }

  async textOf(side, box) {
    if (!box) return "";
    return box.cut ? this.runs[side].text(box.id) : box.text ?? "";
  }

  // What a pair shows: of boxes with boxes in them nothing, they differ in those.
  async texts(pair) {
    if (pair.some((b) => b?.n && b.kind !== "model")) return [null, null];
    const [a, b] = await Promise.all(pair.map((box, side) => this.textOf(side, box)));
    return pair[0] && pair[1] && a !== b ? wordChanges(a, b) : [[a], [b]];
  }

  cell(side, box, other, text) {
    const state = !box ? "missing" : other ? box.state : "added";
    const name = box
      ? `${box.kind}, ${box.place ?? ""}${other ? "" : ", only in this run"}`
      : `missing: ${other.kind}, ${other.place ?? ""}`;
    const cell = make("div", {
      role: "treeitem", class: `box ${state}`, tabindex: "-1", "aria-label": name,
      "aria-level": (box ?? other).depth + 1, "data-kind": box?.kind, "data-state": box?.state,
      onclick: () => box && this.onChoose(this.runs[side], box),
    }, make("div", { class: "title" },
      make("span", { class: "kind" }, box ? box.kind : "missing"),
      make("span", { class: "def" }, (box ?? other).def ?? ""), box ? numbers(box) : null),
    text && box ? make("div", { class: "result" }, text) : null);
    return cell;
  }

  async row(pair) {
    const text = await this.texts(pair);
    const changed = pair[0] && pair[1] && text[0] && text[0].some((n) => typeof n !== "string");
    const row = make("div", { class: changed || !pair[0] || !pair[1] ? "row changed" : "row",
      role: "presentation" },
      make("div", { class: "pair", role: "presentation" },
        pair.map((box, side) => this.cell(side, box, pair[1 - side], text[side]))));
    row.pair = pair;
    this.shown++;
    if (pair[0]?.n || pair[1]?.n)
      row.append(make("button", { type: "button", class: "rest", onclick: () => this.open(row) }, "Open"));
    return row;
  }

  async open(row) {
    const button = row.querySelector(":scope > button");
    if (!button || !row.pair) return;
    button.remove();
    const lists = await Promise.all(row.pair.map((box, side) =>
      box ? this.runs[side].children(box, 0, PAIRS_AT_ONCE) : []));
    const rows = make("div", { class: "rows", role: "group" });
    for (const pair of pairs(...lists)) rows.append(await this.row(pair));
    row.append(rows);
    const rest = Math.max(...row.pair.map((b) => (b?.n ?? 0) - PAIRS_AT_ONCE));
    if (rest > 0) rows.append(make("p", { class: "hint" }, `${rest} more are not compared`));
  }

  onKey(e) {
    const by = { ArrowDown: 2, ArrowUp: -2, ArrowRight: 1, ArrowLeft: -1 }[e.key];
    const all = [...this.element.querySelectorAll("[role=treeitem]")];
    const next = by && all[all.indexOf(document.activeElement) + by];
    if (!next) return;
    e.preventDefault();
    next.focus();
  }
}
