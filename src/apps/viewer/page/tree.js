// tree.js -- shows boxes inside boxes. The children of a box are requested when it opens, some at a time, so that a run
// of a hundred thousand blocks opens at once. The Tab key reaches one box; from there the arrow keys move as screen
// readers expect of a tree: up and down among the boxes that are shown, right opens a box or goes into it, left closes
// it or leaves it.
// SPDX-License-Identifier: Apache-2.0
import { make, makeButton, scrollText, timeOf } from "./dom.js";
import { wayTo } from "./data.js";
import { showMoment } from "./time.js";

const PAGE = 100; // how many children are requested at once

// maximum depth of boxes that are drawn: each level takes width, and browsers fail when elements are nested some
// hundred times
const DEEPEST = 40;
const OPEN_AT_FIRST = 150; // number of boxes that are shown before a person opens one

// Returns the variable of a box, or its key in an object or among definitions.
function nameOf(box) {
  return box.def ?? /^(?:object|defs)\.(.+)$/.exec(box.step ?? "")?.[1];
}

function label(box) {
  const words = [box.kind, nameOf(box), box.model ?? box.role, box.place];
  if (box.state !== "done") words.push(box.state);
  if (box.text) words.push(box.text.slice(0, 120));
  return words.filter(Boolean).join(", ");
}

function title(box) {
  return make("div.title", {},
    make("span.kind", {}, box.kind),
    nameOf(box) ? make("span.def", {}, nameOf(box)) : null,
    box.model ? make("span.model", {}, box.model) : null,
    box.role ? make("span.role", {}, box.role) : null,
    box.state !== "done" ? make("strong.state", {}, box.state) : null,
    make("span.numbers", {},
      box.tokens ? `${box.tokens} tokens ` : "",
      box.end > box.start ? timeOf(box) : ""));
}

// Makes the element for the text of a box; null when it has none. The answer of a model call is shown even when its box
// is open, because none of its children shows it.
function shownText(box) {
  if (box.text === undefined) return null;
  return make("div", { class: box.json ? "result json" : "result" },
    box.tail ? make("span.more", {}, "… ") : null, box.text,
    box.cut ? make("span.more", {}, " …") : null);
}

export class Tree {
  constructor(element, run, onChoose) {
    this.element = element;
    this.run = run;
    this.onChoose = onChoose;
    this.chosen = null;
    this.shown = 0;
    this.top = null; // the outermost box that is drawn
    this.moment = null;
    this.loading = new IntersectionObserver((entries) => {
      for (const e of entries) if (e.isIntersecting) e.target.click();
    }, { rootMargin: "600px" });
    element.addEventListener("click", (e) => this.onClick(e));
    element.addEventListener("keydown", (e) => this.onKey(e));
  }

  async start() {
    const root = this.drawFrom(await this.run.box(0));
    const queue = [root];
    while (queue.length && this.shown < OPEN_AT_FIRST) {
      const item = queue.shift();
      const few = Math.min(item.box.n, PAGE) + this.shown <= 2 * OPEN_AT_FIRST;
      if (item.group && few && !["model", "import"].includes(item.box.kind)) {
        await this.open(item);
        queue.push(...item.group.children);
        queue.splice(0, queue.length, ...queue.filter((i) => i.box));
      }
    }
  }

  drawFrom(box) {
    this.top = box;
    this.shown = 0;
    const root = this.item(box);
    root.tabIndex = 0;
    const back = box.parent === undefined ? [] : [this.deeper("the boxes around it", async () => this.chooseId(box.parent))];
    this.element.replaceChildren(...back, root);
    return root;
  }

  isDeepest(box) {
    return box.depth - this.top.depth >= DEEPEST;
  }

  // Makes the button that draws the tree from another box on.
  deeper(text, go) {
    const button = makeButton({ class: "rest deeper" }, text);
    button.addEventListener("click", (e) => {
      e.stopPropagation();
      go();
    });
    return button;
  }

  fromHere(box) {
    return this.deeper("the boxes inside", async () => {
      const root = this.drawFrom(box);
      await this.open(root);
      this.choose(root);
    });
  }

  item(box) {
    const item = make("div", {
      role: "treeitem", class: "box", tabindex: "-1", id: `box-${box.id}`,
      "data-kind": box.kind, "data-state": box.state, "data-id": box.id,
      "aria-level": box.depth + 1, "aria-label": label(box), "aria-selected": "false",
      "aria-expanded": box.n ? "false" : null,
    }, title(box), shownText(box));
    item.box = box;
    if (box.n && this.isDeepest(box)) item.append(this.fromHere(box));
    else if (box.n) item.append((item.group = make("div", { role: "group", hidden: true })));
    this.dim(item);
    this.shown++;
    return item;
  }

  // --- children ---

  async open(item) {
    if (!item.group || item.getAttribute("aria-expanded") === "true") return;
    item.setAttribute("aria-expanded", "true");
    item.group.hidden = false;
    if (!item.group.childElementCount) await this.more(item, 0);
  }

  close(item) {
    item.setAttribute("aria-expanded", "false");
    item.group.hidden = true;
  }

  async more(item, from) {
    const boxes = await this.run.children(item.box, from, PAGE);
    item.group.append(...boxes.map((b) => this.placed(b)));
    const next = from + boxes.length;
    if (boxes.length && next < item.box.n) this.rest(item, next);
  }

  // Returns the item of a box: the one that a search has added before, without its mark, or a new one.
  placed(box) {
    const there = this.element.querySelector(`#box-${box.id}`);
    there?.classList.remove("apart");
    return there ?? this.item(box);
  }

  // Makes the button that shows the children from a number on.
  rest(item, next) {
    const rest = makeButton({ class: "rest" }, `${item.box.n - next} more`);
    rest.next = next;
    rest.addEventListener("click", async (e) => {
      e.stopPropagation();
      this.loading.unobserve(rest);
      rest.remove();
      await this.more(item, next);
    }, { once: true });
    item.group.append(rest);
    this.loading.observe(rest);
  }

  // Opens everything from the root to a box. The box may be far after the children that were requested.
  async show(way) {
    const ids = way.toReversed();
    let at = ids.indexOf(this.top.id);
    if (at < 0 || ids.length - 1 - at > DEEPEST) {
      at = Math.max(0, ids.length - 1 - DEEPEST / 2);
      this.drawFrom(await this.run.box(ids[at]));
    }
    let item = this.element.querySelector(`#box-${ids[at]}`);
    for (const id of ids.slice(at + 1)) {
      await this.open(item);
      item = this.element.querySelector(`#box-${id}`) ?? (await this.insert(item, id));
    }
    return item;
  }

  async insert(parent, id) {
    const from = Math.max(0, id - parent.box.first - 5);
    const boxes = await this.run.children(parent.box, from, 10);
    let found = null;
    for (const b of boxes) {
      const there = this.element.querySelector(`#box-${b.id}`);
      const item = there ?? this.item(b);
      if (!there) {
        item.classList.add("apart");
        parent.group.append(item);
      }
      if (b.id === id) found = item;
    }
    return found;
  }

  // --- choosing ---

  async chooseId(id) {
    const item = await this.show(await wayTo(this.run, id));
    if (item) this.choose(item);
  }

  choose(item) {
    this.chosen?.setAttribute("aria-selected", "false");
    for (const e of this.element.querySelectorAll("[role=treeitem][tabindex='0']")) e.tabIndex = -1;
    this.chosen = item;
    item.setAttribute("aria-selected", "true");
    item.tabIndex = 0;
    item.focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
    this.onChoose(item.box);
  }

  onClick(e) {
    const item = e.target.closest("[role=treeitem]");
    if (!item || e.target.closest("button")) return;
    const onTitle = e.target.closest(".title");
    if (item.group && onTitle && item === this.chosen) this.toggle(item);
    this.choose(item);
  }

  toggle(item) {
    if (item.getAttribute("aria-expanded") === "true") this.close(item);
    else this.open(item);
  }

  // --- keys ---

  visible() {
    return [...this.element.querySelectorAll("[role=treeitem]")].filter((i) => !i.closest("[hidden]"));
  }

  neighbour(by) {
    const all = this.visible();
    return all[all.indexOf(this.chosen ?? all[0]) + by];
  }

  onKey(e) {
    const item = this.chosen ?? this.element.querySelector(`#box-${this.top.id}`);
    const isOpen = item.getAttribute("aria-expanded") === "true";
    const go = (to) => to && this.choose(to);
    const keys = {
      ArrowDown: () => go(this.neighbour(1)),
      ArrowUp: () => go(this.neighbour(-1)),
      ArrowRight: () => (isOpen ? go(item.group.querySelector("[role=treeitem]")) : this.open(item)),
      ArrowLeft: () =>
        isOpen ? this.close(item) : go(item.parentElement.closest("[role=treeitem]")),
      Home: () => go(this.visible()[0]),
      End: () => go(this.visible().at(-1)),
      Enter: () => this.choose(item),
      " ": () => item.group && this.toggle(item),
    };
    if (e.ctrlKey || e.metaKey || e.altKey || (!keys[e.key] && !scrollText(item, e.key))) return;
    e.preventDefault();
    keys[e.key]?.();
  }

  // --- time ---

  dim(item) {
    showMoment(item, item.box, this.moment);
  }

  setMoment(moment) {
    this.moment = moment;
    for (const item of this.element.querySelectorAll("[role=treeitem]")) this.dim(item);
  }
}
