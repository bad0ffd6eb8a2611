// time.js -- when what ran: a lane for everything that ran at the same time, and a slider that shows the
// run as it was at a moment: what had begun and had no result yet, and what had not begun.
// SPDX-License-Identifier: Apache-2.0
import { make, clear, duration } from "./dom.js";

const LANE = 14;

export class TimePane {
  constructor(element, run, choose, onMoment) {
    this.element = element;
    this.run = run;
    this.choose = choose;
    this.onMoment = onMoment;
    this.loaded = false;
  }

  bar(b, total) {
    const e = make("button", {
      type: "button", class: "bar", "data-kind": b.kind, "data-box": b.id,
      title: `${b.kind}, ${duration(b.end - b.start)}`,
      "aria-label": `${b.kind}, ${duration(b.end - b.start)}, from ${duration(b.start)}`,
      onclick: () => this.choose(b.id),
    });
    e.style.left = `${(100 * b.start) / total}%`;
    e.style.width = `max(3px, ${(100 * (b.end - b.start)) / total}%)`;
    e.style.top = `${b.lane * LANE}px`;
    return e;
  }

  async load() {
    if (this.loaded) return;
    this.loaded = true;
    const bars = await this.run.lanes();
    const total = Math.max(1, this.run.summary.micros ?? 1, ...bars.map((b) => b.end));
    const lanes = make("div", { class: "lanes" }, bars.map((b) => this.bar(b, total)));
    lanes.style.height = `${LANE * (1 + Math.max(0, ...bars.map((b) => b.lane)))}px`;
    const shown = make("output", {}, duration(total));
    const slider = make("input", {
      type: "range", min: 0, max: 1000, value: 1000, "aria-label": "moment of the run",
      oninput: () => {
        const moment = (total * slider.value) / 1000;
        shown.textContent = duration(Math.round(moment));
        this.onMoment(slider.value === "1000" ? null : moment);
      },
    });
    clear(this.element).append(make("div", { class: "slider" }, slider, shown),
      make("div", { class: "scroll" }, lanes));
  }
}
