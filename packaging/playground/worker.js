// worker.js -- runs the language in a separate thread, so that the page never waits. It is a language server, runs programs, and answers
// the questions of the Live Document. The page sends {id, ask, ...} and gets {id, value} or {id, error}; events {event, ...} are sent
// unasked.
// SPDX-License-Identifier: Apache-2.0
import { LanguageServer, run, scripted } from '../npm/index.js'
import { noPython, python } from './python.js'

let server = null // the language server; null until it is needed
let current = null // the run that is shown
const questions = new Map() // number of a question of `read` -> the function that takes its answer
const calls = new Map() // number of a model call that the page answers -> its state
let lastCall = 0
let delay = 20 // milliseconds between two words of the scripted model

/* global HAS_PYTHON: set by make-playground */
const said = event => postMessage(event)

/** The texts and the reply that the page sends for one call, as they arrive. */
class Arriving {
  items = []
  wake = null

  put(item) {
    this.items.push(item)
    this.wake?.()
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      while (!this.items.length) await new Promise(done => (this.wake = done))
      const item = this.items.shift()
      if (item.error) throw Object.assign(new Error(item.error.message), item.error)
      yield item.reply ?? item.text
      if (item.reply) return
    }
  }
}

/** Passes a model call to the page, which sends it to the service of the user, because the policy of the page applies
 * to requests there. */
function service(request, signal) {
  const call = ++lastCall, arriving = new Arriving()
  calls.set(call, arriving)
  signal.addEventListener('abort', () => said({ event: 'abandon', call }), { once: true })
  said({ event: 'model', call, request })
  return arriving
}

function read({ id }, signal) {
  return new Promise(done => {
    questions.set(id, done)
    signal.addEventListener('abort', () => questions.delete(id), { once: true })
  })
}

async function follow(shown) {
  let waits = false
  for await (const event of shown) {
    if (event.type === 'error') said({ event: 'failed', why: event })
    if (waits) continue
    waits = true
    setTimeout(() => {
      waits = false
      said({ event: 'changed' })
    }, 8)
  }
  said({ event: 'over', ok: await shown.then(() => true, () => false) })
}

/** Returns the language server, which begins with the first question to it. */
function language() {
  return (server ??= new LanguageServer(said => postMessage({ event: 'lsp', message: said })))
}

const handlers = {
  lsp: ({ message }) => language().send(message),
  prices: ({ prices }) => language().setPrices(prices),
  run({ text, files, model, replies, strict, prices }) {
    current?.close()
    questions.clear()
    calls.clear()
    const answers = model === 'service' ? service : scripted(replies, { strict, delay })
    const code = HAS_PYTHON ? python(text => said({ event: 'note', text })) : noPython
    current = run(text, { files, model: answers, read, code, view: true, name: 'main.pdl', prices: prices.trim() || undefined })
    follow(current)
  },
  stop: () => current?.stop(),
  page: ({ path, request }) => current ? current.page(path, request) : { status: 404, type: 'text/plain', body: 'There is no run.' },
  changes: ({ from }) => current?.changes(from) ?? { from: 0, over: true },
  answer({ effect, text }) {
    const done = questions.get(effect)
    questions.delete(effect)
    done?.(text)
    return Boolean(done)
  },
  arrived: ({ call, ...item }) => calls.get(call)?.put(item),
}

onmessage = ({ data: { id, ask, ...question } }) => {
  try {
    said({ id, value: handlers[ask](question) })
  } catch (why) {
    const { kind, message, line, column, hint, text } = why
    said({ id, error: { kind, message, line, column, hint, text } })
  }
}
said({ event: 'ready' })
