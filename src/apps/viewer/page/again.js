// again.js -- runs the program again with a person's changes. The person can edit the lines of the chosen box, or the
// answer that the box got. The run continues from that box, and earlier requests get their recorded answers. The page
// sends only the changed lines and answers; the server runs the user's own files, whose hashes are shown.
// SPDX-License-Identifier: Apache-2.0
import { make, makeButton } from "./dom.js";
import { filesOf, linesOf } from "./code.js";

// The user's changes, which are kept when the page is loaded again: lines of files, as {file: [[first line, last line,
// text], ...]}, and answers, as {box: text}.
class Changes {
  constructor(hash) {
    this.key = `changes-${hash}`;
    this.of = JSON.parse(sessionStorage.getItem(this.key) ?? "null") ?? { lines: {}, answers: {} };
  }

  save() {
    sessionStorage.setItem(this.key, JSON.stringify(this.of));
  }

  lines(file) {
    return this.of.lines[file] ?? [];
  }

  at(file, first, last) {
    return this.lines(file).find((c) => c[0] === first && c[1] === last)?.[2];
  }

  setLines(file, first, last, text) {
    const list = this.lines(file).filter((c) => c[1] < first || c[0] > last);
    if (text !== null) list.push([first, last, text]);
    this.of.lines[file] = list.toSorted((a, b) => a[0] - b[0]);
    if (!list.length) delete this.of.lines[file];
    this.save();
  }

  setAnswer(box, text) {
    if (text === null) delete this.of.answers[box];
    else this.of.answers[box] = text;
    this.save();
  }

  // Returns the changes outside of the given box, as [name, function that takes the change back].
  others(names, file, first, last, box) {
    const lines = Object.entries(this.of.lines).flatMap(([f, list]) => list
      .filter(([a, b]) => Number(f) !== file || b < first || a > last)
      .map(([a, b]) => [`${a === b ? `line ${a}` : `lines ${a} to ${b}`} of ${names[f] || "the program"}`, () => this.setLines(f, a, b, null)]));
    const answers = Object.keys(this.of.answers).filter((id) => Number(id) !== box)
      .map((id) => [`the answer in box ${id}`, () => this.setAnswer(id, null)]);
    return [...lines, ...answers];
  }

  // Returns the changes in the form that the server expects. again: {hash, files: {number: hash}}.
  request(again) {
    const included = Object.entries(this.of.lines).filter(([f]) => f !== "0").map(([f, list]) => [Number(f), again.files?.[f] ?? "", list]);
    return { edits: this.lines(0), included, answers: Object.entries(this.of.answers).map(([id, text]) => [Number(id), text]) };
  }
}

async function postJson(path, body) {
  const reply = await fetch(path, { method: "POST", body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(await reply.text());
}

// Runs the program. Then the page is loaded again, and shows the new run.
async function startAgain(body, message) {
  message.textContent = "";
  try {
    await postJson("/api/again", body);
    history.replaceState(null, "", "/");
    location.reload();
  } catch (e) {
    message.textContent = e.message;
  }
}

// Returns the recorded answer of the box as {text, json}; null when the box sent no request.
async function answerOf(box) {
  return (await fetch(`/api/again/answer/${box.id}`)).json();
}

function editor(label, text, rows) {
  const field = make("textarea", { "aria-label": label, spellcheck: "false", rows: Math.min(20, rows + 1) });
  field.value = text;
  return field;
}

// Makes an editor for the lines of the box: [elements, function that stores the changes].
function linesEditor(changes, box, file, files) {
  const last = box.to ?? box.line;
  const written = linesOf(files[file].source).slice(box.line - 1, last).join("\n");
  const range = last > box.line ? `Lines ${box.line} to ${last}` : `Line ${box.line}`;
  const label = `${range} of ${files[file].source_name || "the program"}`;
  const field = editor(label, changes.at(file, box.line, last) ?? written, last - box.line + 1);
  return [[make("h4", {}, label), field], () => changes.setLines(file, box.line, last, field.value === written ? null : field.value)];
}

function answerEditor(changes, box, answer) {
  const label = answer.json ? "What was answered (JSON)" : "What was answered";
  const field = editor(label, changes.of.answers[box.id] ?? answer.text, answer.text.split("\n").length);
  return [[make("h4", {}, label), field], () => changes.setAnswer(box.id, field.value === answer.text ? null : field.value)];
}

function otherChanges(list) {
  if (!list.length) return null;
  return make("ul", {}, list.map(([name, undo]) => {
    const item = make("li", {}, `${name} is changed, too `,
      makeButton({ onclick: () => (undo(), item.remove()) }, "Undo"));
    return item;
  }));
}

// Makes the form below the details of a box. Returns null when neither the lines nor the answer of the box can be
// changed. again: {file, hash, files}.
export async function againForm(run, box, again) {
  const [files, answer] = await Promise.all([filesOf(run), answerOf(box)]);
  const file = box.file ?? 0;
  const own = box.line && (file === 0 || again.files?.[file]);
  if (!own && !answer) return null;
  const changes = new Changes(again.hash);
  const parts = [own ? linesEditor(changes, box, file, files) : null, answer ? answerEditor(changes, box, answer) : null].filter(Boolean);
  const foreign = own ? null : make("p.hint", {}, `${files[file]?.source_name ?? "The file of this box"} is not as it was when it ran: its lines cannot be changed here.`);
  const fresh = make("input", { type: "checkbox" });
  const message = make("p", { role: "alert" });
  const send = (e) => {
    e.preventDefault();
    for (const [, keep] of parts) keep();
    startAgain({ hash: again.hash, box: box.id, fresh: fresh.checked, ...changes.request(again) }, message);
  };
  const name = own ? files[file].source_name : again.file;
  const hash = own && file ? again.files[file] : again.hash;
  return make("form", { class: "again", onsubmit: send }, make("h3", {}, "Try again"), parts.flatMap(([elements]) => elements), foreign,
    otherChanges(changes.others(files.map((f) => f.source_name), own ? file : -1, box.line ?? 0, box.to ?? box.line ?? 0, box.id)),
    make("label", {}, fresh, " ask again from here on, also what has not changed"),
    make("button", {}, "Run from here"),
    make("p.hint", {}, `Runs ${again.file} with these changes; ${name || again.file} has the sha256 ${hash.slice(0, 12)}. Files and the journal stay as they ` +
      "are; what is asked as before is answered from the journal, everything else really happens."),
    message);
}

// Makes the button that ends the run that was started.
export function stopButton() {
  const button = makeButton({ id: "stop", onclick: () => postJson("/api/again/stop", {}).catch(() => (button.disabled = true)) }, "Stop");
  return button;
}
