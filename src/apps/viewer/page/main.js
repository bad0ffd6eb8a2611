// main.js -- starts the page: opens the run or the two runs, and connects buttons, keys and panes.
// SPDX-License-Identifier: Apache-2.0
import { byId, clear, took, make, makeButton, plural, say } from "./dom.js";
import { FlatRun, awaitServer, openRuns } from "./data.js";
import { isShown, showDetails } from "./details.js";
import { CodeComparison, CodePane } from "./code.js";
import { againForm, stopButton } from "./again.js";
import { TimePane } from "./time.js";
import { Tree } from "./tree.js";
import { Comparison, otherRun } from "./compare.js";
import { LiveRun, LiveTree, follow } from "./live.js";
import { Finder } from "./box_search.js";
import { fillHelp } from "./help.js";
import { fillExport } from "./exports.js";
import { Seeker } from "./document_search.js";
import { callTable } from "./tables.js";
import { DocumentView } from "./document.js";
import { LiveDocument } from "./live_document.js";
import { DocumentComparison } from "./compare_document.js";
import { fillStrip, hasManyCalls } from "./strip.js";

function report(text) {
  const notice = byId("notice");
  notice.textContent = text;
  notice.hidden = !text;
}

function totals(s) {
  if (s.live) return [(s.ended ?? "Running").toLowerCase(), s.failed ? `${s.failed} failed` : null].filter(Boolean).join(" · ");
  const tokens = s.prompt_tokens + s.completion_tokens;
  return [plural(s.boxes, "box").replace("boxs", "boxes"),
    took(s.micros),
    s.calls ? plural(s.calls, "model call") : null, tokens ? plural(tokens, "token") : null,
    s.failed ? `${s.failed} failed` : null].filter(Boolean).join(" · ");
}

// Connects a button with the pane that it shows and hides.
function toggles(button, element, onShow) {
  let before = null; // the element that had the focus
  const set = (on) => {
    const hadFocus = !on && element.contains(document.activeElement);
    if (on && !element.contains(document.activeElement)) before = document.activeElement;
    element.hidden = !on;
    byId(button).setAttribute("aria-pressed", String(on));
    if (on) onShow?.();
    const back = before?.checkVisibility() && before !== document.body ? before : document.querySelector("#tree [role=treeitem][tabindex='0']");
    if (hadFocus) back?.focus({ preventScroll: true });
  };
  byId(button).addEventListener("click", () => set(element.hidden));
  return { set, toggle: () => set(element.hidden) };
}

function onKeys(actions) {
  document.addEventListener("keydown", (e) => {
    const typing = e.target.closest("input, textarea, select");
    if (e.ctrlKey || e.metaKey || e.altKey || (typing && e.key !== "Escape")) return;
    const action = actions[e.key];
    if (!action || action(e) === false) return;
    e.preventDefault();
  });
}

// Returns a function that goes to the next error. choose(id, side) is called with a box of one of the runs.
function errorStepper(runs, choose) {
  let list = null;
  let at = -1;
  return async () => {
    if (!list || runs[0].summary.live) list = (await Promise.all(runs.map((r) => r.find({ state: "failed" }))))
      .flatMap(({ boxes }, side) => boxes.map((way) => ({ way, side })))
      .toSorted((a, b) => b.way.length - a.way.length);
    if (!list.length) return;
    at = (at + 1) % list.length;
    await choose(list[at].way[0], list[at].side);
  };
}

function panesOf(runs, finder, time, showCode) {
  const of = (name, onShow) => [name, toggles(`show-${name}`, byId(name), onShow)];
  return Object.fromEntries([of("code", showCode), of("time", () => time.load()), of("find", () => finder.form.elements.text.focus()),
    of("export", () => fillExport(runs, report)), of("help", fillHelp)]);
}

// Connects the buttons and keys with the panes that exist.
function connect(panes, nextError, more = {}) {
  byId("next-error").addEventListener("click", nextError);
  onKeys({
    c: panes.code.toggle, t: panes.time.toggle, "?": panes.help.toggle, e: nextError,
    "/": () => panes.find.set(true),
    Escape: () => Object.values(panes).forEach((p) => p.set(false)), ...more,
  });
}

// Shows the details of a box. A box of the first run gets a form that runs the program again, if that is allowed.
async function showBox(run, box, again) {
  const chosen = await showDetails(byId("details"), run, box.id);
  const form = again && run.number === 0 && !run.summary.live && chosen && (await againForm(run, chosen, again));
  if (form && isShown(byId("details"), run, box.id)) byId("details").append(form);
}

// Reads the address after "#": which runs are shown, and which box is chosen, such as "#0,1", "#box-12" or "#1;box-12".
function readAddress() {
  const [, runs, box] = /^#(\d+(?:,\d+)?)?;?(?:box-(\d+)|boxes)?$/.exec(location.hash) ?? [];
  return { runs: runs?.split(",").map(Number) ?? [], box: box === undefined ? null : Number(box) };
}

// Puts the chosen box into the address, so that it is chosen again when the page is loaded again. In some frames the
// address cannot be changed.
function writeAddress(box) {
  const { runs } = readAddress();
  try {
    history.replaceState(null, "", `#${runs.length ? `${runs};` : ""}box-${box.id}`);
  } catch {
    // the page works even when its address stays the same
  }
}

const BESIDE = "(min-width: 50.01rem)"; // windows in which the program is beside the boxes, and not below them
const before = history.state ?? {}; // live.js stored this state when the run ended

// Chooses the box that was chosen while the run was in progress. Returns true when there is one.
async function goToPlace(run, choose) {
  const { place, kind } = before;
  const { boxes } = place ? await run.find({ place, kind }) : { boxes: [] };
  if (boxes.length) await choose(boxes[0][0]);
  return boxes.length > 0;
}

// Shows a short program beside the boxes, where there is room for it.
async function showProgram(panes, code) {
  if (byId("code").hidden && matchMedia(BESIDE).matches && (await code.isShort())) panes.code.set(true);
}

// Handles keys that have one meaning in the document and another one among the boxes.
function documentKeys({ switchView, view, seek, flipStrip }, panes, nextError) {
  const both = (inDocument, inBoxes) => () => (isDocument() ? inDocument?.() : inBoxes?.());
  const fault = () => document.querySelector("#document .fault")?.scrollIntoView({ block: "center" });
  const walk = (by) => (e) => (isDocument() && !e.target.closest("[role=treeitem], [role=grid], #outline") ? view.walk(by) : false);
  const margin = () => document.body.classList.toggle("no-margin");
  return {
    ArrowDown: walk(1), ArrowUp: walk(-1), u: both(() => view.outward()), n: both(() => seek.finder.step(1)), N: both(() => seek.finder.step(-1)),
    b: switchView, j: both(() => view.walk(1)), k: both(() => view.walk(-1)), "]": both(() => view.step_(1)), "[": both(() => view.step_(-1)),
    c: both(margin, panes.code.toggle), t: both(flipStrip, panes.time.toggle), e: both(fault, nextError),
    "/": both(() => seek.set(true), () => panes.find.set(true)),
    Escape: () => {
      if (view.opened && isDocument()) view.close();
      else if (isDocument() && !byId("seek").hidden) seek.set(false);
      else Object.values(panes).forEach((p) => p.set(false));
      clear(byId("calls"));
      byId("outline")?.classList.remove("shown");
    },
  };
}

// Returns a function that calls f once and then repeats its result.
function once(f) {
  let promise = null;
  return () => (promise ??= f());
}

async function startOne(run, again) {
  let code = null;
  const tree = new (run.summary.live ? LiveTree : Tree)(byId("tree"), run, (box) => {
    showBox(run, box, again).catch((e) => report(e.message));
    if (!byId("code").hidden) code.mark(box);
    if (!run.summary.live) writeAddress(box);
  });
  const choose = (id) => startBoxes().then(() => tree.chooseId(id));
  byId("details").addEventListener("choose", (e) => choose(e.detail));
  const nextError = errorStepper([run], choose);
  // The boxes of a run that is over are made when the first of them is requested.
  const startBoxes = once(async () => run.summary.live || tree.start());
  const showBoxes = once(async () => {
    await startBoxes();
    if (readAddress().box === null && !(await goToPlace(run, choose)) && run.summary.failed) await nextError();
    await showProgram(panes, code);
  });
  const finder = new Finder(byId("find"), [run], choose);
  const time = new TimePane(byId("time"), [run], choose, (moment) => tree.setMoment(moment));
  code = new CodePane(byId("code"), run, choose);
  const panes = panesOf([run], finder, time, () => code.load().then(() => tree.chosen && code.mark(tree.chosen.box)));
  byId("next-error").hidden = !run.summary.failed;
  const doc = run.summary.live ? await startLiveDocument(run) : await startDocument(run, again, showBoxes);
  connect(panes, nextError, doc ? documentKeys(doc, panes, nextError) : {});
  if (run.summary.live) {
    if (again) document.querySelector("nav").prepend(stopButton());
    tree.onFailure = () => (byId("next-error").hidden = false);
    setInterval(() => byId("time").hidden || time.load(), 1000);
    return follow(tree, report, doc?.view, (ended) => {
      Object.assign(run.summary, { ended, facts: (run.summary.facts ?? "").replace(/^.*/, ended) });
      showHead([run]);
    });
  }
  const goToBox = async () => {
    const { box } = readAddress();
    if (box !== null && box < run.summary.boxes && box !== tree.chosen?.box.id) await choose(box);
    return box !== null;
  };
  window.addEventListener("hashchange", goToBox);
  await goToBox();
  if (!isDocument()) await showBoxes();
}

async function startTwo(runs, again) {
  let chosen = null;
  const comparison = new Comparison(byId("tree"), runs, (side, box, other) => {
    chosen = { side, box };
    showBox(runs[side], box, again)
      .then(() => otherRun(runs, side, box, other))
      .then((section) => isShown(byId("details"), runs[side], box.id) && byId("details").querySelector(".actions").after(section))
      .catch((e) => report(e.message));
    if (!byId("code").hidden) code.mark(side, box);
  });
  const choose = (id, side) => comparison.chooseId(id, side);
  const nextError = errorStepper(runs, choose);
  const finder = new Finder(byId("find"), runs, choose);
  const time = new TimePane(byId("time"), runs, choose, (moment) => comparison.setMoment(moment));
  const code = new CodeComparison(byId("code"), runs, (side, id) => choose(id, side));
  const difference = () => comparison.nextDifference().then((text) => text && report(text));
  const panes = panesOf(runs, finder, time, () => code.load().then(() => chosen && code.mark(chosen.side, chosen.box)));
  byId("next-difference").hidden = false;
  byId("next-error").hidden = !runs.some((r) => r.summary.failed);
  const documents = new DocumentComparison(byId("document"), runs.map((r) => new FlatRun(r.number, r.summary)));
  const program = once(() => showProgram(panes, code));
  const switchView = () => {
    setView(runs, isDocument() ? "boxes" : "document");
    if (!isDocument()) program().catch((e) => report(e.message));
  };
  const nextDifference = () => (isDocument() ? documents.next() && report(documents.next()) : difference());
  await documents.start();
  byId("next-difference").addEventListener("click", nextDifference);
  byId("show-boxes").hidden = false;
  byId("show-boxes").addEventListener("click", switchView);
  connect(panes, nextError, { d: nextDifference, b: switchView });
  setView(runs, /(^#|;)box/.test(location.hash) || before.view === "boxes" ? "boxes" : "document");
  if (isDocument() && documents.differences.length) documents.next();
  await comparison.start();
  if (!isDocument()) await program();
}

// Makes the choice of runs: one run is shown, or the first one beside another. Returns the runs that are shown.
function chooseRuns(runs) {
  const numbers = readAddress().runs.filter((n) => n in runs);
  const shown = numbers.length ? numbers : [...new Set([0, runs.length - 1])];
  if (runs.length > 1) {
    const name = (list) => list.map((n) => runs[n].summary.name).join(" and ");
    const ways = [...runs.keys()].flatMap((n) => (n ? [[n], [0, n]] : [[0]]));
    const list = make("select", { id: "which", "aria-label": "Runs that are shown" }, ways.map((way) =>
      make("option", { value: way.join(","), selected: String(way) === String(shown) }, name(way))));
    list.addEventListener("change", () => {
      location.hash = isDocument() ? list.value : `${list.value};boxes`;
      location.reload();
    });
    document.querySelector("nav").prepend(list);
  }
  return shown.map((n) => runs[n]);
}

// --- the document and its boxes ---

const isDocument = () => document.body.dataset.view === "document";

// Returns the column by which the table of calls is sorted when a number at the top of the page is pressed; null when
// that number opens no table.
function sortOf(fact) {
  if (/ model calls?$/.test(fact)) return "";
  if (/ tokens? in, /.test(fact)) return "tokens";
  if (/^\$/.test(fact)) return "cost";
  return /^[\d.]+ (ms|s|min .*)$/.test(fact) ? "took" : null;
}

let showCalls = () => null; // set when a document is shown

// Shows the name and the numbers of the run. The name is its title in the document, and its file among the boxes.
function showHead(runs) {
  const s = runs[0].summary;
  byId("name").textContent = isDocument() && runs.length > 1 ? [...new Set(runs.map((r) => r.summary.title))].join(" and ") : isDocument() ? s.title : runs.map((r) => r.summary.name.replace(/^.*\//, "")).join(" and "); // the file without its folders
  document.title = byId("name").textContent;
  if (!isDocument()) {
    byId("totals").textContent = runs.map((r) => totals(r.summary)).join(" | ");
    return;
  }
  if (runs.length > 1) {
    byId("totals").textContent = "Two runs, one beside the other";
    return;
  }
  const kinds = { [s.ended]: { Finished: "ok", Running: "runs", "Not ended": "runs" }[s.ended] ?? "bad" };
  document.body.classList.toggle("many", Boolean(s.many)); // records of many runs: they have no program and no boxes
  const facts = s.facts.split("\n").concat(s.live && s.failed ? [`${s.failed} failed`] : []);
  clear(byId("totals")).append(...facts.map((f, i) => {
    const sort = sortOf(f);
    const text = sort === null ? f : makeButton({ onclick: () => showCalls(sort) }, f);
    return make("span", { class: kinds[f] ?? (i === 1 && /\.\w+$/.test(f) ? "file" : null) }, text);
  }));
}

function setView(runs, view) {
  document.body.dataset.view = view;
  byId("document").hidden = view !== "document";
  byId("show-boxes").textContent = view === "document" ? "Boxes" : "Document";
  showHead(runs);
}

// Shows a run that is over as a document. The boxes of the run are shown after a button or a key is pressed, or when
// the address names one.
async function startDocument(run, again, showBoxes) {
  const view = new DocumentView(byId("document"), run);
  view.again = again && run.number === 0;
  const switchView = () => {
    setView([run], isDocument() ? "boxes" : "document");
    if (!isDocument()) showBoxes().catch((e) => report(e.message));
  };
  await view.start();
  byId("show-boxes").hidden = false;
  byId("show-boxes").addEventListener("click", switchView);
  setView([run], /(^#|;)box/.test(location.hash) || before.view === "boxes" ? "boxes" : "document");
  const parts = partsOfDocument(view);
  // the document is invisible until works are closed, so that no visible text moves
  byId("document").style.visibility = "hidden";
  const strip = fillStrip(byId("strip"), run, (call) => view.openCall(call), view);
  if (!hasManyCalls(run)) await strip;
  view.fit();
  byId("document").style.visibility = "";
  document.addEventListener("boxes", (e) => {
    setView([run], "boxes");
    byId("details").dispatchEvent(new CustomEvent("choose", { detail: e.detail }));
  });
  const goTo = async () => {
    const [, what, n] = /^#(call|item)-(\d+)$/.exec(location.hash) ?? [];
    if (what === "call") await view.openCall(Number(n));
    if (what === "item") (byId(`item-${n}`) ?? document.querySelector(`[data-item="${n}"]`))?.scrollIntoView({ block: "center" });
  };
  window.addEventListener("hashchange", goTo);
  await Promise.all([strip, goTo()]);
  return { switchView, view, ...parts };
}

// Adds the other parts of a document: the table of calls, the search field, the contents (on a narrow page), the time
// strip.
function partsOfDocument(view) {
  const close = () => clear(byId("calls"));
  showCalls = async (sort) => clear(byId("calls")).append(await callTable(view.run, (call) => view.openCall(call), sort, close));
  const finder = new Seeker(byId("seek"), view, (calls) => {
    for (const bar of document.querySelectorAll("#strip .bar")) bar.classList.toggle("found", calls.includes(Number(bar.dataset.call)));
  });
  const seek = toggles("show-seek", byId("seek"), () => finder.field.focus());
  byId("show-contents").addEventListener("click", () => {
    const on = byId("outline").classList.toggle("shown");
    byId("show-contents").setAttribute("aria-pressed", String(on));
  });
  const flipStrip = () => {
    byId("strip").classList.toggle("tall");
    view.setMoment(null);
    return fillStrip(byId("strip"), view.run, (call) => view.openCall(call), view);
  };
  const set = (on) => {
    seek.set(on);
    if (!on) finder.clear();
  };
  return { seek: { set, finder }, flipStrip };
}

// Shows a run in progress as a document. When the document cannot be made, the boxes of the run are shown.
async function startLiveDocument(run) {
  const view = new LiveDocument(byId("document"), run.summary, async () => {
    showHead([run]);
    await fillStrip(byId("strip"), view.run, (call) => view.openCall(call), view);
  });
  const switchView = () => {
    setView([run], isDocument() ? "boxes" : "document");
    if (isDocument()) view.later(0);
  };
  if (!(await view.start())) return setView([run], "boxes") ?? null;
  const parts = partsOfDocument(view);
  byId("show-boxes").hidden = false;
  byId("show-boxes").addEventListener("click", switchView);
  setView([run], /(^#|;)box/.test(location.hash) ? "boxes" : "document");
  if (isDocument()) await view.show();
  return { switchView, view, ...parts };
}

document.addEventListener("lost", () => awaitServer(report));

async function start() {
  const { runs: all, again } = await openRuns();
  const runs = chooseRuns(all).map((r) => (r.summary.live ? new LiveRun(r.summary) : r));
  showHead(runs);
  report(runs.map((r) => r.summary.notice).filter(Boolean).join(" "));
  await (runs.length > 1 ? startTwo(runs, again) : startOne(runs[0], again));
  if (before.isOver) {
    say(`The run is over: ${[...byId("totals").childNodes].map((e) => e.textContent).join(", ")}`);
    history.replaceState(null, "", location.hash || null);
  }
  document.body.dataset.ready = "true";
}

start().catch((e) => {
  document.body.dataset.view ??= "boxes";
  report(`The run cannot be shown: ${e.message}`);
});
