// live.js -- shows a run in progress. Boxes arrive when they change, and the page scrolls to the newest one until the
// person scrolls away. When the run is over, the page is loaded again and shows its trace.
// SPDX-License-Identifier: Apache-2.0
import { make, makeButton, say } from "./dom.js";
import { findIn } from "./box_search.js";
import { awaitServer, lanesOf, wayTo } from "./data.js";
import { Tree } from "./tree.js";

const MAX_BARS = 500; // maximum number of bars in lanes, which are redrawn often
const MAX_SHOWN = 3000; // maximum number of boxes that are shown; the oldest are removed when there are more

// The boxes that have arrived so far. This class has those functions of a run of data.js that the boxes need.
export class LiveRun {
  constructor(summary) {
    this.summary = { ...summary, boxes: 0, failed: 0, calls: 0, prompt_tokens: 0, completion_tokens: 0 };
    this.boxes = new Map();
    this.inside = new Map();
    this.changes = 0; // number of changes received
  }

  // Stores a box that has arrived. Returns the box, and whether it is new.
  take(news) {
    const old = this.boxes.get(news.id);
    this.changes++;
    if (old) return [Object.assign(old, { asks: undefined, cut: undefined, tail: undefined }, news), false];
    this.boxes.set(news.id, news);
    if (news.parent !== undefined) {
      if (!this.inside.has(news.parent)) this.inside.set(news.parent, []);
      this.inside.get(news.parent).push(news);
    }
    return [news, true];
  }

  async box(id) {
    return this.boxes.get(id);
  }

  async children(box, from, n) {
    return (this.inside.get(box.id) ?? []).slice(from, from + n);
  }

  async details(id) {
    const box = this.boxes.get(id);
    const members = box.text === undefined ? [] : [{ name: "pdl__result", value: box.text }];
    return { ...box, members, defines: [], program: "" };
  }

  async text(id) {
    return this.boxes.get(id).text ?? "";
  }

  async source() {
    return (await fetch("/api/0/source")).json();
  }

  async boxesOfLine(line, file = 0) {
    return [...this.boxes.values()].filter((b) => b.line === line && (b.file ?? 0) === file).map((b) => b.id);
  }

  // Returns the bars. A box that is still in progress is drawn up to the newest known time.
  async lanes() {
    const list = [...this.boxes.values()];
    const now = list.reduce((most, b) => Math.max(most, b.end ?? b.start), 0);
    return lanesOf(list.map((b) => ({ ...b, end: b.end ?? now })), (id) => this.boxes.get(id), MAX_BARS);
  }

  async find(query) {
    const list = [...this.boxes.values()].toSorted((a, b) => a.id - b.id);
    return findIn(list, (id) => this.boxes.get(id), query);
  }
}

const TOUCH_MS = 1000; // a scroll is the person's when it comes within this time after a key, wheel or pointer event

export class LiveTree extends Tree {
  constructor(...args) {
    super(...args);
    this.follows = true;
    this.asking = new Set(); // boxes with a question that is not shown yet
    this.touched = -TOUCH_MS;
    this.end = 0; // the position to which the page scrolled for the newest box
    for (const type of ["wheel", "touchmove", "pointerdown", "keydown"])
      this.element.addEventListener(type, (e) => (this.touched = e.timeStamp), { passive: true });
    this.element.addEventListener("scroll", (e) => this.onScroll(e));
  }

  // Boxes get their sizes when they are first drawn. This change of sizes scrolls the page a little, although the user
  // did not scroll.
  onScroll(e) {
    const { scrollHeight, scrollTop, clientHeight } = this.element;
    if (scrollHeight - scrollTop - clientHeight < 80) this.follows = true;
    else if (e.timeStamp - this.touched < TOUCH_MS || scrollTop < this.end - clientHeight) this.follows = false;
  }

  scrollToEnd() {
    if (!this.follows) return;
    this.element.scrollTop = this.element.scrollHeight;
    this.end = this.element.scrollTop;
  }

  // Shows boxes that have changed. A box is drawn after the box around it, which has a smaller number.
  showChanges(list) {
    const { follows } = this;
    for (const news of list.toSorted((a, b) => a.id - b.id)) {
      const [box, isNew] = this.run.take(news);
      if (isNew) this.add(box, follows);
      else this.redraw(box);
      if (box.asks) this.asking.add(box);
      if (box.state === "failed") this.onFailure?.();
    }
    this.showQuestions();
    this.scrollToEnd();
    requestAnimationFrame(() => this.scrollToEnd());
  }

  // Shows questions. A question waits for the boxes around it, which may arrive later when many boxes arrive.
  showQuestions() {
    for (const box of this.asking) {
      let up = box;
      while (up && up.parent !== undefined) up = this.run.boxes.get(up.parent);
      if (!up) continue;
      this.asking.delete(box);
      if (box.asks) this.showQuestion(box);
    }
  }

  async showQuestion(box) {
    const item = this.element.querySelector(`#box-${box.id}`) ?? (await this.show(await wayTo(this.run, box.id)));
    this.ask(item, box);
  }

  add(box, follows) {
    if (box.parent === undefined) {
      this.drawFrom(box);
      return;
    }
    const up = this.element.querySelector(`#box-${box.parent}`);
    if (!up) return;
    if (this.isDeepest(up.box)) {
      if (!up.querySelector(":scope > .deeper")) up.append(this.fromHere(up.box));
      return;
    }
    this.giveGroup(up);
    const rest = up.group.querySelector(":scope > .rest:last-child:not(.earlier)");
    const isFull = this.shown >= MAX_SHOWN;
    if (rest) rest.textContent = `${up.box.n - rest.next} more`;
    else if (isFull && !follows) this.rest(up, this.run.inside.get(up.box.id).indexOf(box));
    else up.group.append(this.item(box));
    if (isFull && follows && !rest) this.trim(up);
  }

  // Makes room for new boxes. Goes from an item outward. Where at least ten inner boxes have ended, removes the older
  // half of them.
  trim(item) {
    for (let at = item; at && this.shown >= MAX_SHOWN; at = at.parentElement.closest("[role=treeitem]")) {
      const over = [...at.group.children].filter((c) => c.box && c.box.state !== "running" && !c.contains(this.chosen));
      if (over.length < 10) continue;
      for (const old of over.slice(0, over.length / 2)) {
        this.shown -= 1 + old.querySelectorAll("[role=treeitem]").length;
        old.remove();
      }
      this.offerEarlier(at);
    }
  }

  // Makes the button that shows the children of a box from the first one on.
  offerEarlier(item) {
    const there = item.group.querySelectorAll(":scope > [role=treeitem]").length;
    const button = item.group.querySelector(":scope > .earlier") ?? makeButton({ class: "rest earlier" });
    button.textContent = `${item.box.n - there} earlier`;
    button.onclick = () => {
      this.shown -= item.group.querySelectorAll("[role=treeitem]").length;
      item.group.replaceChildren();
      this.more(item, 0);
    };
    item.group.prepend(button);
  }

  // Draws a removed box again, for a reader who looks for it.
  async insert(parent, id) {
    this.giveGroup(parent);
    const item = this.item(await this.run.box(id));
    item.classList.add("apart");
    parent.group.append(item);
    return item;
  }

  // Makes the form for a question. The form does not change while its question is open, because the user may be typing.
  ask(item, box) {
    const form = item.querySelector(":scope > form.question");
    if (form && form.dataset.asks !== String(box.asks)) form.replaceWith(leftOf(form));
    if (!box.asks || (form && form.isConnected)) return;
    const fresh = question(box);
    fresh.dataset.asks = box.asks;
    const result = item.querySelector(":scope > .result");
    if (result) result.after(fresh);
    else item.append(fresh);
    say(`The program asks: ${box.text || "for input"}`);
    if (!document.activeElement.closest("input, textarea, select")) fresh.firstChild.focus();
  }

  giveGroup(item) {
    if (!item.group) {
      item.append((item.group = document.createElement("div")));
      item.group.setAttribute("role", "group");
    } else if (!item.group.hidden || item.group.childElementCount) {
      return;
    }
    item.group.hidden = false;
    item.setAttribute("aria-expanded", "true");
  }

  redraw(box) {
    const item = this.element.querySelector(`#box-${box.id}`);
    if (!item) return;
    const old = item.querySelector(":scope > .result");
    const atEnd = !old || old.scrollHeight - old.scrollTop - old.clientHeight < 40;
    const fresh = this.item(box);
    this.shown--;
    for (const part of item.querySelectorAll(":scope > .title, :scope > .result")) part.remove();
    item.prepend(...fresh.querySelectorAll(":scope > .title, :scope > .result"));
    const result = item.querySelector(":scope > .result");
    if (result && atEnd && box.state === "running") result.scrollTop = result.scrollHeight;
    this.ask(item, box);
    item.dataset.state = box.state;
    item.setAttribute("aria-label", fresh.getAttribute("aria-label"));
  }
}

const answeredHere = new Set(); // questions that were answered in this window

// Keeps what is typed for a question until it is answered, so that a reload does not lose it. Returns a function that
// forgets what was typed.
function keepTyped(field, box) {
  const key = `answer ${box.asks} ${box.text ?? ""}`;
  try {
    field.value = sessionStorage.getItem(key) ?? "";
    field.addEventListener("input", () => sessionStorage.setItem(key, field.value));
    return () => sessionStorage.removeItem(key);
  } catch {
    return () => null; // in some frames there is no storage
  }
}

// Makes the form for a question of the program. A person answers it here or on the terminal.
export function question(box) {
  const field = make(box.lines ? "textarea" : "input", { "aria-label": box.text || "input of the program", autocomplete: "off" });
  const button = make("button", {}, "Answer");
  const forget = keepTyped(field, box);
  const post = async () => {
    try {
      const reply = await fetch(`/api/0/answer/${box.asks}`, { method: "POST", body: field.value });
      if (reply.ok) answeredHere.add(String(box.asks));
      if (reply.ok || reply.status === 409) forget();
      if (reply.ok || reply.status === 409) return reply.ok; // 409 means that another answer was given first
      throw new Error(await reply.text());
    } catch (problem) {
      button.disabled = false;
      form.querySelector("[role=alert]")?.remove();
      form.append(make("p", { role: "alert" }, `The answer was not taken: ${problem.message}`));
      return false;
    }
  };
  const send = (e) => {
    e.preventDefault();
    button.disabled = true;
    form.taken = post();
  };
  const form = make("form", { class: "question", onsubmit: send }, field, button);
  for (const type of ["keydown", "click"]) form.addEventListener(type, (e) => e.stopPropagation());
  return form;
}

// Makes the element that replaces an answered question. When the answer came from another window or from the terminal,
// the element says so, and keeps what the user typed.
export function leftOf(form) {
  const typed = form.firstChild.value;
  const left = make("p.answered", {});
  Promise.resolve(form.taken).then((taken) => {
    if (taken || answeredHere.has(form.dataset.asks)) return left.remove();
    const text = "This was answered in another window or on the terminal.";
    left.append(text, ...(typed ? [" What you typed: ", make("q", {}, typed)] : []));
    say(text);
  });
  return left;
}

// Stores what the next page needs: it announces to screen readers that the run is over, and chooses
// the same box again, which has another number there.
function noteOver(tree) {
  const { place, kind } = tree.chosen?.box ?? {};
  try {
    history.replaceState({ isOver: true, view: document.body.dataset.view, place, kind }, "");
  } catch {
    // in some frames there is no history
  }
}

// Follows the run until it is over. Calls report(text) and showState(state) when the connection fails, or when the
// server ends before the run is over.
export function follow(tree, report, doc, showState) {
  const events = new EventSource("/api/events");
  let failed = false;
  let isLater = false;
  // Browsers have at most six connections to a server for all tabs together. So the server ends most event streams, and
  // their pages connect again later.
  events.addEventListener("later", () => (isLater = true));
  // there may be another run at the same address now
  events.addEventListener("open", () => failed && location.reload());
  events.addEventListener("error", () => {
    if (isLater && events.readyState !== EventSource.CLOSED) {
      isLater = false;
      return;
    }
    failed = true;
    showState("Not connected");
    report("The server does not answer: the run was stopped, or its process has ended. What came so far is shown.");
    if (events.readyState === EventSource.CLOSED) awaitServer(report); // the server answered with a refusal
  });
  events.addEventListener("gone", (e) => {
    events.close();
    showState("Stopped");
    for (const part of document.querySelectorAll("form.question :is(input, textarea, button)")) part.disabled = true;
    report(JSON.parse(e.data).text);
  });
  events.addEventListener("message", (e) => {
    const list = JSON.parse(e.data);
    tree.showChanges(list);
    doc?.takeChanges(list);
  });
  events.addEventListener("over", () => {
    events.close();
    noteOver(tree);
    location.reload();
  });
}
