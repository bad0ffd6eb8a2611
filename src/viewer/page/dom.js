// dom.js -- makes elements. Everything that comes from a run is put in as text, never as markup.
// SPDX-License-Identifier: Apache-2.0

// An element with attributes and children. A child is an element, or a text; null is left out.
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

export function clear(e) {
  e.replaceChildren();
  return e;
}

// 1234567 microseconds as people read it: 1.23 s.
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

// Hands a text to the person as a file.
export function saveFile(name, type, text) {
  const a = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}
