// service.js -- calls a model of the user: any service with OpenAI's chat interface. The page itself sends the
// requests.
// SPDX-License-Identifier: Apache-2.0

/* global UNSENT: names of the parameters that configure the client (effect/control.def); make-playground sets it */
const PIECE = /\r?\n\r?\n/
const OWN_FORM = ['response_format', 'guided_regex', 'guided_choice', 'guided_grammar', 'structured_outputs', 'grammar', 'json_schema']
// the command recognises such a refusal by the same words (spec providers 15.2)
const BLAMES_SCHEMA = /format|json_schema|guided_json/

// --- the request ----------------------------------------------------------------------------------

const isText = ({ type, enum: values, pattern }) => type === 'string' && !values && !pattern

/** Returns the schema in the form for which OpenAI guarantees the answer: each object requires all its properties and allows no others. Returns
 * null when the schema has no such form. */
function strictForm(schema) {
  const parts = { ...schema }
  for (const [key, part] of Object.entries(schema)) {
    if (key === 'properties' || key === '$defs') parts[key] = Object.fromEntries(Object.entries(part).map(([name, of]) => [name, strictForm(of)]))
    else if (key === 'anyOf') parts[key] = part.map(strictForm)
    else if (key === 'items') parts[key] = strictForm(part)
    else continue
    if (parts[key] === null || (key !== 'items' && Object.values(parts[key]).includes(null))) return null
  }
  if (schema.type !== 'object') return parts
  const { properties, required = [], additionalProperties = false } = schema
  const isWhole = properties && additionalProperties === false && Object.keys(properties).every(name => required.includes(name))
  return isWhole ? { ...parts, additionalProperties: false } : null
}

/** Returns the field that requests answers of a schema. */
function responseFormat(schema) {
  const strict = schema.type === 'object' ? strictForm(schema) : null
  return { type: 'json_schema', json_schema: { name: 'schema', schema: strict ?? schema, strict: strict !== null } }
}

/** Returns the messages. When they do not mention JSON, the schema is added in words at their end. */
function inWords(messages, schema) {
  if (/json/i.test(JSON.stringify(messages))) return messages
  const words = `Reply with JSON that is valid against this JSON Schema, and with nothing else:\n${JSON.stringify(schema)}`
  const last = messages.at(-1)
  if (last?.role !== 'user' || typeof last.content !== 'string') return [...messages, { role: 'user', content: words }]
  return [...messages.slice(0, -1), { ...last, content: `${last.content}\n\n${words}` }]
}

/** Returns true when the call has a schema, and the program itself does not prescribe the form of the answer. */
function wantsForm({ parameters, schema }) {
  return Boolean(schema) && !isText(schema) && !OWN_FORM.some(name => name in parameters || name in (parameters.extra_body ?? {}))
}

/** Returns the body of the request for a call. The schema of its `spec` is sent as a field, or in words when the
 * service has refused the field. */
function bodyOf(request, instead, asWords) {
  const { model, messages, parameters, schema, stream } = request
  const { extra_body: extra, ...given } = parameters, sent = Object.fromEntries(Object.entries(given).filter(([name]) => !UNSENT.includes(name)))
  const isWanted = wantsForm(request)
  const form = isWanted && !asWords ? { response_format: responseFormat(schema) } : {}
  return {
    ...sent, ...form, model: instead || model.replace(/^[^/]*\//, ''), messages: isWanted && asWords ? inWords(messages, schema) : messages,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}), ...extra,
  }
}

// --- the answer -----------------------------------------------------------------------------------

/** Yields the data of the events of a stream. */
async function* eventsOf(body) {
  let rest = ''
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + part).split(PIECE)
    rest = events.pop()
    for (const event of events) yield event.split(/\r?\n/).filter(l => l.startsWith('data:')).map(l => l.slice(5).trim()).join('\n')
  }
}

function addCalls(calls, deltas) {
  for (const { index = 0, id, type, function: f } of deltas ?? []) {
    const call = (calls[index] ??= { id, type: type ?? 'function', function: { name: '', arguments: '' } })
    call.function.name += f?.name ?? ''
    call.function.arguments += f?.arguments ?? ''
  }
}

async function take(answer, onText) {
  const calls = []
  let content = '', usage, reason = 'stop'
  for await (const data of eventsOf(answer.body)) {
    if (!data || data === '[DONE]') continue
    const chunk = JSON.parse(data), choice = chunk.choices?.[0]
    if (chunk.error) throw new Error(chunk.error.message ?? JSON.stringify(chunk.error))
    usage = chunk.usage ?? usage
    reason = choice?.finish_reason ?? reason
    addCalls(calls, choice?.delta?.tool_calls)
    if (choice?.delta?.content) onText(choice.delta.content)
    content += choice?.delta?.content ?? ''
  }
  const message = { role: 'assistant', content, ...(calls.length ? { tool_calls: calls.filter(Boolean) } : {}) }
  return { choices: [{ index: 0, message, finish_reason: reason }], ...(usage ? { usage } : {}) }
}

async function refusal(answer) {
  const text = await answer.text()
  let message = text.slice(0, 500)
  try {
    message = JSON.parse(text).error?.message ?? message
  } catch {
    // a text that is not JSON is the reason itself
  }
  return Object.assign(new Error(message || `status ${answer.status}`), { status: answer.status })
}

/** Asks the service. settings: {address, key, instead}. Calls onText with text that arrives. Returns the whole
 * reply. */
export async function ask(request, { address, key, instead }, onText, signal) {
  const send = body => fetch(`${address.replace(/\/+$/, '')}/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(key ? { Authorization: `Bearer ${key}` } : {}) },
    body: JSON.stringify(body),
    credentials: 'omit',
    signal,
  })
  let answer = await send(bodyOf(request, instead, false)), why = answer.ok ? null : await refusal(answer)
  if (why?.status === 400 && wantsForm(request) && BLAMES_SCHEMA.test(why.message)) {
    answer = await send(bodyOf(request, instead, true))
    why = answer.ok ? null : await refusal(answer)
  }
  if (why) throw why
  return /event-stream/.test(answer.headers.get('content-type') ?? '') ? take(answer, onText) : answer.json()
}
