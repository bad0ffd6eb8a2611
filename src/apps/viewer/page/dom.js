// dom.js -- makes elements. Everything that comes from a run is put in as text, never as markup.
// SPDX-License-Identifier: Apache-2.0

// Makes an element with attributes and children. A child is an element or a text; null is skipped.
export function make(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else e.setAttribute(name, value === true ? "" : String(value));
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return e;
}

export function byId(id) {
  return document.getElementById(id);
}

// Lets screen readers say a text that is not visible.
export function say(text) {
  byId("said").textContent = text;
}

export function clear(e) {
  e.replaceChildren();
  return e;
}

// Returns the duration of a box or bar. For a model call it is the time on the network; the time during which the call
// waited is shown separately.
export function timeOf(b) {
  const time = duration(b.end - b.start - (b.waited ?? 0));
  return b.waited ? `${time}, waited ${duration(b.waited)}` : time;
}

// Returns microseconds as people read them: 1234567 becomes 1.23 s.
export function duration(micros) {
  if (micros === undefined) return "";
  if (micros < 1000) return `${micros} µs`;
  if (micros < 1e6) return `${(micros / 1e3).toPrecision(3)} ms`;
  if (micros < 6e7) return `${(micros / 1e6).toPrecision(3)} s`;
  return `${Math.floor(micros / 6e7)} min ${Math.round((micros % 6e7) / 1e6)} s`;
}

export function plural(n, word) {
  return `${n} ${word}${n === 1 ? "" : "s"}`;
}

// Makes the elements that the selector finds reachable: the Tab key reaches one of them, arrow keys move from it to the
// others, and Enter calls onEnter.
export function makeWalkable(element, selector, onEnter) {
  element.addEventListener("focusin", (e) => {
    const now = e.target.closest(selector);
    if (!now) return;
    for (const other of element.querySelectorAll(`${selector}[tabindex="0"]`)) other.tabIndex = -1;
    now.tabIndex = 0;
  });
  element.addEventListener("keydown", (e) => {
    const now = e.target.closest(selector);
    if (!now || e.ctrlKey || e.metaKey || e.altKey) return;
    const all = [...element.querySelectorAll(selector)];
    const at = all.indexOf(now);
    const to = all[{ ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[e.key]];
    if (!to && e.key !== "Enter" && e.key !== " ") return;
    e.preventDefault();
    if (to) to.focus();
    else onEnter(now);
  });
}

// Scrolls the text of a box when a paging key is pressed. Returns true when the box has such a text.
export function scrollText(item, key) {
  const text = item.querySelector(":scope > .result");
  const by = { PageDown: 0.9, PageUp: -0.9 }[key];
  if (!by || !text || text.scrollHeight <= text.clientHeight) return false;
  text.scrollTop += by * text.clientHeight;
  return true;
}

// Offers a text as a file to download.
export function saveFile(name, type, text) {
  const a = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}
