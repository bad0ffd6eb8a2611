// SPDX-License-Identifier: Apache-2.0
// index.js -- pdl-lang: programs of PDL are checked, formatted, explained and run, in Node and in the browser.

import { PdlError } from './errors.js'
import { JsonText } from './json.js'
import { instance } from './module.js'
import { Run, tableOf } from './run.js'
import { scriptedModel } from './scripted.js'
import { LanguageServer } from './server.js'

export { JsonText, LanguageServer, PdlError, Run }

function ask(question, of = instance()) {
  const said = of.ask(question)
  if (said.error) throw new PdlError(said.error)
  return said
}

export const version = ask({ ask: 'version' }).version

/** Finds the problems of a program. -> a list, empty when there are none */
export function check(text, { name = 'main.pdl', files } = {}) {
  return ask({ ask: 'check', text, name, files }).problems
}

/** Lays a program out as `pdl fmt` does. Throws PdlError when it cannot be read. */
export function format(text, { name = 'main.pdl' } = {}) {
  return ask({ ask: 'format', text, name }).text
}

/** Says which models would be called, as far as that is known without an answer. -> {calls, total, notDone, notKnown, notReached} */
export function explain(text, { variables = {}, name = 'main.pdl', files, prices } = {}) {
  return ask({ ask: 'explain', text, name, files, variables, prices: tableOf(prices) })
}

/** Returns a model whose answers are written by hand, by the rules of `pdl mock --replies`: `replies` is a YAML list. run() takes the
 * result as `model`. `delay`: milliseconds before each word. */
export function scripted(replies = '', { strict = false, delay = 0 } = {}) {
  const own = instance()
  return scriptedModel(replies, strict, delay, question => ask(question, own))
}

/** Starts a program. The result can be awaited, iterated and stopped. */
export function run(program, options) {
  return new Run(program, options)
}
