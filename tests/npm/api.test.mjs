// SPDX-License-Identifier: Apache-2.0
// api.test.mjs -- the functions of pdl-lang as their users call them. PDL_NPM: the folder of the package.
import assert from 'node:assert/strict'
import test from 'node:test'

const { JsonText, LanguageServer, PdlError, check, explain, format, run, scripted, version } = await import(`${process.env.PDL_NPM}/index.js`)

const events = async r => {
  const all = []
  for await (const event of r) all.push(event)
  return all
}
const failure = r => r.then(() => assert.fail('it did not fail'), why => why)
const wait = ms => new Promise(done => setTimeout(done, ms))

test('check finds problems with their places', () => {
  assert.deepEqual(check('text: hello'), [])
  const [one] = check('text:\n- modl: openai/x\n', { name: 'a.pdl' })
  assert.deepEqual([one.rule, one.severity, one.file, one.line, one.column, one.endLine, one.endColumn], ['block-unknown', 'error', 'a.pdl', 2, 3, 2, 7])
  assert.equal(one.hint, "did you mean 'model'?")
  const [name] = check('text: ${ nope }')
  assert.deepEqual([name.rule, name.severity, name.hint], ['name-undefined', 'warning', undefined])
})

test('check follows includes into the files that it got', () => {
  const program = 'text:\n- include: lib.pdl\n- ${ x }\n'
  assert.deepEqual(check(program, { files: { 'lib.pdl': 'defs: {x: 1}\n' + 'text: ""\n' } }), [])
  assert.equal(check(program).length > 0, true)
})

test('check judges models by the tables of the command', () => {
  assert.equal(check('model: opnai/gpt-4')[0].rule.startsWith('model'), true)
  assert.deepEqual(check('model: openai/gpt-4\ninput: hi\nparameters: {temperature: 0}\n'), [])
})

test('a large program is checked, also a second time', () => {
  let big = 'text:\n'
  for (let i = 0; i < 2500; i++) big += `- "line ${i} \${ x }"\n- data: {a: ${i}, key${i}: [1, 2, "text ${i}"]}\n`
  assert.equal(check(big).length, check(big).length)
})

test('format lays out, and says why it cannot', () => {
  assert.equal(format('text:   [a,b]'), 'text: [a, b]\n')
  assert.throws(() => format('text: [', { name: 'f.pdl' }), why => why instanceof PdlError && why.kind === 'syntax' && why.file === 'f.pdl')
})

test('explain says what would be asked', () => {
  const { calls, total } = explain('text:\n- hello ${ x }\n- model: openai/a\n- model: openai/b\n  input: other\n  parameters: {max_tokens: 7}\n', { variables: { x: 'you' } })
  assert.deepEqual(calls.map(c => [c.model, c.line]), [['openai/a', 3], ['openai/b', 4]])
  assert.deepEqual(calls[0].messages.map(m => m.content), ['hello you'])
  assert.equal(total.calls, 2)
  assert.throws(() => explain('text: ${ nope }'), why => why instanceof PdlError && why.kind === 'expression')
  assert.throws(() => explain('textt: a'), why => why instanceof PdlError && why.kind === 'schema')
})

test('explain shows what each service would get, without keys', () => {
  for (const [block, provider, url, found] of [
    ['{model: openai/a, input: hi, parameters: {temperature: 0.5}}', 'openai', 'https://api.openai.com/v1/chat/completions', b => b.temperature === 0.5 && b.messages[0].content === 'hi'],
    ['{model: anthropic/a, input: hi}', 'anthropic', 'https://api.anthropic.com/v1/messages', b => b.max_tokens > 0],
    ['{model: ollama_chat/a, input: hi}', 'ollama_chat', 'http://localhost:11434/api/chat', b => b.model === 'a'],
    ['{model: openai/a, input: hi, spec: {n: integer}}', 'openai', 'https://api.openai.com/v1/chat/completions', b => b.response_format.json_schema.schema.properties.n.type === 'integer'],
  ]) {
    const [{ request, problem }] = explain(block).calls
    assert.deepEqual([request.provider, request.method, request.url, request.problem, problem], [provider, 'POST', url, null, null], block)
    assert.ok(found(request.body), JSON.stringify(request))
  }
  const [{ request }] = explain('{model: openai/a, input: hi, parameters: {api_key: sk-0123456789}}').calls
  assert.equal(request.headers.Authorization, '***')
  assert.ok(!JSON.stringify(request).includes('sk-0123456789'))
  assert.deepEqual(explain('{model: openai/a, input: hi, parameters: {mock_response: x}}').calls[0].request, { provider: 'openai', mock: true })
  const [odd] = explain('{model: a-model-without-a-provider-name, input: hi}').calls
  assert.deepEqual([odd.request, typeof odd.problem], [null, 'string'])
})

test('a call with a mock_response needs no model', async () => {
  const asked = parameters => run({ model: 'openai/a', input: 'hi', parameters })
  const seen = await events(asked({ mock_response: 'Grüße 𝄞!' }))
  assert.deepEqual(seen.filter(e => e.type === 'text').map(e => e.text).join(''), 'Grüße 𝄞!')
  const r = await asked({ mock_response: 'x' })
  assert.deepEqual([r.text, r.usage], ['x', { model_calls: 1, completion_tokens: 20, prompt_tokens: 10 }])
  assert.equal((await run({ model: 'openai/a', input: 'hi', parameters: { mock_response: 'x' } }, { prices: { 'openai/*': { input: 1, output: 2 } } })).usage.cost, 50)
  assert.equal((await asked({ mock_response: { choices: [{ message: { role: 'assistant', content: 'whole' } }] } })).text, 'whole')
  assert.equal((await failure(asked({ mock_response: 'Exception: content_filter_policy' }))).kind, 'content_policy')
  assert.equal((await failure(asked({ mock_response: 'litellm.ContextWindowExceededError' }))).kind, 'context_window')
  const late = await failure(asked({ mock_timeout: true, timeout: 0.05, max_retries: 0 }))
  assert.deepEqual([late.kind, /This is a mock timeout error/.test(late.message)], ['timeout', true])
  const forever = asked({ mock_timeout: true, timeout: 600 })
  setTimeout(() => forever.stop(), 20)
  assert.equal((await failure(forever)).kind, 'interrupt')
  assert.equal((await failure(asked({ mock_response: 7 }))).kind, 'config') // no text: a model is asked, and there is none
})

test('numbers of code blocks stay what they are', async () => {
  const program = 'defs: {f: 2.0, big: 9007199254740993}\ntext:\n- {lang: python, code: "f + big", def: x, contribute: []}\n- ${ x.f } ${ x.big } ${ x.f is float }\n'
  const texts = []
  const exact = ({ variablesJson }) => (texts.push(variablesJson), new JsonText('{"f": 2.0, "big": 9007199254740993}'))
  assert.equal((await run(program, { code: exact })).text, '2.0 9007199254740993 True')
  assert.match(texts[0], /"f": ?2\.0/)
  assert.match(texts[0], /"big": ?9007199254740993/)
  assert.equal((await run(program, { code: ({ variables }) => variables })).text, '2 9007199254740992 False')
  assert.equal((await failure(run(program, { code: () => new JsonText('{') }))).kind, 'runtime')
})

test('prices: of a plan, and of what was used', async () => {
  const prices = { 'openai/*': { input: 0.5, output: 2 } }, program = 'array:\n- {model: openai/x, input: hi, parameters: {max_tokens: 10}}\n- {model: other/y, input: hi}\n'
  const plan = explain(program, { prices })
  assert.equal(plan.calls[0].cost, 0.5 * plan.calls[0].tokens.prompt + 2 * 10)
  assert.equal(plan.total.calls_without_price, 1)
  assert.equal(explain(program).total.calls_without_price, 2)
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
  const model = () => ({ choices: [{ index: 0, message: { role: 'assistant', content: 'a' } }], usage })
  assert.equal((await run(program, { model, prices: JSON.stringify(prices) })).usage.cost, 3 * 0.5 + 4 * 2)
  assert.equal('cost' in (await run(program, { model })).usage, false)
  assert.equal((await failure(run(program, { model, prices: '{"a": 1}' }))).kind, 'config')
  assert.throws(() => explain(program, { prices: '[' }), PdlError)
})

test('budgets are kept: of calls, of cost, of time', async () => {
  const usage = { prompt_tokens: 3, completion_tokens: 4 }
  let asked = 0
  const model = () => (asked++, { choices: [{ index: 0, message: { role: 'assistant', content: 'a' } }], usage })
  const calls = await failure(run('text: [{model: openai/x, input: a}, {model: openai/x, input: b}, {model: openai/x, input: c}]\nbudget: {calls: 2}\n', { model }))
  assert.deepEqual([calls.kind, asked], ['budget', 2])
  assert.match(calls.message, /the budget of 2 calls is spent/)
  const prices = { 'openai/*': { input: 1, output: 1 } }
  asked = 0
  const cost = run('text: [{model: openai/x, input: a}, {model: openai/x, input: b}, {model: openai/x, input: c}]\nbudget: {cost: 10}\n', { model, prices })
  assert.deepEqual([(await failure(cost)).kind, asked], ['budget', 1])
  assert.equal((await failure(run('{model: openai/x, input: a, budget: {cost: 1}}', { model }))).kind, 'config')
  let aborted = false
  const slow = (_request, signal) => new Promise(() => signal.addEventListener('abort', () => (aborted = true)))
  const late = await run('text:\n- {model: openai/x, input: a, budget: {seconds: 0.2}, fallback: late}\n', { model: slow })
  assert.deepEqual([late.text, aborted], ['late', true])
  assert.equal((await run('{model: openai/x, input: a, budget: {calls: 1, seconds: 100}}', { model })).text, 'a')
  asked = 0
  const whole = await failure(run('text: [{model: openai/x, input: a}, {model: openai/x, input: b}]', { model, budget: { calls: 1 } }))
  assert.deepEqual([whole.kind, whole.hint, asked], ['budget', 'the budget is that of the run', 1])
  assert.equal((await failure(run('repeat: {data: 1}\nuntil: false\n', { budget: { seconds: 0.1 } }))).kind, 'budget')
  assert.equal((await failure(run('text: a', { budget: { call: 1 } }))).kind, 'usage')
})

test('a run has text, value, usage and messages', async () => {
  const r = await run('text:\n- a\n- ${ 2 ** 70 }\n', {})
  assert.equal(r.text, 'a1180591620717411303424')
  assert.deepEqual(r.usage, { model_calls: 0, prompt_tokens: 0, completion_tokens: 0 })
  assert.deepEqual(r.messages.map(m => m.role), ['user', 'user'])
  assert.deepEqual((await run({ data: { a: [1, 2.5, null, true] } })).value, { a: [1, 2.5, null, true] })
  assert.equal((await run('text: ${ x }${ y }', { variables: { x: 'é', y: 3 } })).text, 'é3')
  assert.equal((await run('text: ${ x }', { data: { x: 1 } })).text, '1')
  assert.equal(typeof version, 'string')
})

test('numbers, texts and patterns are those of the command', async () => {
  const value = async expression => (await run(`data: {x: "\${ ${expression} }"}`)).value.x
  assert.equal(await value('12345678901234567890 * 98765432109876543210 % 1000000007'), Number(12345678901234567890n * 98765432109876543210n % 1000000007n))
  assert.equal(await value('(2 ** 200 // 3 ** 50) | string'), String(2n ** 200n / 3n ** 50n))
  assert.equal(await value('(-9223372036854775808 - 1 + 1) | string'), '-9223372036854775808')
  assert.equal(await value('(2 ** 64 / 3) | string'), '6.148914691236517e+18')
  assert.equal(await value('{2 ** 70: 1}[2 ** 70]'), 1)
  assert.equal(await value("'ÄÖ straße'|lower|length"), 9)
  assert.deepEqual((await run("{data: 'a1b22', parser: {regex: '[0-9]+', mode: findall}}")).value, ['1', '22'])
})

test('a model may be a text, a reply, a promise or pieces', async () => {
  const program = 'text:\n- hi\n- model: openai/x\n'
  const seen = []
  const text = async model => (await run(program, { model })).text
  assert.equal(await text(q => (seen.push(q), 'A')), 'hiA')
  assert.deepEqual([seen[0].model, seen[0].messages[0].content, seen[0].parameters, seen[0].stream], ['openai/x', 'hi', {}, true])
  assert.equal(await text(async () => ({ choices: [{ message: { role: 'assistant', content: 'B' } }] })), 'hiB')
  assert.equal(await text(async function* () { yield 'C'; await wait(1); yield 'D' }), 'hiCD')
  assert.equal(await text(async function* () {}), 'hi')
  const usage = { prompt_tokens: 3, completion_tokens: 4 }
  assert.deepEqual((await run(program, { model: () => ({ choices: [{ message: { content: 'B' } }], usage }) })).usage, { model_calls: 1, ...usage })
})

test('calls that do not need each other overlap', async () => {
  let open = 0, most = 0
  const model = async () => {
    most = Math.max(most, ++open)
    await wait(20)
    open--
    return 'x'
  }
  const r = await run('for: {i: [1, 2, 3, 4]}\nmap: {model: openai/x, input: "n ${ i }"}\njoin: {as: array}\n', { model })
  assert.deepEqual([r.value, most], [['x', 'x', 'x', 'x'], 4])
})

test('what happens can be iterated', async () => {
  const model = async function* () { yield 'A'; yield 'B' }
  const all = await events(run('text:\n- hi\n- model: openai/x\n', { model }))
  assert.deepEqual(all.filter(e => e.type === 'text').map(e => e.text).join('|'), 'hi|A|B')
  assert.deepEqual(all.map(e => e.type).filter(t => t !== 'text'), ['call', 'reply'])
  const [call, reply] = all.filter(e => e.type === 'call' || e.type === 'reply')
  assert.deepEqual([call.id, call.line, call.messages[0].content, reply.text], [reply.id, 3, 'hi', 'AB'])
})

test('an iteration ends with the error, and can be left', async () => {
  const all = await events(run('text:\n- a\n- ${ nope }\n'))
  const last = all.at(-1)
  assert.deepEqual([last.type, last.kind, last.line, last.column], ['error', 'expression', 3, 6])
  assert.deepEqual((await events(run('textt: a'))).map(e => [e.type, e.kind]), [['error', 'schema']])
  const r = run('text: [a, b, {model: openai/x}]\n', { model: async () => 'c' })
  for await (const event of r) if (event.type === 'text') break
  assert.equal((await r).text, 'abc')
})

test('a reader that is slow holds the program', async () => {
  let n = 0
  const r = run('for: {i: "${ range(20000) }"}\nrepeat: {model: openai/x, input: "n ${ i }"}\n', { model: () => (n++, 'x') })
  const reader = r[Symbol.asyncIterator]()
  await reader.next()
  let before = -1
  for (let i = 0; i < 50 && n !== before; i++) {
    before = n
    await wait(100)
  }
  assert.equal(n, before)
  assert.equal(n < 5000, true, `${n} calls`)
  r.stop()
  await failure(r)
})

test('errors have kind, place and the text of the command', async () => {
  const why = await failure(run('text:\n- ${ nope }\n', { name: 'e.pdl' }))
  assert.equal(why instanceof PdlError && why instanceof Error, true)
  assert.deepEqual([why.kind, why.file, why.line, why.column, why.exitCode], ['expression', 'e.pdl', 2, 6, 1])
  assert.match(why.text, /^e\.pdl:2 - .*'nope' is undefined/)
  assert.equal((await failure(run('text: [')).catch(w => w)).kind, 'syntax')
  assert.equal((await failure(run('model: openai/x'))).kind, 'config')
  assert.equal((await failure(run('{lang: command, code: ls}'))).kind, 'code')
  assert.equal((await failure(run('{read: null}'))).kind, 'io')
})

test('errors of functions reach the program', async () => {
  const failing = status => () => { throw Object.assign(new Error('busy'), { status }) }
  assert.equal((await failure(run('model: openai/x', { model: failing(429) }))).kind, 'rate_limit')
  assert.equal((await failure(run('model: openai/x', { model: failing(500) }))).kind, 'server')
  assert.equal((await failure(run('model: openai/x', { model: () => 7 }))).kind, 'protocol')
  assert.equal((await failure(run('model: openai/x', { model: () => ({ content: 'x', big: 1n }) }))).kind, 'runtime')
  const r = await run('{model: openai/x, fallback: {text: "no ${ pdl_error.kind }"}}', { model: failing(401) })
  assert.equal(r.text, 'no auth')
})

test('read and code are answered by functions', async () => {
  const lines = ['one', null]
  const asked = []
  const read = ({ message }) => (asked.push(message), lines.shift())
  assert.equal((await run('{read: null, message: "name? ", def: x}', { read })).value, 'one')
  assert.equal((await failure(run('read: null', { read }))).kind, 'io')
  assert.deepEqual(asked[0], 'name? ')
  const code = ({ lang, code: text, variables }) => ({ lang, text, x: variables.x })
  assert.deepEqual((await run('defs: {x: 5}\nlastOf:\n- {lang: python, code: "result = x"}\n', { code })).value, { lang: 'python', text: 'result = x', x: 5 })
})

test('files are those that it got', async () => {
  const files = { 'lib.pdl': 'defs: {f: {function: {}, return: {text: from lib}}}\ntext: ""\n', 'note.txt': 'noted' }
  assert.equal((await run('defs: {lib: {import: lib}}\ntext:\n- {call: "${ lib.f }"}\n- {read: ./note.txt}\n', { files })).text, 'from libnoted')
  assert.equal((await failure(run('read: absent.txt', { files }))).kind, 'io')
  assert.equal((await failure(run('include: absent.pdl'))).kind, 'include')
})

test('a program that computes for ever is stopped, and others run meanwhile', async () => {
  const endless = run('repeat: {data: 1}\nuntil: false\n')
  let ticks = 0
  const timer = setInterval(() => ticks++, 1)
  assert.equal((await run('text: meanwhile')).text, 'meanwhile')
  for (let i = 0; i < 100 && ticks < 2; i++) await wait(100)
  clearInterval(timer)
  endless.stop()
  assert.equal((await failure(endless)).kind, 'interrupt')
  assert.equal(ticks >= 2, true, `${ticks} turns in 10 s`)
})

test('a signal stops a run, and its functions see that', async () => {
  const why = await failure(run('repeat: {data: 1}\nuntil: false\n', { signal: AbortSignal.timeout(50) }))
  assert.deepEqual([why.kind, why.cause.name], ['interrupt', 'TimeoutError'])
  const controller = new AbortController()
  let aborted = false
  const model = (_request, signal) => new Promise(() => signal.addEventListener('abort', () => (aborted = true, 0)))
  const r = run('model: openai/x', { model, signal: controller.signal })
  setTimeout(() => controller.abort(), 20)
  assert.equal((await failure(r)).kind, 'interrupt')
  assert.equal(aborted, true)
  assert.equal((await failure(run('text: a', { signal: AbortSignal.abort() }))).kind, 'interrupt')
})

test('memory has a limit, and the next run is not touched by it', async () => {
  const why = await failure(run('defs: {x: abcdefgh}\ntext: ["${ (x * 120000000)|upper|length }", "${ (x * 130000000)|length }"]\n'))
  assert.equal(['limit', 'runtime'].includes(why.kind), true, why.message)
  assert.equal((await run('text: ok')).text, 'ok')
})

test('what cannot be enforced is refused', async () => {
  assert.equal((await failure(run('policy: {rules: []}\ntext: a\n'))).kind === 'text', false)
  for (const program of ['policy: strict\ntext: a\n', '{text: a, sandbox: true}']) {
    const why = await failure(run(program))
    assert.equal(why.kind, 'policy', `${program}: ${why.kind}`)
    assert.deepEqual([why.line, (await run('text: after')).text], [1, 'after'], program)
  }
})

test('a program starts in 5 ms of the processor', async () => {
  for (let i = 0; i < 20; i++) await run('text: warm')
  const before = process.cpuUsage()
  for (let i = 0; i < 50; i++) await run('text: hello')
  const { user, system } = process.cpuUsage(before), each = (user + system) / 1000 / 50
  assert.equal(each < 5, true, `${each} ms`)
})

const REPLIES = '- first\n- {when: two, status: 429, error: slow, times: 1}\n- {model: gpt-x, reply: second answer}\n'

test('scripted answers with the rules of pdl mock', async () => {
  const program = 'text:\n- one\n- model: openai/gpt-x\n- two\n- {model: openai/gpt-x, retry: 2}\n- three\n- {model: other/echo, contribute: [result]}\n'
  const r = await run(program, { model: scripted(REPLIES) })
  assert.equal(r.text, 'onefirsttwosecond answerthreethree')
  assert.deepEqual(r.usage.model_calls, 3)
  assert.equal(r.usage.completion_tokens, 4)
  const refused = await failure(run('text:\n- x\n- model: openai/a', { model: scripted('', { strict: true }) }))
  assert.match(refused.message, /no item of the replies fits/)
  for (const [replies, message] of [['- {wen: x, reply: y}', /did you mean when/], ['a: b', /should be a list/], ['- [', /^replies: line 1/]])
    assert.throws(() => scripted(replies), why => why instanceof PdlError && message.test(why.message), replies)
})

test('scripted streams words, and its whole reply is the answer', async () => {
  const pieces = (await events(run('model: openai/a\ninput: hi', { model: scripted('- "a b  c\\n"', { delay: 1 }) }))).filter(e => e.type === 'text').map(e => e.text)
  assert.equal(pieces.join(''), 'a b  c\n')
  assert.ok(pieces.length > 1)
})

test('a run with the option view answers what the page of the document asks', async () => {
  const r = run('text:\n- "Hi\\n"\n- model: openai/a\n- read:\n', { view: true, name: 'a.pdl', model: scripted('- Hello'), read: ({ id }) => (assert.ok(id > 0), 'typed') })
  const json = (path, request) => JSON.parse(r.page(path, request).body)
  let live = 0, from = 0, changed = 0
  for await (const event of r) {
    if (event.type !== 'call') continue
    live = json('runs').runs[0].live
    assert.equal(json('0/newest').items[0].text, 'Hi\n')
    assert.equal(json('0/source').source_name, 'a.pdl')
    assert.equal(r.page('0/trace').status, 404)
    const said = r.changes(from)
    from = said.from
    changed = said.changes.length
  }
  await r
  assert.equal(live, true)
  assert.ok(changed >= 2)
  const [summary] = json('runs').runs
  assert.deepEqual([summary.calls, summary.ended, summary.live], [1, 'Finished', undefined])
  assert.deepEqual(json('0/document/0/50').items.map(i => i.text), ['Hi\n', 'Hello', 'typed'])
  assert.deepEqual(json('0/call/1').messages.map(m => m.text), ['Hi\n'])
  assert.equal(json('0/calls', { query: { sort: 'took' } }).total, 1)
  assert.equal(r.page('0/markdown').type, 'text/markdown; charset=utf-8')
  assert.equal(json('0/find', { posted: true, body: '{"text": "Hello"}' }).found, 1)
  assert.deepEqual([r.page('0/find', { posted: true, body: '{' }).status, r.page('0/nope').status, r.page('1/calls').status, r.page('').status], [400, 404, 404, 404])
  assert.deepEqual(r.changes(1e9).over, true)
  assert.ok(json('0/trace').pdl__timing.end_nanos > 1e18)
  r.close()
  assert.throws(() => r.page('runs'), PdlError)
  const plain = run('text: a')
  await plain
  assert.throws(() => plain.page('runs'), PdlError)
})

test('a run that fails is shown, too', async () => {
  const r = run('text:\n- before\n- ${ 1 / 0 }\n', { view: true })
  await failure(r)
  const { items } = JSON.parse(r.page('0/document/0/50').body)
  assert.deepEqual(items.map(i => i.shape), ['piece', 'failure'])
  r.close()
})

/** A client of the language server: -> {ask(method, params), say(method, params), pushed: what came unasked} */
function client() {
  const answers = new Map(), pushed = []
  let last = 0
  const server = new LanguageServer(m => 'id' in m ? answers.set(m.id, m) : pushed.push(m))
  const say = (method, params) => server.send({ jsonrpc: '2.0', method, params })
  const ask = (method, params) => (server.send({ jsonrpc: '2.0', id: ++last, method, params }), answers.get(last))
  const open = (uri, text) => say('textDocument/didOpen', { textDocument: { uri, languageId: 'pdl', version: 1, text } })
  const { result } = ask('initialize', { capabilities: {} })
  say('initialized', {})
  return { server, ask, say, open, pushed, capabilities: result.capabilities }
}

test('the language server completes, explains, finds and mends', async () => {
  const c = client(), uri = 'file:///main.pdl'
  assert.equal(c.capabilities.hoverProvider, true)
  c.open('file:///lib.pdl', 'defs:\n  greet:\n    function: {}\n    return: hi\n')
  c.open(uri, 'defs:\n  lib: {import: lib}\n  n: 1\ntext:\n- modl: a\n- ${ n }\n- call: ${ lib.greet }\n')
  const at = (line, character) => ({ textDocument: { uri }, position: { line, character } })
  assert.match(c.ask('textDocument/hover', at(5, 5)).result.contents.value, /^n: integer/)
  const [where] = c.ask('textDocument/definition', at(6, 16)).result
  assert.deepEqual([where.uri, where.range.start.line], ['file:///lib.pdl', 1])
  assert.ok(c.ask('textDocument/completion', at(4, 3)).result.items.some(i => i.label === 'model'))
  const [mend] = c.ask('textDocument/codeAction', { textDocument: { uri }, range: { start: { line: 4, character: 2 }, end: { line: 4, character: 2 } }, context: { diagnostics: [] } }).result
  assert.deepEqual([mend.title, mend.edit.changes[uri][0].newText], ["Change to 'model'", 'model'])
  c.open('file:///m.pdl', 'model: openai/gpt-x\ninput: hi\n')
  const model = () => c.ask('textDocument/hover', { textDocument: { uri: 'file:///m.pdl' }, position: { line: 0, character: 10 } }).result.contents.value
  assert.ok(!model().includes('$'), model())
  c.server.setPrices({ 'openai/*': { input: 1e-6, output: 2e-6 } })
  assert.match(model(), /A million tokens: \$1 in, \$2 out/)
  assert.throws(() => c.server.setPrices('{"a": 1}'), why => why instanceof PdlError && why.kind === 'config')
  assert.match(model(), /\$1 in/)
  c.server.setPrices('')
  assert.ok(!model().includes('$'), model())
  assert.match(c.ask('textDocument/formatting', { textDocument: { uri }, options: {} }).error.message, /^not formatted: line 5/)
  assert.equal(c.ask('no/such', {}).error.code, -32601)
  await wait(100)
  assert.deepEqual(c.pushed.map(m => [m.params.uri, m.params.diagnostics.length]), [['file:///lib.pdl', 0], [uri, 1], ['file:///m.pdl', 0]])
})

test('each language server has its files, and one that is closed is silent', async () => {
  const one = client(), other = client(), textDocument = { uri: 'file:///a.pdl' }
  one.open('file:///a.pdl', 'textt: a\n')
  other.open('file:///a.pdl', 'text: a\n')
  assert.equal(other.ask('textDocument/diagnostic', { textDocument }).result.items.length, 0)
  assert.equal(one.ask('textDocument/diagnostic', { textDocument }).result.items.length, 1)
  one.server.close()
  await wait(50)
  assert.deepEqual([one.pushed, other.pushed.length], [[], 1])
  other.ask('shutdown')
  other.say('exit')
  assert.equal(other.ask('textDocument/diagnostic', { textDocument }).error.code, -32002)
})
