// SPDX-License-Identifier: Apache-2.0
// pdl.mjs -- the command as far as the conformance kit uses it, by means of the package: `pdl.mjs [-d DATA] [-f FILE] [--stream HOW] FILE`.
// PDL_NPM: the folder of the package. Ends with status 77 and a word on standard error when a program needs what the module has not.
import fs from 'node:fs'

const { PdlError, run } = await import(`${process.env.PDL_NPM}/index.js`)

function skip(why) {
  fs.writeSync(2, `skipped: ${why}\n`)
  process.exit(77)
}

function options() {
  const o = { stream: 'result', data: [] }, args = process.argv.slice(2)
  while (args.length) {
    const [, name, inline] = /^(--?[a-z-]+)(?:=(.*))?$/s.exec(args[0]) ?? []
    if (!name) break
    args.shift()
    const value = () => inline ?? args.shift()
    if (name === '--stream') o.stream = value()
    else if (name === '-d' || name === '--data') o.data.push(value())
    else if (name === '-f' || name === '--data-file') o.data.unshift(fs.readFileSync(value(), 'utf8'))
    else if (name !== '--whole') skip(`the option ${name} is the command's`)
  }
  if (args.length !== 1) skip('it is about the command line')
  return { ...o, name: args[0] }
}

/** The files of the folder of the case. */
function files() {
  const all = {}
  for (const name of fs.readdirSync('.', { recursive: true })) {
    if (!fs.statSync(name).isFile()) continue
    const bytes = fs.readFileSync(name)
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

let lines

function line({ multiline }) {
  lines ??= fs.readFileSync(0, 'utf8').replaceAll('\r\n', '\n').split(/(?<=\n)/).filter(Boolean)
  if (multiline) return lines.splice(0).map(l => l.replace(/\n$/, '') + '\n').join('')
  return lines.length ? lines.shift().replace(/\n$/, '') : null
}

const base = process.env.OPENAI_API_BASE

async function model({ model: name, messages, parameters, schema, stream }, signal) {
  const { provider, rest } = /^(?<provider>[a-z_]+)\/(?<rest>.*)$/s.exec(name)?.groups ?? {}
  if (provider !== 'openai') skip('it calls another service than that of the kit')
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

const o = options()
o.variables = Object.assign({}, ...(await Promise.all(o.data.map(variables))))
delete o.data
if (!['none', 'result', 'context'].includes(o.stream)) skip('it is about the command line')
const all = files()
if (all[o.name] === undefined) skip('it is about the command line')
const running = run(all[o.name], { ...o, files: all, model, read: line, code: () => skip('it runs Python') })
for await (const event of running) {
  if (event.type === 'text') fs.writeSync(1, event.text)
  if (event.type === 'message') fs.writeSync(1, `\n${event.role}: ${event.text}`)
  if (event.type === 'note') fs.writeSync(2, event.text)
  judge(event.error?.message ?? event.message)
}
try {
  const { text } = await running
  fs.writeSync(1, o.stream === 'none' ? `${text}\n` : '\n')
} catch (why) {
  if (!(why instanceof PdlError)) throw why
  judge(why.message)
  fs.writeSync(2, why.text)
  process.exit(why.exitCode)
}
