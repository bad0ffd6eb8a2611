// document_search.js -- searches the document. There is one field, and a chip for each condition. Hits are counted and marked, and
// the keys n and N go to the next and the previous one.
// SPDX-License-Identifier: Apache-2.0
import { counted, make, makeButton, clear } from "./dom.js";

const CHIPS = [["kind", "model", "Model"], ["kind", "tool", "Tool"], ["kind", "code", "Code"], ["failed", "1", "Failed"], ["slow", "1", "Slow"], ["costly", "1", "Costly"]];
const WAIT_MS = 150; // time from the last key to the beginning of a search

export class Seeker {
  // view: the document. onHits is called with the numbers of the calls that were found.
  constructor(form, view, onHits) {
    Object.assign(this, { form, view, onHits, hits: [], at: -1, total: 0 });
    this.field = make("input", { type: "search", name: "text", "aria-label": "Find in the document", placeholder: "Find" });
    this.status = make("output", { "aria-live": "polite" });
    this.chips = CHIPS.map(([name, value, title]) => makeButton({ class: "chip", "aria-pressed": "false", "data-name": name, "data-value": value,
      onclick: (e) => this.press(e.currentTarget) }, title));
    clear(form).append(this.field, ...this.chips, this.status,
      makeButton({ class: "chip", "aria-label": "previous hit", onclick: () => this.step(-1) }, "↑"), make("button", { type: "submit", class: "chip", "aria-label": "next hit" }, "↓"));
    form.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.look(), WAIT_MS);
    });
    form.addEventListener("submit", (e) => (e.preventDefault(), this.step(1)));
  }

  press(chip) {
    const on = chip.getAttribute("aria-pressed") !== "true";
    for (const other of this.chips) if (other.dataset.name === chip.dataset.name) other.setAttribute("aria-pressed", "false");
    chip.setAttribute("aria-pressed", String(on));
    return this.look();
  }

  query() {
    const query = Object.fromEntries(this.chips.filter((c) => c.getAttribute("aria-pressed") === "true").map((c) => [c.dataset.name, c.dataset.value]));
    if (this.field.value.trim()) query.text = this.field.value.trim();
    return query;
  }

  async look() {
    const query = this.query();
    const { items, total } = Object.keys(query).length ? await this.view.run.findItems(query) : { items: [], total: 0 };
    Object.assign(this, { hits: items, total, at: -1, text: query.text ?? "" });
    this.status.textContent = Object.keys(query).length ? (total ? `${counted(total)} found` : "nothing found") : "";
    this.mark();
    if (this.hits.length) await this.step(1);
  }

  async step(by) {
    clearTimeout(this.timer);
    if (this.text !== (this.query().text ?? "")) return this.look();
    if (!this.hits.length) return null;
    this.at = (this.at + by + this.hits.length) % this.hits.length;
    this.status.textContent = `${counted(this.at + 1)} of ${counted(this.total)}`;
    const found = await this.view.reveal(this.hits[this.at]);
    this.mark();
    for (const e of document.querySelectorAll(".hit")) e.classList.remove("hit");
    found?.classList.add("hit");
    return null;
  }

  // Marks the text in the items that are drawn; other items are marked when they are drawn.
  mark() {
    this.onHits(this.hits.map(([id]) => this.view.items.get(id)?.call).filter(Boolean));
    if (!globalThis.CSS?.highlights) return;
    const part = this.text?.toLowerCase();
    const ranges = [];
    const walker = document.createTreeWalker(this.view.article, NodeFilter.SHOW_TEXT);
    for (let node = part && walker.nextNode(); node && ranges.length < 2000; node = walker.nextNode()) {
      const text = node.data.toLowerCase();
      for (let i = text.indexOf(part); i >= 0; i = text.indexOf(part, i + part.length)) {
        const range = new Range();
        range.setStart(node, i);
        range.setEnd(node, i + part.length);
        ranges.push(range);
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  }

  clear() {
    this.field.value = "";
    for (const chip of this.chips) chip.setAttribute("aria-pressed", "false");
    return this.look();
  }
}
