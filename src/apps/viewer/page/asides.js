// asides.js -- shows what happened beside the text of a run: output that was printed meanwhile, messages that only the
// model saw, questions of policies, and attempts that failed. Loads the rest of long texts.
// SPDX-License-Identifier: Apache-2.0
import { make, makeButton, restOf } from "./dom.js";
import { shortened, wordsOf } from "./long_text.js";
import { Rounds } from "./rounds.js";

export class Asides extends Rounds {
  // Shows what a person answered to the program.
  typed(item) {
    return make("div.typed", {}, make("span.who", {}, item.title ?? "You"), item.text ? make("span", { class: "piece", role: "button", tabindex: "0", "data-maker": "person", "data-item": item.id,
      "aria-expanded": "false", "aria-label": `person: ${item.text.slice(0, 200)}` }, item.text) : null);
  }

  // Shows output that the run printed meanwhile and that is not a part of its text.
  shown(item) {
    return shortened(make("div.shown", {}, make("span.label", {}, item.title), make("div.shown-text", {}, make("span", {}, (item.text ?? "").trim()), item.cut ? restOf(item) : "")), wordsOf([item]));
  }

  // Loads the rest of a text, when the page has only its beginning. When the server has ended, the page keeps the
  // beginning.
  async complete(rest) {
    const text = await this.run.text(Number(rest.dataset.box)).catch(() => null);
    if (text === null) return;
    const shown = rest.previousElementSibling;
    const end = text.trimEnd();
    shown.textContent = shown.matches(".piece") ? end.trimStart() : end;
    rest.replaceWith(shown.closest(".paper") ? text.slice(end.length) : "");
  }

  // Shows the reason why an attempt failed. When the item is opened, it also shows what the attempt had made. Neither
  // is a part of the run's text.
  attempt(item) {
    const body = make("div", { class: "work-body", hidden: true });
    const head = makeButton({ class: "quiet work-head", "aria-expanded": "false" }, item.title);
    head.addEventListener("click", async () => {
      if (!body.childElementCount) {
        const made = [...(item.gone ? [make("pre.gone", {}, item.gone)] : []), ...(await this.inside(item))];
        body.append(make("p.why", {}, item.text ?? ""), ...(made.length ? [make("p.label", {}, "Not part of the document:"), ...made] : []));
      }
      this.setOpen(head, body.hidden);
    });
    return make("section", { class: "work attempt", "aria-label": item.title }, head, body);
  }

  // Shows the question that a policy asked a person, and the answer.
  approval(item) {
    return make("section", { class: "approval", "aria-label": "Approval" }, make("span.label", {}, "Approval"),
      make("div", {}, make("b", {}, item.title), make("pre", {}, item.text ?? "")));
  }

  quiet(item) {
    const text = make("pre", { class: "quiet-text", hidden: true }, make("span", {}, item.text ?? ""), item.cut ? restOf(item) : "");
    const head = makeButton({ class: "quiet", "aria-expanded": "false" }, item.title);
    head.addEventListener("click", () => {
      text.hidden = !text.hidden;
      head.setAttribute("aria-expanded", String(!text.hidden));
    });
    return make("div", {}, head, text);
  }
}
