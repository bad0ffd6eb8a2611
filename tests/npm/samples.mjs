// SPDX-License-Identifier: Apache-2.0
// samples.mjs -- runs programs of the manual by the package: a JSON list of {program, files, replies, stdin} on standard input is answered by a
// list of {kind: 'output' | 'error', text}. PDL_NPM: the folder of the package.
import { readFileSync } from 'node:fs'

const { run, scripted } = await import(`${process.env.PDL_NPM}/index.js`)
const MAX_MS = 20_000

async function result({ program, files, replies = '', stdin }) {
  const lines = stdin.split('\n').slice(0, -1)
  let text = ''
  try {
    const running = run(program, { files, model: scripted(replies), read: () => lines.shift() ?? null, signal: AbortSignal.timeout(MAX_MS) })
    for await (const event of running) if (event.type === 'text') text += event.text
    await running
    return { kind: 'output', text }
  } catch (why) {
    return { kind: 'error', text: why.text ?? String(why) }
  }
}

const answers = []
for (const sample of JSON.parse(readFileSync(0, 'utf8'))) answers.push(await result(sample))
console.log(JSON.stringify(answers))
