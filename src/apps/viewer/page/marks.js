// marks.js -- marks items of a document, and goes to an item: everything around the item is opened for that.
// SPDX-License-Identifier: Apache-2.0
import { Asides } from "./asides.js";
import { byId } from "./dom.js";

export class Marks extends Asides {
  // Dims the items that had not begun at this moment. When moment is null, no item is dimmed.
  setMoment(moment) {
    for (const [id, item] of this.items) {
      const isLater = moment !== null && item.start > moment;
      for (const e of this.element.querySelectorAll(`#item-${id}, [data-item="${id}"]`)) e.classList.toggle("later", isLater);
    }
  }

  async goToItem(id) {
    const way = await this.wayTo(id);
    const found = await this.reveal(way);
    const button = found?.matches("[role=button], button") ? found : found?.querySelector(".call, [role=button], .work-head");
    button?.focus({ preventScroll: true });
    found?.classList.add("lit");
  }

  // Returns the number of an item and the numbers of the known items around it, innermost first.
  async wayTo(id) {
    const around = [...this.items.values()].filter((x) => x.id < id && id <= x.id + (x.inside ?? 0));
    return [id, ...around.toSorted((a, b) => b.id - a.id).map((x) => x.id)];
  }

  // Marks the given items and the bars of the given calls. When there are parts, also marks the expressions in the
  // program lines of the opened panel. Unmarks everything else.
  light(items, calls, parts = []) {
    for (const e of document.querySelectorAll(".lit")) e.classList.remove("lit");
    for (const id of items) for (const e of this.element.querySelectorAll(`#item-${id}, [data-item="${id}"], [data-from="${id}"]`)) e.classList.add("lit");
    for (const call of calls) for (const e of document.querySelectorAll(`.bar[data-call="${call}"]`)) e.classList.add("lit");
    if (!parts.length) return;
    for (const e of this.opened?.panel.querySelectorAll(".source b") ?? []) e.classList.add("lit");
  }

  // Opens everything around an item. way: its number and the numbers of the items around it, innermost first. Returns
  // the element of the item, or else the element of the nearest item around it.
  async reveal(way) {
    const find = (id) => byId(`item-${id}`) ?? this.element.querySelector(`[data-item="${id}"]`);
    let found = null;
    for (const id of way.toReversed()) {
      let more = !find(id) && way.at(-1) === id && this.article.querySelector(":scope > .between");
      for (; more && !find(id); more = this.article.querySelector(":scope > .between")) await this.pressed(more);
      for (const all of find(id) ? [] : this.element.querySelectorAll(".show-all")) all.click();
      const e = find(id);
      if (!e) break;
      found = e;
      if (e.matches(".fold") && id !== way[0]) e.open = true;
      const head = e.querySelector(":scope > h2 > .work-head[aria-expanded=false], :scope > .work-head[aria-expanded=false]");
      if (head && id !== way[0]) await this.pressed(head);
    }
    found?.querySelector(":scope > span .show-all")?.click(); // the text that was searched may be in the hidden lines
    found?.scrollIntoView({ block: "center" });
    return found;
  }

  async pressed(button) {
    button.click();
    await new Promise((resolve) => setTimeout(resolve, 60));
  }

  // Closes what is open. Otherwise moves the focus to the item around the focused item.
  outward() {
    if (this.opened) return this.close();
    const here = document.activeElement?.closest("#document [id^=item-], #document [data-item]");
    const up = here?.parentElement?.closest("#document .work, #document .tool, #document .turn");
    up?.querySelector("button, [role=button]")?.focus();
    return null;
  }
}
