// rounds.js -- makes the pieces of a run's text, and the items that have many parts: loops and maps.
// SPDX-License-Identifier: Apache-2.0
import { counted, inOneLine, make, makeButton, restOf, took } from "./dom.js";
import { RowTable } from "./tables.js";

export const AT_ONCE = 100; // how many items are requested at once
const ENDS = 3; // how many first and last rounds of a long loop are shown
const FIRST_LINES = 20; // how many first rounds of a loop are shown when its rounds only print
const ROWS = 20; // how many further rounds are shown at once

export function tookOf(item) {
  const text = took(item.took);
  return text ? make("span.took", {}, text) : null;
}

// Makes an answer that is arriving; live_document.js adds its text.
export function arriving(item) {
  return make("span", { class: "piece live", "data-maker": "model", "data-place": item.place, "data-call": item.call ?? null, role: "button", tabindex: "0",
    "aria-expanded": "false", "aria-label": `model, call ${item.call}, is answering` });
}

// Returns the text that a screen reader reads for a piece: its maker, then its text.
function labelOf(item, text) {
  const made = item.parts?.filter((p) => p.kind && p.kind !== "expression").toSorted((x, y) => y.text.length - x.text.length)[0] ?? item;
  const call = made.call ?? item.call;
  const maker = inOneLine([made.kind, item.model].filter(Boolean).join(" "), call && `call ${call}`);
  return `${maker}: ${text.slice(0, 200)}`;
}

// Returns the parts of a piece, coloured by who made them; the author's words have no colour.
function partsOf(item, text) {
  if (!item.parts) return [text];
  const parts = item.parts.map((p) => ({ ...p }));
  parts[0].text = parts[0].text.trimStart();
  parts.at(-1).text = parts.at(-1).text.trimEnd();
  return parts.map((p) => (p.kind && p.text ? make("span", { class: "part", "data-maker": p.kind, "data-from": p.from ?? null }, p.text) : p.text));
}

// Makes a piece: a button inside the line. The name of the button for screen readers begins with the maker of the
// piece; white space at its ends is outside the button.
export function piece(item) {
  if (item.state === "running" && item.place) return [arriving(item)];
  const [, before, text, after] = /^(\s*)([^]*?)(\s*)$/.exec(item.text ?? "");
  if (!item.kind || !text) return item.cut ? [make("span", {}, item.text), restOf(item)] : [item.text ?? ""];
  const who = item.kind === "person" && item.title ? make("span.who", {}, item.title) : null;
  return [before, ...(who ? [who] : []), make("span", { role: "button", tabindex: "0", class: item.parts ? "piece mixed" : "piece", "data-maker": item.kind, "data-item": item.id,
    "data-call": item.kind === "model" ? item.call ?? null : null, "aria-expanded": "false", "aria-label": labelOf(item, text) }, ...partsOf(item, text)),
  ...(item.cut ? [restOf(item)] : []), after];
}

// Makes the rows of loops and maps. The class of document.js, which extends this one, has the run and the functions
// `know` and `part`.
export class Rounds {
  async round(loop, x) {
    const body = make("div.round-text", {});
    const { items } = await this.run.inside(x.id, 0, AT_ONCE);
    this.know(items);
    for (const y of items) body.append(...(y.shape === "piece" ? piece(y) : [await this.part(y)]));
    return make("div", { class: "round", id: `item-${x.id}` }, make("span.n", {}, String(x.number)), body, tookOf(x) ?? make("span"));
  }

  async rounds(item, from, count) {
    const { items } = await this.run.inside(item.id, from, count);
    this.know(items);
    const made = [];
    for (const x of items) made.push(x.shape === "turn" ? await this.round(item, x) : await this.part(x));
    return made;
  }

  // Makes a loop with its first and last rounds. The rounds between are shown, some at a time, when a person asks for
  // them.
  async loop(item) {
    const n = item.number;
    const { items: [one] } = await this.run.inside(item.id, 0, 1);
    const { items: parts } = one?.inside ? await this.run.inside(one.id, 0, AT_ONCE) : { items: [] };
    const head = parts.every((x) => x.shape === "piece") ? FIRST_LINES : ENDS;
    const first = Math.min(n, head + ENDS >= n ? n : head);
    const box = make("div", { class: "loop", "data-title": item.title }, this.heights(item), ...(await this.rounds(item, 0, first)));
    if (first < n) box.append(this.between(item, first, n - ENDS), ...(await this.rounds(item, n - ENDS, ENDS)));
    return box;
  }

  // Makes the title of a loop, and a column for each round, whose height shows how long the round took. When there are
  // many rounds, a column shows the longest of several. Without times there are no columns.
  heights(item) {
    const most = Math.max(...(item.heights ?? []), 0);
    const head = make("p.loop-head", {}, item.title ?? "");
    if (most < 1000) return head;
    const columns = item.heights.map((h) => {
      const column = make("i");
      column.style.height = `${Math.max(4, (100 * h) / most)}%`;
      return column;
    });
    return make("div", {}, head, make("div", { class: "spark", role: "img", "aria-label": `Time of each of ${counted(item.number)} iterations, ${took(most)} at most` }, ...columns));
  }

  between(item, from, to) {
    const box = make("p.between", {});
    const show = async (at) => {
      const rounds = await this.rounds(item, at, Math.min(ROWS, to - at));
      box.replaceWith(...(at > from ? [this.between(item, from, at)] : []), ...rounds, ...(at + ROWS < to ? [this.between(item, at + ROWS, to)] : []));
      rounds[0]?.scrollIntoView({ block: "nearest" });
    };
    const field = make("input", { type: "number", min: from + 1, max: to, placeholder: "Number", "aria-label": `Iteration, ${from + 1} to ${to}` });
    field.addEventListener("change", () => field.value >= from + 1 && field.value <= to && show(Number(field.value) - 1));
    box.append(makeButton({ onclick: () => show(from) }, `${counted(to - from)} iterations, ${from + 1} to ${to}`), " ", field);
    return box;
  }

  async map(item) {
    const table = new RowTable(this, item);
    await table.load();
    return table.element;
  }
}
