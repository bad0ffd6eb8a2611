// data.js -- the source of boxes. A server is asked only for the boxes that are shown. A page that is one file contains
// all boxes. Both sources give the same answers, as promises. A box is {id, parent, n, first, depth, kind, place, step,
// state, def, role, model, start, end, waited, tokens, line, to, file, column, width, text, json, cut}: box_json.c
// writes it.
// SPDX-License-Identifier: Apache-2.0
import { byId } from "./dom.js";
import { findIn } from "./box_search.js";

const RETRY_MS = 2000;
const PREVIEW = 600; // number of characters of a result that a box shows at first
const ENDED = "The server does not answer: it has ended. What was loaded is shown; pdl view starts another one.";
const OTHER = "Another pdl view answers here now. Open the address that it printed: this page then shows its run.";
let waits = false;

// Waits until a server answers at this address. Then loads the page again, unless the server answered at once. When the
// server was restarted, it knows the browser as soon as its printed address was opened in any tab, because all tabs
// share one cookie.
export async function awaitServer(report) {
  if (waits) return;
  waits = true;
  for (let tries = 0; ; tries++) {
    const reply = await fetch("/api/runs").catch(() => null);
    if (reply?.ok && tries) location.reload();
    if (reply?.ok) break;
    report(reply?.status === 403 ? OTHER : ENDED);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
  waits = false;
}

async function ask(path, body) {
  const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const reply = await fetch(path, options).catch(() => null);
  if (!reply || reply.status === 403) document.dispatchEvent(new Event("lost"));
  if (!reply) throw new Error(ENDED);
  if (!reply.ok) throw new Error((await reply.text()).trim() || `status ${reply.status}`);
  return reply;
}

async function askJson(path, body) {
  return (await ask(path, body)).json();
}

// A run whose boxes a server has.
export class ServedRun {
  constructor(number, summary) {
    this.base = `/api/${number}`;
    this.number = number;
    this.summary = summary;
    this.boxes = new Map();
  }

  ask(path, body) {
    return askJson(`${this.base}/${path}`, body);
  }

  async askText(path) {
    return (await ask(`${this.base}/${path}`)).text();
  }

  async range(from, n) {
    const list = await this.ask(`boxes/${from}/${n}`);
    for (const box of list) this.boxes.set(box.id, box);
    return list;
  }

  async box(id) {
    return this.boxes.get(id) ?? (await this.range(id, 1))[0];
  }

  children(box, from, n) {
    const count = Math.min(n, box.n - from);
    return count > 0 ? this.range(box.first + from, count) : Promise.resolve([]);
  }

  details(id) {
    return this.ask(`details/${id}`);
  }

  text(id) {
    return this.askText(`text/${id}`);
  }

  source() {
    return this.ask("source");
  }

  trace() {
    return this.askText("trace");
  }

  markdown() {
    return this.askText("markdown");
  }

  boxesOfLine(line, file = 0) {
    return this.ask(`line/${line}/${file}`);
  }

  lanes() {
    return this.ask("lanes");
  }

  find(query) {
    return this.ask("find", query);
  }

  // Returns items of the document: {items, total}.
  document(from, n) {
    return this.ask(`document/${from}/${n}`);
  }

  inside(id, from, n) {
    return this.ask(`inside/${id}/${from}/${n}`);
  }

  call(number) {
    return this.ask(`call/${number}`);
  }

  // Returns two hashes for each call: one of its messages, and one of its model and parameters.
  asked() {
    return this.ask("asked");
  }

  calls(sort = "") {
    return this.ask(`calls?sort=${sort}`);
  }

  // Returns rows of a map. query: {sort, where}.
  rows(id, from, n, query = {}) {
    return this.ask(`rows/${id}/${from}/${n}?${new URLSearchParams(query)}`);
  }

  origin(id) {
    return this.ask(`origin/${id}`);
  }

  // Returns the items of the document that fit the query, {items, total}. Each item is returned as a list: its number
  // and the numbers of the items around it, innermost first.
  findItems(query) {
    return this.ask(`find?${new URLSearchParams(query)}`);
  }
}

// Returns at most n items between the positions `at` and `end` of a list, from the one with index `from` on: {items,
// total}. The items inside of an item follow it in the list. They are skipped, and not counted.
function besides(list, at, end, from, n) {
  const items = [];
  let total = 0;
  for (let i = at; i < end; i += 1 + (list[i].inside ?? 0), total++) if (total >= from && total < from + n) items.push(list[i]);
  return { items, total };
}

// A run whose newest items are in the browser. These are all items, unless the run is very long. Everything else is
// requested from the server when it is needed.
export class FlatRun extends ServedRun {
  constructor(number, summary) {
    super(number, summary);
    this.items = [];
    this.from = 0;
  }

  // Requests the newest items. Returns false when the document of this run cannot be made, or cannot be made yet.
  async refresh() {
    const reply = await fetch(`${this.base}/newest`);
    if (!reply.ok) return false;
    const { items, from, skipped, late, now, ...rest } = await reply.json();
    Object.assign(this, { items, from, skipped, late });
    Object.assign(this.summary, rest, this.summary.live ? { micros: now } : {});
    return true;
  }

  async document(from, n) {
    return besides(this.items, 0, this.items.length, from, n);
  }

  async inside(id, from, n) {
    const at = id - this.from;
    return besides(this.items, at + 1, at + 1 + (this.items[at].inside ?? 0), from, n);
  }

  source() {
    return this.ask("program");
  }
}

const MAX_BARS_AT_ONCE = 2000;

// Returns bars in lanes. A bar is a model call that has ended, or another ended box that has no inner boxes and is not
// inside a model call. When there are many, only the longest are returned. boxOf(id): the box.
export function lanesOf(list, boxOf, most = MAX_BARS_AT_ONCE) {
  const isModel = (b) => b?.kind === "model";
  const bars = list.filter((b) => b.end !== undefined && (!b.n || isModel(b)) && !isModel(boxOf(b.parent)));
  const longest = bars.length > most ? bars.toSorted((a, b) => b.end - b.start - a.end + a.start).slice(0, most) : bars;
  const ends = [];
  return longest
    .toSorted((a, b) => a.start - b.start || a.id - b.id)
    .map((b) => {
      let lane = ends.findIndex((end) => end <= b.start);
      if (lane < 0) lane = ends.length;
      ends[lane] = b.end;
      return { id: b.id, kind: b.kind, start: b.start, end: b.end, waited: b.waited, lane };
    });
}

// Returns a member of a box. When the member has only the messages that are new, the earlier messages are added from the boxes before it.
function wholeMember(list, member) {
  const parts = [];
  // bounds the walk, because in a hostile trace blocks may name each other in a circle
  for (let m = member; Array.isArray(m?.value) && parts.length < 2 * list.length; m = list[m.continues]?.members.find((x) => x.name === m.of)) parts.push(m.value);
  return member.continues === undefined ? member : { ...member, value: parts.reverse().flat() };
}

// Puts shared values in the place of their numbers (shared_values.h). The result contains the shared values themselves, so it
// must not be changed.
function unshared(x, values) {
  if (Array.isArray(x)) return x.map((y) => unshared(y, values));
  if (typeof x !== "object" || !x) return x;
  if (x["@"] !== undefined) return values[x["@"]];
  return Object.fromEntries(Object.entries(x).map(([k, y]) => [k.replace(/^@/, ""), unshared(y, values)]));
}

// Completes a box of a page that is one file: gives the box its whole place, and the text that such a page has only in
// the details of the box.
function complete(box, _, list) {
  if (box.place?.startsWith(".")) box.place = (list[box.parent]?.place ?? "") + box.place; // the boxes before this one have their whole places already
  const result = box.text === undefined ? box.members.find((m) => m.name === "pdl__result") ?? box.members.find((m) => m.name === "msg") : null;
  if (typeof result?.value !== "string") return;
  box.text = result.value.slice(0, PREVIEW);
  if (result.value.length > PREVIEW) box.cut = true;
}

// A run inside the page. Each part of it is in a separate element, which is parsed when the part is requested. Parts
// that the first screen does not need come after the script, so the browser may not have received them yet.
export class EmbeddedRun {
  constructor() {
    this.summary = JSON.parse(byId("run").textContent);
    this.parts = {};
    this.first = JSON.parse(byId("run-first")?.textContent ?? "{}");
  }

  // Returns one of the lists of the first screen, which a long document has before its items (first_lists.h); null when
  // the list is not one of the first lists.
  early(list, from, n) {
    const x = this.first[`${list}/${from}`];
    return x && (x.items.length >= n || from + x.items.length >= x.total) ? { ...x, items: x.items.slice(0, n) } : null;
  }

  async part(name) {
    const isThere = () => document.readyState !== "loading" || byId(`run-${name}`)?.nextElementSibling;
    if (!isThere()) await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
    if (!this.parts[name]) {
      let part = JSON.parse(byId(`run-${name}`).textContent);
      if (name === "list") {
        const { boxes, values } = part;
        for (const i of values.keys()) values[i] = unshared(values[i], values); // a value refers only to values before it
        part = boxes.map((b) => unshared(b, values));
        part.forEach(complete);
      }
      this.parts[name] = part;
    }
    return this.parts[name];
  }

  async box(id) {
    return (await this.part("list"))[id];
  }

  async children(box, from, n) {
    return box.n ? (await this.part("list")).slice(box.first + from, box.first + Math.min(from + n, box.n)) : [];
  }

  async details(id) {
    const list = await this.part("list");
    return { ...list[id], members: list[id].members.map((m) => wholeMember(list, m)) };
  }

  async text(id) {
    const box = await this.details(id);
    const result = box.members.find((m) => m.name === "pdl__result" || m.name === "msg");
    if (!result) return "";
    if (result.cut !== undefined) return result.cut;
    return typeof result.value === "string" ? result.value : JSON.stringify(result.value, null, 2);
  }

  async source() {
    return this.summary;
  }

  async boxesOfLine(line, file = 0) {
    return (await this.part("list")).filter((b) => b.line === line && (b.file ?? 0) === file).map((b) => b.id);
  }

  async lanes() {
    const list = await this.part("list");
    return lanesOf(list, (id) => list[id]);
  }

  async find(query) {
    const list = await this.part("list");
    return findIn(list, (id) => list[id], query);
  }

  async document(from, n) {
    const early = this.early("document", from, n);
    if (early) return early;
    const all = await this.part("items");
    return besides(all, 0, all.length, from, n);
  }

  async inside(id, from, n) {
    const early = this.early(id, from, n);
    if (early) return early;
    const all = await this.part("items");
    return besides(all, id + 1, id + 1 + (all[id].inside ?? 0), from, n);
  }

  // Returns the document as Markdown: the text, and a line for each other outermost item that has a title.
  async markdown() {
    const { title, ended, name } = this.summary;
    const said = (await this.part("items")).map((x) => (x.shape === "piece" ? x.text ?? "" : x.depth || !x.title ? "" : `\n\n- ${x.title}${x.shape === "failure" ? `: ${x.text}` : ""}\n\n`));
    return `# ${title}\n\n${ended}, ${name}\n\n${said.join("").trim()}\n`;
  }

  async call(number) {
    const sent = await this.part("sent");
    const call = sent[number - 1];
    const way = [];
    for (let c = call; c && way.length < sent.length; c = c.same ? sent[c.same_call - 1] : null) way.unshift(c);
    return { ...call, messages: way.reduce((list, c) => [...list.slice(0, c.same ?? 0), ...c.messages], []) };
  }

  async calls(sort = "") {
    const of = { tokens: (c) => (c.tokens_in ?? 0) + (c.tokens_out ?? 0) }[sort] ?? ((c) => c[sort] ?? 0);
    const { items, ...rest } = await this.part("spans");
    return { ...rest, items: sort ? items.toSorted((a, b) => of(b) - of(a) || a.call - b.call) : items };
  }

  async rows(id, from, n, { sort = "", where = "" } = {}) {
    const early = sort || where ? null : this.early(`rows/${id}`, from, n);
    if (early) return early;
    const all = (await this.part("rows"))[id];
    const column = all.columns.findIndex((c) => c.name === sort.replace(/^-/, ""));
    const of = { time: (r) => r.took ?? 0, tokens: (r) => (r.tokens_in ?? 0) + (r.tokens_out ?? 0), state: (r) => (r.state ? 1 : 0) }[sort.replace(/^-/, "")] ?? ((r) => r.cells[column]);
    const fits = (r) => !where || (where === "failed" ? r.state === "failed" : r.cells.some((c) => c.toLowerCase().includes(where.toLowerCase())));
    const order = (a, b) => (isNaN(of(a) - of(b)) ? String(of(a)).localeCompare(String(of(b))) : of(a) - of(b)) * (sort.startsWith("-") ? -1 : 1) || a.number - b.number;
    const items = sort ? all.items.filter(fits).toSorted(order) : all.items.filter(fits);
    return { ...all, items: items.slice(from, from + n), total: items.length };
  }

  async origin(id) {
    return (await this.part("origins"))[id] ?? { from: [], into: [], calls: [], text: "", values: [] };
  }

  async findItems({ text = "", kind = "", model = "", failed, slow, costly }) {
    const items = await this.part("items");
    const calls = (await this.part("spans")).total;
    const tenth = (of) => items.filter((x) => x.call).map(of).toSorted((a, b) => b - a)[Math.ceil(calls / 10) - 1] ?? 1;
    const tokens = (x) => (x.tokens_in ?? 0) + (x.tokens_out ?? 0);
    const [slowest, costliest] = [tenth((x) => x.took ?? 0), tenth(tokens)];
    const has = (s, part) => (s ?? "").toLowerCase().includes(part.toLowerCase());
    const found = items.filter((x) => (!kind || x.shape === kind || x.kind === kind) && (!failed || x.shape === "failure") && (!model || has(x.model, model)) &&
      (!slow || (x.call && x.took >= slowest)) && (!costly || (x.call && tokens(x) >= costliest)) && (!text || has(x.text, text) || has(x.title, text)));
    const wayOf = (x) => {
      const way = [x.id];
      for (let i = x.id - 1, depth = x.depth; depth > 0 && i >= 0; i--) if (items[i].depth < depth) way.push(i), (depth = items[i].depth);
      return way;
    };
    return { items: found.slice(0, 1000).map(wayOf), total: found.length };
  }
}

// Returns the numbers of a box and of the boxes around it, innermost first.
export async function wayTo(run, id) {
  const way = [id];
  for (let b = await run.box(id); b.parent !== undefined; b = await run.box(b.parent)) way.push(b.parent);
  return way;
}

// Returns all runs of the page, and the program that may be run again: {runs, again}.
export async function openRuns() {
  if (byId("run")) return { runs: [new EmbeddedRun()] };
  const { runs, again } = await askJson("/api/runs");
  return { runs: runs.map((summary, i) => new ServedRun(i, summary)), again };
}
