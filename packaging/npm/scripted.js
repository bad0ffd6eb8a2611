// SPDX-License-Identifier: Apache-2.0
// scripted.js -- a model whose answers are written by hand. The module decides which answer is used, as in `pdl mock`.

const LONGEST_MS = 0x7fffffff

function wait(ms, signal) {
  if (!(ms > 0) || signal.aborted) return null
  return new Promise(done => {
    const timer = setTimeout(done, Math.min(ms, LONGEST_MS))
    signal.addEventListener('abort', () => (clearTimeout(timer), done()), { once: true })
  })
}

/** Yields the words of a reply one after the other, and then the whole reply. */
async function* words(reply, delay, signal) {
  const { content } = reply.choices[0].message
  for (const word of content.match(/\s*\S+\s*?(?=\s|$)|\s+$/g) ?? []) {
    await wait(delay, signal)
    yield word
  }
  yield reply
}

/** Returns the name by which a service knows a model, without the provider. */
const ownName = model => model.replace(/^[^/]*\//, '')

const unused = new FinalizationRegistry(forget => forget())

export function scriptedModel(replies, strict, delay, ask) {
  const { script } = ask({ ask: 'script', text: replies, strict })
  async function model({ model: name, messages, parameters, stream }, signal) {
    const said = ask({ ask: 'say', script, request: { ...parameters, model: ownName(name), messages } })
    await wait(said.delay, signal)
    if (said.status !== 200) throw Object.assign(new Error(said.body), { status: said.status, retryAfter: said.retryAfter })
    const { content, tool_calls: calls } = said.body.choices[0].message
    return stream && content && !calls ? words(said.body, delay, signal) : (await wait(delay, signal), said.body)
  }
  unused.register(model, () => ask({ ask: 'forget', script }))
  return model
}
