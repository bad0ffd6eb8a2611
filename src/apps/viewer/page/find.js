// find.js -- the search form, by which boxes are found: by text, kind, role, variable or model, or because they failed,
// were slow or costly.
// SPDX-License-Identifier: Apache-2.0
import { make, clear } from "./dom.js";

const FIELDS = [
  ["text", "Text", "search"],
  ["kind", "Kind", "text"],
  ["role", "Role", "text"],
  ["variable", "Variable", "text"],
  ["model", "Model", "text"],
  ["micros", "At least ms", "number"],
  ["tokens", "At least tokens", "number"],
];

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
      make("label", { class: "check" }, make("input", { name: "failed", type: "checkbox" }), "Errors"),
      make("button", { type: "submit" }, "Next"),
      make("button", { type: "button", onclick: () => this.step(-1) }, "Previous"),
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
