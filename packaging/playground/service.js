// service.js -- a model of the user's own: any service with OpenAI's chat interface, asked from the page itself.
// SPDX-License-Identifier: Apache-2.0

const PIECE = /\r?\n\r?\n/

/** The data of a stream of events. */
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
    // it is no JSON: the text itself says why
  }
  return Object.assign(new Error(message || `status ${answer.status}`), { status: answer.status })
}

/** Asks the service. settings: {address, key, instead}. Calls onText for what arrives. -> the whole reply */
export async function ask({ model, messages, parameters, stream }, { address, key, instead }, onText, signal) {
  const name = instead || model.replace(/^[^/]*\//, '')
  const body = { ...parameters, model: name, messages, ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}) }
  const answer = await fetch(`${address.replace(/\/+$/, '')}/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(key ? { Authorization: `Bearer ${key}` } : {}) },
    body: JSON.stringify(body),
    credentials: 'omit',
    signal,
  })
  if (!answer.ok) throw await refusal(answer)
  return /event-stream/.test(answer.headers.get('content-type') ?? '') ? take(answer, onText) : answer.json()
}
