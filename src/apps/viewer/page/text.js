// text.js -- makes elements for values: JSON as a tree, Markdown with a fixed set of elements, images from their data.
// It also marks the words in which two texts differ.
// SPDX-License-Identifier: Apache-2.0
import { make } from "./dom.js";

// Shows JSON as a tree whose parts open and close. The outermost container, and containers with fewer than four
// entries, are open at first.
export function jsonTree(value, depth = 0) {
  if (value === null || typeof value !== "object") {
    const kind = value === null ? "null" : typeof value;
    return make("span", { class: `json-${kind}` }, JSON.stringify(value) ?? "undefined");
  }
  const entries = Array.isArray(value) ? value.map((v, i) => [i, v]) : Object.entries(value);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (!entries.length) return make("span", {}, open + close);
  const details = make("details", { class: "json", open: depth < 1 || entries.length < 4 });
  const fill = () => {
    if (details.childElementCount > 1) return;
    const rows = entries.slice(0, 500).map(([k, v]) =>
      make("li", {}, make("span.json-key", {}, `${k}: `), jsonTree(v, depth + 1)));
    if (entries.length > 500) rows.push(make("li", {}, `… ${entries.length - 500} more`));
    details.append(make("ul", {}, rows));
  };
  details.append(make("summary", {}, `${open}${entries.length}${close}`));
  if (details.open) fill();
  details.addEventListener("toggle", fill);
  return details;
}

const INLINE = /(`[^`\n]+`|\*\*[^*\n]+\*\*|\*[^*\n]+\*|\[[^\]\n]*\]\([^)\s]*\))/;

// Makes nodes for code, strong text and emphasis. A link is shown with its address and cannot be followed.
function inline(text) {
  return text.split(INLINE).map((part, i) => {
    if (i % 2 === 0) return part;
    if (part.startsWith("`")) return make("code", {}, part.slice(1, -1));
    if (part.startsWith("**")) return make("strong", {}, part.slice(2, -2));
    if (part.startsWith("*")) return make("em", {}, part.slice(1, -1));
    const [, label, address] = /^\[(.*)\]\((.*)\)$/s.exec(part);
    return make("span", { class: "link", title: address }, label, ` <${address}>`);
  });
}

// Shows paragraphs, headings, lists, quotes and code of Markdown. Nothing else in the text becomes markup.
export function markdown(text) {
  const out = make("div.markdown", {});
  let list = null;
  let code = null;
  for (const line of text.split("\n")) {
    if (line.startsWith("```")) {
      if (code) code = null;
      else out.append(make("pre", {}, (code = make("code"))));
      list = null;
      continue;
    }
    if (code) {
      code.append(`${line}\n`);
      continue;
    }
    const heading = /^(#{1,6}) +(.*)$/.exec(line);
    const item = /^ *(?:([-*+])|\d+[.)]) +(.*)$/.exec(line);
    if (heading) out.append(make(`h${Math.min(heading[1].length + 2, 6)}`, {}, inline(heading[2])));
    if (item) {
      list ??= out.appendChild(make(item[1] ? "ul" : "ol"));
      list.append(make("li", {}, inline(item[2])));
      continue;
    }
    list = null;
    if (!heading && line.startsWith(">")) out.append(make("blockquote", {}, inline(line.slice(1))));
    else if (!heading && line.trim()) out.append(make("p", {}, inline(line)));
  }
  return out;
}

const IMAGE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/;

// Shows the content of a message: a text, or parts, some of which are images.
export function content(value) {
  if (typeof value === "string") return make("div.plain", {}, value);
  if (!Array.isArray(value)) return jsonTree(value);
  return make("div", {}, value.map((part) => {
    const url = part?.image_url?.url ?? part?.image_url;
    if (typeof url === "string")
      return IMAGE.test(url)
        ? make("img", { src: url, alt: "image of the message" })
        : make("div.link", {}, `image at ${url}`);
    return typeof part?.text === "string" ? content(part.text) : jsonTree(part);
  }));
}

// Makes a list of messages, shown as a chat.
export function chat(messages) {
  return make("ol.chat", {}, messages.map((m) =>
    make("li", { class: "message", "data-role": m?.role ?? "" },
      make("span.role", {}, String(m?.role ?? "message")),
      content(m?.content ?? ""),
      m?.tool_calls ? jsonTree(m.tool_calls) : null)));
}

// Returns the request that was sent, in the form of OpenAI.
export function requestOf(settings, model, messages) {
  return { ...settings, model: String(model ?? "model").replace(/^[^/]*\//, ""), messages };
}

// Returns the request as a curl command. The key is named as a variable and not shown.
export function curl(request) {
  const body = JSON.stringify(request).replaceAll("'", "'\\''");
  return `curl "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" \\\n  -H 'Content-Type: application/json' -d '${body}'\n`;
}

const MAX_COMPARED = 2000; // maximum number of words or lines that are aligned; a longer text is shown as replaced

// Returns the longest common part of two lists, as pairs of indexes.
function common(a, b) {
  const rows = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let k = b.length - 1; k >= 0; k--)
      rows[i][k] = a[i] === b[k] ? rows[i + 1][k + 1] + 1 : Math.max(rows[i + 1][k], rows[i][k + 1]);
  const pairs = [];
  for (let i = 0, k = 0; i < a.length && k < b.length; )
    if (a[i] === b[k]) pairs.push([i++, k++]);
    else if (rows[i + 1][k] >= rows[i][k + 1]) i++;
    else k++;
  return pairs;
}

// Returns the changes that turn the list a into the list b, in order, each as [items in both, items only in a, items
// only in b]. Equal beginnings and ends are compared directly, and only the items between them are aligned.
export function listChanges(a, b) {
  const most = Math.min(a.length, b.length);
  let start = 0;
  let end = 0;
  while (start < most && a[start] === b[start]) start++;
  while (end < most - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [left, right] = [a, b].map((list) => list.slice(start, list.length - end));
  const fits = left.length <= MAX_COMPARED && right.length <= MAX_COMPARED;
  const out = [[a.slice(0, start), [], []]];
  let i = 0;
  let k = 0;
  for (const [x, y] of [...(fits ? common(left, right) : []), [left.length, right.length]]) {
    if (x > i || y > k) out.push([[], left.slice(i, x), right.slice(k, y)]);
    if (x < left.length && y < right.length) out.push([[left[x]], [], []]);
    [i, k] = [x + 1, y + 1];
  }
  out.push([end ? a.slice(a.length - end) : [], [], []]);
  return out;
}

// Returns two texts as lists of nodes: words that only the first text has are in del, words that only the second has are in ins.
export function wordChanges(before, after) {
  const split = (s) => s.match(/\s+|[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]/gu) ?? [];
  const left = [];
  const right = [];
  for (const [both, gone, come] of listChanges(split(before), split(after))) {
    if (both.length) [left, right].forEach((side) => side.push(both.join("")));
    if (gone.length) left.push(make("del", {}, gone.join("")));
    if (come.length) right.push(make("ins", {}, come.join("")));
  }
  return [left, right];
}
