// language.js -- the page's side of a worker (worker.js): it sends questions and returns promises, receives events, and can end a
// worker that does not stop.
// SPDX-License-Identifier: Apache-2.0

export class Language {
  #worker
  #waiting = new Map()
  #last = 0
  #on
  #early = [] // questions that wait until the worker is ready; null when it is ready

  /** on(event) receives the events that the worker sends unasked. */
  constructor(on) {
    this.#on = on
    this.#worker = new Worker('worker.js', { type: 'module' })
    this.#worker.onmessage = ({ data }) => this.#take(data)
    this.#worker.onerror = e => on({ event: 'broken', message: e.message })
  }

  #take({ id, value, error, ...event }) {
    if (event.event === 'ready') this.#hear()
    if (id === undefined) return this.#on(event)
    const { done, failed } = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error) failed(Object.assign(new Error(error.message), error))
    else done(value)
  }

  #hear() {
    for (const question of this.#early) this.#worker.postMessage(question)
    this.#early = null
  }

  ask(ask, question = {}) {
    const id = ++this.#last
    return new Promise((done, failed) => {
      this.#waiting.set(id, { done, failed })
      if (this.#early) this.#early.push({ id, ask, ...question })
      else this.#worker.postMessage({ id, ask, ...question })
    })
  }

  end() {
    this.#worker.terminate()
    for (const { failed } of this.#waiting.values()) failed(new Error('the run was ended'))
    this.#waiting.clear()
  }
}
