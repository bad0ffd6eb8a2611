// live_document.js -- shows the document of a run in progress: its output and actions so far, answers as they arrive,
// and questions of the program. The page requests the document when something has happened, at most a few times a
// second.
// SPDX-License-Identifier: Apache-2.0
import { make, makeButton, say } from "./dom.js";
import { FlatRun } from "./data.js";
import { DocumentView, groupsOf } from "./document.js";
import { question, leftOf } from "./live.js";

const MIN_MS = 120; // minimum time between two requests
const NEAR_END = 120; // px; a person whose view is this close to the end wants to follow new text

export class LiveDocument extends DocumentView {
  // onChange() is called when the document shows more than before.
  constructor(element, summary, onChange) {
    super(element, new FlatRun(0, summary));
    this.onChange = onChange;
    this.states = new Map(); // box -> what it is doing
    this.arrived = new Map(); // place of a call -> the text that has arrived so far
    this.asked = new Map(); // place of a block -> the box with its question
    this.groups = []; // the groups that are shown, as [key, rows]
    this.follows = true;
    this.isLive = true;
    this.notes = make("div.notes", {});
    this.below = makeButton({ class: "below", hidden: true, onclick: () => this.toEnd() }, "New text below");
    document.addEventListener("scroll", () => {
      this.follows = this.isAtEnd();
      if (this.follows) this.below.hidden = true;
    }, { passive: true });
  }

  isAtEnd() {
    return innerHeight + scrollY > document.documentElement.scrollHeight - NEAR_END;
  }

  toEnd() {
    this.follows = true;
    scrollTo(0, document.documentElement.scrollHeight);
    this.below.hidden = true;
  }

  // Scrolls to the end, or shows that there is more text.
  keepUp() {
    if (!this.isShown()) return;
    if (this.follows) this.toEnd();
    else this.below.hidden = this.isAtEnd();
  }

  // Loads the document. Returns false when the run has no document.
  async start() {
    if (!(await this.run.refresh())) return false;
    this.article = make("article", {});
    this.element.replaceChildren(make("nav", { id: "outline", "aria-label": "Contents" }, make("div", {})), this.article, this.notes, this.below);
    return true;
  }

  // Returns false while the boxes are shown; then the document is not requested.
  isShown() {
    return document.body.dataset.view === "document";
  }

  // Handles a list of changes. The text of an answer that is arriving is shown at once. When the state or the question
  // of a box has changed, the document is requested again.
  takeChanges(list) {
    let isMore = false;
    for (const box of list) {
      const state = `${box.state} ${box.asks ?? ""}`;
      isMore ||= this.states.get(box.id) !== state;
      this.states.set(box.id, state);
      if (box.kind === "model" && box.state === "running") this.put(box.place, box.text ?? "", box.tail);
      if (box.asks) this.asked.set(box.place, box);
      else if (box.kind === "read") this.asked.delete(box.place);
    }
    if (isMore && this.isShown()) this.later();
  }

  put(place, text, isTail) {
    this.arrived.set(place, [text, isTail]);
    const spans = this.element.querySelectorAll(`.live[data-place="${CSS.escape(place ?? "")}"]`);
    for (const span of spans) span.textContent = `${isTail ? "… " : ""}${text}`;
    if (spans.length) this.keepUp();
  }

  later(ms = MIN_MS) {
    this.timer ??= setTimeout(() => this.renew(), ms);
  }

  async renew() {
    const start = performance.now();
    let ok = false;
    try {
      ok = await this.run.refresh();
      if (ok) await this.show();
    } finally {
      this.timer = null;
    }
    const took = performance.now() - start;
    if (ok && this.run.late) this.later(Math.max(2 * MIN_MS, 4 * took));
  }

  keyOf(group) {
    const first = group[0].id - this.run.from;
    const last = group.at(-1);
    const parts = this.run.items.slice(first, last.id - this.run.from + 1 + (last.inside ?? 0));
    return JSON.stringify([parts, parts.map((x) => (x.shape === "question" ? this.asked.get(x.place)?.asks : null))]);
  }

  // Redraws the groups from the first one that has changed.
  async show() {
    const all = (await this.run.document(0, Infinity)).items;
    // the other questions wait for their turn
    const items = all.filter((x) => x.shape !== "question" || this.asked.has(x.place));
    if (!this.lines.files.length || items.some((x) => x.source && !this.lines.files[x.source.file])) await this.lines.load();
    const groups = groupsOf(items);
    const keys = groups.map((g) => this.keyOf(g));
    let same = 0;
    while (same < keys.length && this.groups[same]?.[0] === keys[same]) same++;
    const opened = this.opened?.row && this.groups.slice(same).some(([, rows]) => rows.includes(this.opened.row)) ? this.opened.call : null;
    const old = this.groups.splice(same);
    this.forms = new Map(old.flatMap(([, rows]) => rows.flatMap((r) => [...r.querySelectorAll("form.question")].map((f) => [f.dataset.asks, f]))));
    const focused = document.activeElement?.closest("form.question") && document.activeElement;
    if (opened) this.close();
    for (const row of old.flatMap(([, rows]) => rows)) row.remove();
    for (const [i, group] of groups.entries()) {
      if (i < same) continue;
      const before = this.article.childElementCount;
      await this.add(group);
      this.groups.push([keys[i], [...this.article.children].slice(before)]);
    }
    for (const form of this.forms.values()) if (form.querySelector("input, textarea").value) this.notes.append(leftOf(form));
    for (const [place, [text, isTail]] of this.arrived) if (this.element.querySelector(".live")) this.put(place, text, isTail);
    if (opened) await this.openCall(opened);
    if (focused?.isConnected) focused.focus();
    this.fillOutline();
    await this.onChange();
    this.keepUp();
  }

  // Makes a question. The field for the answer is kept while the question is open, because the user may be typing.
  question(item) {
    const box = this.asked.get(item.place);
    if (!box) return make("p.quiet", {}, item.title);
    const asks = String(box.asks);
    let form = this.forms.get(asks);
    this.forms.delete(asks);
    if (!form) {
      form = question(box);
      form.dataset.asks = asks;
      say(`The program asks: ${box.text || "for input"}`);
      setTimeout(() => document.activeElement === document.body && form.querySelector("input, textarea").focus({ preventScroll: true }));
    }
    return make("div.asks", {}, make("p.asked", {}, box.text || "The program waits for your input."), form);
  }
}
