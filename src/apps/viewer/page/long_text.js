// long_text.js -- shortens long texts of a document to their first lines. It lays out the Markdown of a model, and
// values, when they share no line with other text.
// SPDX-License-Identifier: Apache-2.0
import { counted, make, makeButton, plural, restOf } from "./dom.js";
import { content, jsonTree, markdown } from "./text.js";

const LINES = 24; // a long text first shows this many lines
const MAX_ROWS = 200; // a list with more objects is shown as a tree
const SPARED = 6; // a text is shown whole when fewer lines than this follow its first lines
const BRIEF = { characters: 600, lines: 8, spared: 100 }; // limits for a text inside a line; when fewer than `spared` characters are left, all are shown
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

// Returns an element with a short text unchanged. For a long text, returns a copy that has the first lines, and a
// button that shows the whole text. words: the number of words of the whole text.
export function shortened(paper, words) {
  if (lineEnds(paper.textContent) < LINES + SPARED) return paper;
  const short = paper.cloneNode(true);
  const range = document.createRange();
  range.setStart(...endOfLines(short, LINES));
  range.setEndAfter(short.lastChild);
  range.deleteContents();
  const all = makeButton({ class: "show-all" }, `Show all ${counted(words)} words`);
  all.addEventListener("click", (e) => {
    e.stopPropagation();
    short.replaceWith(paper);
    for (const rest of paper.querySelectorAll(".more")) rest.click();
  });
  short.append(make("div.rest-of-text", {}, all));
  return short;
}

// Returns the nodes of a text in a line of the document. A long text begins with its first lines, and a button shows the
// other lines. No line is cut in the middle of a word. item: the item that has the text.
export function beginningOf(text, item) {
  const lines = text.split("\n").slice(0, BRIEF.lines).join("\n");
  const end = lines.length > BRIEF.characters ? lines.slice(0, BRIEF.characters).replace(/\s+\S*$/, "") : lines;
  if (text.length - end.length < BRIEF.spared) return item.cut ? [make("span", {}, text), restOf(item)] : [text];
  const more = makeButton({ class: "show-all" }, `Show all ${plural(item.cut && item.words ? item.words : wordsOf([{ text }]), "word")}`);
  const begin = make("span", {}, end, " … ", more);
  more.addEventListener("click", () => {
    const rest = item.cut ? restOf(item) : "";
    begin.replaceWith(make("span", {}, text), rest);
    if (rest) rest.click();
  });
  return [begin];
}

export function wordsOf(items) {
  return items.reduce((n, x) => n + (x.words ?? (x.text ?? "").split(/\s+/).filter(Boolean).length), 0);
}

const isObject = (x) => x?.constructor === Object;

// Makes a table of a list of objects, with a column for each of their members.
function tableOf(list) {
  const names = [...new Set(list.flatMap((x) => Object.keys(x)))];
  const cell = (v) => make("td", {}, v === undefined ? "" : typeof v === "object" && v ? jsonTree(v) : String(v));
  return make("div.value-table", {}, make("table.grid", {}, make("thead", {}, make("tr", {}, ...names.map((n) => make("th", { scope: "col" }, n)))),
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

// Returns the element for a text that shares no line with other text, and that is a value, or Markdown of a model.
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
  const box = make("div.answer", {});
  const flip = makeButton({ class: "flip", onclick: (e) => {
    const isLaid = box.contains(laid);
    (isLaid ? laid : exact).replaceWith(isLaid ? exact : laid);
    e.currentTarget.textContent = isLaid ? "Laid out" : "As written";
  } }, "As written");
  box.append(laid, flip);
  return [box];
}

// Shows the whole value of an item: a tree, a message with images, or its text.
export function valueOf(text, isJson) {
  if (!isJson) return make("pre.made", {}, text);
  try {
    const value = JSON.parse(text);
    const hasParts = Array.isArray(value) && value.some((x) => x?.image_url || x?.type === "text");
    return make("div.made", {}, hasParts ? content(value) : jsonTree(value));
  } catch {
    return make("pre.made", {}, text);
  }
}
