// time.js -- shows when each box ran. Boxes that ran at the same time are in different lanes. A slider shows the run as
// it was at a moment: which boxes had begun and had no result yet, and which had not begun. The lanes of two runs are
// below each other on one scale, which begins with the start of each run.
// SPDX-License-Identifier: Apache-2.0
import { make, makeButton, clear, fromOf, inOneLine, took, makeWalkable, momentSlider, timeOf } from "./dom.js";

const LANE = 14;

export class TimePane {
  // choose(id, side) is called for a chosen bar. onMoment(micros or null) is called when the slider moves.
  constructor(element, runs, choose, onMoment) {
    this.element = element;
    this.runs = runs;
    this.choose = choose;
    this.onMoment = onMoment;
    this.moment = null;
    this.loaded = false;
    makeWalkable(element, ".bar", (bar) => bar.click());
  }

  bar(b, side, total) {
    const e = makeButton({ class: "bar", tabindex: "-1", "data-kind": b.kind, "data-box": b.id,
      title: inOneLine(b.kind, timeOf(b)),
      "aria-label": inOneLine(b.kind, timeOf(b), fromOf(b)),
      onclick: () => this.choose(b.id, side),
    });
    e.style.left = `${(100 * b.start) / total}%`;
    e.style.width = `max(3px, ${(100 * (b.end - b.start)) / total}%)`;
    e.style.top = `${b.lane * LANE}px`;
    if (b.waited) e.style.setProperty("--waited", `${(100 * b.waited) / (b.end - b.start)}%`);
    return e;
  }

  lanes(bars, side, total) {
    const { name, micros } = this.runs[side].summary;
    const lanes = make("div", { class: "lanes", role: "group", "aria-label": `Time of ${name}` }, bars.map((b) => this.bar(b, side, total)));
    lanes.style.height = `${LANE * (1 + Math.max(0, ...bars.map((b) => b.lane)))}px`;
    const title = this.runs.length > 1 ? make("h3", {}, [name, took(micros)].filter(Boolean).join(": ")) : null;
    return [title, make("div.scroll", {}, lanes)];
  }

  // Draws the lanes. During a run they are drawn again and again, unless the user has chosen an earlier moment, or a
  // bar has the focus.
  async load() {
    const isBusy = this.moment !== null || this.element.querySelector(".bar:focus");
    const state = this.runs[0].changes ?? 0;
    if (this.loaded && (isBusy || this.state === state)) return;
    this.state = state;
    this.loaded = true;
    const lists = await Promise.all(this.runs.map((r) => r.lanes()));
    const total = Math.max(1, ...this.runs.map((r) => r.summary.micros ?? 1), ...lists.flat().map((b) => b.end));
    const slider = momentSlider(total, (moment) => {
      this.moment = moment;
      this.onMoment(moment);
    });
    clear(this.element).append(slider,
      ...lists.flatMap((bars, side) => this.lanes(bars, side, total)).filter(Boolean));
    const first = this.element.querySelector(".bar");
    if (first) first.tabIndex = 0;
  }
}

// Dims a box according to its state at a moment; null means the end.
export function showMoment(element, box, moment) {
  const { start, end } = box;
  element.classList.toggle("later", moment !== null && start > moment);
  element.classList.toggle("open", moment !== null && start <= moment && end > moment);
}
