// view.js -- lets the page around the Live Document answer its questions, which the Live Document usually sends to a server. This script
// comes before the scripts of the document, and replaces the functions with which they send requests.
// SPDX-License-Identifier: Apache-2.0

const host = parent.playground

const reply = ({ status, type, body }) => new Response(status === 204 ? null : body, { status, headers: { 'Content-Type': type } })

window.fetch = async (path, { method = 'GET', body = '' } = {}) => {
  const { pathname, searchParams } = new URL(path, location.href)
  const asked = pathname.replace(/^.*\/api\//, '')
  const effect = /^0\/answer\/(\d+)$/.exec(asked)?.[1]
  if (effect) return reply({ status: (await host.answer(Number(effect), body)) ? 204 : 409, type: 'text/plain', body: 'This is not asked any more.' })
  return reply(await host.page(asked, { query: Object.fromEntries(searchParams), body, posted: method === 'POST' }))
}

/** Sends the changes of the run as a server would send them. */
window.EventSource = class extends EventTarget {
  static CLOSED = 2
  readyState = 1
  #from = 0
  #asks = false
  #again = false
  #off

  constructor() {
    super()
    this.#off = host.onChange(() => this.#ask())
    setTimeout(() => this.#ask())
  }

  #send(type, data) {
    this.dispatchEvent(new MessageEvent(type, { data: JSON.stringify(data) }))
  }

  async #ask() {
    this.#again = this.#asks
    if (this.#asks || this.readyState === 2) return
    this.#asks = true
    const { changes, from, over } = await host.changes(this.#from)
    this.#asks = false
    this.#from = from
    if (changes) this.#send('message', changes)
    if (changes || this.#again) return this.#ask()
    if (over) this.#send('over', {})
  }

  close() {
    this.readyState = 2
    this.#off()
  }
}
