// again.js -- the program again with what a person changed: the lines of the chosen box can be
// edited, and the run goes on from there with what was answered before. The page sends the changed
// lines alone; the server runs the user's own file, whose hash is shown here.
// SPDX-License-Identifier: Apache-2.0
import { make } from "./dom.js";

// What was changed so far, as [first line, last line, text]; kept while the page is loaded again.
class Changes {
  constructor(hash) {
    this.key = `changes-${hash}`;
    this.list = JSON.parse(sessionStorage.getItem(this.key) ?? "[]");
  }

  at(first, last) {
    return this.list.find((c) => c[0] === first && c[1] === last)?.[2];
  }

  others(first, last) {
    return this.list.filter((c) => c[1] < first || c[0] > last);
  }

  set(first, last, text) {
    this.list = this.others(first, last);
    if (text !== null) this.list.push([first, last, text]);
    this.list.sort((a, b) => a[0] - b[0]);
    sessionStorage.setItem(this.key, JSON.stringify(this.list));
  }
}

async function postJson(path, body) {
  const reply = await fetch(path, { method: "POST", body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(await reply.text());
}

// Runs the program; the page is loaded again and shows the run.
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

function otherChanges(changes, first, last) {
  const list = changes.others(first, last);
  if (!list.length) return null;
  return make("ul", {}, list.map(([a, b]) => {
    const item = make("li", {}, a === b ? `line ${a} is changed, too ` : `lines ${a} to ${b} are changed, too `,
      make("button", { type: "button", onclick: () => (changes.set(a, b, null), item.remove()) }, "Undo"));
    return item;
  }));
}

// The form below what is known of the box of a run that may be run again. again: {file, hash}.
export async function againForm(run, box, again) {
  if (!box.line) return null;
  const { source } = await run.source();
  const last = box.to ?? box.line;
  const written = source.split("\n").slice(box.line - 1, last).join("\n");
  const changes = new Changes(again.hash);
  const field = make("textarea", { "aria-label": `Lines ${box.line} to ${last} of the program`, spellcheck: "false",
    rows: Math.min(20, last - box.line + 2) });
  field.value = changes.at(box.line, last) ?? written;
  const fresh = make("input", { type: "checkbox" });
  const message = make("p", { role: "alert" });
  const send = (e) => {
    e.preventDefault();
    changes.set(box.line, last, field.value === written ? null : field.value);
    startAgain({ hash: again.hash, box: box.id, fresh: fresh.checked, edits: changes.list }, message);
  };
  return make("form", { class: "again", onsubmit: send }, make("h3", {}, "Try again"), field,
    otherChanges(changes, box.line, last),
    make("label", {}, fresh, " ask again from here on, also what has not changed"),
    make("button", {}, "Run from here"),
    make("p", { class: "hint" }, `Runs ${again.file} (sha256 ${again.hash.slice(0, 12)}) with these lines. The file stays as it is; ` +
      "what is asked as before is answered from the journal, everything else really happens."),
    message);
}

// Ends the run that was started.
export function stopButton() {
  const button = make("button", { type: "button", id: "stop", onclick: () => postJson("/api/again/stop", {}).catch(() => (button.disabled = true)) }, "Stop");
  return button;
}
