// details.js -- shows everything that is known about the chosen box.
// SPDX-License-Identifier: Apache-2.0
import { make, makeButton, clear, fromOf, inOneLine, took, saveFile, timeOf } from "./dom.js";
import { wayTo } from "./data.js";
import { filesOf, linesOf } from "./code.js";
import { chat, content, curl, jsonTree, markdown, requestOf } from "./text.js";

// Members of a block that have a separate title and form, in the order in which they are
// shown; all others follow under their own names.
const TITLES = new Map([
  ["pdl__result", "Result"],
  ["msg", "Error"],
  ["pdl__error", "Error"],
  ["pdl__attempts", "Attempts"],
  ["pdl__usage", "Usage"],
  ["model", "Model"],
  ["parameters", "Parameters"],
  ["pdl__model_input", "Request"],
  ["pdl__context", "Context"],
  ["spec", "Schema"],
  ["parser", "Parser"],
  ["pdl__structured", "Structured output"],
  ["pdl__labels", "Origins"],
  ["pdl__decisions", "Policy"],
  ["data", "Data"],
  ["code", "Code"],
  ["args", "Arguments"],
]);
const MESSAGES = new Set(["pdl__model_input", "pdl__context"]);

function row(title, ...value) {
  return [make("dt", {}, title), make("dd", {}, value)];
}

function facts(box) {
  const rows = [row("Kind", box.kind), row("State", box.state)];
  if (box.place) rows.push(row("Place", make("code", {}, box.place)));
  if (box.role) rows.push(row("Role", box.role));
  if (box.def) rows.push(row("Variable", make("code", {}, box.def)));
  if (box.defines.length) rows.push(row("Defines", make("code", {}, box.defines.join(", "))));
  const time = box.end === undefined ? "" : inOneLine(timeOf(box), fromOf(box));
  if (time) rows.push(row("Time", time));
  if (took(box.answers)) rows.push(row("First token", `after ${took(box.answers)}`));
  if (box.tokens) rows.push(row("Tokens", String(box.tokens)));
  return make("dl", {}, rows.flat());
}

function value(member) {
  if (member.cut !== undefined) return [content(member.cut), make("p", {}, "(cut)")];
  if (member.name === "pdl__decisions" && Array.isArray(member.value)) return decisions(member.value);
  if (member.name === "pdl__labels" && member.value && typeof member.value === "object") return origins(member.value);
  if (MESSAGES.has(member.name) && Array.isArray(member.value)) return chat(member.value);
  if (typeof member.value === "string") return content(member.value);
  return member.value === undefined ? "not evaluated" : jsonTree(member.value);
}

// Shows where values came from: the name of a field or of a part of the result, and its origins.
function origins(names) {
  return make("dl.origins", {}, Object.entries(names).flatMap(([name, from]) =>
    row(make("code", {}, name), Array.isArray(from) ? from.join(", ") : String(from))));
}

// Shows the decisions of a policy: whether the action may happen, and where each value came from.
function decisions(list) {
  const line = (d) => make("li", { "data-outcome": d?.outcome }, make("b", {}, String(d?.outcome)), ` ${d?.sink ?? ""} ${d?.name ?? ""}`,
    d?.policy ? ` (${d.policy}${d.line ? `, line ${d.line}` : ""})` : null, d?.arguments ? jsonTree(d.arguments) : null);
  return make("ul.decisions", {}, list.map(line));
}

function section(member) {
  const parts = [make("h3", {}, TITLES.get(member.name) ?? member.name), value(member)];
  if (member.code !== undefined && member.code !== member.value)
    parts.push(make("div.written", {}, "written as ", make("code", {},
      typeof member.code === "string" ? member.code : JSON.stringify(member.code))));
  return make("section", { class: "member", "data-member": member.name }, parts);
}

function inOrder(members) {
  const order = [...TITLES.keys()];
  const place = (m) => (TITLES.has(m.name) ? order.indexOf(m.name) : order.length);
  return members.toSorted((a, b) => place(a) - place(b));
}

function requestIn(box) {
  const of = (name) => box.members.find((m) => m.name === name)?.value;
  const messages = of("pdl__model_input");
  if (!Array.isArray(messages)) return null;
  const parameters = of("parameters");
  return requestOf(parameters && typeof parameters === "object" ? parameters : {}, box.model, messages);
}

function buttons(run, box) {
  const save = (name, type, text) => () => saveFile(`${box.place || "box"}.${name}`, type, text);
  const all = async (f) => f(await run.text(box.id));
  const list = [
    makeButton({ onclick: () => all((t) => saveFile("result.txt", "text/plain", t)) },
      "Save text"),
  ];
  if (typeof box.text === "string" && !box.json)
    list.push(makeButton({ onclick: (e) => all((t) => {
      const shown = e.target.closest("#details")?.querySelector('[data-member="pdl__result"]');
      shown?.replaceChildren(make("h3", {}, "Result"), markdown(t));
    }) }, "Markdown"));
  const request = requestIn(box);
  if (request) {
    list.push(makeButton({ onclick: save("messages.json", "application/json", JSON.stringify(request.messages, null, 2)) },
      "Save messages"));
    list.push(makeButton({ onclick: save("sh", "text/x-shellscript", curl(request)) },
      "Save as curl"));
  }
  return make("div.actions", {}, list);
}

// Kinds of blocks that run program text which is elsewhere.
const CALLS = new Set(["call", "include", "import"]);

const placeIn = (files, box) => `${files[box.file ?? 0]?.source_name || "program"}:${box.line}`;

// Shows where a box failed: the line with a caret below it, and the calls through which the box was reached. A click on
// such a call chooses it.
async function whereItFailed(element, run, box) {
  const files = await filesOf(run);
  const boxes = await Promise.all((await wayTo(run, box.id)).slice(1).map((id) => run.box(id)));
  const line = linesOf(files[box.file ?? 0]?.source ?? "")[box.line - 1] ?? "";
  const gap = " ".repeat(String(box.line).length);
  const caret = box.width ? `\n${gap} | ${" ".repeat(box.column - 1)}${"^".repeat(Math.min(box.width, 200))}` : "";
  const way = boxes.filter((b) => CALLS.has(b.kind) && b.line).map((b) => make("li", {}, makeButton({ onclick: () => element.dispatchEvent(new CustomEvent("choose", { detail: b.id })) }, `${b.kind} at ${placeIn(files, b)}`)));
  return make("section", { class: "member", "data-member": "where" }, make("h3", {}, "Where"),
    make("pre.caret", {}, `${placeIn(files, box)}\n${box.line} | ${line}${caret}`),
    way.length ? [make("h3", {}, "Reached through"), make("ol", {}, way)] : null);
}

// Makes parts that can be scrolled reachable with the Tab key.
function reachScrolled(element) {
  for (const part of element.querySelectorAll(".member")) {
    if (part.scrollHeight <= part.clientHeight) continue;
    part.tabIndex = 0;
    part.setAttribute("aria-label", part.querySelector("h3").textContent);
  }
}

// Returns true when this box was chosen last.
export function isShown(element, run, id) {
  return element.dataset.shown === `${run.number ?? 0}.${id}`;
}

// Shows the details of a box. Returns the box, or null when another one was chosen meanwhile.
export async function showDetails(element, run, id) {
  element.dataset.shown = `${run.number ?? 0}.${id}`;
  const box = await run.details(id);
  const where = box.state === "failed" && box.line ? await whereItFailed(element, run, box) : "";
  if (!isShown(element, run, id)) return null;
  clear(element).append(
    make("h2", { "data-kind": box.kind, class: "kind" }, box.kind),
    facts(box),
    buttons(run, box), where,
    ...inOrder(box.members).map(section),
    box.program ? make("details", {}, make("summary", {}, "Block as it was run"), make("pre", {}, box.program)) : "");
  reachScrolled(element);
  return box;
}
