// editor.js -- the field in which a program is written. It is CodeMirror in a shadow root, because the policy of the page allows only
// style sheets of this folder, and the styles of CodeMirror are accepted only there.
// SPDX-License-Identifier: Apache-2.0
import { closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'

const theme = EditorView.theme({
  '&': { height: '100%', color: 'var(--front)', backgroundColor: 'var(--back)', fontSize: '14px' },
  '&.cm-focused': { outline: '2px solid var(--main)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'ui-monospace, monospace', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--front)' },
  '.cm-cursor': { borderLeftColor: 'var(--front)' },
  '.cm-gutters': { backgroundColor: 'var(--pane)', color: 'var(--faint)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--main) 7%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--main) 30%, transparent)',
  },
  '.cm-tooltip': { backgroundColor: 'var(--pane)', color: 'var(--front)', border: '1px solid var(--line)', maxWidth: '36rem' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--main)', color: 'var(--back)' },
  '.cm-diagnostic': { fontFamily: 'system-ui, sans-serif', whiteSpace: 'pre-wrap' },
  '.cm-lsp-documentation': { padding: '.2rem .6rem', font: '13px/1.45 system-ui, sans-serif', overflow: 'auto', maxHeight: '18rem' },
  '.cm-lsp-documentation p': { margin: '.25rem 0' },
  '.cm-lsp-documentation code, .cm-lsp-documentation pre': { font: '12.5px/1.45 ui-monospace, monospace', whiteSpace: 'pre-wrap' },
  '.cm-tooltip.cm-completionInfo': { whiteSpace: 'normal' },
  '.cm-diagnosticAction': { font: '13px system-ui, sans-serif', color: 'var(--back)', backgroundColor: 'var(--main)', borderRadius: '4px', padding: '.1rem .5rem' },
  '.cm-panels': { backgroundColor: 'var(--pane)', color: 'var(--front)', borderColor: 'var(--line)' },
  '.cm-dialog input, .cm-dialog button': { font: '13px system-ui, sans-serif', color: 'var(--front)', backgroundColor: 'var(--back)', backgroundImage: 'none', border: '1px solid var(--line)' },
})

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'light-dark(#0b5e6b, #6fc3cf)' },
  { tag: tags.string, color: 'light-dark(#7a3e00, #e0a07f)' },
  { tag: tags.comment, color: 'var(--faint)', fontStyle: 'italic' },
  { tag: [tags.keyword, tags.typeName, tags.labelName], color: 'light-dark(#7a3e9d, #c39be0)' },
])

export class Editor {
  #states = new Map() // name of a file that is not shown -> its state
  #shown

  /** onChange() is called for each change, and onShow(name) when another file is shown. run and format are called by keys.
   * assist(name) returns the extensions for a file. */
  constructor(host, { onChange, onShow, run, format, assist }) {
    const root = host.attachShadow({ mode: 'open' })
    const parent = document.createElement('div')
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(':host { display: block } .whole { height: 100% }')
    parent.className = 'whole'
    root.adoptedStyleSheets = [sheet]
    root.append(parent)
    const own = [{ key: 'Mod-Enter', run: () => (run(), true) }, { key: 'Shift-Alt-f', run: () => (format(), true) }]
    this.assist = assist
    this.onShow = onShow
    this.extensions = [
      keymap.of([...own, ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
      lineNumbers(), history(), drawSelection(), highlightActiveLine(), bracketMatching(), closeBrackets(), indentOnInput(),
      indentUnit.of('  '), EditorState.tabSize.of(2), yaml(), syntaxHighlighting(colours), lintGutter(), theme, EditorView.lineWrapping,
      EditorView.contentAttributes.of({ 'aria-label': 'Program', 'aria-description': 'Escape, then Tab leaves the editor.', spellcheck: 'false' }),
      EditorView.updateListener.of(u => u.docChanged && onChange()),
    ]
    this.view = new EditorView({ parent, root })
  }

  #stateOf(name, doc) {
    return EditorState.create({ doc, extensions: [...this.extensions, this.assist(name)] })
  }

  get names() {
    return [...new Set([this.main, ...this.#states.keys()])]
  }

  /** Returns the text of a file. */
  text(name = this.main) {
    return (name === this.#shown ? this.view.state : this.#states.get(name)).doc.toString()
  }

  /** Opens a program with its other files. The user can undo this. */
  open(main, text, others = {}) {
    this.#states.clear()
    for (const [name, doc] of Object.entries(others)) this.#states.set(name, this.#stateOf(name, doc))
    if (this.#shown === main) this.replace([{ from: 0, to: this.view.state.doc.length, insert: text }])
    else this.view.setState(this.#stateOf(main, text))
    this.main = this.#shown = main
  }

  /** Changes the text in a separate step, which the user can undo. */
  replace(changes) {
    this.view.dispatch({ changes, annotations: isolateHistory.of('full') })
  }

  /** Shows another file. Returns the view. */
  show(name) {
    if (name === this.#shown) return this.view
    const state = this.#states.get(name)
    this.onShow(name)
    this.#states.set(this.#shown, this.view.state)
    this.#shown = name
    this.view.setState(state)
    return this.view
  }

  /** Changes a file that is not shown. Returns its text. */
  change(name, update) {
    const { state } = this.#states.get(name).update(update)
    this.#states.set(name, state)
    return state.doc
  }

  get shown() {
    return this.#shown
  }

  showProblems(problems) {
    const { state } = this.view
    this.view.dispatch(setDiagnostics(state, problems))
  }

  goTo(at) {
    this.view.dispatch({ selection: { anchor: Math.min(at, this.view.state.doc.length) }, scrollIntoView: true })
    this.view.focus()
  }
}
