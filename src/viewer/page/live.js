// live.js -- a run that goes on: boxes come as they change, and the page follows the newest one until
// the person scrolls away. When the run is over the page is loaded anew and shows its trace.
// SPDX-License-Identifier: Apache-2.0
import { make } from "./dom.js";
import { Tree } from "./tree.js";

const MOST_SHOWN = 3000; // boxes that open by themselves

// The boxes that came so far, with the answers that a run of data.js gives.
export class LiveRun {
  constructor(summary) {
    this.summary = { ...summary, boxes: 0, failed: 0, calls: 0, prompt_tokens: 0, completion_tokens: 0 };
    this.boxes = new Map();
    this.inside = new Map();
  }

  // The box, and whether it is new.
  take(news) {
    const old = this.boxes.get(news.id);
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

  async lanes() {
    return [];
  }

  async find(query) {
    const fits = (b) =>
      (!query.kind || b.kind === query.kind) && (!query.state || b.state === query.state) &&
      (!query.text || (b.text ?? "").toLowerCase().includes(query.text.toLowerCase()));
    const way = (b) => [b.id, ...(b.parent === undefined ? [] : way(this.boxes.get(b.parent)))];
    const found = [...this.boxes.values()].filter((b) => b.n === 0 && fits(b));
    return { boxes: found.map(way), found: found.length };
  }
}

export class LiveTree extends Tree {
  // Shows what changed. A box is drawn after the box around it, which has a smaller number.
  showChanges(list) {
    const scroller = this.element;
    const follows = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 80;
    for (const news of list.toSorted((a, b) => a.id - b.id)) {
      const [box, isNew] = this.run.take(news);
      if (isNew) this.add(box);
      else this.redraw(box);
      const item = box.asks && this.element.querySelector(`#box-${box.id}`);
      if (item) this.ask(item, box);
    }
    if (follows) scroller.scrollTop = scroller.scrollHeight;
  }

  add(box) {
    if (box.parent === undefined) {
      const root = this.item(box);
      root.tabIndex = 0;
      this.element.replaceChildren(root);
      return;
    }
    const up = this.element.querySelector(`#box-${box.parent}`);
    if (!up || this.shown > MOST_SHOWN) return;
    this.giveGroup(up);
    if (!up.group.hidden) up.group.append(this.item(box));
  }

  // The form stays as it is while the question is open: somebody may be typing.
  ask(item, box) {
    const form = item.querySelector(":scope > form.question");
    if (form && form.dataset.asks !== String(box.asks)) form.remove();
    if (!box.asks || (form && form.isConnected)) return;
    const fresh = question(box);
    fresh.dataset.asks = box.asks;
    item.querySelector(":scope > .result")?.after(fresh) ?? item.append(fresh);
    fresh.firstChild.focus();
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

// What the program asks a person: answered here, or on the terminal.
function question(box) {
  const field = make(box.lines ? "textarea" : "input", { "aria-label": box.text || "input of the program", autocomplete: "off" });
  const send = async (e) => {
    e.preventDefault();
    const reply = await fetch(`/api/0/answer/${box.asks}`, { method: "POST", body: field.value });
    if (!reply.ok) form.replaceChildren(make("p", { role: "alert" }, await reply.text()));
  };
  const form = make("form", { class: "question", onsubmit: send }, field, make("button", {}, "Answer"));
  for (const type of ["keydown", "click"]) form.addEventListener(type, (e) => e.stopPropagation());
  return form;
}

// Follows the run until it is over. tell(text) says what is the case when it cannot be followed.
export function follow(tree, tell) {
  const events = new EventSource("/api/events");
  events.addEventListener("open", () => tell(""));
  events.addEventListener("error", () =>
    tell("The server does not answer: the run was stopped, or its process has ended. What came so far is shown."));
  events.addEventListener("gone", (e) => {
    events.close();
    document.getElementById("totals").textContent = "interrupted";
    tell(JSON.parse(e.data).text);
  });
  events.addEventListener("message", (e) => tree.showChanges(JSON.parse(e.data)));
  events.addEventListener("over", () => {
    events.close();
    location.reload();
  });
}
