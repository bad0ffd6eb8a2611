// document.js -- shows the run as a document: its text and, between the lines, what made them. reading_json.c writes the items.
// SPDX-License-Identifier: Apache-2.0
import { byId, clear, counted, make, makeButton, took } from "./dom.js";
import { Outline } from "./outline.js";
import { Lines } from "./margin.js";
import { Marks } from "./marks.js";
import { WRITTEN } from "./code.js";
import { AT_ONCE, arriving, piece, tookOf } from "./rounds.js";
import { callPanel, inBoxes, piecePanel } from "./opened.js";
import { beginningOf, laidOut, shortened, wordsOf } from "./long_text.js";

const FEW = 12; // a work with more parts is closed at first
const ONE_LINE = 250; // characters; a longer result of a tool is shown below the arguments, in separate lines

// the elements through which the keys j and k move
const WALKED = ".fold summary, .lines-here summary, .piece[role=button], .call, .work-head, .quiet, .between button, button.between, .show-all, .grid tbody .n";

// Groups items as they are drawn: texts that follow one another are one group, and every other item is a group.
export function groupsOf(items) {
  const groups = [];
  let text = null;
  for (const item of items) {
    const isText = item.shape === "piece" || item.shape === "typed";
    if (!isText || !text) groups.push((text = []));
    text.push(item);
    if (!isText) text = null;
  }
  return groups;
}

// Returns {name, args} when a reply is only the call of a tool, in the form that agents use. Returns null for others.
function toolCallOf(text) {
  if (!/^\s*\{[^]*\}\s*$/.test(text ?? "")) return null;
  try {
    const call = JSON.parse(text);
    const args = call.arguments ?? call.parameters;
    const isCall = Object.keys(call).length === 2 && typeof (call.name ?? call.tool) === "string" && args?.constructor === Object;
    return isCall ? { name: call.name ?? call.tool, args: Object.entries(args).map(([name, v]) => ({ name, text: typeof v === "string" ? v : JSON.stringify(v) })) } : null;
  } catch {
    return null;
  }
}

// Returns the message of a failure without the expression, when the line below it marks that expression.
function withoutExpression(text, marked) {
  const expression = marked.replace(/^(["'])(.*)\1$/s, "$2");
  const before = `Error during the evaluation of ${expression}: `;
  return expression && text.startsWith(before) ? text.slice(before.length) : text;
}

function argsOf(list) {
  return list.map((a) => make("span.arg", {}, make("i", {}, a.name), " ", a.text));
}

export function number(item) {
  if (!item.call) return null;
  return makeButton({ class: "call", "data-call": item.call, "aria-expanded": "false",
    "aria-label": `call ${item.call}, ${(item.text ?? "").trim().slice(0, 80)}` }, String(item.call));
}

export class DocumentView extends Marks {
  constructor(element, run) {
    super();
    this.element = element;
    this.run = run;
    this.lines = new Lines(run);
    this.items = new Map();
    this.opened = null;
    element.addEventListener("click", (e) => this.press(e.target));
    element.addEventListener("keydown", (e) => this.onKey(e));
  }

  async start() {
    await this.lines.load();
    const { items, total } = await this.run.document(0, AT_ONCE);
    this.article = make("article", {});
    clear(this.element).append(make("nav", { id: "outline", "aria-label": "Contents" }, make("div", {})), this.article);
    await this.add(items);
    this.rest(items.length, total);
    if (this.lines.files[0].written) this.element.append(make("p.notes", {}, WRITTEN));
    this.fillOutline();
  }

  // Closes items that are works until the printed text begins on the first screen. When the text goes beyond the
  // screen, shortens the program lines beside each row to the height of the row. Scrolls to a failure that is not in
  // view.
  fit() {
    const papers = [...this.article.querySelectorAll(".row > .paper, .row > .loop")];
    const heads = [...this.article.querySelectorAll(".work-head[aria-expanded=true]")];
    const last = papers.at(-1);
    while (last && heads.length && last.getBoundingClientRect().top + Math.min(last.offsetHeight, 60) > innerHeight) {
      const head = heads.pop();
      const isAbove = head.compareDocumentPosition(last) & Node.DOCUMENT_POSITION_FOLLOWING;
      if (isAbove && !head.closest(".work").querySelector(".fault")) this.setOpen(head, false);
    }
    const isFull = last && last.getBoundingClientRect().bottom > innerHeight;
    for (const { firstElementChild: shown, lastElementChild: source } of isFull ? this.article.querySelectorAll(".row:has(> .source)") : []) {
      const ends = [...source.querySelectorAll(".code-line")].map((e) => e.getBoundingClientRect().bottom - source.getBoundingClientRect().top);
      const end = ends.findLast((y) => y <= shown.offsetHeight) ?? ends[0]; // no line is cut
      if (end) source.style.maxHeight = `${end}px`;
    }
    this.fillOutline(); // the outline leaves out what is inside closed works
    const fault = this.article.querySelector(".fault");
    if (fault && fault.getBoundingClientRect().bottom > innerHeight && !location.hash) fault.scrollIntoView({ block: "end" });
  }

  setOpen(head, on) {
    head.closest(".work").querySelector(".work-body").hidden = !on;
    head.setAttribute("aria-expanded", String(on));
    const source = on && head.closest(".row")?.querySelector(":scope > .source");
    if (source) source.style.maxHeight = ""; // fit() may have cut its lines to the height of the closed work
  }

  rest(from, total) {
    if (from >= total) return;
    const button = makeButton({ class: "between" }, `${counted(total - from)} more`);
    button.addEventListener("click", async () => {
      button.remove();
      const { items } = await this.run.document(from, AT_ONCE);
      await this.add(items);
      this.rest(from + items.length, total);
      this.fillOutline();
    });
    this.article.append(button);
  }

  know(items) {
    for (const item of items) this.items.set(item.id, item);
  }

  // Adds items. Consecutive items that were printed or typed share one sheet; every other item has a separate row.
  async add(items) {
    this.know(items);
    let paper = null;
    let text = [];
    const end = () => paper && this.row(this.isLive ? paper : shortened(paper, wordsOf(text)), this.lines.of(text), text.some((x) => !x.kind && x.text?.trim()));
    for (const item of items) {
      if (item.shape === "note") continue; // notes are shown at the top of the page instead
      if (item.shape === "piece" || item.shape === "typed") {
        if (!paper) text = [];
        paper ??= make("div.paper", {});
        paper.append(...(item.shape === "piece" ? laidOut(item, piece(item)) : [this.typed(item)]));
        text.push(item);
        continue;
      }
      end();
      paper = null;
      await this.one(item);
    }
    end();
  }

  // Adds a row. isPlain: a part of it cannot be pressed, so a narrow window shows its lines below it.
  row(element, source, isPlain = !element.querySelector(".work-head, [data-call], .piece[role=button]")) {
    // the row before this one has the same source
    const isAgain = source?.textContent && source.textContent === this.margin;
    this.margin = source?.textContent || this.margin;
    const lines = (!isAgain && source) || make("div.source", {});
    const row = make("div.row", {}, element, isPlain ? this.lines.folded(lines) : null, lines);
    this.article.append(row);
    return row;
  }

  async one(item) {
    if (item.shape === "work") return this.work(item);
    if (item.shape === "loop") return this.row(await this.loop(item), this.lines.of([item]));
    if (item.shape === "set-up") return this.row(this.setup(item));
    const made = await this.part(item);
    return this.row(made, ["quiet", "failure", "attempt"].includes(item.shape) ? null : this.lines.of([item]));
  }

  // Shows that the program asked. During a run live_document.js makes a form instead, which can take an answer.
  question(item) {
    return make("p.quiet", {}, item.title);
  }

  fold(summary, kids, open = false) {
    const box = make("details", { class: "fold", open }, make("summary", {}, summary), ...kids);
    return box;
  }

  setup(item) {
    const [name, rest] = (item.title ?? "").split(/: (.*)/);
    const box = this.fold([make("span.fold-name", {}, name), " ", rest ?? ""], [make("ul.set", {})]);
    box.id = `item-${item.id}`;
    box.addEventListener("toggle", async () => {
      const list = box.querySelector("ul");
      if (!box.open || list.childElementCount) return;
      const { items } = await this.run.inside(item.id, 0, AT_ONCE);
      list.append(...items.map((x) => make("li", {}, x.title ?? x.name)));
    });
    return box;
  }

  // --- work ---

  async work(item) {
    const rest = /^(How )?(.*?)( came about)?: (.*)$/.exec(item.title ?? "") ?? [];
    const isOpen = !item.inside || (await this.run.inside(item.id, 0, 1)).total <= FEW;
    const head = makeButton({ class: "work-head", "aria-expanded": String(isOpen) },
      make("span", {}, rest[1], item.name ? make("code", {}, rest[2]) : rest[2], rest[3]), make("small", {}, rest[4] ?? ""));
    const body = make("div", { class: "work-body", hidden: !isOpen });
    if (item.unused && !this.isLive && !this.article.querySelector(".also")) this.article.append(make("h2.also", {}, "Also ran"));
    const section = make("section", { class: "work", id: `item-${item.id}`, "data-title": `${rest[1] ?? ""}${rest[2]}`, "data-took": took(item.took) || null, "data-for": [...(this.article.lastElementChild?.querySelectorAll(".paper .piece") ?? [])].at(-1)?.textContent.slice(0, 80) }, make("h2", {}, head), body);
    const task = item.task ? [make("div.turn", {}, make("span.label", {}, "Task"), make("p.said", {}, item.task))] : [];
    const fill = async () => {
      if (body.childElementCount) return;
      body.append(this.lines.here(item), ...task, ...(await this.inside(item)));
      for (const label of body.querySelectorAll(".turn > .label")) label.setAttribute("role", "heading"), label.setAttribute("aria-level", "3");
    };
    if (isOpen) await fill();
    this.row(section, this.lines.of([item, ...(isOpen ? await this.toolsIn(item) : [])]));
    head.addEventListener("click", async () => {
      await fill();
      this.setOpen(head, body.hidden);
      this.fillOutline();
    });
  }

  // Returns the definitions of the functions that this work called as tools, when these functions called something
  // themselves. The definitions are items of the set-up.
  async toolsIn(item) {
    const isTool = (x) => x.shape === "tool" && x.inside && x.id > item.id && x.id <= item.id + (item.inside ?? 0);
    const names = new Set([...this.items.values()].filter(isTool).map((x) => x.name));
    const setup = names.size ? [...this.items.values()].find((x) => x.shape === "set-up" && x.inside) : null;
    if (!setup) return [];
    const { items } = await this.run.inside(setup.id, 0, AT_ONCE);
    return items.filter((x) => names.has(x.name) && x.source).map((x) => ({ ...x, source: this.lines.withKey(x.source, x.name) }));
  }

  async inside(item, from = 0, count = AT_ONCE) {
    if (!item.inside) return [];
    const { items, total } = await this.run.inside(item.id, from, count);
    this.know(items);
    const made = [];
    for (const x of items) made.push(await this.part(x));
    if (from + items.length < total && count === AT_ONCE) made.push(this.more(item, from + items.length, total));
    return made;
  }

  more(item, from, total) {
    const button = makeButton({ class: "between" }, `${counted(total - from)} more`);
    button.addEventListener("click", async () => button.replaceWith(...(await this.inside(item, from))));
    return button;
  }

  async part(item) {
    const make_ = { turn: this.turn, step: this.step, tool: this.tool, loop: this.loop, map: this.map, row: this.turn, quiet: this.quiet, shown: this.shown, approval: this.approval, attempt: this.attempt,
      failure: this.failure, typed: this.typed, question: this.question, piece: this.text, work: this.turn }[item.shape] ?? this.step;
    const made = await make_.call(this, item);
    made.id ||= `item-${item.id}`;
    return made;
  }

  text(item) {
    return make("p", { class: "said", id: `item-${item.id}` }, ...piece(item));
  }

  async turn(item) {
    return make("div", { class: "turn", "data-title": item.title }, make("span.label", {}, item.title), tookOf(item), ...(await this.inside(item)));
  }

  async step(item) {
    const runs = item.state === "running";
    if (runs && item.kind === "model") return make("div", { class: "line", "data-item": item.id }, number(item), arriving(item));
    const call = item.kind === "model" && !item.cut ? toolCallOf(item.text) : null;
    if (call) return make("div", { class: "line use", "data-item": item.id }, number(item), make("b.fn", {}, call.name), argsOf(call.args));
    const text = make("span", { class: item.json ? "value" : "saying" }, ...beginningOf((item.text ?? "").trim() || (runs ? "runs" : item.empty ?? "no text"), item));
    const maker = item.kind === "model" || !item.title ? null : make("b", { class: "maker", "data-maker": item.kind }, item.title);
    const line = make("div", { class: "line", "data-item": item.id }, number(item), maker, text);
    const kids = await this.inside(item);
    return kids.length ? make("div", {}, line, make("div.inside", {}, ...kids)) : line;
  }

  async tool(item) {
    const kids = await this.inside(item);
    const said = [...this.items.values()].findLast((x) => x.id > item.id && x.id <= item.id + (item.inside ?? 0));
    const isSaid = said?.text?.trim() === item.text?.trim(); // the last item inside has the same text
    const use = make("div", { class: "line use", "data-item": item.id }, number(item), make("b.fn", {}, item.name),
      argsOf(item.args ?? []),
      item.text && !isSaid ? make("span", { class: item.text.length > ONE_LINE ? "gives long" : "gives" }, ...beginningOf(item.text.trim(), item)) : null, tookOf(item));
    if (!kids.length) return use;
    return make("div", { class: "tool", id: `item-${item.id}`, "data-title": item.name }, use, make("div.inside", {}, ...kids));
  }

  failure(item) {
    const handled = item.title !== "Failed";
    if (handled) return make("p.quiet", {}, item.title);
    const known = (item.values ?? []).flatMap((v) => [make("dt", {}, v.name), make("dd", {}, v.text, v.cut ? " …" : "")]);
    const way = (item.way ?? []).map((w) => make("li", {}, inBoxes(w.box, w.text)));
    const line = this.lines.fault(item);
    const said = withoutExpression(item.text ?? "", line?.querySelector("u").textContent ?? "");
    return make("section", { class: "fault", id: `item-${item.id}`, "aria-label": "Failed" }, make("b", {}, "Failed: "), make("span", {}, said),
      line, known.length ? make("dl.known", {}, ...known) : null, way.length ? make("ul.way", {}, ...way) : null,
      make("div.acts", {}, inBoxes(item.box, this.again ? "Try again from here" : "Its box")));
  }

  // --- what is opened in place ---

  close() {
    if (!this.opened) return;
    const { button, panel, row } = this.opened;
    panel.remove();
    this.light([], []);
    row?.classList.remove("opened");
    button.setAttribute("aria-expanded", "false");
    this.opened = null;
    this.address("");
  }

  // Handles a press. A press on a piece, or on the number of a call, opens a panel below it, which shows how it was
  // made. The next press closes the panel.
  async press(target) {
    if (target.closest(".close")) {
      const button = this.opened?.button;
      this.close();
      button?.focus();
      return null;
    }
    const rest = target.closest(".more");
    if (rest) return this.complete(rest);
    const button = target.closest("[data-call], .piece[data-item]");
    if (!button || !this.element.contains(button)) return null;
    const again = this.opened?.button === button;
    this.close();
    return again ? null : this.open(button);
  }

  async open(button) {
    const call = Number(button.dataset.call);
    const item = this.items.get(Number(button.dataset.item));
    const origin = item ? await this.run.origin(item.id) : null;
    const text = call ? "" : item.cut || item.json ? await this.run.text(item.box).catch(() => item.text) : item.text ?? "";
    const panel = call ? callPanel(await this.run.call(call), this, origin) : piecePanel(item, this, origin, text);
    const after = button.closest(".line") ?? button.closest(".paper, .round, .said") ?? button.closest(".typed");
    const row = button.closest(".row");
    this.close();
    after.after(panel);
    row?.classList.add("opened");
    button.setAttribute("aria-expanded", "true");
    this.opened = { button, panel, row, call };
    if (origin) this.light([...origin.from, ...origin.into, ...(item.shape === "piece" ? [item.id] : [])], origin.calls, item.parts);
    this.address(call ? `call-${call}` : `item-${item.id}`);
  }

  async openCall(call) {
    const find = () => this.element.querySelector(`.piece[data-call="${call}"], .call[data-call="${call}"]`);
    let button = find();
    for (const head of button ? [] : this.element.querySelectorAll(".work-head[aria-expanded=false], .show-all")) head.click();
    for (let tries = 0; !button && tries < 10; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100)); // waits while the opened content is requested
      button = find();
    }
    if (!button) return;
    if (this.opened?.button !== button) await this.open(button);
    button.scrollIntoView({ block: "center" });
    button.focus({ preventScroll: true });
  }

  address(hash) {
    try {
      history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    } catch {
      // in some frames the address cannot be changed
    }
  }

  onKey(e) {
    const button = e.target.closest(".piece[role=button]");
    if (button && (e.key === "Enter" || e.key === " ")) {
      e.preventDefault();
      this.press(button);
    }
  }

  // Moves the focus by this number of the elements through which the keys move.
  walk(by) {
    const all = [...this.element.querySelectorAll(WALKED)].filter((x) => x.offsetParent);
    const at = all.indexOf(document.activeElement);
    const next = all[Math.max(0, Math.min(all.length - 1, at + by))];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  }

  step_(by) {
    const now = this.opened?.call ?? (by > 0 ? 0 : Infinity);
    const all = [...new Set([...this.element.querySelectorAll("[data-call]")].map((x) => Number(x.dataset.call)))].toSorted((a, b) => a - b);
    const next = by > 0 ? all.find((n) => n > now) : all.findLast((n) => n < now);
    if (next) this.openCall(next);
  }

  // --- the outline ---

  fillOutline() {
    this.outline ??= new Outline(byId("outline").firstElementChild);
    this.outline.fill(this.article);
  }
}
