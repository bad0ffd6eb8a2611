// app.js -- the page of the playground, in which a user writes a program, sees its problems, runs it and reads the run as a document.
// Everything happens in this browser.
// SPDX-License-Identifier: Apache-2.0
import { Text } from '@codemirror/state'
import { Assistant } from './assist.js'
import { Editor } from './editor.js'
import { Language } from './language.js'
import { pack, unpack } from './link.js'
import { ask } from './service.js'

const byId = id => document.getElementById(id)
const FIRST = `description: A first program
text:
- "What is a prompt, in one sentence?\\n"
- model: openai/gpt-4o-mini
  def: answer
- "\\nShorter, please.\\n"
- model: openai/gpt-4o-mini
`
const FIRST_REPLIES = `- {when: in one sentence, reply: A prompt is the text that a language model continues or answers.}
- {when: Shorter, reply: A text for a model.}
`
const MAIN = 'main.pdl'
const STOP_MS = 1500 // a run that has not stopped after this time is ended

// --- problems -------------------------------------------------------------------------------------

function verdict(text) {
  byId('verdict').textContent = text
}

function item(p) {
  const li = document.createElement('li'), button = document.createElement('button'), word = document.createElement('b')
  li.className = p.severity
  word.textContent = p.severity === 'error' ? 'Error' : 'Warning'
  button.type = 'button'
  button.append(word, ` ${p.line ? `line ${p.line}: ` : ''}${p.message}`)
  button.onclick = () => editor.goTo(p.from)
  li.append(button)
  for (const { name, apply } of p.actions.filter(a => a.isPreferred)) {
    const fix = Object.assign(document.createElement('button'), { type: 'button', className: 'fix', textContent: name })
    fix.onclick = () => (apply(), editor.view.focus())
    li.append(fix)
  }
  return li
}

const counted = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`

function showProblems(problems, isNew) {
  editor.showProblems(problems)
  byId('list').replaceChildren(...problems.map(item))
  if (!isNew) return
  const errors = problems.filter(p => p.severity === 'error').length, warnings = problems.length - errors
  const parts = [errors ? counted(errors, 'error') : '', warnings ? counted(warnings, 'warning') : ''].filter(Boolean)
  verdict(parts.length ? parts.join(', ') : 'No problems.')
  document.body.dataset.checked = String(Number(document.body.dataset.checked ?? 0) + 1)
}

async function check() {
  try {
    await assistant.check(editor.view)
  } catch (why) {
    verdict(`The program cannot be checked: ${why.message}`)
  }
}

// --- files ----------------------------------------------------------------------------------------

function tab(name) {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = name
  button.setAttribute('aria-pressed', String(name === editor.shown))
  button.onclick = () => showFile(name)
  return button
}

/** Shows the tabs of the program's files, when there is more than one. */
function showTabs() {
  const { names } = editor
  byId('files').hidden = names.length < 2
  byId('files').replaceChildren(...names.map(tab))
}

function showFile(name) {
  const view = editor.show(name)
  showTabs()
  check()
  return view
}

/** Changes a file that is not shown. The shown file is checked again, because it may have other problems now. */
function changeFile(name, update) {
  queueMicrotask(check)
  return editor.change(name, update)
}

const others = () => Object.fromEntries(editor.names.slice(1).map(name => [name, editor.text(name)]))

// --- the run --------------------------------------------------------------------------------------

const listeners = new Set()
let runner = null
let runs = 0 // number of runs that were begun; while `stop` waits for one run, the next may begin
const abandoned = new Map() // number of a model call -> the AbortController that stops it

function serviceSettings() {
  return { address: byId('address').value.trim() || byId('address').placeholder, key: byId('key').value.trim(), instead: byId('instead').value.trim() }
}

async function answerCall({ call, request }) {
  const stop = new AbortController(), to = runner
  abandoned.set(call, stop)
  try {
    to.ask('arrived', { call, reply: await ask(request, serviceSettings(), text => to.ask('arrived', { call, text }), stop.signal) })
  } catch ({ message, status, name }) {
    to.ask('arrived', { call, error: { message: name === 'TypeError' ? `${serviceSettings().address} cannot be reached: ${message}` : message, status, kind: name === 'TypeError' ? 'connection' : undefined } })
  }
  abandoned.delete(call)
}

function setRunning(on) {
  byId('run').disabled = on
  byId('stop').disabled = !on
  document.body.dataset.running = String(on)
}

let beforeNote = '' // the text that the note has replaced
const placed = ({ line, message }) => `${line ? `Line ${line}: ` : ''}${message}`

const events = {
  ready: () => null,
  note({ text }) {
    if (text) beforeNote = byId('verdict').textContent
    verdict(text ?? beforeNote)
  },
  changed: () => listeners.forEach(f => f()),
  model: answerCall,
  abandon: ({ call }) => abandoned.get(call)?.abort(),
  failed: ({ why }) => why.kind !== 'interrupt' && verdict(placed(why)),
  over() {
    setRunning(false)
    listeners.forEach(f => f())
  },
  broken({ message }) {
    verdict(`The run has ended: ${message}`)
    setRunning(false)
    runner = null
  },
}

function newRunner() {
  return new Language(({ event, ...rest }) => events[event](rest))
}

// Answers the questions of the page of the document; see view.js.
window.playground = {
  page: (path, request) => runner ? runner.ask('page', { path, request }).catch(lost) : lost(),
  changes: from => runner ? runner.ask('changes', { from }).catch(() => ({ from, over: true })) : { from, over: true },
  answer: (effect, text) => runner?.ask('answer', { effect, text }) ?? false,
  onChange(f) {
    listeners.add(f)
    return () => listeners.delete(f)
  },
}

function lost() {
  return { status: 410, type: 'text/plain', body: 'The run was ended, and what it made is not there any more.' }
}

function show(side) {
  document.body.dataset.side = side
  for (const name of ['program', 'document']) byId(`show-${name}`).setAttribute('aria-pressed', String(name === side))
}

async function run() {
  if (document.body.dataset.running === 'true') return
  setRunning(true)
  runs++
  runner ??= newRunner()
  const model = document.querySelector('[name=model]:checked').value
  listeners.clear()
  try {
    await runner.ask('run', { text: editor.text(), files: others(), model, replies: byId('replies').value, prices: byId('prices').value })
  } catch (why) {
    verdict(placed(why))
    return setRunning(false)
  }
  byId('nothing').hidden = true
  const frame = byId('document')
  frame.hidden = false
  frame.src = `view.html?${Date.now()}`
  show('document')
}

/** Stops the run. A run that computes without a pause is ended together with its worker. */
async function stop() {
  const stopped = runner, number = runs
  stopped?.ask('stop').catch(() => null)
  await new Promise(done => setTimeout(done, STOP_MS))
  if (document.body.dataset.running !== 'true' || runs !== number) return
  stopped.end()
  runner = null
  setRunning(false)
  verdict('The run did not stop and was ended.')
}

// --- programs from elsewhere ----------------------------------------------------------------------

/** Gives the table of prices to the language server, which shows them beside models. */
async function setPrices() {
  try {
    await language.ask('prices', { prices: byId('prices').value })
    byId('price-problem').textContent = ''
  } catch ({ message }) {
    byId('price-problem').textContent = message
  }
}

function open({ program, replies = '', files = {}, prices = byId('prices').value }) {
  for (const name of editor.names.slice(1)) assistant.files.remove(name)
  if (editor.main) editor.show(editor.main)
  byId('replies').value = replies
  if (prices !== byId('prices').value) {
    byId('prices').value = prices
    setPrices()
  }
  editor.open(MAIN, program, files)
  for (const name of Object.keys(files)) assistant.files.add(name, Text.of(files[name].split('\n')))
  showTabs()
  check()
}

async function fromLink() {
  const shared = await unpack(location.hash).catch(() => null)
  if (shared) open(shared)
  else if (/^#p=/.test(location.hash)) verdict('The link holds no program that can be read.')
  return shared !== null
}

async function share() {
  const files = others(), replies = byId('replies').value, prices = byId('prices').value
  const shared = { program: editor.text(), ...(replies ? { replies } : {}), ...(prices ? { prices } : {}), ...(Object.keys(files).length ? { files } : {}) }
  history.replaceState(null, '', `#${await pack(shared)}`)
  const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false)
  verdict(copied ? 'The link was copied: it holds the program and its answers.' : 'The address of this page now holds the program and its answers.')
}

async function offerExamples() {
  const answer = await fetch('examples.json')
  const examples = await answer.json()
  for (const { page, programs } of examples) {
    const group = Object.assign(document.createElement('optgroup'), { label: page })
    for (const p of programs) {
      const option = Object.assign(document.createElement('option'), { textContent: p.title, value: p.title })
      option.onchosen = () => open(p)
      group.append(option)
    }
    byId('examples').append(group)
  }
}

// --- the page -------------------------------------------------------------------------------------

async function format() {
  try {
    editor.replace(await assistant.format(editor.view))
  } catch (why) {
    verdict(why.message)
  }
}

const language = new Language(({ event, message }) => {
  if (event === 'lsp') assistant.receive(message)
  if (event === 'ready') runner ??= newRunner() // the first run need not wait for it
  if (event === 'broken') verdict(`The language cannot be loaded: ${message}`)
})
const assistant = new Assistant({ send: message => language.ask('lsp', { message }), show: showFile, change: changeFile, onProblems: showProblems })
const editor = new Editor(byId('editor'), { onChange: check, onShow: () => assistant.sync(), run, format, assist: name => assistant.extensions(name) })

byId('run').onclick = run
byId('stop').onclick = stop
byId('prices').oninput = setPrices
byId('format').onclick = format
byId('share').onclick = share
byId('show-program').onclick = () => show('program')
byId('show-document').onclick = () => show('document')
byId('examples').onchange = () => {
  byId('examples').selectedOptions[0].onchosen?.()
  show('program')
}
for (const radio of document.querySelectorAll('[name=model]')) {
  radio.onchange = () => {
    byId('scripted').hidden = radio.value !== 'scripted'
    byId('service').hidden = radio.value !== 'service'
  }
}
addEventListener('hashchange', fromLink)
addEventListener('keydown', e => {
  if (e.key !== 'Enter' || !(e.ctrlKey || e.metaKey) || e.defaultPrevented) return
  e.preventDefault()
  run()
})

if (!(await fromLink())) open({ program: FIRST, replies: FIRST_REPLIES })
offerExamples().catch(() => (byId('examples').parentElement.hidden = true))
document.body.dataset.ready = 'true'
