// rounds.js -- pieces of the text of a run, and what has many parts in its document: loops and maps.
// SPDX-License-Identifier: Apache-2.0
import { make } from "./dom.js";
import { took } from "./margin.js";

export const AT_ONCE = 100; // items that are asked for at once
const ENDS = 3; // first and last rounds of a long loop that are shown
const FIRST_LINES = 20; // rounds of a loop whose rounds print
const ROWS = 20; // of a map that are shown at once

export function tookOf(item) {
  const text = took(item.took);
  return text ? make("span", { class: "took" }, text) : null;
}

// An answer that is arriving: live_document.js puts its text in.
export function arriving(item) {
  return make("span", { class: "piece live", "data-maker": "model", "data-place": item.place, "data-call": item.call ?? null, role: "button", tabindex: "0",
    "aria-expanded": "false", "aria-label": `model, call ${item.call}, is answering` });
}

// A piece as a button within the line, whose name begins with its maker; white space around it is not its own.
export function piece(item) {
  const [, before, text, after] = /^(\s*)([^]*?)(\s*)$/.exec(item.text ?? "");
  if (item.state === "running" && item.place) return [arriving(item)];
  if (!item.kind || !text) return [item.text ?? ""];
  const maker = [item.kind, item.call ? `call ${item.call}` : null].filter(Boolean).join(", ");
  return [before, make("span", { role: "button", tabindex: "0", class: "piece", "data-maker": item.kind, "data-item": item.id,
    "data-call": item.call ?? null, "aria-expanded": "false", "aria-label": `${maker}: ${text.slice(0, 200)}` }, text),
  ...(item.cut ? [make("span", { class: "more" }, " …")] : []), after];
}

// What document.js makes of loops and maps; run, know and part are its own.
export class Rounds {
  async round(loop, x) {
    const body = make("div", { class: "round-text" });
    const { items } = await this.run.inside(x.id, 0, AT_ONCE);
    this.know(items);
    for (const y of items) body.append(...(y.shape === "piece" ? piece(y) : [await this.part(y)]));
    return make("div", { class: "round", id: `item-${x.id}` }, make("span", { class: "n" }, String(x.number)), body, tookOf(x) ?? make("span"));
  }

  async rounds(item, from, count) {
    const { items } = await this.run.inside(item.id, from, count);
    this.know(items);
    const made = [];
    for (const x of items) made.push(x.shape === "turn" ? await this.round(item, x) : await this.part(x));
    return made;
  }

  // The first and the last rounds; those between are shown when a person asks for them, some at a time.
  async loop(item) {
    const n = item.number;
    const { items: [one] } = await this.run.inside(item.id, 0, 1);
    const { items: parts } = one?.inside ? await this.run.inside(one.id, 0, AT_ONCE) : { items: [] };
    const head = parts.every((x) => x.shape === "piece") ? FIRST_LINES : ENDS;
    const first = Math.min(n, head + ENDS >= n ? n : head);
    const box = make("div", { class: "loop" }, ...(await this.rounds(item, 0, first)));
    if (first < n) box.append(this.between(item, first, n - ENDS), ...(await this.rounds(item, n - ENDS, ENDS)));
    return box;
  }

  between(item, from, to) {
    const box = make("p", { class: "between" });
    const show = async (at) => {
      const rounds = await this.rounds(item, at, Math.min(ROWS, to - at));
      box.replaceWith(...(at > from ? [this.between(item, from, at)] : []), ...rounds, ...(at + ROWS < to ? [this.between(item, at + ROWS, to)] : []));
      rounds[0]?.scrollIntoView({ block: "nearest" });
    };
    const field = make("input", { type: "number", min: from + 1, max: to, "aria-label": `Round, ${from + 1} to ${to}` });
    field.addEventListener("change", () => field.value >= from + 1 && field.value <= to && show(Number(field.value) - 1));
    box.append(make("button", { type: "button", onclick: () => show(from) }, `${(to - from).toLocaleString("en")} rounds, ${from + 1} to ${to}`), " ", field);
    return box;
  }

  async map(item) {
    const body = make("tbody", {});
    const box = make("table", { class: "grid", "data-title": item.title }, make("caption", {}, item.title),
      make("thead", {}, make("tr", {}, make("th", { class: "num" }, "row"), make("th", {}, "result"), make("th", { class: "num" }, "time"))), body);
    const add = async (from) => {
      const { items, total } = await this.run.inside(item.id, from, ROWS);
      this.know(items);
      body.append(...items.map((x) => make("tr", { id: `item-${x.id}` }, make("td", { class: "num" }, String(x.number)), make("td", {}, x.text ?? ""), make("td", { class: "num" }, took(x.took)))));
      const next = from + items.length;
      if (next >= total) return;
      const button = make("button", { type: "button" }, `${(total - next).toLocaleString("en")} more`);
      const row = make("tr", {}, make("td", {}), make("td", { colspan: 2 }, button));
      button.addEventListener("click", () => (row.remove(), add(next)));
      body.append(row);
    };
    await add(0);
    return box;
  }
}
