// editor.js -- the field in which a program is written: CodeMirror in a shadow root, because a policy that allows only style sheets of
// this folder allows its styles nowhere else.
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
  '.cm-hover': { padding: '.3rem .6rem', font: '13px/1.45 system-ui, sans-serif', whiteSpace: 'pre-wrap', overflow: 'auto', maxHeight: '18rem' },
})

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'light-dark(#0b5e6b, #6fc3cf)' },
  { tag: tags.string, color: 'light-dark(#7a3e00, #e0a07f)' },
  { tag: tags.comment, color: 'var(--faint)', fontStyle: 'italic' },
  { tag: [tags.keyword, tags.typeName, tags.labelName], color: 'light-dark(#7a3e9d, #c39be0)' },
])

/** The place of a line and a column that counts characters, both from 1. */
function place(doc, line, column = 1) {
  if (!line || line > doc.lines) return doc.length
  const { from, text } = doc.line(line)
  return from + Math.min([...text].slice(0, column - 1).join('').length, text.length)
}

function mark(doc, p) {
  const from = place(doc, p.line, p.column)
  const to = p.endLine ? place(doc, p.endLine, p.endColumn) : from
  return { from, to: Math.max(from, to), severity: p.severity, source: p.rule, message: p.hint ? `${p.message}\n${p.hint}` : p.message }
}

export class Editor {
  /** onChange(text) is called for each change; onKey: {run, format}; more: extensions. */
  constructor(host, { onChange, run, format, more = [] }) {
    const root = host.attachShadow({ mode: 'open' })
    const parent = document.createElement('div')
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(':host { display: block } div:first-of-type { height: 100% }')
    root.adoptedStyleSheets = [sheet]
    root.append(parent)
    const own = [{ key: 'Mod-Enter', run: () => (run(), true) }, { key: 'Shift-Alt-f', run: () => (format(), true) }]
    this.extensions = [
      keymap.of([...own, ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
      lineNumbers(), history(), drawSelection(), highlightActiveLine(), bracketMatching(), closeBrackets(), indentOnInput(),
      indentUnit.of('  '), EditorState.tabSize.of(2), yaml(), syntaxHighlighting(colours), lintGutter(), theme, EditorView.lineWrapping,
      EditorView.contentAttributes.of({ 'aria-label': 'Program', spellcheck: 'false' }),
      EditorView.updateListener.of(u => u.docChanged && onChange(u.state.doc.toString())), ...more,
    ]
    this.view = new EditorView({ parent, root, state: EditorState.create({ extensions: this.extensions }) })
  }

  get text() {
    return this.view.state.doc.toString()
  }

  /** Puts another text in its place; one that is laid out anew keeps its history. */
  set text(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, annotations: isolateHistory.of('full') })
  }

  showProblems(problems) {
    const { state } = this.view
    this.view.dispatch(setDiagnostics(state, problems.map(p => mark(state.doc, p))))
  }

  goTo(line, column) {
    const at = place(this.view.state.doc, line, column)
    this.view.dispatch({ selection: { anchor: at }, scrollIntoView: true })
    this.view.focus()
  }
}
