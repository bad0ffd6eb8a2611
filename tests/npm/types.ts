// SPDX-License-Identifier: Apache-2.0
// types.ts -- what a user of TypeScript writes; the compiler reads it, nobody runs it.
import { JsonText, LanguageServer, PdlError, Run, check, explain, format, run, scripted } from 'pdl-lang'
import type { Explanation, LspMessage, Model, ModelRequest, Prices, Problem, Result, RunEvent } from 'pdl-lang'

const text: string = format('text: a')
const problems: Problem[] = check(text, { name: 'a.pdl', files: { 'b.pdl': 'text: b' } })
const line: number | undefined = problems[0]?.line

const whole: Model = async ({ model, messages, parameters, schema, stream }, signal) => {
  const asked: [string, number, unknown, boolean, boolean] = [model, messages.length, parameters.temperature, schema === null, stream]
  if (signal.aborted) throw Object.assign(new Error('busy'), { status: 429 })
  return { choices: [{ index: 0, message: { role: 'assistant', content: String(asked) } }] }
}
async function* pieces({ messages }: ModelRequest) {
  for (const { content } of messages) yield String(content)
}

const running: Run = run({ text: ['a', { model: 'openai/x' }] }, { model: pieces, read: () => null, budget: { calls: 3 }, code: ({ lang, code, variables, variablesJson }) => variablesJson ? new JsonText(variablesJson) : { lang, code, ...variables }, view: true })
for await (const event of running) show(event)
const result: Result = await running
const tokens: number = result.usage.prompt_tokens + (await run('text: a', { model: whole, signal: AbortSignal.timeout(5) })).usage.model_calls
running.close()

function show(event: RunEvent): string {
  switch (event.type) {
    case 'text': return event.text
    case 'call': return event.messages.map(m => m.role).join(event.model)
    case 'reply': return event.text ?? event.error?.kind ?? ''
    case 'read': return event.message
    case 'message': return event.role
    case 'note': return event.text
    case 'error': return `${event.kind} ${event.line} ${event.hint} ${event.exitCode}`
  }
}

try {
  await run('text: ${ nope }', { model: scripted('- a', { delay: 5 }) })
} catch (why) {
  if (why instanceof PdlError) show({ type: 'error', kind: why.kind, message: why.text })
}
const prices: Prices = { 'openai/*': { input: 1e-6, output: 2e-6 } }
const plan: Explanation = explain('text: a', { variables: { n: 1 }, prices })
const most: number = plan.total.answer_tokens_at_most + plan.calls[0].tokens.prompt + (plan.calls[0].cost ?? 0)
const sent: string | undefined = plan.calls[0].request?.url ?? plan.calls[0].request?.headers?.Authorization ?? plan.calls[0].problem ?? undefined

const server = new LanguageServer((message: LspMessage) => message.result)
server.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { capabilities: {} } })
server.setPrices(prices)
new LanguageServer(() => null, { prices }).close()
server.close()

// @ts-expect-error there is no such option
run('text: a', { modell: whole })
// @ts-expect-error a number is no answer
run('text: a', { model: () => 7 })
// @ts-expect-error a problem has no such member
problems[0].lines

export { line, most, sent, tokens }
