// asides.js -- shows what happened beside the text of a run: output that was printed meanwhile, messages that only the
// model saw, questions of policies, and attempts that failed.
// SPDX-License-Identifier: Apache-2.0
import { make } from "./dom.js";
import { shortened, wordsOf } from "./long_text.js";
import { Rounds } from "./rounds.js";

export class Asides extends Rounds {
  // Shows output that the run printed meanwhile and that is not a part of its text.
  shown(item) {
    return shortened(make("div", { class: "shown" }, make("span", { class: "label" }, item.title), make("span", { class: "shown-text" }, (item.text ?? "").trim(), item.cut ? " …" : "")), wordsOf([item]));
  }

  // Shows the reason why an attempt failed. When the item is opened, it also shows what the attempt had made. Both are
  // no part of the text.
  attempt(item) {
    const body = make("div", { class: "work-body", hidden: true });
    const head = make("button", { type: "button", class: "quiet work-head", "aria-expanded": "false" }, item.title);
    head.addEventListener("click", async () => {
      if (!body.childElementCount) {
        body.append(make("p", { class: "why" }, item.text ?? ""), make("p", { class: "label" }, "Not part of the document:"));
        if (item.gone) body.append(make("pre", { class: "gone" }, item.gone));
        body.append(...(await this.inside(item)));
      }
      this.setOpen(head, body.hidden);
    });
    return make("section", { class: "work attempt", "aria-label": item.title }, head, body);
  }

  // Shows the question that a policy asked a person, and the answer.
  approval(item) {
    return make("section", { class: "approval", "aria-label": "Approval" }, make("span", { class: "label" }, "Approval"),
      make("div", {}, make("b", {}, item.title), make("pre", {}, item.text ?? "")));
  }

  quiet(item) {
    const text = make("pre", { class: "quiet-text", hidden: true }, item.text ?? "");
    const head = make("button", { type: "button", class: "quiet", "aria-expanded": "false" }, item.title);
    head.addEventListener("click", () => {
      text.hidden = !text.hidden;
      head.setAttribute("aria-expanded", String(!text.hidden));
    });
    return make("div", {}, head, text);
  }
}
