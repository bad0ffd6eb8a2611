// worker.js -- the language in a thread of its own, so that the page never waits: it is a language server, runs programs, and
// answers what the Live Document asks. The page asks with {id, ask, ...} and gets {id, value} or {id, error}; {event, ...} comes unasked.
// SPDX-License-Identifier: Apache-2.0
import { LanguageServer, run, scripted } from '../npm/index.js'
import { noPython, python } from './python.js'

let server = null // of the language
let current = null // the run that is shown
const questions = new Map() // of `read`, by their number: the function that takes the answer
const calls = new Map() // model calls that the page answers, by their number
let lastCall = 0
let delay = 20 // milliseconds between two words of the scripted model

/* global HAS_PYTHON: what make-playground says */
const said = event => postMessage(event)

/** Texts and a reply that the page sends for one call, as they arrive. */
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

/** A model call that the page sends to the service of its user, since the policy of the page holds for it there. */
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

/** The language server, which begins with the first question for it. */
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
