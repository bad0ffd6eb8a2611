// SPDX-License-Identifier: Apache-2.0
// server.js -- LanguageServer: the server of `pdl lsp` for an editor in a page or in Node. Messages are those of the Language Server Protocol,
// as objects. The files of a program are those that the editor opens.

import { PdlError } from './errors.js'
import { Instance } from './module.js'
import { tableOf } from './run.js'

const QUIET_MS = 15 // after this much silence, work begins for which no request waits

export class LanguageServer {
  #module = new Instance()
  #onMessage
  #timer = null

  /** onMessage gets what the server sends; prices: a table, whose prices are shown beside models. */
  constructor(onMessage, { prices } = {}) {
    this.#onMessage = onMessage
    if (prices !== undefined) this.setPrices(prices)
  }

  #ask(question) {
    const { messages, more, error } = this.#module.ask({ ask: 'lsp', ...question })
    if (error) throw new PdlError(error)
    for (const message of messages) this.#onMessage(message)
    clearTimeout(this.#timer)
    this.#timer = more ? setTimeout(() => this.#ask({}), question.message ? QUIET_MS : 0) : null
  }

  /** Takes one message of the client. onMessage gets the answers before this function returns. */
  send(message) {
    this.#ask({ message: JSON.stringify(message) })
  }

  /** Replaces the table of prices. With an empty text, there is no table. Throws PdlError when it cannot be read. */
  setPrices(prices) {
    this.#ask({ prices: tableOf(prices) })
  }

  /** Ends the server, which then sends no more messages. */
  close() {
    clearTimeout(this.#timer)
    this.#onMessage = () => {}
  }
}
