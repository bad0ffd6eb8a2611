// outline.js -- the table of contents: a tree of the document's headings, turns, tools and failures, in which the entry
// at the top of the window is marked.
// SPDX-License-Identifier: Apache-2.0
import { clear, make, makeWalkable } from "./dom.js";

const MAX_ENTRIES = 200; // maximum number of entries
const SAID = ".paper, .row > .loop, .row > .rows";

function entryOf(e) {
  if (e.matches(SAID)) return ["text", "What it said"];
  if (e.matches(".fold")) return ["set-up", "Set-up"];
  if (e.matches(".fault")) return ["failure", "Failed"];
  if (e.matches(".work")) return ["work", e.dataset.title];
  return [e.matches(".tool") ? "tool" : e.matches(".loop, .rows") ? "loop" : "turn", e.dataset.title];
}

// Returns the text of an entry. The text of a turn contains the first words that were said in the turn.
function shownOf(e, text) {
  const said = e.matches(".turn") && e.querySelector(".typed .piece, .saying, .fn")?.textContent.trim();
  return said ? `${text.replace(/^Turn /, "")} ${said.slice(0, 80)}` : text;
}

export class Outline {
  constructor(element) {
    this.element = element;
    element.setAttribute("role", "tree");
    element.setAttribute("aria-label", "Contents of the document");
    makeWalkable(element, "[role=treeitem]", (item) => item.click());
    document.addEventListener("scroll", () => (this.frame ??= requestAnimationFrame(() => this.mark())), { passive: true });
  }

  fill(article) {
    this.entries = [];
    const works = new Map(); // title of a work -> number of works with this title
    for (const e of article.querySelectorAll(`.fold, ${SAID}, .work:not(.attempt), .work-body:not([hidden]) [data-title], .fault`)) {
      const said = e.matches(SAID);
      if (said && this.entries.some((x) => x.said)) continue;
      let depth = 1;
      for (let up = e.parentElement.closest("[data-title]"); up; up = up.parentElement.closest("[data-title]")) depth++;
      const [kind, text] = entryOf(e);
      if (kind === "work") works.set(text, (works.get(text) ?? 0) + 1);
      this.entries.push({ e, kind, text, depth: Math.min(depth, 4), said, time: e.dataset.took || e.querySelector(":scope > .took, :scope > .use .took")?.textContent });
      if (this.entries.length >= MAX_ENTRIES) break;
    }
    const seen = new Map();
    for (const x of this.entries.filter((y) => works.get(y.text) > 1)) {
      seen.set(x.text, (seen.get(x.text) ?? 0) + 1);
      x.text += ` ${seen.get(x.text)}${x.e.dataset.for ? `: ${x.e.dataset.for}` : ""}`;
    }
    const items = this.entries.map(({ e, kind, text, depth, time }, i) => make("a", { role: "treeitem", "aria-level": depth, "aria-label": `${kind} ${text}${time ? `, ${time}` : ""}`, "data-depth": depth - 1, href: `#${e.id}`, tabindex: i ? "-1" : "0",
      onclick: (x) => (x.preventDefault(), e.scrollIntoView({ block: "start" })) }, make("span.what", {}, shownOf(e, text)), time ? make("span.t", {}, time) : null));
    clear(this.element).append(...items);
    this.mark();
  }

  // Marks the entry of the item at the top of the window.
  mark() {
    this.frame = null;
    const top = 120;
    const tops = (this.entries ?? []).map(({ e }) => e.getBoundingClientRect().top);
    const first = this.entries?.findIndex((x) => x.said) ?? -1;
    const at = Math.max(scrollY < 40 && first >= 0 ? first : 0, tops.findLastIndex((y) => y <= top));
    for (const [i, item] of [...this.element.children].entries()) {
      if (i === at) item.setAttribute("aria-current", "true");
      else item.removeAttribute("aria-current");
    }
  }
}
