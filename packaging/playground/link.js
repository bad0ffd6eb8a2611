// link.js -- a program in a link: #p= and the program with its answers, compressed. Servers do not get what is behind #.
// SPDX-License-Identifier: Apache-2.0

const LONGEST = 1 << 20 // bytes of what a link may hold, when it is unpacked

async function through(bytes, stream, most = Infinity) {
  const parts = []
  let total = 0
  for await (const part of new Blob([bytes]).stream().pipeThrough(stream)) {
    total += part.length
    if (total > most) throw new Error('the link holds more than a program')
    parts.push(part)
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer())
}

/** What is behind # for {program, replies?, files?}. */
export async function pack(shared) {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(shared)), new CompressionStream('deflate-raw'))
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return `p=${btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`
}

/** The {program, ...} of a link; null when it holds none. */
export async function unpack(hash) {
  const packed = /^#?p=([\w-]+)$/.exec(hash)?.[1]
  if (!packed) return null
  const bytes = Uint8Array.from(atob(packed.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0))
  const shared = JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream('deflate-raw'), LONGEST)))
  return typeof shared?.program === 'string' ? shared : null
}
