// SPDX-License-Identifier: Apache-2.0
// answers.js -- answers the requests of a program with the functions that run() got.

import { PdlError, kindOf } from './errors.js'
import { JsonText } from './json.js'

const LONGEST_MS = 0x7fffffff

function refusal(kind, message) {
  return new PdlError({ kind, message })
}

const isWhole = chunk => Boolean(chunk?.choices?.[0]?.message)

/** Returns the text of a piece, which is a text, or a chunk in OpenAI's form. */
function pieceOf(chunk) {
  return typeof chunk === 'string' ? chunk : chunk?.choices?.[0]?.delta?.content ?? ''
}

async function model(request, options, signal, piece) {
  if (!options.model) throw refusal('config', 'the program calls a model, and run() got no function `model`')
  const { model: name, messages, parameters, schema, stream } = request
  const answer = await options.model({ model: name, messages, parameters, schema, stream }, signal)
  if (answer == null || typeof answer !== 'object' || !(Symbol.asyncIterator in answer)) return answer
  let whole = '', reply = null
  for await (const chunk of answer) {
    if (signal.aborted) break
    if (isWhole(chunk)) {
      reply = chunk
      break
    }
    const text = pieceOf(chunk)
    whole += text
    if (text) piece(text)
  }
  return reply ?? whole
}

async function code({ lang, code: source, vars }, options, signal) {
  if (!options.code) throw refusal('code', `the program runs code (${lang}), and run() got no function \`code\``)
  return options.code({ lang, code: source, variables: JSON.parse(vars), variablesJson: vars }, signal)
}

async function input({ prompt, multiline }, options, signal, _piece, id) {
  if (!options.read) throw refusal('io', 'the program reads a line, and run() got no function `read`')
  return (await options.read({ message: prompt, multiline, id }, signal)) ?? null
}

async function embed(request, options, signal) {
  if (!options.embed) throw refusal('config', 'the program embeds texts, and run() got no function `embed`')
  const { model: name, input: texts, parameters } = request
  return options.embed({ model: name, input: texts, parameters }, signal)
}

function sleep({ seconds }, _options, signal) {
  return new Promise(done => {
    const timer = setTimeout(done, Math.min(Math.max(0, seconds * 1000), LONGEST_MS))
    signal.addEventListener('abort', () => (clearTimeout(timer), done()), { once: true })
  })
}

const handlers = { model, code, input, embed, sleep }

/** Answers an effect. Calls piece(text) for streamed text. -> {value}, {json} or {kind, message} */
export async function answer(effect, options, signal, piece) {
  try {
    const value = (await handlers[effect.kind](effect.request, options, signal, piece, effect.id)) ?? null
    if (value instanceof JsonText) JSON.parse(value.text)
    // a value that JSON cannot express is a mistake of this answer, and not of the next question
    else JSON.stringify(value)
    return value instanceof JsonText ? { json: value.text } : { value }
  } catch (why) {
    return { kind: kindOf(why), message: String(why?.message ?? why) }
  }
}
