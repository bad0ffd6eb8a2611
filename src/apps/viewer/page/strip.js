// strip.js -- the time strip. Each model call has a bar with its number, in a lane that is named after its caller.
// Tools are lines above the calls inside them. When there are too many calls, a curve shows how many were open. When
// the strip is expanded, it marks the calls on which the end of the run depended, and shows the run as it was at a
// chosen moment.
// SPDX-License-Identifier: Apache-2.0
import { clear, counted, inOneLine, make, makeButton, momentSlider, took } from "./dom.js";

const MAX_SINGLE_BARS = 200;
const LANES = 4; // number of lanes of a strip that is not expanded
const LANE_PX = matchMedia("(pointer: coarse)").matches ? 34 : 20; // height of a lane in px; document.css has the height of a bar
const THIN_LANES = 16; // number of lanes when more calls than LANES were open at a time; their bars have no text
const THIN_PX = 80; // height of all thin lanes together
const MAX_THIN_PX = 10;
const COLUMNS = 120;
// a tick later than this share of the time has its label on its left side, so that the label is inside the page
const LAST_TICKS = 0.92;
const TICKS = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7, 6e7, 12e7, 3e8, 6e8, 18e8, 36e8, 108e8, 864e8];

function place(e, left, width) {
  e.style.left = `${left * 100}%`;
  if (width !== undefined) e.style.width = `max(calc(${width * 100}% - 2px), 3px)`;
  return e;
}

// Returns the lane of each call. The calls of one agent or variable share lanes; calls that overlap are in different lanes. isFull: more lanes than
// `most` would be needed, so some calls cover each other.
function lanesOf_(calls, most) {
  const names = [...new Set(calls.map((c) => c.who ?? ""))];
  const few = names.length > 1 && names.length <= most;
  const groups = few ? names : [names.length === 1 ? names[0] : ""];
  const lanes = [];
  const laneOf = new Map();
  let isFull = false;
  for (const name of groups) {
    const first = lanes.length;
    for (const c of calls) {
      if (few && (c.who ?? "") !== name) continue;
      let lane = first;
      while (lane < lanes.length && lanes[lane].end > c.start) lane++;
      if (lane === lanes.length && (lane < most || lane === first)) lanes.push({ name: lane === first ? name : "", end: 0 });
      isFull ||= lane === lanes.length;
      lane = Math.min(lane, lanes.length - 1);
      lanes[lane].end = Math.max(lanes[lane].end, c.end);
      laneOf.set(c.call, lane);
    }
  }
  return { lanes, laneOf, isFull, px: LANE_PX };
}

// Returns lanes that are as thin as needed, so that no call covers another one; null: too many calls were open at a
// time.
function thinLanes(calls) {
  const made = lanesOf_(calls.map((c) => ({ ...c, who: "" })), THIN_LANES);
  return made.isFull ? null : { ...made, px: Math.min(MAX_THIN_PX, Math.floor(THIN_PX / made.lanes.length)) };
}

function barOf(c, lane, px, whole) {
  const time = c.isOpen ? "" : took(c.took ?? c.end - c.start);
  const waited = took(c.waited);
  const name = inOneLine(`call ${c.call}`, time, waited && `waited ${waited}`);
  const bar = makeButton({ class: c.isOpen ? "bar open" : "bar", "data-call": c.call, "aria-label": name, title: name }, ...(px < LANE_PX ? [] : [make("span", { class: c.call > 9 ? "number long" : "number" }, String(c.call)), time ? make("small", {}, time) : null]));
  if (c.waited && c.end > c.start) bar.style.setProperty("--waited", `${(100 * c.waited) / (c.end - c.start)}%`);
  bar.style.top = `${4 + lane * px}px`;
  if (px < LANE_PX) bar.style.height = `${px - 1}px`;
  return place(bar, c.start / whole, (c.end - c.start) / whole);
}

// Makes the line of a tool above the calls inside it.
function toolOf(t, calls, { laneOf, px }, whole) {
  const inside = calls.filter((c) => c.who === t.name && c.start >= t.start && c.end <= t.end);
  if (!inside.length || t.end === undefined) return null;
  const line = make("span", { class: "tool-time", title: `${t.name}, ${took(t.end - t.start)}` });
  line.style.top = `${2 + px * Math.min(...inside.map((c) => laneOf.get(c.call)))}px`;
  return place(line, t.start / whole, (t.end - t.start) / whole);
}

// Counts how many calls were open in each part of the time. The strip shows these counts when there are too many calls
// to draw each one.
function density(calls, whole) {
  const open = new Array(COLUMNS).fill(0);
  for (const c of calls) {
    const last = Math.min(COLUMNS - 1, Math.floor((c.end / whole) * COLUMNS));
    for (let i = Math.min(COLUMNS - 1, Math.floor((c.start / whole) * COLUMNS)); i <= last; i++) open[i]++;
  }
  const most = Math.max(...open, 1);
  return make("div", { class: "density", role: "img", "aria-label": `${counted(calls.length)} calls of models; at most ${most} at a time` },
    ...open.map((n) => {
      const i = make("i");
      i.style.height = `${(n / most) * 100}%`;
      return i;
    }));
}

// Returns the calls on which the end of the run depended: the call that ended last, the call that ended last before
// that one began, and so on.
function critical(calls) {
  const out = new Set();
  for (let now = calls.toSorted((a, b) => b.end - a.end)[0]; now; ) {
    out.add(now.call);
    const { start, call } = now;
    now = calls.filter((c) => c.end <= start && c.call !== call).toSorted((a, b) => b.end - a.end)[0];
  }
  return out;
}

export function hasManyCalls(run) {
  return run.summary.calls > MAX_SINGLE_BARS;
}

// Fills the strip. choose(number) opens a call.
export async function fillStrip(element, run, choose, view) {
  // reserves the room that the curve needs
  if (hasManyCalls(run) && !element.childElementCount) element.append(make("div.lanes", {}));
  element.hidden = !element.childElementCount;
  const { items, tools = [] } = await run.calls();
  const begun = items.filter((c) => c.start !== undefined).toSorted((a, b) => a.start - b.start || a.call - b.call);
  const whole = Math.max(run.summary.micros ?? 0, ...begun.map((c) => c.end ?? c.start), 1);
  const calls = begun.map((c) => ({ ...c, end: c.end ?? whole, isOpen: c.end === undefined }));
  const isTall = element.classList.contains("tall");
  element.hidden = !calls.length || whole < 1000;
  if (element.hidden) return;
  const lanes = make("div.lanes", {});
  const step = TICKS.find((t) => whole / t <= 6) ?? whole;
  for (let t = 0; t < whole; t += step) lanes.append(place(make("span", { class: t / whole > LAST_TICKS ? "tick before" : "tick", "aria-hidden": "true" }, t ? took(t) : "0"), t / whole));
  const shown = calls.slice(0, isTall ? 2000 : MAX_SINGLE_BARS);
  let made = lanesOf_(shown, isTall ? 40 : LANES);
  if (made.isFull && !isTall) made = thinLanes(shown);
  if ((calls.length > MAX_SINGLE_BARS && !isTall) || !made) {
    lanes.append(density(calls, whole));
  } else {
    const path = isTall ? critical(shown) : new Set();
    const isNamed = made.lanes.some((l) => l.name) && made.lanes.length > 1;
    lanes.style.height = `${18 + made.px * made.lanes.length}px`;
    lanes.classList.toggle("named", isNamed);
    for (const [i, lane] of isNamed ? made.lanes.entries() : []) {
      const name = make("span.lane-name", {}, lane.name);
      name.style.top = `${4 + i * LANE_PX}px`;
      lanes.append(name);
    }
    lanes.append(...tools.map((t) => toolOf(t, shown, made, whole)).filter(Boolean));
    for (const c of shown) {
      const bar = barOf(c, made.laneOf.get(c.call), made.px, whole);
      bar.classList.toggle("critical", path.has(c.call));
      lanes.append(bar);
    }
  }
  lanes.addEventListener("click", (e) => e.target.closest(".bar") && choose(Number(e.target.closest(".bar").dataset.call)));
  clear(element).append(lanes, ...(isTall && view ? [momentSlider(whole, (moment) => view.setMoment(moment))] : []));
}
