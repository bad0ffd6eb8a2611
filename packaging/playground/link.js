// link.js -- puts a program with its replies into a link: after #p= in compressed form. Browsers do not send the text
// after # to servers.
// SPDX-License-Identifier: Apache-2.0

const LONGEST = 1 << 20 // maximum number of bytes that a link may unpack to

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

/** Returns the text after # for {program, replies?, files?}. */
export async function pack(shared) {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(shared)), new CompressionStream('deflate-raw'))
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return `p=${btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`
}

/** Returns the {program, ...} of a link; null when the link has none. */
export async function unpack(hash) {
  const packed = /^#?p=([\w-]+)$/.exec(hash)?.[1]
  if (!packed) return null
  const bytes = Uint8Array.from(atob(packed.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0))
  const shared = JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream('deflate-raw'), LONGEST)))
  return typeof shared?.program === 'string' ? shared : null
}
