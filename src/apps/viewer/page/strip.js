// strip.js -- the time strip: a bar for each call of a model, with its number; of many calls how many were open.
// SPDX-License-Identifier: Apache-2.0
import { clear, make } from "./dom.js";
import { took } from "./margin.js";

const MOST_SINGLE_BARS = 200;
const LANES = 4;
const COLUMNS = 120;
const TICKS = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 6e7, 12e7, 3e8, 6e8, 18e8, 36e8, 108e8, 864e8];

function place(e, left, width) {
  e.style.left = `${left * 100}%`;
  if (width !== undefined) e.style.width = `max(calc(${width * 100}% - 2px), 3px)`;
  return e;
}

function bars(calls, whole) {
  const ends = [];
  return calls.map((c) => {
    let lane = ends.findIndex((end) => end <= c.start);
    if (lane < 0) lane = Math.min(ends.length, LANES - 1);
    ends[lane] = c.end;
    const time = took(c.end - c.start);
    const bar = make("button", { type: "button", class: "bar", "data-call": c.call, "aria-label": `call ${c.call}, ${time}` }, String(c.call),
      time ? make("small", {}, time) : null);
    bar.style.top = `${4 + lane * 20}px`;
    return { lane, bar: place(bar, c.start / whole, (c.end - c.start) / whole) };
  });
}

// Of many calls: how many were open in each part of the time.
function density(calls, whole) {
  const open = new Array(COLUMNS).fill(0);
  for (const c of calls) {
    const last = Math.min(COLUMNS - 1, Math.floor((c.end / whole) * COLUMNS));
    for (let i = Math.min(COLUMNS - 1, Math.floor((c.start / whole) * COLUMNS)); i <= last; i++) open[i]++;
  }
  const most = Math.max(...open, 1);
  return make("div", { class: "density", role: "img", "aria-label": `${calls.length} calls of models; at most ${most} at a time` },
    ...open.map((n) => {
      const i = make("i");
      i.style.height = `${(n / most) * 100}%`;
      return i;
    }));
}

// Fills the strip. choose(number) opens a call.
export async function fillStrip(element, run, choose) {
  const { items } = await run.calls();
  const begun = items.filter((c) => c.start !== undefined);
  const whole = Math.max(run.summary.micros ?? 0, ...begun.map((c) => c.end ?? c.start), 1);
  const calls = begun.map((c) => ({ ...c, end: c.end ?? whole, isOpen: c.end === undefined }));
  element.hidden = !calls.length || whole < 1000;
  if (element.hidden) return;
  const lanes = make("div", { class: "lanes" });
  const step = TICKS.find((t) => whole / t <= 6) ?? whole;
  for (let t = 0; t < whole; t += step) lanes.append(place(make("span", { class: "tick" }, t ? took(t) : "0"), t / whole));
  if (calls.length > MOST_SINGLE_BARS) {
    lanes.append(density(calls, whole));
  } else {
    const made = bars(calls, whole);
    lanes.style.height = `${38 + 20 * Math.max(...made.map((m) => m.lane))}px`;
    lanes.append(...made.map((m) => m.bar));
  }
  lanes.addEventListener("click", (e) => e.target.closest(".bar") && choose(Number(e.target.closest(".bar").dataset.call)));
  clear(element).append(lanes);
}
