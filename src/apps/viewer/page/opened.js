// opened.js -- makes the panels that open inside the document: a model call with everything that was sent, or a piece
// of the text with what made it.
// SPDX-License-Identifier: Apache-2.0
import { counted, make, makeButton, plural, took } from "./dom.js";
import { curl, requestOf } from "./text.js";
import { valueOf } from "./long_text.js";

const LONG = 600; // maximum number of characters of a message that are shown at first
export const ROLES = { system: "System", user: "User", assistant: "Model", tool: "Tool", observation: "Observation" };

function message(role, text, label) {
  const box = make("div", { class: text.length > LONG ? "text long" : "text" }, text.trim());
  const li = make("li", { "data-role": role }, make("span.speaker", {}, label ?? ROLES[role] ?? role), box);
  if (text.length > LONG) {
    const all = makeButton({ class: "all" }, `Show all ${counted(text.trim().split(/\s+/).length)} words`);
    const cell = make("div", {}, all);
    all.addEventListener("click", () => (box.classList.remove("long"), cell.remove()));
    li.append(cell);
  }
  return li;
}

// Makes the messages of a call. Messages that an earlier call had already sent are shown as one line.
function chatOf(call) {
  const list = make("ol.chat", {});
  const shown = call.messages.map((m) => message(m.role, m.text));
  const same = call.same ?? 0;
  if (same) {
    const button = makeButton({ class: "all" }, `${plural(same, "message")} as in call ${call.same_call}`);
    const li = make("li", {}, make("div.before", {}, button));
    button.addEventListener("click", () => li.replaceWith(...shown.slice(0, same)));
    list.append(li);
  }
  list.append(...shown.slice(same), message("reply", call.reply ?? "", call.failed ? "Failed" : "Reply"));
  return list;
}

export function factsOf(list) {
  return make("span.facts", {}, ...list.filter(Boolean).map((f) => make("span", {}, f)));
}

function settings(call) {
  const entries = Object.entries(call.settings ?? {});
  if (!entries.length) return null;
  return make("dl.fact", {}, entries.flatMap(([k, v]) => [make("dt", {}, k), make("dd", {}, typeof v === "string" ? v : JSON.stringify(v))]));
}

function panel(title, list, body, acts) {
  return make("section", { class: "sent", "aria-label": title },
    make("div.sent-top", {}, make("b", {}, title), factsOf(list), makeButton({ class: "close" }, "Close")),
    make("div.sent-body", {}, ...body), acts);
}

export function inBoxes(box, title = "Its box") {
  return makeButton({ class: "act to-box", onclick: () => document.dispatchEvent(new CustomEvent("boxes", { detail: box })) }, title);
}

function copies(name, text) {
  return makeButton({ class: "act", onclick: (e) => {
    const pre = make("pre.exact", {}, text());
    const there = e.target.closest(".sent").querySelector(".exact");
    if (there) there.remove();
    if (there?.dataset.name !== name) e.target.closest(".acts").after(Object.assign(pre, {}));
    pre.dataset.name = name;
  } }, name);
}

// Returns the messages in the form in which services take them.
function messagesOf(call) {
  return call.messages.map((m) => ({ role: m.role, content: m.text }));
}

function curlOf(call) {
  return curl(requestOf(call.settings, call.model, messagesOf(call)));
}

// Describes where a text came from, in words that lead to the items.
function originOf(origin, view) {
  if (!origin?.text || origin.text === "the program") return null;
  const steps = origin.text.split("; ");
  const parts = steps.map((s, i) => (origin.from[i] === undefined ? make("span", {}, s) : makeButton({ class: "act", onclick: () => view.goToItem(origin.from[i]) }, s)));
  return make("p", { class: "origin", role: "status" }, "From: ", ...parts.flatMap((p, i) => (i ? ["; ", p] : [p])));
}

function valuesOf(origin) {
  const list = origin?.values ?? [];
  return list.length ? make("dl.known", {}, ...list.flatMap((v) => [make("dt", {}, v.name), make("dd", {}, v.text, v.cut ? " …" : "")])) : null;
}

const ORIGINS = { clock: "the time", random: "chance", row: "the row", loop: "the loop", reply: "an answer", file: "a file", counter: "a counter", order: "the order of keys", program: "the program" };

// Says that the beginning of the request had expired in the prompt cache, and what would have kept it there.
function expiredOf(e) {
  if (!e) return "";
  const cost = e.cost ? `, $${e.cost.toPrecision(2)}` : "";
  const remedy = e.remedy ? ` ${e.remedy} would have kept it.` : "";
  const kept = e.kept < 3600 ? plural(e.kept / 60, "minute") : plural(e.kept / 3600, "hour");
  return ` That beginning had expired: last used ${plural(Math.round(e.seconds), "second")} before, and kept for ${kept}. Lost: about ${plural(e.tokens, "token")}${cost}.${remedy}`;
}

// Shows how much of the request a prompt cache can find, and which value of the program prevents more.
function prefixOf(p) {
  if (!p) return null;
  const found = p.cached_tokens === null ? "" : `; the service found ${plural(p.cached_tokens, "token")}`;
  if (p.shared.call === null) return make("p.prefix", {}, `Prompt cache: no earlier call begins like this one${found}.`);
  const share = p.bytes ? Math.floor((100 * p.shared.bytes) / p.bytes) : 0;
  const d = p.differs;
  const value = d?.variable ? `\`${d.variable}\`` : "a value";
  const made = d ? ` ${d.message === null ? "Before the messages" : `In message ${d.message + 1}`} ${value}, from ${ORIGINS[d.origin] ?? d.origin}${d.line === null ? "" : ` (${d.file}, line ${d.line})`}, is another.` : "";
  const cost = p.lost.cost ? `, $${p.lost.cost.toPrecision(2)}` : "";
  const lost = p.lost.tokens > 0 ? ` Lost: about ${plural(p.lost.tokens, "token")}${cost}; ${p.remedy}.` : "";
  return make("p.prefix", {}, `Prompt cache: ${share} % begins as call ${p.shared.call}${found}.${made}${lost}${expiredOf(p.expired)}`);
}

export function callPanel(call, view, origin = null) {
  const tokens = call.tokens_in || call.tokens_out ? `${plural(call.tokens_in ?? 0, "token")} in, ${counted(call.tokens_out ?? 0)} out` : null;
  const cost = call.cost ? `$${call.cost.toPrecision(2)}` : null;
  const waited = took(call.waited) ? `waited ${took(call.waited)}` : null;
  const first = took(call.first) ? `first token after ${took(call.first)}` : null;
  const tries = call.attempts > 1 || call.tries?.length ? plural(call.attempts, "attempt") : null;
  const why = call.tries?.length ? make("ol.tries", {}, ...call.tries.map((t) => make("li", {}, t))) : null;
  const source = make("div.side", {}, view.lines.of([call]), settings(call), prefixOf(call.prefix), why);
  const acts = make("div.acts", {}, copies("Exact text", () => call.reply ?? ""), copies("JSON", () => JSON.stringify(messagesOf(call), null, 2)), copies("curl", () => curlOf(call)),
    inBoxes(call.box, view.again ? "Try again from here" : "Its box"));
  const body = make("div", {}, chatOf(call), originOf(origin?.from.length ? origin : null, view));
  return panel(`Call ${call.call}, as it was sent`, [call.model, took(call.took), waited, first, tokens, cost, tries], [body, source], acts);
}

// Makes the panel of a piece. text: the whole text.
export function piecePanel(item, view, origin, text) {
  const title = item.json ? "Value" : { expression: "Expression", code: "Code", call: "Call", person: "Read from a person", file: "Read from a file", tool: "Tool" }[item.shape === "typed" ? "person" : item.kind] ?? "Text";
  const acts = make("div.acts", {}, copies("Exact text", () => text), inBoxes(item.box));
  const made = make("div.made-by", {}, valueOf(text, item.json), valuesOf(origin), originOf(origin, view));
  return panel(title, [item.name, took(item.took)], [made, view.lines.of([item])], acts);
}
