// compare.js -- shows two runs side by side. Boxes with the same place are beside each other. Changed words are marked,
// and boxes that the other run does not have are marked, too.
// SPDX-License-Identifier: Apache-2.0
import { make, makeButton, took, scrollText, timeOf } from "./dom.js";
import { wayTo } from "./data.js";
import { wordChanges } from "./text.js";
import { showMoment } from "./time.js";

const PAIRS_AT_ONCE = 200; // number of pairs of children that are shown in one step
const PAIRS_AT_FIRST = 300;
const CHILDREN_AT_ONCE = 500;
const MAX_CHILDREN = 20000; // longer lists of children are not aligned
const MAX_LOOKED_AT = 50000; // maximum number of pairs of boxes in which differences are searched

// Returns the key by which each box is recognised in the other run. Functions have no place, so the step in the source
// is a part of the key, too. Equal keys are numbered.
function keysOf(boxes) {
  const seen = new Map();
  return boxes.map((b) => {
    const key = `${b.kind} ${b.place ?? ""} ${b.step ?? ""}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
    return `${key} ${seen.get(key)}`;
  });
}

// Pairs the children of two boxes: children with the same key belong together. The pairs are in the order of the second
// run, and children that only the first run has keep their position.
function aligned(left, right) {
  const [leftKeys, rightKeys] = [left, right].map(keysOf);
  const byPlace = new Map(left.map((b, i) => [leftKeys[i], b]));
  const used = new Set(rightKeys.map((k) => byPlace.get(k)));
  const numberOf = new Map(left.map((b, i) => [b, i]));
  const out = [];
  let next = 0; // index of the next child of the left box
  const putGone = (until) => {
    for (; next < left.length && left[next] !== until; next++)
      if (!used.has(left[next])) out.push([left[next], null]);
  };
  for (const [i, b] of right.entries()) {
    const other = byPlace.get(rightKeys[i]);
    if (other && numberOf.get(other) >= next) {
      putGone(other);
      next++;
    }
    out.push([other ?? null, b]);
  }
  putGone(null);
  return out;
}

function numbers(box) {
  const time = box.end > box.start ? timeOf(box) : "";
  return make("span.numbers", {}, `${box.tokens ? `${box.tokens} tokens ` : ""}${time}`);
}

export class Comparison {
  // onChoose(side, box, other) is called when a box is chosen.
  constructor(element, runs, onChoose) {
    this.element = element;
    this.runs = runs;
    this.onChoose = onChoose;
    this.shown = 0;
    this.chosen = null;
    this.moment = null;
    this.different = null; // [side, id] of each pair whose boxes differ
    this.at = -1;
    element.classList.add("compared");
    element.addEventListener("keydown", (e) => this.onKey(e));
  }

  async start() {
    const roots = await Promise.all(this.runs.map((r) => r.box(0)));
    const row = await this.row(roots);
    row.querySelector("[role=treeitem]").tabIndex = 0;
    this.element.replaceChildren(row);
    await this.openSome(row);
  }

  async openSome(row) {
    const queue = [row];
    while (queue.length && this.shown < PAIRS_AT_FIRST) {
      const next = queue.shift();
      await this.open(next);
      queue.push(...next.querySelectorAll(":scope > .rows > .row"));
    }
  }

  async children(side, box) {
    const out = [];
    const n = Math.min(box?.n ?? 0, MAX_CHILDREN);
    while (out.length < n) {
      const some = await this.runs[side].children(box, out.length, CHILDREN_AT_ONCE);
      if (!some.length) break;
      out.push(...some);
    }
    return out;
  }

  async pairs(pair) {
    return aligned(...(await Promise.all(pair.map((box, side) => this.children(side, box)))));
  }

  async textOf(side, box) {
    if (!box) return "";
    return box.cut ? this.runs[side].text(box.id) : box.text ?? "";
  }

  // Returns the texts of a pair. A box with boxes inside shows no text, because the inner boxes show the difference.
  async texts(pair) {
    if (pair.some((b) => b?.n && b.kind !== "model")) return [null, null];
    const [a, b] = await Promise.all(pair.map((box, side) => this.textOf(side, box)));
    return pair[0] && pair[1] && a !== b ? wordChanges(a, b) : [[a], [b]];
  }

  cell(side, box, other, text) {
    const state = !box ? "missing" : other ? box.state : "added";
    const name = box
      ? `${box.kind}, ${box.place ?? ""}${box.state === "done" ? "" : `, ${box.state}`}${other ? "" : ", only in this run"}`
      : `missing: ${other.kind}, ${other.place ?? ""}`;
    const cell = make("div", {
      role: "treeitem", class: `box ${state}`, tabindex: "-1", "aria-label": name, "aria-selected": "false",
      "aria-level": (box ?? other).depth + 1, "data-kind": box?.kind, "data-state": box?.state,
      "data-side": side, "data-id": box?.id, onclick: (e) => this.onClick(cell, e),
    }, make("div.title", {},
      make("span.kind", {}, box ? box.kind : "missing"),
      make("span.def", {}, (box ?? other).def ?? ""),
      box?.model ? make("span.model", {}, box.model) : null,
      box && box.state !== "done" ? make("strong.state", {}, box.state) : null, box ? numbers(box) : null),
    text && box ? make("div.result", {}, text) : null);
    cell.box = box;
    cell.other = other;
    if (box) showMoment(cell, box, this.moment);
    return cell;
  }

  async row(pair) {
    const text = await this.texts(pair);
    const changed = pair[0] && pair[1] && text[0] && text.flat().some((n) => typeof n !== "string");
    const row = make("div", { class: changed || !pair[0] || !pair[1] ? "row changed" : "row",
      role: "presentation" },
      make("div", { class: "pair", role: "presentation" },
        pair.map((box, side) => this.cell(side, box, pair[1 - side], text[side]))));
    row.pair = pair;
    this.shown++;
    if (pair[0]?.n || pair[1]?.n) {
      this.setOpen(row, false);
      row.append(makeButton({ class: "rest", onclick: () => this.open(row) }, "Open"));
    }
    return row;
  }

  setOpen(row, open) {
    for (const cell of row.querySelectorAll(":scope > .pair > [role=treeitem]"))
      if (cell.box?.n) cell.setAttribute("aria-expanded", String(open));
  }

  // Opens or closes a row, which shows or hides the boxes inside its boxes.
  toggle(row) {
    const rows = row.querySelector(":scope > .rows");
    if (!rows || rows.hidden) return this.open(row);
    rows.hidden = true;
    this.setOpen(row, false);
    return null;
  }

  async open(row) {
    const rows = row.querySelector(":scope > .rows");
    if (rows) {
      rows.hidden = false;
      this.setOpen(row, true);
      return;
    }
    await this.openNew(row);
  }

  async openNew(row) {
    const button = row.querySelector(":scope > button");
    if (!button || !row.pair) return;
    button.remove();
    this.setOpen(row, true);
    const rows = make("div", { class: "rows", role: "group" });
    row.append(rows);
    await this.more(rows, await this.pairs(row.pair));
    const rest = Math.max(...row.pair.map((b) => (b?.n ?? 0) - MAX_CHILDREN));
    if (rest > 0) rows.append(make("p.hint", {}, `${rest} more are not compared`));
  }

  async more(rows, pairs) {
    const fresh = [];
    for (const pair of pairs.slice(0, PAIRS_AT_ONCE)) fresh.push(await this.row(pair));
    rows.append(...fresh);
    const rest = pairs.slice(PAIRS_AT_ONCE);
    if (!rest.length) return;
    const button = makeButton({ class: "rest" }, `${rest.length} more`);
    button.showMore = async () => (button.remove(), this.more(rows, rest));
    button.addEventListener("click", button.showMore);
    rows.append(button);
  }

  // --- choosing ---

  onClick(cell, e) {
    if (cell === this.chosen && e.target.closest(".title")) this.toggle(cell.closest(".row"));
    this.choose(cell);
  }

  choose(cell) {
    this.chosen?.setAttribute("aria-selected", "false");
    for (const e of this.element.querySelectorAll("[role=treeitem][tabindex='0']")) e.tabIndex = -1;
    this.chosen = cell;
    cell.setAttribute("aria-selected", "true");
    cell.tabIndex = 0;
    cell.focus({ preventScroll: true });
    cell.scrollIntoView({ block: "nearest" });
    if (cell.box) this.onChoose(Number(cell.dataset.side), cell.box, cell.other);
  }

  cellOf(side, id) {
    return this.element.querySelector(`[data-side="${side}"][data-id="${id}"]`);
  }

  // Opens all boxes around a box of one run, and chooses that box.
  async chooseId(id, side) {
    const way = (await wayTo(this.runs[side], id)).toReversed();
    for (const [i, step] of way.entries()) {
      let cell = this.cellOf(side, step);
      const rows = !cell && i ? this.cellOf(side, way[i - 1]).closest(".row").querySelector(":scope > .rows") : null;
      for (let button; !cell && (button = rows?.querySelector(":scope > button.rest")); cell = this.cellOf(side, step))
        await button.showMore();
      if (!cell) return;
      if (i === way.length - 1) this.choose(cell);
      else await this.open(cell.closest(".row"));
    }
  }

  // --- differences ---

  // Finds the places where the runs differ, in the order of the page: boxes with different texts, added boxes and
  // missing boxes.
  async findDifferences() {
    const out = [];
    const stack = [await Promise.all(this.runs.map((r) => r.box(0)))];
    for (let n = 0; stack.length && n < MAX_LOOKED_AT; n++) {
      const pair = stack.pop();
      const side = pair[1] ? 1 : 0;
      if (!pair[0] || !pair[1]) {
        out.push([pair[side].id, side]);
        continue;
      }
      const text = await this.texts(pair);
      if (text[0] && text.flat().some((x) => typeof x !== "string")) out.push([pair[1].id, 1]);
      stack.push(...(await this.pairs(pair)).toReversed());
    }
    return out;
  }

  // Chooses the next difference. Returns the text that the page announces.
  async nextDifference() {
    this.different ??= await this.findDifferences();
    if (!this.different.length) return "The runs do not differ in what they made.";
    this.at = (this.at + 1) % this.different.length;
    await this.chooseId(...this.different[this.at]);
    return "";
  }

  // --- keys ---

  visible() {
    return [...this.element.querySelectorAll("[role=treeitem]")].filter((i) => !i.closest("[hidden]"));
  }

  onKey(e) {
    const all = this.visible();
    const cell = e.target.closest("[role=treeitem]");
    const by = { ArrowDown: 2, ArrowUp: -2, ArrowRight: 1, ArrowLeft: -1 }[e.key];
    const at = all.indexOf(cell);
    if (!cell || e.ctrlKey || e.metaKey || e.altKey) return;
    const keys = {
      Enter: () => this.choose(cell),
      " ": () => this.toggle(cell.closest(".row")),
      Home: () => this.choose(all[at % 2]),
      End: () => this.choose(all.at(at % 2 ? -1 : -2)),
    };
    const next = by && all[at + by];
    if (!next && !keys[e.key] && !scrollText(cell, e.key)) return;
    e.preventDefault();
    if (next) this.choose(next);
    else keys[e.key]?.();
  }

  // --- time ---

  setMoment(moment) {
    this.moment = moment;
    for (const cell of this.element.querySelectorAll("[role=treeitem]")) if (cell.box) showMoment(cell, cell.box, moment);
  }
}

// Shows, below the details of a box, how its block and its numbers differ from those of the other run.
export async function otherRun(runs, side, box, other) {
  if (!other) return make("p.hint", {}, "The other run has no such box.");
  const [mine, its] = await Promise.all([runs[side].details(box.id), runs[1 - side].details(other.id)]);
  const pair = side ? [its, mine] : [mine, its];
  const cells = (title, of) => (pair.some(of) ? make("tr", {}, make("th", { scope: "row" }, title), pair.map((b) => make("td", {}, of(b) || "–"))) : null);
  const usage = (b, name) => String(b.members.find((m) => m.name === "pdl__usage")?.value?.[name] ?? "");
  const time = (b) => (b.end > b.start ? timeOf(b) : "");
  const table = make("table", {}, make("tr", {}, make("td"), runs.map((r) => make("th", { scope: "col" }, r.summary.name))),
    cells("Time", time), cells("First token", (b) => took(b.answers)), cells("Prompt tokens", (b) => usage(b, "prompt_tokens")),
    cells("Answer tokens", (b) => usage(b, "completion_tokens")), cells("Cost", (b) => usage(b, "cost")));
  const code = pair[0].program === pair[1].program ? make("p.hint", {}, "The block is the same in both runs.")
    : wordChanges(...pair.map((b) => b.program)).map((nodes) => make("pre", {}, nodes));
  return make("section", { class: "member", "data-member": "other" }, make("h3", {}, "In both runs"), table, make("h3", {}, "Block"), code);
}
