// assist.js -- connects the editor with the language server: problems with their fixes, completion, explanations, definitions, renaming. The
// server is that of `pdl lsp`, in the worker. This file keeps the files of the program, and shows the answers of the server.
// SPDX-License-Identifier: Apache-2.0
import { LSPClient, LSPPlugin, Workspace, findReferencesKeymap, hoverTooltips, jumpToDefinition, jumpToDefinitionKeymap, renameKeymap, serverCompletionSource, signatureHelp } from '@codemirror/lsp-client'
import { autocompletion } from '@codemirror/autocomplete'
import { StateEffect, StateField } from '@codemirror/state'
import { EditorView, keymap, showTooltip } from '@codemirror/view'

const MAX_MS = 60_000 // the first answer waits until the language is loaded
const ROOT = 'file:///'
const SHOWN_TAGS = new Set('P PRE CODE UL OL LI STRONG EM BR SPAN H1 H2 H3 H4 TABLE THEAD TBODY TR TH TD HR BLOCKQUOTE A'.split(' '))

/** Returns an explanation with safe tags only, because a program may contain tags, too. */
function clean(html) {
  const { body } = new DOMParser().parseFromString(html, 'text/html')
  for (const element of [...body.querySelectorAll('*')]) {
    if (!SHOWN_TAGS.has(element.tagName)) element.replaceWith(element.textContent)
    else for (const { name } of [...element.attributes]) if (name !== 'class') element.removeAttribute(name)
  }
  return body.innerHTML
}

const nameOf = uri => decodeURIComponent(uri.slice(ROOT.length))
const uriOf = name => ROOT + name.split('/').map(encodeURIComponent).join('/')

/** The files of a program. The server has all of them; one is shown. */
class Files extends Workspace {
  files = []
  #versions = new Map()

  constructor(client, { show, change }) {
    super(client)
    this.show = show
    this.change = change
  }

  #next(uri) {
    const version = (this.#versions.get(uri) ?? 0) + 1
    this.#versions.set(uri, version)
    return version
  }

  add(name, doc) {
    const uri = uriOf(name), file = { uri, languageId: 'pdl', version: this.#next(uri), doc, view: null, getView: () => file.view }
    this.files.push(file)
    this.client.didOpen(file)
    return file
  }

  remove(name) {
    this.files = this.files.filter(f => f.uri !== uriOf(name))
    this.client.didClose(uriOf(name))
  }

  openFile(uri, _language, view) {
    const file = this.getFile(uri) ?? this.add(nameOf(uri), view.state.doc)
    file.view = view
  }

  closeFile(uri) {
    const file = this.getFile(uri)
    if (file) file.view = null
  }

  syncFiles() {
    const changed = []
    for (const file of this.files) {
      const plugin = file.view && LSPPlugin.get(file.view)
      if (!plugin || plugin.unsyncedChanges.empty) continue
      changed.push({ changes: plugin.unsyncedChanges, file, prevDoc: file.doc })
      file.doc = file.view.state.doc
      file.version = this.#next(file.uri)
      plugin.clear()
    }
    return changed
  }

  async displayFile(uri) {
    return this.getFile(uri) ? this.show(nameOf(uri)) : null
  }

  updateFile(uri, update) {
    const file = this.getFile(uri)
    if (!file) return
    if (file.view) return file.view.dispatch(update)
    file.doc = this.change(nameOf(uri), update)
    file.version = this.#next(uri)
    this.client.notification('textDocument/didChange', { textDocument: { uri, version: file.version }, contentChanges: [{ text: file.doc.toString() }] })
  }
}

// --- an explanation by keyboard -------------------------------------------------------------------

const explained = StateEffect.define()
const explanation = StateField.define({
  create: () => null,
  update(shown, tr) {
    for (const e of tr.effects) if (e.is(explained)) return e.value
    return tr.docChanged || tr.selection ? null : shown
  },
  provide: field => showTooltip.from(field),
})

function documented(plugin, contents, kind) {
  const dom = document.createElement('div')
  dom.className = `${kind} cm-lsp-documentation`
  dom.innerHTML = plugin.docToHTML(contents)
  return dom
}

/** Shows the explanation at the cursor, as the pointer does for the text below it. */
function explain(view) {
  const plugin = LSPPlugin.get(view), { state } = view, pos = state.selection.main.head
  plugin.client.sync()
  plugin.client.request('textDocument/hover', { textDocument: { uri: plugin.uri }, position: plugin.toPosition(pos) }).then(found => {
    if (!found || view.state.doc !== state.doc) return
    const create = () => {
      const dom = documented(plugin, found.contents, 'cm-lsp-hover-tooltip')
      dom.setAttribute('role', 'status')
      return { dom }
    }
    view.dispatch({ effects: explained.of({ pos, above: true, create }) })
  }, () => null)
  return true
}

function hide(view) {
  if (!view.state.field(explanation, false)) return false
  view.dispatch({ effects: explained.of(null) })
  return true
}

const atPointer = EditorView.domEventHandlers({
  mousedown(event, view) {
    const at = event.button === 0 && (event.ctrlKey || event.metaKey) ? view.posAtCoords(event) : null
    if (at === null) return false
    view.dispatch({ selection: { anchor: at } })
    return jumpToDefinition(view)
  },
})

// --- the client -----------------------------------------------------------------------------------

/** Returns the edits of a list as changes of CodeMirror. */
const changesOf = (doc, edits) => edits.map(({ range, newText }) => ({ from: offset(doc, range.start), to: offset(doc, range.end), insert: newText }))

function offset(doc, { line, character }) {
  if (line >= doc.lines) return doc.length
  const { from, length } = doc.line(line + 1)
  return from + Math.min(character, length)
}

export class Assistant {
  #client
  #offered = [] // the completions of the last answer
  #isBusy = false
  #isStale = false

  /** send(message) sends a message to the server. show(name) shows a file and returns its view. change(name, update) changes a file that is not
   * shown, and returns its text. onProblems(problems, isNew) gets the problems of the shown file, and is called again when their fixes are
   * known. */
  constructor({ send, show, change, onProblems }) {
    this.onProblems = onProblems
    this.#client = new LSPClient({ timeout: MAX_MS, rootUri: null, sanitizeHTML: clean, workspace: client => new Files(client, { show, change }) })
    this.#client.connect({
      send: text => send(JSON.parse(text)),
      subscribe: handler => (this.#handler = handler),
      unsubscribe: () => (this.#handler = () => null),
    })
  }

  #handler = () => null

  receive(message) {
    if (message.result?.items) this.#offered = message.result.items
    this.#handler(JSON.stringify(message))
  }

  get files() {
    return this.#client.workspace
  }

  /** Returns the extensions that the editor of a file needs. */
  extensions(name) {
    return [
      this.#client.plugin(uriOf(name), 'pdl'), autocompletion({ override: [context => this.#complete(context)], icons: false }), hoverTooltips(), signatureHelp(), explanation, atPointer,
      keymap.of([...renameKeymap, ...jumpToDefinitionKeymap, ...findReferencesKeymap, { key: 'Mod-k Mod-i', run: explain }, { key: 'Escape', run: hide }]),
    ]
  }

  /** Returns the completions of the server. The explanation of a completion is requested when the completion is
   * selected. */
  async #complete(context) {
    const found = await serverCompletionSource(context), items = this.#offered
    found?.options.forEach((option, i) => (option.info ??= () => this.#describe(context.view, items[i])))
    return found
  }

  async #describe(view, item) {
    const { documentation } = await this.#client.request('completionItem/resolve', item)
    return documentation ? documented(LSPPlugin.get(view), documentation, 'cm-lsp-completion-documentation') : null
  }

  sync() {
    this.#client.sync()
  }

  /** Requests the problems of the shown text. When the text changed several times during a check, only its last state
   * is checked next. */
  async check(view) {
    this.#isStale = this.#isBusy
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      await this.#check(view)
    } finally {
      this.#isBusy = false
    }
    if (this.#isStale) await this.check(view)
  }

  async #check(view) {
    const plugin = LSPPlugin.get(view), { doc } = view.state, textDocument = { uri: plugin.uri }
    const isShown = () => view.state.doc === doc
    this.#client.sync()
    const { items } = await this.#client.request('textDocument/diagnostic', { textDocument })
    if (isShown()) this.onProblems(items.map(d => problem(doc, d, [])), true)
    if (!items.length || this.#isStale || !isShown()) return
    const range = { start: { line: 0, character: 0 }, end: { line: doc.lines, character: 0 } }
    const actions = await this.#client.request('textDocument/codeAction', { textDocument, range, context: { diagnostics: [] } })
    const fixes = fixesOf(actions, view, plugin.uri)
    if (fixes.size && isShown()) this.onProblems(items.map(d => problem(doc, d, fixes.get(JSON.stringify(d)) ?? [])), false)
  }

  /** Formats the shown file. Rejects with the reason when the file cannot be formatted. */
  async format(view) {
    const plugin = LSPPlugin.get(view), { doc } = view.state
    this.#client.sync()
    const edits = await this.#client.request('textDocument/formatting', { textDocument: { uri: plugin.uri }, options: { tabSize: 2, insertSpaces: true } })
    return edits && view.state.doc === doc ? changesOf(doc, edits) : []
  }
}

/** Returns a map from each problem, as JSON, to its fixes. */
function fixesOf(actions, view, uri) {
  const fixes = new Map()
  for (const { title, edit, isPreferred, diagnostics } of actions) {
    const key = JSON.stringify(diagnostics?.[0])
    const apply = () => view.dispatch({ changes: changesOf(view.state.doc, edit.changes[uri] ?? []), userEvent: 'input.fix' })
    fixes.set(key, [...(fixes.get(key) ?? []), { name: title, isPreferred, apply }])
  }
  return fixes
}

function problem(doc, { range, severity, code, message }, actions) {
  const from = offset(doc, range.start), to = offset(doc, range.end)
  return { from, to, line: range.start.line + 1, severity: severity === 1 ? 'error' : 'warning', source: code, message, actions }
}
