// SPDX-License-Identifier: Apache-2.0
// run.js -- Run, a program that runs in slices of 10 ms. Between two slices the event loop has its turn. Functions of
// the host answer the program's requests, in any order, while other parts of the program continue.

import { answer } from './answers.js'
import { PdlError } from './errors.js'
import { Ended, instance } from './module.js'

const SLICE_MS = 10
const AHEAD = 1000 // maximum number of events that nobody has read; when there are more, the program waits

/** Waits until the event loop has done its other work. */
const pause = typeof setImmediate === 'function' ? () => new Promise(setImmediate) : byMessage()

function byMessage() {
  const { port1, port2 } = new MessageChannel()
  const waiting = []
  port1.onmessage = () => waiting.shift()?.()
  return () => new Promise(done => (waiting.push(done), port2.postMessage(0)))
}

function textOf(program) {
  return typeof program === 'string' ? program : JSON.stringify(program)
}

/** Returns a table of prices as text. */
export function tableOf(prices) {
  return prices === undefined || typeof prices === 'string' ? prices : JSON.stringify(prices)
}

/** Returns a budget in the form of --budget: {calls: 10, seconds: 60} becomes "calls=10,seconds=60". */
function budgetOf(limits = {}) {
  return Object.entries(limits).map(([item, limit]) => `${item}=${limit}`).join(',')
}

export class Run {
  #module = null
  #number = 0
  #options
  #open = new Map() // number of an effect -> the AbortController of the function that answers it
  #wake = null
  #woken = false
  #stopped = false
  #events = []
  #readers = [] // of next()
  #isRead = false
  #isAwaited = false
  #isOver = false
  #isClosed = false
  #end

  constructor(program, options = {}) {
    this.#options = options
    const { signal } = options
    const stop = () => this.stop()
    this.#end = this.#drive(textOf(program)).finally(() => signal?.removeEventListener('abort', stop))
    if (signal?.aborted) this.#stopped = true
    signal?.addEventListener('abort', stop, { once: true })
  }

  /** Answers a question of the page of the Live Document (GET or POST /api/PATH of `pdl view`), during the run and after it. The run
   * needs the option `view`, and lives until it is closed. -> {status, type, body} */
  page(path, { query = {}, body = '', posted = false } = {}) {
    return this.#ask('view', { path, query, body, posted })
  }

  /** Returns the boxes of the document that have changed since `from`. -> {changes?, from, over} */
  changes(from = 0) {
    return this.#ask('changes', { from })
  }

  /** Frees a run that was started with `view`. */
  close() {
    this.stop()
    this.#isClosed = true
    if (this.#isOver) this.#free()
  }

  /** Ends the run: it is rejected with an error of kind "interrupt". */
  stop() {
    this.#stopped = true
    this.#rouse()
  }

  then(done, failed) {
    this.#isAwaited = true
    if (!this.#isRead) this.#events.length = 0
    this.#rouse()
    return this.#end.then(done, failed)
  }

  catch(failed) {
    return this.then(undefined, failed)
  }

  finally(fn) {
    return this.then().finally(fn)
  }

  [Symbol.asyncIterator]() {
    this.#isRead = true
    this.#end.catch(() => {}) // a caller that iterates gets the error as an event
    return {
      next: () => this.#next(),
      return: async () => {
        this.#isRead = false
        this.#isAwaited = true // the caller reads no more events, so the run need not wait for it
        this.#events.length = 0
        this.#rouse()
        return { done: true, value: undefined }
      },
    }
  }

  #next() {
    if (this.#events.length) {
      const value = this.#events.shift()
      this.#rouse()
      return Promise.resolve({ done: false, value })
    }
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined })
    return new Promise(done => this.#readers.push(done))
  }

  #emit(event) {
    const reader = this.#readers.shift()
    if (reader) reader({ done: false, value: event })
    else if (this.#isRead || !this.#isAwaited) this.#events.push(event)
  }

  #rouse() {
    this.#woken = true
    this.#wake?.()
  }

  /** Waits for an answer or a stop, at most until a deadline of the program. */
  async #sleep(ms) {
    const timer = ms === undefined ? undefined : setTimeout(() => this.#rouse(), ms)
    if (!this.#woken) await new Promise(done => (this.#wake = done))
    clearTimeout(timer)
    this.#wake = null
    this.#woken = false
  }

  #ask(ask, more) {
    if (!this.#module) throw new PdlError({ kind: 'usage', message: 'the run is not there: it was freed, or has not begun' })
    const said = this.#module.ask({ ask, run: this.#number, ...more })
    if (said.error && ask !== 'step') throw new PdlError(said.error)
    return said
  }

  async #drive(text) {
    await null // the caller may begin to iterate before anything happens
    try {
      this.#start(text)
      return await this.#steps()
    } catch (why) {
      throw this.#failed(why)
    } finally {
      this.#close()
    }
  }

  #start(text) {
    const { variables, data, name = 'main.pdl', files, stream, view, prices, budget } = this.#options
    this.#module = instance()
    this.#number = this.#ask('start', { text, name, files, stream, view, prices: tableOf(prices), budget: budgetOf(budget), variables: variables ?? data ?? {} }).run
  }

  async #steps() {
    for (let cancelled = false; ;) {
      if (this.#stopped && !cancelled) {
        cancelled = true
        this.#ask('cancel')
      }
      const said = this.#ask('step', { ms: SLICE_MS })
      this.#take(said)
      if (said.state === 'done') return this.#result()
      if (said.state === 'failed') throw new PdlError(said.error)
      if (said.state === 'running') await pause()
      else await this.#sleep(said.wait)
      while (this.#events.length > AHEAD && this.#isRead && !this.#stopped) await this.#sleep()
    }
  }

  #take({ events = [], effects = [], cancelled = [] }) {
    for (const { error, ...event } of events) this.#emit(event.type === 'error' ? { ...event, ...error } : error ? { ...event, error } : event)
    for (const id of cancelled) this.#abort(id)
    for (const effect of effects) this.#answer(effect)
  }

  #abort(id) {
    const controller = this.#open.get(id)
    this.#open.delete(id)
    controller?.abort()
  }

  async #answer(effect) {
    const controller = new AbortController(), began = performance.now()
    const isWanted = () => this.#open.get(effect.id) === controller
    this.#open.set(effect.id, controller)
    const said = await answer(effect, this.#options, controller.signal, piece => {
      if (!isWanted()) return
      this.#give('piece', { effect: effect.id, text: piece })
    })
    if (!isWanted()) return
    this.#open.delete(effect.id)
    if (!('kind' in said)) this.#give('reply', { effect: effect.id, ...said, seconds: (performance.now() - began) / 1000 })
    else this.#give('refuse', { effect: effect.id, ...said })
  }

  /** Passes an answer to the module. When the module has ended, the next step reports it. */
  #give(ask, more) {
    try {
      this.#ask(ask, more)
    } catch {
      // the next step meets the same fault, and reports it
    }
    this.#rouse()
  }

  #result() {
    const { text, value, usage, messages } = this.#ask('result')
    return { text, value, usage, messages }
  }

  #failed(why) {
    let error = why
    if (why instanceof Ended) error = new PdlError({ kind: /memory/.test(why.message) ? 'limit' : 'runtime', message: why.message }, { cause: why })
    if (error.kind === 'interrupt' && this.#options.signal?.aborted) error.cause = this.#options.signal.reason
    if (!this.#number || why instanceof Ended) {
      const { kind, message, file, line, column, hint, text, exitCode } = error
      this.#emit({ type: 'error', kind, message, file, line, column, hint, text, exitCode })
    }
    return error
  }

  #free() {
    try {
      if (this.#number) this.#ask('free')
    } catch {
      // the module is gone, and the run with it
    }
    this.#module = null
    this.#number = 0
  }

  #close() {
    for (const id of [...this.#open.keys()]) this.#abort(id)
    if (!this.#options.view || this.#isClosed) this.#free()
    this.#isOver = true
    for (const reader of this.#readers.splice(0)) reader({ done: true, value: undefined })
  }
}
