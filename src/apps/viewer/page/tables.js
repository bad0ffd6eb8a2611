// tables.js -- shows the rows of a map, and model calls, as tables. A run of data.js sorts and filters the rows of a
// map, and only the rows that are shown become elements.
// SPDX-License-Identifier: Apache-2.0
import { counted, make, makeButton, countOf, took } from "./dom.js";

const ROWS_AT_ONCE = 50; // how many rows are added to the page at once

function tokensOf(x) {
  return x.tokens_in || x.tokens_out ? `${counted(x.tokens_in ?? 0)} / ${counted(x.tokens_out ?? 0)}` : "";
}

function cellOf(attributes, ...children) {
  return make("td", { role: "gridcell", ...attributes }, ...children);
}

const [SHORT_CELL, LONG_CELL] = [14, 40]; // characters
const MAX_HISTOGRAM = 60; // maximum length of the text below a title, which counts values

// The table of the rows of one map. view: the document that shows it.
export class RowTable {
  constructor(view, item) {
    Object.assign(this, { view, item, sort: "", where: "", from: 0 });
    this.body = make("tbody", {});
    this.head = make("tr", { role: "row" });
    this.said = make("output", { class: "rows-said", "aria-live": "polite" });
    this.field = make("input", { type: "search", "aria-label": "Rows that contain", placeholder: "Rows that contain …", oninput: () => this.set({ where: this.field.value, from: 0 }) });
    this.number = make("input", { type: "number", min: 1, max: item.number, "aria-label": `Row, 1 to ${item.number}`, placeholder: "Row", onchange: () => this.goTo(Number(this.number.value)) });
    this.failed = makeButton({ class: "chip", "aria-pressed": "false", onclick: () => this.set({ where: this.where === "failed" ? "" : "failed", from: 0 }) }, "Failed");
    this.before = makeButton({ class: "chip", onclick: () => this.set({ from: Math.max(0, this.from - ROWS_AT_ONCE) }) }, "Before");
    this.after = makeButton({ class: "chip", onclick: () => this.set({ from: this.from + ROWS_AT_ONCE }) }, "After");
    this.grid = make("table", { role: "grid", class: "grid", "aria-label": item.title }, make("thead", {}, this.head), this.body);
    this.element = make("section", { class: "rows", "data-title": item.title, "data-kind": "map" },
      make("div.gridbar", {}, make("span", {}, item.title), this.field, this.failed, this.number, this.said),
      make("div.scroll", {}, this.grid), make("div.gridbar", {}, this.before, this.after));
  }

  async load() {
    const wanted = (this.wanted = (this.wanted ?? 0) + 1);
    const reply = await this.view.run.rows(this.item.id, this.from, ROWS_AT_ONCE, { sort: this.sort, where: this.where });
    if (wanted !== this.wanted) return; // another order or filter was chosen meanwhile
    const { columns, items, total, all, failed } = reply;
    const names = columns.filter((c) => c.kind !== "time");
    const hasTokens = items.some((x) => x.tokens_in || x.tokens_out);
    const hasStates = items.some((x) => x.state);
    const times = columns.find((c) => c.kind === "time" && c.most >= 1000); // times below 1 ms are not shown
    this.grid.setAttribute("aria-rowcount", String(total + 1));
    this.head.replaceChildren(this.title("row", "", "num"), ...names.map((c) => this.title(c.name, c.name, "", this.few(c))),
      ...(times ? [this.title("time", "time", "num", `median ${took(times.median) || "under 1 ms"}, 99\u00a0% ${took(times.most)}`)] : []), ...(hasTokens ? [this.title("tokens", "tokens", "num")] : []),
      ...(hasStates ? [this.title("state", "state")] : []));
    this.body.replaceChildren(...items.map((x, i) => this.row(x, i, { hasTimes: !!times, hasTokens, hasStates })));
    this.failed.hidden = !failed;
    this.failed.textContent = `Failed ${counted(failed)}`;
    this.failed.setAttribute("aria-pressed", String(this.where === "failed"));
    this.before.hidden = this.from === 0;
    this.after.hidden = this.from + items.length >= total;
    this.element.lastElementChild.hidden = this.before.hidden && this.after.hidden;
    const range = items.length < total ? `${counted(this.from + 1)} to ${counted(this.from + items.length)} of ` : "";
    const isAll = !range && total === all; // when all rows are shown, the title already has their number
    this.said.textContent = isAll ? "" : `${range}${counted(total)}${total < all ? ` of ${counted(all)} rows` : ""}`;
  }

  few({ values = [] }) {
    const named = values.filter((v) => v.text && isNaN(v.text)); // a value that is a number is left out
    const text = named.map((v) => `${v.text} ${counted(v.n)}`).join(", ");
    return named.some((v) => v.n > 1) && text.length < MAX_HISTOGRAM ? text : "";
  }

  title(text, sort, style = "", below = "") {
    const is = this.sort.replace(/^-/, "") === sort && (sort || !this.sort);
    const down = this.sort.startsWith("-");
    const next = is && !down && sort ? `-${sort}` : sort;
    const button = text ? makeButton({ onclick: () => this.set({ sort: next, from: 0 }) }, text, is && sort ? (down ? " ↓" : " ↑") : "") : null;
    return make("th", { scope: "col", role: "columnheader", class: style, "aria-sort": is && sort ? (down ? "descending" : "ascending") : null }, button, below ? make("span.hist", {}, below) : null);
  }

  row(x, i, { hasTimes, hasTokens, hasStates }) {
    const cells = x.cells.map((c) => cellOf({ class: c.length > LONG_CELL ? "long" : c.length < SHORT_CELL ? "brief" : null }, c));
    const open = x.inside ? makeButton({ class: "n", "aria-expanded": "false", "aria-label": `row ${x.number}`, onclick: () => this.open(x, row, open) }, String(x.number)) : String(x.number);
    const row = make("tr", { role: "row", id: `item-${x.id}`, "aria-rowindex": this.from + i + 2, class: x.state === "failed" ? "bad" : null }, cellOf({ class: "num" }, open), ...cells,
      hasTimes ? cellOf({ class: "num" }, took(x.took)) : null, hasTokens ? cellOf({ class: "num" }, tokensOf(x)) : null,
      hasStates ? cellOf({}, x.state ?? "") : null);
    return row;
  }

  // Opens or closes the details of a row below it.
  async open(x, row, button) {
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) return row.nextElementSibling.remove();
    row.after(make("tr", { role: "row" }, cellOf({ colspan: row.childElementCount }, ...(await this.view.inside(x)))));
    return null;
  }

  async set(what) {
    Object.assign(this, what);
    await this.load();
  }

  async goTo(number) {
    if (!(number >= 1 && number <= this.item.number)) return;
    this.field.value = "";
    await this.set({ sort: "", where: "", from: number - 1 });
  }
}

// the columns of the table of calls; numbers come first, since a narrow window shows only the first columns
const CALL_COLUMNS = [["call", "", "num"], ["time", "took", "num"], ["waited", "waited", "num"], ["in", "tokens_in", "num"], ["out", "tokens_out", "num"], ["cost", "cost", "num"], ["who", "", ""], ["model", "", ""], ["answer", "", ""]];

// Makes the table of model calls. choose(number) opens a call. sort: the column that sorts the rows at first.
export async function callTable(run, choose, sort, close) {
  const { items } = await run.calls(sort);
  const used = CALL_COLUMNS.filter(([, of]) => !["waited", "cost"].includes(of) || items.some((c) => c[of]));
  const value = { call: (c) => makeButton({ class: "call", "aria-label": `call ${c.call}, ${c.text.slice(0, 80)}`, onclick: () => choose(c.call) }, String(c.call)),
    who: (c) => c.who ?? "", model: (c) => c.model ?? "", answer: (c) => make("span.short", {}, c.state ?? c.text.trim()), time: (c) => took(c.took), waited: (c) => took(c.waited),
    in: (c) => countOf(c.tokens_in), out: (c) => countOf(c.tokens_out), cost: (c) => (c.cost ? `$${c.cost.toPrecision(2)}` : "") };
  const heads = used.map(([title, of, style]) => make("th", { scope: "col", class: style, "aria-sort": of && (of === sort || (of === "tokens_in" && sort === "tokens")) ? "descending" : null },
    of || title === "call" ? makeButton({ onclick: async (e) => e.target.closest("section").replaceWith(await callTable(run, choose, of, close)) }, title) : title));
  return make("section", { class: "calls", "aria-label": "Calls of models" },
    make("div.gridbar", {}, make("b", {}, "Calls of models"), makeButton({ class: "close", onclick: close }, "Close")),
    make("div.scroll", {}, make("table.grid", {}, make("thead", {}, make("tr", {}, ...heads)),
      make("tbody", {}, ...items.slice(0, 1000).map((c) => make("tr", {}, ...used.map(([title, , style]) => make("td", { class: style }, value[title](c)))))))));
}
