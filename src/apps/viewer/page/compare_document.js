// compare_document.js -- shows two runs as documents beside each other. Changed words in texts are marked, works are
// aligned by place, and calls show what was sent in both runs.
// SPDX-License-Identifier: Apache-2.0
import { make, clear, say } from "./dom.js";
import { groupsOf } from "./document.js";
import { took } from "./margin.js";
import { listChanges, wordChanges } from "./text.js";

const LISTED_CALLS = 100; // maximum number of calls that are listed below one text
const NAMES = ["first run", "second run"];

function textOf(item) {
  const said = (item.args ?? []).map((a) => `${a.name} ${a.text}`).join(", ");
  return [item.shape === "tool" ? item.name : "", said, item.text ?? (item.inside ? "" : item.title ?? "")].filter(Boolean).join(" ").trim();
}

function isText(group) {
  return group[0].shape === "piece" || group[0].shape === "typed";
}

const groupKey = (group) => (isText(group) ? "text" : `${group[0].shape} ${group[0].name ?? ""}`);
const itemKey = (item) => `${item.shape} ${item.place ?? ""}`;

// Pairs the items of two lists that have the same key. An item that only one list has is paired with nothing.
function pairsOf(a, b, key) {
  const queues = [a, b].map((list) => [...list]);
  return listChanges(a.map(key), b.map(key)).flatMap(([both, gone, come]) => [
    ...both.map(() => [queues[0].shift(), queues[1].shift()]), ...gone.map(() => [queues[0].shift(), null]), ...come.map(() => [null, queues[1].shift()])]);
}

// Returns the texts of both sides with changed words marked, and whether they differ.
function words(a, b) {
  if (a === null || b === null) return [[a ?? ""], [b ?? ""], true];
  return a === b ? [[a], [b], false] : [...wordChanges(a, b), true];
}

export class DocumentComparison {
  // runs: two runs of data.js whose items were loaded completely.
  constructor(element, runs) {
    this.element = element;
    this.runs = runs;
    this.at = -1;
  }

  async start() {
    await Promise.all(this.runs.map((r) => r.refresh()));
    const lists = await Promise.all(this.runs.map((r) => r.document(0, Infinity)));
    const groups = lists.map(({ items }) => groupsOf(items.filter((x) => x.shape !== "note")));
    const heads = this.runs.map((r, i) => make("div", { class: "of-run" }, make("b", {}, NAMES[i][0].toUpperCase() + NAMES[i].slice(1)), make("span", {}, `${r.summary.name}, ${r.summary.facts.split("\n").join(" · ")}`)));
    this.article = make("article", { class: "two" }, this.row(heads));
    clear(this.element).append(this.article);
    this.element.classList.add("comparing");
    for (const pair of pairsOf(...groups, groupKey)) this.article.append(...this.group(pair));
    this.differences = [...this.article.querySelectorAll(".differs")];
    say(this.differences.length ? `${this.differences.length} differences` : "The runs do not differ in what they made.");
    if (!this.differences.length) this.article.prepend(make("p", { class: "hint" }, "The runs do not differ in what they made."));
  }

  row(cells, differs = false) {
    return make("div", { class: differs ? "pair-row differs" : "pair-row" }, ...cells);
  }

  group(pair) {
    const one = pair[0] ?? pair[1];
    if (isText(one)) return this.texts(pair);
    const box = make("section", { class: "pair-work", "aria-label": one[0].title });
    const inner = pairsOf(...[0, 1].map((side) => this.innerOf(side, pair[side])), itemKey);
    const rows = inner.map((items) => this.line(items)).filter(Boolean);
    const differs = rows.some((r) => r.classList.contains("differs"));
    const titles = pair.map((g) => (g ? g[0].title ?? "" : "not in this run"));
    const body = make("div", { hidden: !differs }, ...rows);
    const head = (title) => make("button", { type: "button", class: "work-head", "aria-expanded": String(differs), onclick: () => {
      body.hidden = !body.hidden;
      for (const b of box.querySelectorAll(":scope > .pair-row .work-head")) b.setAttribute("aria-expanded", String(!body.hidden));
    } }, title);
    box.append(this.row(titles.map((t, i) => make("h2", {}, pair[i] ? head(t) : make("span", { class: "missing" }, t))), !pair[0] || !pair[1]), body);
    return [box];
  }

  // Returns the items inside a group, without items that only contain others.
  innerOf(side, group) {
    if (!group) return [];
    const { items, from } = this.runs[side];
    const [first] = group;
    if (!first.inside) return [first];
    return items.slice(first.id + 1 - from, first.id + 1 - from + first.inside).filter((x) => textOf(x));
  }

  texts(pair) {
    const text = pair.map((g) => g && g.map((x) => x.text ?? "").join(""));
    const [left, right, differs] = words(...text);
    const row = this.row([left, right].map((nodes, i) => (pair[i] ? make("div", { class: "paper" }, ...nodes) : make("div", { class: "missing" }, "nothing here in this run"))), differs);
    const called = pairsOf(...pair.map((g) => (g ?? []).filter((x) => x.call)), itemKey);
    return called.length ? [row, this.callsOf(called)] : [row];
  }

  // Makes the numbers of the calls that made a text.
  callsOf(called) {
    const rest = called.length - LISTED_CALLS;
    return this.row([0, 1].map((side) => make("div", { class: "called" }, ...called.slice(0, LISTED_CALLS).filter((items) => items[side]).map((items) => this.button(items, side)), rest > 0 ? `and ${rest} more` : null)));
  }

  button(items, side) {
    const { call } = items[side];
    return make("button", { type: "button", class: "call", "aria-expanded": "false", "data-of": `${side}, ${call}`, "aria-label": `call ${call}, ${NAMES[side]}`, onclick: (e) => this.openCalls(e.currentTarget, items) }, String(call));
  }

  line(items) {
    const [left, right, isOther] = words(...items.map((x) => x && textOf(x)));
    const cells = [left, right].map((nodes, side) => {
      const item = items[side];
      if (!item) return make("div", { class: "line missing" }, "not in this run");
      return make("div", { class: "line" }, item.call ? this.button(items, side) : null, make("span", { class: "saying" }, ...nodes), item.took ? make("span", { class: "took" }, took(item.took)) : null);
    });
    return this.row(cells, isOther);
  }

  // Shows what both calls sent: the messages with changed words marked, and the numbers that differ.
  async openCalls(button, items) {
    const row = button.closest(".pair-row");
    const isOpen = button.getAttribute("aria-expanded") === "true";
    const opened = items.map((x, side) => x && `${side}, ${x.call}`);
    for (const b of row.querySelectorAll(".call")) b.setAttribute("aria-expanded", String(!isOpen && opened.includes(b.dataset.of)));
    if (row.nextElementSibling?.matches(".sent.both")) row.nextElementSibling.remove();
    if (isOpen) return null;
    const calls = await Promise.all(items.map((x, side) => (x?.call ? this.runs[side].call(x.call) : null)));
    const facts = this.facts(calls);
    const sent = calls.map((c) => (c ? [...c.messages, { role: "reply", text: c.reply }] : []));
    const messages = pairsOf(...sent, (m) => m.role).map((pair) => {
      const [left, right] = words(...pair.map((m) => m && m.text));
      return this.row([left, right].map((nodes, i) => (pair[i] ? make("div", { class: "message" }, make("span", { class: "speaker" }, pair[i].role), make("div", { class: "text" }, ...nodes)) : make("div", { class: "missing" }, "not sent"))));
    });
    row.after(make("section", { class: "sent both", "aria-label": `Call ${items[0]?.call ?? "–"} and call ${items[1]?.call ?? "–"}, as they were sent` }, facts, ...messages));
    return null;
  }

  facts(calls) {
    const rows = [["model", (c) => c.model], ["time", (c) => took(c.took)], ["waited", (c) => took(c.waited)], ["first token", (c) => took(c.first)], ["tokens in", (c) => c.tokens_in], ["tokens out", (c) => c.tokens_out],
      ["cost", (c) => (c.cost ? `$${c.cost.toPrecision(2)}` : "")], ...[...new Set(calls.flatMap((c) => Object.keys(c?.settings ?? {})))].map((k) => [k, (c) => JSON.stringify(c.settings?.[k])])];
    const cells = ([title, of]) => {
      const [a, b] = calls.map((c) => String((c && of(c)) ?? ""));
      if (!a && !b) return null;
      return make("tr", {}, make("th", { scope: "row" }, title), make("td", {}, a === b ? a : make("del", {}, a)), make("td", {}, a === b ? b : make("ins", {}, b)));
    };
    return make("table", { class: "grid" }, make("thead", {}, make("tr", {}, make("td"), ...NAMES.map((n) => make("th", { scope: "col" }, n)))), make("tbody", {}, ...rows.map(cells).filter(Boolean)));
  }

  // Goes to the next difference. Returns the text that the page announces.
  next() {
    if (!this.differences.length) return "The runs do not differ in what they made.";
    this.at = (this.at + 1) % this.differences.length;
    const e = this.differences[this.at];
    for (let up = e.closest("[hidden]"); up; up = up.parentElement.closest("[hidden]")) up.hidden = false;
    for (const other of this.differences) other.classList.toggle("chosen", other === e);
    e.scrollIntoView({ block: this.at ? "center" : "nearest" });
    say(`difference ${this.at + 1} of ${this.differences.length}`);
    return "";
  }
}
