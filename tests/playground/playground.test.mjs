// SPDX-License-Identifier: Apache-2.0
// playground.test.mjs -- the playground as a person uses it, in Chromium. PDL_PLAYGROUND: its address; PDL_MODULES: the folder of
// playwright-core and axe-core; PDL_CHROMIUM; PDL_PICTURES: where pictures are left.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { deflateRawSync } from 'node:zlib'

const { PDL_PLAYGROUND: address, PDL_MODULES: modules, PDL_CHROMIUM: executablePath, PDL_PICTURES: pictures } = process.env
const { chromium } = createRequire(`${modules}/x.js`)('playwright-core')
const MAX_MS = 20_000
const STOP_MS = 1500 // how long a run that is to stop may take before it is ended (app.js)
const SECRET = 'sk-test-0123456789abcdef'
let browser
const problems = [], requests = []

before(async () => (browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })))
after(() => browser.close())

async function open(options = {}, hash = '') {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options }), page = await context.newPage()
  page.setDefaultTimeout(MAX_MS)
  page.on('console', m => ['error', 'warning'].includes(m.type()) && problems.push(m.text()))
  page.on('pageerror', e => problems.push(String(e)))
  context.on('request', r => requests.push(r.url()))
  await page.goto(`${address}/index.html${hash}`)
  await page.waitForSelector('body[data-ready][data-checked]')
  return page
}

/** Waits for what a function finds in the page. The policy of the page forbids the way in which playwright waits. */
async function until(page, found, given) {
  for (const end = Date.now() + MAX_MS; !(await page.evaluate(found, given)); await new Promise(done => setTimeout(done, 30)))
    if (Date.now() > end) assert.fail(`not found: ${found}; the page says: ${await page.textContent('#verdict')}`)
}

/** What is behind # of a link with a program. */
const packed = shared => `#p=${deflateRawSync(JSON.stringify(shared)).toString('base64url')}`
const close = page => page.context().close()
const settled = page => page.waitForSelector('body[data-running="false"]')
/** Where the document shows a text. */
const said = (page, text) => page.frameLocator('#document').locator('#document').getByText(text).first()

async function write(page, text) {
  const before = await page.evaluate(() => Number(document.body.dataset.checked))
  await page.click('.cm-content')
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
  await until(page, n => Number(document.body.dataset.checked) > n, before)
}

async function run(page, text, replies = '') {
  await write(page, text)
  await page.fill('#replies', replies)
  await page.click('#run')
}

/** Everything that the browser keeps of the page. */
const kept = page => page.evaluate(async () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, await indexedDB.databases(), await caches.keys(), location.href, history.state]))

test('the first program is checked, run and read as a document', { timeout: 60_000 }, async () => {
  const page = await open()
  assert.equal(await page.textContent('#verdict'), 'No problems.')
  await page.click('#run')
  await said(page, 'A text for a model.').waitFor()
  await page.frameLocator('#document').locator('#totals', { hasText: '2 model calls' }).waitFor()
  await page.frameLocator('#document').locator('#totals', { hasText: 'Finished' }).waitFor()
  await page.screenshot({ path: `${pictures}/playground-light.png` })
  await said(page, 'A text for a model.').click()
  await page.frameLocator('#document').getByText('Shorter, please.').nth(1).waitFor() // what was sent
  assert.equal(await kept(page), JSON.stringify([{}, {}, '', [], [], `${address}/index.html`, null]))
  await close(page)
})

test('a mistake has its mark while it is typed, and a list leads to it', { timeout: 60_000 }, async () => {
  const page = await open()
  await write(page, 'text:\n- hello\n- modl: openai/x\n')
  assert.equal(await page.textContent('#verdict'), '1 error')
  assert.match(await page.textContent('#list'), /Error line 3: .*did you mean 'model'\?/)
  assert.equal(await page.locator('.cm-lintRange-error').textContent(), 'modl')
  await page.click('#list button')
  await page.keyboard.insertText('é𝄞 ')
  await until(page, () => document.querySelector('#list').textContent.includes('𝄞'))
  await write(page, 'text: ok\n')
  assert.equal(await page.textContent('#verdict'), 'No problems.')
  assert.equal(await page.locator('#list li').count(), 0)
  await write(page, 'text: "é𝄞 ${ nope }"\n')
  assert.equal(await page.locator('.cm-lintRange-warning').textContent(), 'nope')
  await page.click('#run')
  await said(page, 'nope').waitFor()
  await settled(page)
  assert.match(await page.textContent('#verdict'), /^Line 1: .*nope/)
  await write(page, 'text: [\n')
  await page.click('#run')
  await until(page, () => /^Line \d+: /.test(document.querySelector('#verdict').textContent))
  assert.equal(await page.getAttribute('body', 'data-running'), 'false')
  await close(page)
})

test('the editor completes, explains and mends', { timeout: 60_000 }, async () => {
  const page = await open()
  await write(page, 'defs:\n  greeting: <b>Hello</b>\ntext:\n- modl: openai/x\n- ${ greeting }\n')
  await page.click('#list .fix')
  await page.locator('.cm-line', { hasText: '- model: openai/x' }).waitFor()
  await until(page, () => document.querySelector('#verdict').textContent === 'No problems.')
  await page.locator('.cm-line', { hasText: '${ greeting }' }).hover({ position: { x: 60, y: 8 } })
  await page.locator('.cm-lsp-hover-tooltip', { hasText: 'greeting: string' }).waitFor()
  await page.mouse.move(900, 700)
  await page.locator('.cm-lsp-hover-tooltip').waitFor({ state: 'detached' })
  await page.click('.cm-content')
  await page.keyboard.press('Control+End')
  await page.keyboard.type('- mode')
  await page.locator('.cm-tooltip-autocomplete li', { hasText: /^model$/ }).waitFor()
  await page.locator('.cm-completionInfo', { hasText: 'model' }).waitFor()
  const heights = await page.locator('.cm-completionInfo').evaluate(box => [box.clientHeight, box.scrollHeight])
  assert.equal(heights[0], heights[1], 'the explanation is cut')
  await page.screenshot({ path: `${pictures}/playground-completion.png` })
  await new Promise(done => setTimeout(done, 100)) // a list that has just appeared takes no key
  await page.keyboard.press('Enter')
  await page.keyboard.type('openai/y')
  await page.locator('.cm-line', { hasText: /^- model: openai\/y$/ }).waitFor()
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('Control+k')
  await page.keyboard.press('Control+i')
  await page.locator('.cm-lsp-hover-tooltip[role=status]', { hasText: 'Parameters' }).waitFor()
  await page.keyboard.press('Escape')
  await page.locator('.cm-lsp-hover-tooltip').waitFor({ state: 'detached' })
  await close(page)
})

const DEFINED = `defs:
  greet:
    function: {name: string, loud: boolean}
    return: Hello \${ name }
text:
- call: \${ greet }
  args: {name: Ada, loud: true}
- \${ greet(name='Bo', loud=false) }
- \${ greet }
`

test('uses are listed, and parameters are shown while arguments are typed', { timeout: 60_000 }, async () => {
  const page = await open({}, packed({ program: DEFINED }))
  await page.locator('.cm-line', { hasText: 'call:' }).click()
  for (const key of ['End', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft', 'Shift+F12']) await page.keyboard.press(key)
  const panel = page.locator('.cm-lsp-reference-panel')
  await panel.waitFor()
  assert.deepEqual((await panel.locator('.cm-lsp-reference').allTextContents()).map(t => t.trim().split(/:\s+/)[0]), ['2', '6', '8', '9'])
  await page.screenshot({ path: `${pictures}/playground-uses.png` })
  await panel.locator('.cm-lsp-reference').nth(2).click()
  await page.keyboard.press('Escape')
  await panel.waitFor({ state: 'detached' })
  await page.locator('.cm-line', { hasText: /^- \$\{ greet \}$/ }).click()
  await page.keyboard.press('End')
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.type('(')
  await page.locator('.cm-lsp-active-parameter', { hasText: /^name/ }).waitFor()
  await page.keyboard.type('name="Cy", ')
  await page.locator('.cm-lsp-active-parameter', { hasText: /^loud/ }).waitFor()
  await page.screenshot({ path: `${pictures}/playground-signature.png` })
  await close(page)
})

test('prices are shown beside a model and summed by a run', { timeout: 60_000 }, async () => {
  const page = await open({}, packed({ program: 'text:\n- {model: openai/gpt-x, input: hi, parameters: {mock_response: Fine}}\n' }))
  await page.click('#pricing summary')
  await page.fill('#prices', '{"openai/*": {"input": 1}}')
  await page.locator('#price-problem', { hasText: "'openai/*' should be" }).waitFor()
  await page.fill('#prices', '{"openai/*": {"input": 0.01, "output": 0.02}}')
  await page.locator('#price-problem', { hasText: /^$/ }).waitFor({ state: 'attached' })
  await page.locator('.cm-line', { hasText: 'gpt-x' }).hover({ position: { x: 130, y: 8 } })
  await page.locator('.cm-lsp-hover-tooltip', { hasText: 'A million tokens: $10000 in, $20000 out' }).waitFor()
  await page.click('#run')
  await said(page, 'Fine').waitFor()
  await settled(page)
  await page.frameLocator('#document').locator('#totals', { hasText: '$0.5' }).waitFor() // 10 tokens in, 20 out
  await page.click('#share')
  await until(page, () => location.hash.startsWith('#p='))
  const { hash } = new URL(page.url())
  await close(page)
  const other = await open({}, hash)
  assert.equal(await other.inputValue('#prices'), '{"openai/*": {"input": 0.01, "output": 0.02}}')
  await close(other)
})

test('a program of several files: each is shown, checked and run', { timeout: 60_000 }, async () => {
  const files = { 'lib.pdl': 'defs:\n  greet:\n    function: {}\n    return: Good day\n' }
  const page = await open({}, packed({ program: 'defs:\n  lib: {import: lib}\ntext:\n- call: ${ lib.greet }\n', files }))
  assert.equal(await page.textContent('#verdict'), 'No problems.')
  assert.deepEqual(await page.locator('#files button').allTextContents(), ['main.pdl', 'lib.pdl'])
  await page.locator('.cm-line', { hasText: 'lib.greet' }).click()
  for (const key of ['End', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft']) await page.keyboard.press(key)
  await page.keyboard.press('F12')
  await page.locator('#files button[aria-pressed=true]', { hasText: 'lib.pdl' }).waitFor()
  await page.keyboard.type('h')
  await page.locator('.cm-line', { hasText: /^ {2}hgreet:/ }).waitFor()
  await page.click('#files button')
  await until(page, () => document.querySelector('#verdict').textContent !== 'No problems.') // the other file has no greet any more
  await page.click('#files button:nth-child(2)')
  await page.click('.cm-content')
  await page.keyboard.press('Control+z')
  await page.click('#files button')
  await page.locator('.cm-line', { hasText: 'lib.greet' }).click()
  for (const key of ['End', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft', 'F2']) await page.keyboard.press(key)
  await page.fill('.cm-lsp-rename-panel input', 'salute')
  await page.keyboard.press('Enter')
  await page.locator('.cm-line', { hasText: 'lib.salute' }).waitFor()
  await until(page, () => document.querySelector('#verdict').textContent === 'No problems.') // the file that is not shown has the name, too
  await page.click('#run')
  await said(page, 'Good day').waitFor()
  await settled(page)
  await page.click('#share')
  await until(page, () => document.querySelector('#verdict').textContent.includes('holds the program'))
  const { hash } = new URL(page.url())
  await close(page)
  const other = await open({}, hash)
  assert.deepEqual(await other.locator('#files button').allTextContents(), ['main.pdl', 'lib.pdl'])
  await other.selectOption('#examples', '4. A conversation (5 minutes)')
  await other.locator('#files').waitFor({ state: 'hidden' })
  await close(other)
})

test('format lays the program out, and can be taken back', { timeout: 60_000 }, async () => {
  const page = await open()
  await write(page, 'text:   [a,b]')
  await page.click('#format')
  await page.locator('.cm-line', { hasText: 'text: [a, b]' }).waitFor()
  await page.click('.cm-content')
  await page.keyboard.press('Control+z')
  await page.locator('.cm-line', { hasText: 'text:   [a,b]' }).waitFor()
  await close(page)
})

test('a link holds the program and its answers, and never the key', { timeout: 60_000 }, async () => {
  const page = await open()
  const program = 'text:\n- "Grüße 🙂\\n"\n- model: openai/x\n'
  await write(page, program)
  await page.fill('#replies', '- An answer\n')
  await page.check('[value=service]')
  await page.fill('#key', SECRET)
  await page.click('#share')
  await until(page, () => location.hash.startsWith('#p='))
  const { hash } = new URL(page.url())
  assert.ok(!(await kept(page)).includes(SECRET))
  await close(page)
  const other = await open({}, hash)
  assert.deepEqual(await other.locator('.cm-line').allTextContents(), program.split('\n'))
  assert.equal(await other.inputValue('#replies'), '- An answer\n')
  assert.equal(await other.inputValue('#key'), '')
  await close(other)
  const broken = await open({}, '#p=abc')
  assert.equal(await broken.locator('.cm-line').first().textContent(), 'description: A first program')
  await close(broken)
})

test('a run without an end leaves the page alive and can be stopped', { timeout: 60_000 }, async () => {
  const page = await open()
  await run(page, 'repeat:\n  data: 1\nuntil: false\n')
  await page.waitForSelector('body[data-running="true"]')
  await write(page, 'repeat:\n  data: 1\nuntil: ${ false }\n')
  await page.click('#stop')
  await settled(page)
  await run(page, 'text: after it\n')
  await said(page, 'after it').waitFor()
  await close(page)
})

test('the stop of a run does not end the next one', { timeout: 60_000 }, async () => {
  const page = await open(), endless = 'repeat:\n  data: 1\nuntil: ${ false }\n'
  await run(page, endless)
  await page.waitForSelector('body[data-running="true"]')
  await page.click('#stop')
  await settled(page)
  await run(page, endless)
  await page.waitForTimeout(2 * STOP_MS)
  assert.equal(await page.getAttribute('body', 'data-running'), 'true')
  await page.click('#stop')
  await settled(page)
  await close(page)
})

test('a playground without Python says so', { timeout: 60_000 }, async () => {
  const page = await open()
  await run(page, 'text:\n- lang: python\n  code: result = 1\n')
  await settled(page)
  assert.match(await page.textContent('#verdict'), /^Line 2: this playground has no Python: `make playground PYODIDE=1`/)
  await close(page)
})

test('a program that wants all memory ends with an error, and the next one runs', { timeout: 60_000 }, async () => {
  const page = await open()
  await run(page, 'defs: {x: abcdefgh}\ntext: ["${ (x * 120000000)|upper|length }", "${ (x * 130000000)|length }"]\n')
  await settled(page)
  assert.match(await page.textContent('#verdict'), /^Line 2: .*memory/)
  await run(page, 'text: after it\n')
  await said(page, 'after it').waitFor()
  await close(page)
})

test('read asks in the document and takes the answer', { timeout: 60_000 }, async () => {
  const page = await open()
  await run(page, 'text:\n- read:\n  message: Your name?\n  def: name\n  contribute: []\n- Hello, ${ name }!\n')
  const frame = page.frameLocator('#document')
  await frame.locator('#document form.question input').fill('Ada')
  await frame.locator('#document form.question button').click()
  await said(page, 'Hello, Ada!').waitFor()
  await settled(page)
  await close(page)
})

test('answers follow the rules of pdl mock', { timeout: 60_000 }, async () => {
  const page = await open()
  await run(page, 'text:\n- one\n- {model: openai/a, retry: 3}\n- two\n- model: openai/b\n  fallback: never\n', '- {when: one, status: 429, error: slow, times: 2}\n- {model: a, reply: " first "}\n- {when: two, status: 500, error: broken}\n')
  await settled(page)
  await said(page, 'never').waitFor()
  await write(page, 'text: x\n')
  await page.fill('#replies', '- {when: 1, reply: x}\n')
  await page.click('#run')
  await until(page, () => /replies: item 1: when should be a text/.test(document.querySelector('#verdict').textContent))
  await close(page)
})

test('a service of the user gets what the program sends, and nobody else', { timeout: 60_000 }, async t => {
  const asked = []
  const server = createServer((request, answer) => {
    const allow = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Headers': '*' }
    if (request.method === 'OPTIONS') return answer.writeHead(204, allow).end()
    let body = ''
    request.on('data', part => (body += part))
    request.on('end', () => {
      asked.push({ path: request.url, key: request.headers.authorization, ...JSON.parse(body) })
      if (asked.length === 2) return answer.writeHead(401, { ...allow, 'Content-Type': 'application/json' }).end('{"error": {"message": "no such key"}}')
      answer.writeHead(200, { ...allow, 'Content-Type': 'text/event-stream' })
      for (const content of ['Good ', 'morning', '.']) answer.write(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`)
      answer.end('data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}\n\ndata: [DONE]\n\n')
    })
  })
  await new Promise(done => server.listen(0, '127.0.0.1', done))
  t.after(() => server.close())
  const at = `http://127.0.0.1:${server.address().port}/v1`
  const page = await open()
  const before = requests.length
  await page.check('[value=service]')
  await page.fill('#address', at)
  await page.fill('#key', SECRET)
  await write(page, 'text:\n- "Say it\\n"\n- model: openai/gpt-x\n  parameters: {temperature: 0}\n')
  await page.click('#run')
  await said(page, 'Good morning.').waitFor()
  await settled(page)
  await page.frameLocator('#document').locator('#totals', { hasText: '7 tokens in, 3 out' }).waitFor()
  assert.deepEqual([asked[0].path, asked[0].key, asked[0].model, asked[0].temperature, asked[0].messages.at(-1).content], ['/v1/chat/completions', `Bearer ${SECRET}`, 'gpt-x', 0, 'Say it\n'])
  const foreign = requests.slice(before).filter(url => !url.startsWith(address) && !url.startsWith(at))
  assert.deepEqual(foreign, [])
  assert.ok(!(await kept(page)).includes(SECRET))
  await page.click('#run')
  await settled(page)
  assert.match(await page.textContent('#verdict'), /no such key/)
  await close(page)
})

const TOOLS = `defs:
  area:
    description: Area of a rectangle
    function: {width: number, height: number}
    return: \${ width * height }
text:
- {text: "How large are 3 by 4 and 5 by 6?", contribute: [context]}
- repeat:
    text:
    - model: openai/gpt-x
      parameters: {tools: ["\${ area }"]}
    - call: \${ stdlib.call_tools }
      args: {tool_calls: "\${ pdl_context[-1].tool_calls | default([]) }", tools: ["\${ area }"]}
      contribute: [context]
  until: \${ pdl_context[-1].role != 'tool' }
`
/** What a service streams for two calls side by side, in pieces. */
const CALLS = [
  { index: 0, id: 'c1', type: 'function', function: { name: 'area', arguments: '' } },
  { index: 0, function: { arguments: '{"width": 3, ' } },
  { index: 1, id: 'c2', type: 'function', function: { name: 'area', arguments: '{"wid' } },
  { index: 0, function: { arguments: '"height": 4}' } },
  { index: 1, function: { arguments: 'th": 5, "height": 6}' } },
]

test('calls of tools come from a service, in pieces and whole', { timeout: 60_000 }, async t => {
  for (const streams of [true, false]) {
    const asked = []
    const server = createServer((request, answer) => {
      const allow = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Headers': '*' }
      if (request.method === 'OPTIONS') return answer.writeHead(204, allow).end()
      let body = ''
      request.on('data', part => (body += part))
      request.on('end', () => {
        asked.push(JSON.parse(body))
        const isFirst = asked.length === 1, content = isFirst ? null : '12 and 30.'
        if (!streams) {
          const calls = [['c1', '{"width": 3, "height": 4}'], ['c2', '{"width": 5, "height": 6}']].map(([id, args]) => ({ id, type: 'function', function: { name: 'area', arguments: args } }))
          const message = { role: 'assistant', content, ...(isFirst ? { tool_calls: calls } : {}) }
          return answer.writeHead(200, { ...allow, 'Content-Type': 'application/json' }).end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }))
        }
        answer.writeHead(200, { ...allow, 'Content-Type': 'text/event-stream' })
        for (const delta of isFirst ? CALLS.map(c => ({ tool_calls: [c] })) : [{ content }]) answer.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`)
        answer.end('data: [DONE]\n\n')
      })
    })
    await new Promise(done => server.listen(0, '127.0.0.1', done))
    t.after(() => server.close())
    const page = await open()
    await page.check('[value=service]')
    await page.fill('#address', `http://127.0.0.1:${server.address().port}/v1`)
    await write(page, TOOLS)
    await page.click('#run')
    await said(page, '12 and 30.').waitFor()
    await settled(page)
    assert.equal(asked[0].tools[0].function.name, 'area')
    assert.deepEqual(asked[1].messages.slice(-2).map(m => [m.role, m.tool_call_id, m.content]), [['tool', 'c1', '12'], ['tool', 'c2', '30']])
    assert.deepEqual(asked[1].messages.at(-3).tool_calls.map(c => [c.id, JSON.parse(c.function.arguments)]), [['c1', { width: 3, height: 4 }], ['c2', { width: 5, height: 6 }]])
    await close(page)
  }
})

const BORN = `text:
- "Ada was born in 1815. Who, and when?\\n"
- model: openai/gpt-x
  spec: {name: string, born: integer}
  parser: json
  parameters: {temperature: 0, max_retries: 1, timeout: 9, api_key: ${SECRET}, extra_body: {top_k: 3}}
  def: who
  contribute: []
- "\${ who.name }: \${ who.born + 1 }"
`

test('the form of an answer is a field of the request, and words where the service refuses it', { timeout: 60_000 }, async t => {
  const asked = []
  const server = createServer((request, answer) => {
    const allow = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Allow-Headers': '*' }
    if (request.method === 'OPTIONS') return answer.writeHead(204, allow).end()
    let body = ''
    request.on('data', part => (body += part))
    request.on('end', () => {
      asked.push(JSON.parse(body))
      const isRefused = asked.length === 2
      answer.writeHead(isRefused ? 400 : 200, { ...allow, 'Content-Type': 'application/json' })
      answer.end(JSON.stringify(isRefused ? { error: { message: "unknown field 'response_format'" } } : { choices: [{ index: 0, message: { role: 'assistant', content: '{"name": "Ada", "born": 1815}' }, finish_reason: 'stop' }] }))
    })
  })
  await new Promise(done => server.listen(0, '127.0.0.1', done))
  t.after(() => server.close())
  const page = await open({}, packed({ program: BORN }))
  await page.check('[value=service]')
  await page.fill('#address', `http://127.0.0.1:${server.address().port}/v1/`)
  for (const n of [1, 3]) {
    await page.click('#run')
    await said(page, 'Ada: 1816').waitFor()
    await settled(page)
    assert.equal(asked.length, n)
  }
  const { type, json_schema: form } = asked[0].response_format
  assert.deepEqual([type, form.strict, form.schema.additionalProperties, Object.keys(form.schema.properties)], ['json_schema', true, false, ['name', 'born']])
  assert.deepEqual(Object.keys(asked[0]).sort(), ['messages', 'model', 'response_format', 'stream', 'stream_options', 'temperature', 'top_k'])
  assert.deepEqual([asked[2].response_format, asked[2].messages.length], [undefined, asked[0].messages.length])
  assert.match(asked[2].messages.at(-1).content, /Who, and when\?\n\n\nReply with JSON .*:\n\{.*"born"/)
  await write(page, BORN.replace('integer}', 'integer, died: {optional: integer}}')) // OpenAI guarantees no optional member
  await page.click('#run')
  await settled(page)
  assert.equal(asked[3].response_format.json_schema.strict, false)
  await close(page)
})

test('an example of the manual opens and runs', { timeout: 60_000 }, async () => {
  const page = await open()
  const offered = await page.locator('#examples option').count()
  assert.ok(offered > 30, offered)
  await page.selectOption('#examples', '4. A conversation (5 minutes)')
  await page.locator('.cm-line', { hasText: 'model' }).first().waitFor()
  await page.click('#run')
  await settled(page)
  await page.frameLocator('#document').locator('#totals', { hasText: 'Finished' }).waitFor()
  await close(page)
})

test('dark, on a phone, by keyboard, and for people who do not see it', { timeout: 60_000 }, async () => {
  const page = await open({ viewport: { width: 390, height: 844 }, colorScheme: 'dark' })
  const isWide = () => page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
  assert.equal(await isWide(), false)
  await page.screenshot({ path: `${pictures}/playground-phone.png` })
  await page.focus('#examples')
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate(() => document.activeElement.id), 'run')
  await page.keyboard.press('Enter')
  await said(page, 'A text for a model.').waitFor()
  await settled(page)
  assert.equal(await page.isVisible('#editor'), false)
  assert.equal(await isWide(), false)
  await page.screenshot({ path: `${pictures}/playground-phone-dark.png` })
  await page.click('#show-program')
  assert.equal(await page.isVisible('#editor'), true)
  await page.click('.cm-content')
  await page.keyboard.press('Tab') // indents
  await page.keyboard.press('Control+z')
  assert.equal(await page.evaluate(() => document.activeElement.id), 'editor')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Tab')
  assert.notEqual(await page.evaluate(() => document.activeElement.id), 'editor')
  await page.click('.cm-content')
  await page.keyboard.press('Control+End')
  await page.keyboard.type('- modl: x')
  await page.waitForSelector('#list .fix')
  await page.focus('#list .fix')
  await page.keyboard.press('Enter')
  await page.locator('.cm-line', { hasText: '- model: x' }).waitFor()
  await page.keyboard.press('F2')
  await page.locator('.cm-lsp-rename-panel').waitFor()
  await page.screenshot({ path: `${pictures}/playground-phone-rename.png` })
  await page.evaluate(readFileSync(`${modules}/axe-core/axe.min.js`, 'utf8'))
  const { violations } = await page.evaluate(() => window.axe.run({ exclude: ['iframe'] }))
  assert.deepEqual(violations.map(v => `${v.id}: ${v.nodes.map(n => n.html.slice(0, 150)).join(' | ')}`), [])
  await close(page)
})

test('the policy of the page was never broken, and nothing left it', () => {
  // The service's own refusals; and Chromium, which wants to give typed text the style of the text that it replaces.
  const refusals = problems.filter(p => !/40[01]|^Applying inline style/.test(p))
  assert.deepEqual(refusals, [])
  assert.deepEqual(requests.filter(url => !/^(http:\/\/127\.0\.0\.1[:/]|data:|blob:)/.test(url)), [])
})
