// SPDX-License-Identifier: Apache-2.0
// module.js -- libpdl.wasm: compiled once, instantiated where it is needed; questions and answers are JSON
// (src/apps/wasm/wasm.h). The module may call only the functions of its host that are here: clocks, random bytes, an
// empty environment, and output for messages of a crash.

const LARGE = 256 << 20 // bytes: an instance that has grown so much gets no further runs, because memory never shrinks
const text = new TextDecoder()
const bytes = new TextEncoder()
const NO_SUCH_CALL = 52

/** Imports a module of Node. Its name is not a constant, so programs that bundle for browsers ignore the import. */
const ofNode = name => import(/* @vite-ignore */ /* webpackIgnore: true */ name)

async function compiled() {
  const url = new URL('./libpdl.wasm', import.meta.url)
  if (url.protocol === 'file:') {
    const { readFile } = await ofNode('node:fs/promises')
    return WebAssembly.compile(await readFile(url))
  }
  const answer = await fetch(url)
  if (!answer.ok) throw new Error(`${url} cannot be read: ${answer.status}`)
  const isNamed = answer.headers.get('content-type') === 'application/wasm'
  return isNamed ? WebAssembly.compileStreaming(answer) : WebAssembly.compile(await answer.arrayBuffer())
}

const module = await compiled()

/** The error of a module that has ended, after a fault or because there was no memory. */
export class Ended extends Error {}

export class Instance {
  #said = ''
  #ended = null

  constructor() {
    const imports = {}
    const calls = this.#calls()
    for (const { name } of WebAssembly.Module.imports(module)) imports[name] = calls[name] ?? (() => NO_SUCH_CALL)
    this.exports = new WebAssembly.Instance(module, { wasi_snapshot_preview1: imports }).exports
    this.exports._initialize()
  }

  #view() {
    return new DataView(this.exports.memory.buffer)
  }

  #bytes(at, length) {
    return new Uint8Array(this.exports.memory.buffer, at, length)
  }

  #calls() {
    return {
      clock_time_get: (id, _precision, out) => {
        const ms = id === 0 ? performance.timeOrigin + performance.now() : performance.now()
        this.#view().setBigUint64(out, BigInt(Math.floor(ms * 1e6)), true)
        return 0
      },
      random_get: (at, length) => {
        for (let i = 0; i < length; i += 65536) crypto.getRandomValues(this.#bytes(at + i, Math.min(65536, length - i)))
        return 0
      },
      fd_write: (_fd, parts, n, out) => {
        let total = 0
        for (let i = 0; i < n; i++) {
          const at = this.#view().getUint32(parts + 8 * i, true), length = this.#view().getUint32(parts + 8 * i + 4, true)
          this.#said = (this.#said + text.decode(this.#bytes(at, length))).slice(-2000)
          total += length
        }
        this.#view().setUint32(out, total, true)
        return 0
      },
      environ_sizes_get: (count, size) => {
        this.#view().setUint32(count, 0, true)
        this.#view().setUint32(size, 0, true)
        return 0
      },
      environ_get: () => 0,
      proc_exit: code => {
        throw new Ended(this.#said.trim() || `exit ${code}`)
      },
    }
  }

  get isLarge() {
    return this.#ended !== null || this.exports.memory.buffer.byteLength > LARGE
  }

  /** Asks one question. Throws Ended when the module is gone. */
  ask(question) {
    if (this.#ended) throw this.#ended
    const json = bytes.encode(JSON.stringify(question))
    try {
      const at = this.exports.pdl_wasm_alloc(json.length)
      this.#bytes(at, json.length).set(json)
      const length = this.exports.pdl_wasm_ask(at, json.length)
      this.exports.pdl_wasm_release(at)
      return JSON.parse(text.decode(this.#bytes(this.exports.pdl_wasm_answer(), length)))
    } catch (why) {
      this.#ended = why instanceof Ended ? why : new Ended(this.#said.trim() || String(why), { cause: why })
      throw this.#ended
    }
  }
}

let shared

/** Returns an instance that can take another question. */
export function instance() {
  if (!shared || shared.isLarge) shared = new Instance()
  return shared
}
