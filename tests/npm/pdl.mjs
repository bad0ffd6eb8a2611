// SPDX-License-Identifier: Apache-2.0
// pdl.mjs -- the command as far as the conformance kit uses it, by means of the package: `[-d DATA] [-f FILE] [--stream HOW] FILE`. One process
// runs many programs, one after the other: a line {argv, cwd, base, stdin} of its input is answered by a line {code, out, err}. PDL_NPM: the
// folder of the package. The code is 77, with a word in err, when a program needs what the module has not.
import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'

const { PdlError, run } = await import(`${process.env.PDL_NPM}/index.js`)

class Skipped extends Error {}

function skip(why) {
  throw new Skipped(why)
}

function options(argv, cwd) {
  const o = { stream: 'result', data: [] }, args = [...argv]
  while (args.length) {
    const [, name, inline] = /^(--?[a-z-]+)(?:=(.*))?$/s.exec(args[0]) ?? []
    if (!name) break
    args.shift()
    const value = () => inline ?? args.shift()
    if (name === '--stream') o.stream = value()
    else if (name === '-d' || name === '--data') o.data.push(value())
    else if (name === '-f' || name === '--data-file') o.data.unshift(fs.readFileSync(path.join(cwd, value()), 'utf8'))
    else if (name !== '--whole') skip(`the option ${name} is the command's`)
  }
  if (args.length !== 1) skip('it is about the command line')
  return { ...o, name: args[0] }
}

/** The files of the folder of the case. */
function files(cwd) {
  const all = {}
  for (const name of fs.readdirSync(cwd, { recursive: true })) {
    const file = path.join(cwd, name)
    if (!fs.statSync(file).isFile()) continue
    const bytes = fs.readFileSync(file)
    if (!Buffer.from(bytes.toString('utf8'), 'utf8').equals(bytes)) skip('a file is not UTF-8')
    all[name] = bytes.toString('utf8')
  }
  return all
}

const unwanted = { 'files cannot': 'it writes files', 'commands cannot': 'it runs commands', 'tool servers': 'it uses tool servers' }

/** Skips the program when a message says that something is not in the module. */
function judge(message) {
  for (const [words, why] of Object.entries(unwanted)) if (String(message).includes(words)) skip(why)
}

/** Answers `read` from a text. */
function input(stdin) {
  let lines
  return ({ multiline }) => {
    lines ??= stdin.replaceAll('\r\n', '\n').split(/(?<=\n)/).filter(Boolean)
    if (multiline) return lines.splice(0).map(l => l.replace(/\n$/, '') + '\n').join('')
    return lines.length ? lines.shift().replace(/\n$/, '') : null
  }
}

/** The service of the kit at an address. onSkip(why) is called when a program calls another one. */
const service = (base, onSkip) => async ({ model: name, messages, parameters, schema, stream }, signal) => {
  const { provider, rest } = /^(?<provider>[a-z_]+)\/(?<rest>.*)$/s.exec(name)?.groups ?? {}
  if (provider !== 'openai') onSkip('it calls another service than that of the kit')
  const { user: _user, ...sent } = parameters // the service of the kit shows what it gets
  const body = { model: rest, messages, ...sent, ...(stream ? { stream: true } : {}) }
  if (schema && !body.response_format) body.response_format = { type: 'json_schema', json_schema: { name: 'schema', schema, strict: true } }
  for (let attempt = 0; ; attempt++) {
    const answer = await fetch(`${base}/chat/completions`, {
      method: 'POST', headers: { 'Content-Type': 'application/json', Authorization: 'Bearer sk' }, body: JSON.stringify(body), signal })
    if (answer.ok) return stream ? chunks(answer) : answer.json()
    const text = await answer.text()
    if (attempt < 2 && (answer.status === 429 || answer.status >= 500)) continue
    throw Object.assign(new Error(text), { status: answer.status })
  }
}

async function chunks(answer) {
  const parsed = (await answer.text()).split('\n').filter(l => l.startsWith('data: {')).map(l => JSON.parse(l.slice(6)))
  if (parsed.some(c => c.error)) throw Object.assign(new Error(JSON.stringify(parsed)), { kind: 'stream' })
  const whole = { role: 'assistant', content: '' }, calls = []
  let usage
  for (const { choices = [], usage: u } of parsed) {
    usage = u ?? usage
    for (const { delta = {} } of choices) {
      whole.content += delta.content ?? ''
      for (const { index, id, type, function: f } of delta.tool_calls ?? []) {
        const call = (calls[index] ??= { id, type: type ?? 'function', function: { name: '', arguments: '' } })
        call.function.name += f?.name ?? ''
        call.function.arguments += f?.arguments ?? ''
      }
    }
  }
  if (calls.length) whole.tool_calls = calls
  return { choices: [{ index: 0, message: whole, finish_reason: 'stop' }], ...(usage ? { usage } : {}) }
}

/** Reads YAML by a program whose result it is. */
async function variables(text) {
  if (!text?.trim()) return {}
  try {
    const { value } = await run(`raw: true\ndata:\n${text.replace(/^/gm, '  ')}\n`)
    return value
  } catch {
    return skip('the variables cannot be read, as the command says')
  }
}

/** One program. -> {code, out, err} */
async function command({ argv, cwd, base, stdin }) {
  const said = { code: 0, out: '', err: '' }, o = options(argv, cwd)
  o.variables = Object.assign({}, ...(await Promise.all(o.data.map(variables))))
  delete o.data
  if (!['none', 'result', 'context'].includes(o.stream)) skip('it is about the command line')
  const all = files(cwd)
  if (all[o.name] === undefined) skip('it is about the command line')
  let lacks // a function of the run would hand an exception to the program
  const note = why => (running.stop(), (lacks ??= why))
  const running = run(all[o.name], { ...o, files: all, model: service(base, note), read: input(stdin), code: () => note('it runs Python') })
  try {
    for await (const event of running) {
      if (event.type === 'text') said.out += event.text
      if (event.type === 'message') said.out += `\n${event.role}: ${event.text}`
      if (event.type === 'note') said.err += event.text
      if (!lacks) judge(event.error?.message ?? event.message)
    }
    const { text } = await running
    said.out += o.stream === 'none' ? `${text}\n` : '\n'
  } catch (why) {
    if (lacks) skip(lacks)
    if (!(why instanceof PdlError)) throw why
    judge(why.message)
    said.err += why.text
    said.code = why.exitCode
  }
  if (lacks) skip(lacks)
  return said
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const said = await command(JSON.parse(line)).catch(why => why instanceof Skipped ? { code: 77, out: '', err: `skipped: ${why.message}\n` } : { code: 70, out: '', err: String(why.stack) })
  process.stdout.write(`${JSON.stringify(said)}\n`)
}
