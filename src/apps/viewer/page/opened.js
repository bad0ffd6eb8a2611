// opened.js -- what is opened in place: a call of a model, as it was sent; a piece of the text, and what made it.
// SPDX-License-Identifier: Apache-2.0
import { make, plural } from "./dom.js";
import { took } from "./margin.js";

const LONG = 600; // characters of a message that are shown at first
const ROLES = { system: "System", user: "User", assistant: "Model", tool: "Tool", observation: "Observation" };

function message(role, text, label) {
  const box = make("div", { class: text.length > LONG ? "text long" : "text" }, text.trim());
  const li = make("li", { "data-role": role }, make("span", { class: "speaker" }, label ?? ROLES[role] ?? role), box);
  if (text.length > LONG) {
    const all = make("button", { type: "button", class: "all" }, `Show all ${text.trim().split(/\s+/).length.toLocaleString("en")} words`);
    const cell = make("div", {}, all);
    all.addEventListener("click", () => (box.classList.remove("long"), cell.remove()));
    li.append(cell);
  }
  return li;
}

// Messages that an earlier call had sent already are one line.
function chatOf(call) {
  const list = make("ol", { class: "chat" });
  const shown = call.messages.map((m) => message(m.role, m.text));
  const same = call.same ?? 0;
  if (same) {
    const button = make("button", { type: "button", class: "all" }, `${plural(same, "message")} as in call ${call.same_call}`);
    const li = make("li", {}, make("div", { class: "before" }, button));
    button.addEventListener("click", () => li.replaceWith(...shown.slice(0, same)));
    list.append(li);
  }
  list.append(...shown.slice(same), message("reply", call.reply ?? "", call.failed ? "Failed" : "Reply"));
  return list;
}

function factsOf(list) {
  return make("span", { class: "facts" }, ...list.filter(Boolean).map((f) => make("span", {}, f)));
}

function settings(call) {
  const entries = Object.entries(call.settings ?? {});
  if (!entries.length) return null;
  return make("dl", { class: "fact" }, entries.flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, typeof v === "string" ? v : JSON.stringify(v))]));
}

function panel(title, list, body, acts) {
  return make("section", { class: "sent", "aria-label": title },
    make("div", { class: "sent-top" }, make("b", {}, title), factsOf(list), make("button", { type: "button", class: "close" }, "Close")),
    make("div", { class: "sent-body" }, ...body), acts);
}

function inBoxes(box) {
  return make("button", { type: "button", class: "act", onclick: () => document.dispatchEvent(new CustomEvent("boxes", { detail: box })) }, "Its box");
}

function copies(name, text) {
  return make("button", { type: "button", class: "act", onclick: (e) => {
    const pre = make("pre", { class: "exact" }, text());
    const there = e.target.closest(".sent").querySelector(".exact");
    if (there) there.remove();
    if (there?.dataset.name !== name) e.target.closest(".acts").after(Object.assign(pre, {}));
    pre.dataset.name = name;
  } }, name);
}

export function callPanel(call, view) {
  const tokens = call.tokens_in || call.tokens_out ? `${call.tokens_in ?? 0} tokens in, ${call.tokens_out ?? 0} out` : null;
  const cost = call.cost ? `$${call.cost.toPrecision(2)}` : null;
  const tries = call.attempts > 1 ? plural(call.attempts, "attempt") : null;
  const source = make("div", { class: "side" }, view.lines.of([call]), settings(call));
  const acts = make("div", { class: "acts" }, copies("Exact text", () => call.reply ?? ""), copies("JSON", () => JSON.stringify(call.messages, null, 2)), inBoxes(call.box));
  return panel(`Call ${call.call}, as it was sent`, [call.model, took(call.took), tokens, cost, tries], [chatOf(call), source], acts);
}

export function piecePanel(item, view) {
  const title = { expression: "Expression", code: "Code", call: "Call", person: "Read from a person", file: "Read from a file", tool: "Tool" }[item.kind] ?? "Text";
  const acts = make("div", { class: "acts" }, copies("Exact text", () => item.text ?? ""), inBoxes(item.box));
  return panel(title, [item.name, took(item.took)], [make("pre", { class: "made" }, item.text ?? ""), view.lines.of([item])], acts);
}
