// box_search.js -- the search form, by which boxes are found: by text, kind, role, variable or model, or because they failed,
// were slow or costly.
// SPDX-License-Identifier: Apache-2.0
import { make, makeButton, clear } from "./dom.js";

const FIELDS = [
  ["text", "Text", "search"],
  ["kind", "Kind", "text"],
  ["role", "Role", "text"],
  ["variable", "Variable", "text"],
  ["model", "Model", "text"],
  ["micros", "At least ms", "number"],
  ["tokens", "At least tokens", "number"],
];

function fits(box, query) {
  const has = (text, part) => (text ?? "").toLowerCase().includes(part.toLowerCase());
  const known = box.members ? JSON.stringify(box.members) : box.text;
  return (
    (!query.kind || box.kind === query.kind) &&
    (!query.place || box.place === query.place) &&
    (!query.role || box.role === query.role) &&
    (!query.state || box.state === query.state) &&
    (!query.micros || box.end - box.start >= query.micros) &&
    (!query.tokens || (box.tokens ?? 0) >= query.tokens) &&
    (!query.variable || box.def === query.variable || box.defines?.includes(query.variable)) &&
    (!query.model || has(box.model, query.model)) &&
    (!query.text || has(box.place, query.text) || has(known, query.text))
  );
}

// Returns the boxes that fit the query, in the order of their numbers, each with the numbers of the boxes around it.
// When a text is searched, only the innermost boxes are returned.
export function findIn(list, boxOf, query) {
  const inside = new Set();
  const found = [];
  for (const box of list.toReversed()) {
    if (inside.has(box.id) || !fits(box, query)) continue;
    const way = [box.id];
    for (let b = box; b.parent !== undefined; b = boxOf(b.parent)) way.push(b.parent);
    found.push(way);
    if (query.text) way.forEach((id) => inside.add(id));
  }
  return { boxes: found.toReversed().slice(0, 1000), found: found.length };
}

export class Finder {
  // choose(id, side) is called with a box of one of the runs.
  constructor(form, runs, choose) {
    this.form = form;
    this.runs = runs;
    this.choose = choose;
    this.found = [];
    this.at = -1;
    this.status = make("output", { "aria-live": "polite" });
    const inputs = FIELDS.map(([name, title, type]) =>
      make("label", {}, title, make("input", { name, type, min: type === "number" ? 0 : null })));
    clear(form).append(...inputs,
      make("label.check", {}, make("input", { name: "failed", type: "checkbox" }), "Errors"),
      make("button", { type: "submit" }, "Next"),
      makeButton({ onclick: () => this.step(-1) }, "Previous"),
      this.status);
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      this.step(1);
    });
    form.addEventListener("input", () => (this.at = -1));
  }

  query() {
    const query = {};
    for (const [name, , type] of FIELDS) {
      const value = this.form.elements[name].value.trim();
      if (value) query[name] = type === "number" ? Math.floor(Number(value)) : value;
    }
    if (query.micros) query.micros *= 1000;
    if (this.form.elements.failed.checked) query.state = "failed";
    return query;
  }

  async step(by) {
    if (this.at < 0) {
      const lists = await Promise.all(this.runs.map((r) => r.find(this.query())));
      this.found = lists.flatMap(({ boxes }, side) => boxes.map(([id]) => [id, side]));
      this.total = lists.reduce((n, l) => n + l.found, 0);
    }
    if (!this.found.length) {
      this.status.textContent = "nothing found";
      return;
    }
    this.at = this.at < 0 ? 0 : (this.at + by + this.found.length) % this.found.length;
    const [id, side] = this.found[this.at];
    this.status.textContent = `${this.at + 1} of ${this.total}` + (this.runs.length > 1 ? `, in ${this.runs[side].summary.name}` : "");
    await this.choose(id, side);
    this.form.elements.text.focus();
  }
}
