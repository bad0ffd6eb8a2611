// dom.js -- makes elements. Everything that comes from a run is put in as text, never as markup.
// SPDX-License-Identifier: Apache-2.0

// Makes an element with attributes and children. A tag such as "p.hint" has a class. A child is an element or a text;
// null is skipped.
export function make(tag, attributes = {}, ...children) {
  const [name, style] = tag.split(".");
  const e = document.createElement(name);
  if (style) e.className = style;
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else e.setAttribute(key, value === true ? "" : String(value));
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return e;
}

export function makeButton(attributes, ...children) {
  return make("button", { type: "button", ...attributes }, ...children);
}

// Makes the button that follows a text when the server has sent only the beginning of the text. asides.js loads the
// whole text.
export function restOf(item) {
  return makeButton({ class: "show-all more", "data-box": item.box }, item.words ? `… Show all ${plural(item.words, "word")}` : "… Show all");
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

// Returns microseconds as people read them: 670000 becomes 0.67 s. For less than a millisecond the
// text is empty.
export function took(micros) {
  if (micros === undefined || micros < 1000) return "";
  if (micros < 1e5) return `${Math.round(micros / 1e3)} ms`;
  if (micros < 1e7) return `${(Math.round(micros / 1e4) / 100).toFixed(2)} s`;
  if (micros < 12e7) return `${(Math.round(micros / 1e5) / 10).toFixed(1)} s`;
  const seconds = Math.round(micros / 1e6);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

// Returns the duration of a box or bar. For a model call it is the time on the network; the time during which the call
// waited is shown separately.
export function timeOf(b) {
  return inOneLine(took(b.end - b.start - (b.waited ?? 0)), took(b.waited) && `waited ${took(b.waited)}`);
}

export function fromOf(b) {
  return took(b.start) && `from ${took(b.start)}`;
}

// Returns the texts that are not empty, with commas between them.
export function inOneLine(...texts) {
  return texts.filter(Boolean).join(", ");
}

// Returns a number as people read it, such as 1,234.
export function counted(n) {
  return n.toLocaleString("en");
}

// Returns a number of tokens; nothing when the service has not counted them.
export function countOf(n) {
  return n ? counted(n) : "";
}

export function plural(n, word) {
  return `${counted(n)} ${word}${n === 1 ? "" : "s"}`;
}

// Makes the elements that the selector finds reachable: the Tab key reaches one of them, arrow keys move from it to the
// others, and Enter or the space bar calls onEnter.
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

// Makes a slider for the moments of a run. show(micros) is called when it moves; null means the end.
export function momentSlider(whole, show) {
  const inWords = (micros) => took(micros) || "0";
  const shown = make("output", {}, inWords(whole));
  const field = make("input", { type: "range", min: 0, max: 1000, value: 1000, "aria-label": "moment of the run", "aria-valuetext": inWords(whole), oninput: () => {
    const moment = Math.round((whole * field.value) / 1000);
    shown.textContent = inWords(moment);
    field.setAttribute("aria-valuetext", shown.textContent);
    show(field.value === "1000" ? null : moment);
  } });
  return make("div.slider", {}, field, shown);
}

// Scrolls the text of a box when a paging key is pressed. Returns true when there was a text to scroll.
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
