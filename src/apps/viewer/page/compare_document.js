// compare_document.js -- shows two runs as documents beside each other. Changed words in texts are marked, works with
// the same place are paired, and calls show what was sent in both runs.
// SPDX-License-Identifier: Apache-2.0
import { counted, inOneLine, make, makeButton, clear, plural, say, countOf, took } from "./dom.js";
import { groupsOf } from "./document.js";
import { ROLES, factsOf } from "./opened.js";
import { listChanges, wordChanges } from "./text.js";

const LISTED_CALLS = 100; // maximum number of calls that are listed below one text
const NAMES = ["first run", "second run"];
const SAME = "The runs do not differ in what they made, and asked for it alike.";

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
    this.asked = await Promise.all(this.runs.map((r) => r.asked()));
    const lists = await Promise.all(this.runs.map((r) => r.document(0, Infinity)));
    const groups = lists.map(({ items }) => groupsOf(items.filter((x) => x.shape !== "note")));
    const heads = this.runs.map((r, i) => make("div.of-run", {}, make("b", { role: "heading", "aria-level": 2 }, NAMES[i][0].toUpperCase() + NAMES[i].slice(1)), factsOf([r.summary.name, ...r.summary.facts.split("\n")])));
    this.article = make("article.two", {}, this.row(heads));
    clear(this.element).append(this.article);
    this.element.classList.add("comparing");
    for (const pair of pairsOf(...groups, groupKey)) this.article.append(...this.group(pair));
    this.differences = [...this.article.querySelectorAll(".differs")];
    say(this.differences.length ? plural(this.differences.length, "difference") : SAME);
    if (this.differences.every((e) => e.matches(".asked-other"))) this.article.prepend(make("p.hint", {}, this.differences.length ? "The runs made the same, but models were asked for it differently." : SAME));
  }

  // differs: the runs printed different texts. other: the texts are equal, but the requests for them differ.
  row(cells, differs = false, other = false) {
    // joins neighbouring text nodes, so that a screen reader reads the words that both runs share as one text
    for (const cell of cells) cell.normalize();
    return make("div", { class: differs ? "pair-row differs" : other ? "pair-row differs asked-other" : "pair-row" }, ...cells);
  }

  // Names the parts in which the requests of two calls differ. Returns "" when the requests are equal.
  otherOf(items) {
    const [a, b] = items.map((x, side) => (x?.call ? this.asked[side][x.call - 1] : null));
    return a && b ? ["messages", "model or parameters"].filter((_, i) => a[i] !== b[i]).map((what) => `other ${what}`).join(", ") : "";
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
    const head = (title) => makeButton({ class: "work-head", "aria-expanded": String(differs), onclick: () => {
      body.hidden = !body.hidden;
      for (const b of box.querySelectorAll(":scope > .pair-row .work-head")) b.setAttribute("aria-expanded", String(!body.hidden));
    } }, title);
    box.append(this.row(titles.map((t, i) => make("h2", {}, pair[i] ? head(t) : make("span.missing", {}, t))), !pair[0] || !pair[1]), body);
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
    const row = this.row([left, right].map((nodes, i) => (pair[i] ? make("div.paper", {}, ...nodes) : make("div.missing", {}, "nothing here in this run"))), differs);
    const called = pairsOf(...pair.map((g) => (g ?? []).filter((x) => x.call)), itemKey);
    return called.length ? [row, this.callsOf(called, differs)] : [row];
  }

  // Makes a row with the numbers of the calls that made a text. isMarked: the texts differ. Different texts count as
  // one difference, so a difference of their calls is not counted.
  callsOf(called, isMarked) {
    const shown = called.slice(0, LISTED_CALLS);
    const rest = called.length - shown.length;
    const cells = [0, 1].map((side) => make("div.called", {}, ...shown.filter((items) => items[side]).flatMap((items) => this.button(items, side)), rest > 0 ? `and ${counted(rest)} more` : null));
    return this.row(cells, false, !isMarked && called.some((items) => this.otherOf(items)));
  }

  button(items, side) {
    const { call } = items[side];
    const other = this.otherOf(items);
    const name = inOneLine(`call ${call}`, NAMES[side], other);
    const open = makeButton({ class: "call", "aria-expanded": "false", "data-of": `${side}, ${call}`, "aria-label": name, onclick: (e) => this.openCalls(e.currentTarget, items) }, String(call));
    return other ? [open, make("small.other", {}, other)] : [open];
  }

  line(items) {
    const [left, right, isOther] = words(...items.map((x) => x && textOf(x)));
    const cells = [left, right].map((nodes, side) => {
      const item = items[side];
      if (!item) return make("div", { class: "line missing" }, "not in this run");
      return make("div.line", {}, ...(item.call ? this.button(items, side) : []), make("span.saying", {}, ...nodes), item.took ? make("span.took", {}, took(item.took)) : null);
    });
    return this.row(cells, isOther, Boolean(this.otherOf(items)));
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
    const sent = calls.map((c) => (c ? [...c.messages, { role: "Reply", text: c.reply }] : []));
    const messages = pairsOf(...sent, (m) => m.role).map((pair) => {
      const [left, right] = words(...pair.map((m) => m && m.text));
      return this.row([left, right].map((nodes, i) => (pair[i] ? make("div.message", {}, make("span.speaker", {}, ROLES[pair[i].role] ?? pair[i].role), make("div.text", {}, ...nodes)) : make("div.missing", {}, "not sent"))));
    });
    row.after(make("section", { class: "sent both", "aria-label": `Call ${items[0]?.call ?? "–"} and call ${items[1]?.call ?? "–"}, as they were sent` }, ...messages, facts));
    return null;
  }

  facts(calls) {
    const rows = [["model", (c) => c.model], ["time", (c) => took(c.took)], ["waited", (c) => took(c.waited)], ["first token", (c) => took(c.first)], ["tokens in", (c) => countOf(c.tokens_in)], ["tokens out", (c) => countOf(c.tokens_out)],
      ["cost", (c) => (c.cost ? `$${c.cost.toPrecision(2)}` : "")], ...[...new Set(calls.flatMap((c) => Object.keys(c?.settings ?? {})))].map((k) => [k, (c) => JSON.stringify(c.settings?.[k])])];
    const cells = ([title, of]) => {
      const [a, b] = calls.map((c) => String((c && of(c)) ?? ""));
      if (!a && !b) return null;
      return make("tr", {}, make("th", { scope: "row" }, title), make("td", {}, a === b ? a : make("del", {}, a)), make("td", {}, a === b ? b : make("ins", {}, b)));
    };
    return make("table.grid", {}, make("thead", {}, make("tr", {}, make("td"), ...NAMES.map((n) => make("th", { scope: "col" }, n)))), make("tbody", {}, ...rows.map(cells).filter(Boolean)));
  }

  // Goes to the next difference. Returns the text that the page announces.
  next() {
    if (!this.differences.length) return SAME;
    this.at = (this.at + 1) % this.differences.length;
    const e = this.differences[this.at];
    for (let up = e.closest("[hidden]"); up; up = up.parentElement.closest("[hidden]")) up.hidden = false;
    for (const other of this.differences) other.classList.toggle("chosen", other === e);
    const button = e.matches(".asked-other") && e.querySelector(".call:has(+ .other)[aria-expanded=false]");
    if (button) button.click(); // the difference is in what was sent
    e.scrollIntoView({ block: this.at ? "center" : "nearest" });
    say(`difference ${counted(this.at + 1)} of ${counted(this.differences.length)}`);
    return "";
  }
}
