// SPDX-License-Identifier: Apache-2.0
// python.test.mjs -- code blocks of Python in a playground that was made with Pyodide. The variables are those of playground.test.mjs.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { deflateRawSync } from 'node:zlib'

const { PDL_PLAYGROUND: address, PDL_MODULES: modules, PDL_CHROMIUM: executablePath } = process.env
const { chromium } = createRequire(`${modules}/x.js`)('playwright-core')
const MAX_MS = 60_000 // Python is large

const PROGRAM = `defs: {n: 4}
text:
- lang: python
  code: |
    import math
    PDL_SESSION.n = n
    result = {"root": math.isqrt(n), "none": None, "words": ["é", True]}
  def: found
  contribute: []
- lang: python
  code: "result = {'half': n / 2, 'big': 2 ** 60 + 1}"
  def: exact
  contribute: []
- lang: python
  code: "result = f' {exact} '"
- The root is \${ found.root } and none \${ found.none }, \${ found.words[0] }.
- lang: python
  code: "result = ' Next is %d.' % (PDL_SESSION.n + 1)"
- lang: python
  code: result = nope
  fallback: " mended "
- lang: python
  code: x = 1
`
const ENDLESS = `lang: python
code: |
  while True: pass
`

test('blocks of Python have results, a session, errors and an end', { timeout: 3 * MAX_MS }, async t => {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  t.after(() => browser.close())
  const context = await browser.newContext(), page = await context.newPage()
  const requests = [], open = async program => {
    await page.goto(`${address}/index.html#p=${deflateRawSync(JSON.stringify({ program })).toString('base64url')}`)
    await page.reload()
    await page.waitForSelector('body[data-checked]')
    await page.click('#run')
  }
  page.setDefaultTimeout(MAX_MS)
  context.on('request', r => requests.push(r.url()))
  await open(PROGRAM)
  await page.waitForSelector('body[data-running="false"]')
  const shown = page.frameLocator('#document').locator('#document')
  for (const text of ["{'half': 2.0, 'big': 1152921504606846977}", 'The root is 2 and none None, é.', 'Next is 5.', 'mended']) await shown.getByText(text).first().waitFor()
  assert.match(await page.textContent('#verdict'), /^Line 22: AttributeError: .*'result'/)
  await open(ENDLESS)
  await page.locator('#verdict', { hasText: 'Python is being loaded.' }).waitFor()
  await page.locator('#verdict', { hasText: 'No problems.' }).waitFor() // it is loaded, and the loop runs
  assert.equal(await page.getAttribute('body', 'data-running'), 'true')
  await page.click('#stop')
  await page.waitForSelector('body[data-running="false"]')
  assert.deepEqual(requests.filter(url => !/^(http:\/\/127\.0\.0\.1[:/]|data:|blob:)/.test(url)), [])
})
