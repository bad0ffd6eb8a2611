// long_text.js -- shortens long texts of a document to their first lines. It shows the Markdown of a model as laid-out
// text when it shares no line with other text.
// SPDX-License-Identifier: Apache-2.0
import { make } from "./dom.js";
import { content, jsonTree, markdown } from "./text.js";

const LINES = 24; // a long text first shows this many lines
const MAX_ROWS = 200; // a list with more objects is shown as a tree
const SPARED = 6; // a text that is longer by fewer lines than this is shown whole
const MARKS = /^#{1,6} \S|^ *[-*+] \S|^ *\d+[.)] \S|^```|^> \S|\*\*\S[^*\n]*\*\*/m;

function lineEnds(text, from = 0) {
  let n = 0;
  for (let i = text.indexOf("\n", from); i >= 0; i = text.indexOf("\n", i + 1)) n++;
  return n;
}

// Returns where the first lines of an element end, as [text node, offset]; null when the element
// has fewer lines.
function endOfLines(element, lines) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    for (let i = node.data.indexOf("\n"); i >= 0; i = node.data.indexOf("\n", i + 1)) if (--lines === 0) return [node, i];
  return null;
}

// Returns a short paper unchanged. For a long paper, returns a copy that has its first lines, and a button that shows
// the whole paper. words: the number of words of the whole text.
export function shortened(paper, words) {
  if (lineEnds(paper.textContent) < LINES + SPARED) return paper;
  const short = paper.cloneNode(true);
  const range = document.createRange();
  range.setStart(...endOfLines(short, LINES));
  range.setEndAfter(short.lastChild);
  range.deleteContents();
  const all = make("button", { type: "button", class: "show-all" }, `Show all ${words.toLocaleString("en")} words`);
  all.addEventListener("click", (e) => {
    e.stopPropagation();
    short.replaceWith(paper);
  });
  short.append(make("div", { class: "rest-of-text" }, all));
  return short;
}

export function wordsOf(items) {
  return items.reduce((n, x) => n + (x.words ?? (x.text ?? "").split(/\s+/).filter(Boolean).length), 0);
}

const isObject = (x) => x?.constructor === Object;

// Makes a table of a list of objects, with a column for each of their members.
function tableOf(list) {
  const names = [...new Set(list.flatMap((x) => Object.keys(x)))];
  const cell = (v) => make("td", {}, v === undefined ? "" : typeof v === "object" && v ? jsonTree(v) : String(v));
  return make("div", { class: "value-table" }, make("table", { class: "grid" }, make("thead", {}, make("tr", {}, ...names.map((n) => make("th", { scope: "col" }, n)))),
    make("tbody", {}, ...list.map((x) => make("tr", {}, ...names.map((n) => cell(x[n])))))));
}

// Returns an element for a text that is a JSON list or object: a table or a tree. Returns null for any other text.
function valueLaidOut(text) {
  try {
    const value = JSON.parse(text);
    const isTable = Array.isArray(value) && value.length > 1 && value.length <= MAX_ROWS && value.every(isObject);
    return typeof value === "object" && value ? make("div", {}, isTable ? tableOf(value) : jsonTree(value)) : null;
  } catch {
    return null;
  }
}

// Returns the element for a text that shares no line with other text, and that is Markdown of a model or a value.
// Returns null for any other text.
function layOut(item) {
  if (!item.alone || item.cut || item.state === "running") return null;
  if (item.json) return valueLaidOut(item.text);
  const isMarkdown = !item.parts && item.text.includes("\n") && MARKS.test(item.text);
  return isMarkdown ? make("div", {}, markdown(item.text.trim())) : null;
}

// Returns the nodes of a piece. made: the nodes that piece() has made. A text that is laid out has a switch that shows
// the exact text.
export function laidOut(item, made) {
  const laid = layOut(item);
  if (!laid) return made;
  const exact = made.find((x) => x.matches?.(".piece"));
  for (const { name, value } of exact.attributes) laid.setAttribute(name, value);
  // these headings are not a part of the page's outline
  for (const heading of laid.querySelectorAll("h3, h4, h5, h6")) heading.setAttribute("role", "presentation");
  laid.classList.add("laid-out");
  const box = make("div", { class: "answer" });
  const flip = make("button", { type: "button", class: "flip", onclick: (e) => {
    const isLaid = box.contains(laid);
    (isLaid ? laid : exact).replaceWith(isLaid ? exact : laid);
    e.currentTarget.textContent = isLaid ? "Laid out" : "As written";
  } }, "As written");
  box.append(laid, flip);
  return [box];
}

// Shows the whole value of an item: a tree, a message with images, or its text.
export function valueOf(text, isJson) {
  if (!isJson) return make("pre", { class: "made" }, text);
  try {
    const value = JSON.parse(text);
    const hasParts = Array.isArray(value) && value.some((x) => x?.image_url || x?.type === "text");
    return make("div", { class: "made" }, hasParts ? content(value) : jsonTree(value));
  } catch {
    return make("pre", { class: "made" }, text);
  }
}
