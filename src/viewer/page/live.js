// live.js -- a run that goes on: boxes come as they change, and the page follows the newest one until
// the person scrolls away. When the run is over the page is loaded anew and shows its trace.
// SPDX-License-Identifier: Apache-2.0
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
    if (old) return [Object.assign(old, news), false];
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

  async boxesOfLine(line) {
    return [...this.boxes.values()].filter((b) => b.line === line).map((b) => b.id);
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
    const fresh = this.item(box);
    this.shown--;
    for (const part of item.querySelectorAll(":scope > .title, :scope > .result")) part.remove();
    item.prepend(...fresh.querySelectorAll(":scope > .title, :scope > .result"));
    item.dataset.state = box.state;
    item.setAttribute("aria-label", fresh.getAttribute("aria-label"));
  }
}

// Follows the run until it is over.
export function follow(tree) {
  const events = new EventSource("/api/events");
  events.addEventListener("message", (e) => tree.showChanges(JSON.parse(e.data)));
  events.addEventListener("over", () => {
    events.close();
    location.reload();
  });
}
