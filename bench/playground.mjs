// SPDX-License-Identifier: Apache-2.0
// playground.mjs -- one measurement for playground.py, printed as JSON: `playground.mjs node PACKAGE`, or `playground.mjs page MODULES CHROMIUM ADDRESS`.
import { createRequire } from 'node:module'
import { performance } from 'node:perf_hooks'
import { readFileSync } from 'node:fs'
import { deflateRawSync } from 'node:zlib'

const [what, ...given] = process.argv.slice(2)
const PARTS = 1250 // of four lines each
const LARGE = 'text:\n' + Array.from({ length: PARTS }, (_, i) => `- "line ${i} \${ 1 + ${i} }"\n- data:\n    a: ${i}\n    key${i}: [1, 2, "text ${i}"]\n`).join('')
const median = list => list.toSorted((a, b) => a - b)[list.length >> 1]

/** Processor time of f in ms, the least of n. */
async function least(n, f) {
  const times = []
  for (let i = 0; i < n; i++) {
    const before = process.cpuUsage()
    await f()
    const { user, system } = process.cpuUsage(before)
    times.push((user + system) / 1000)
  }
  return Math.min(...times)
}

/** Processor time of this thread so far, in ms, without the threads that compile for it; where it is not Linux, with them. */
function ofThread() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  } catch {
    return process.cpuUsage().user / 1000
  }
}

async function inNode(folder) {
  const bytes = readFileSync(`${folder}/libpdl.wasm`)
  const compile = await least(3, () => WebAssembly.compile(bytes))
  const { check, run } = await import(`${folder}/index.js`)
  const before = ofThread(), first = await least(1, () => check(LARGE)), cold = ofThread() - before
  return {
    compile, first, cold, check: await least(20, () => check(LARGE)), start: (await least(5, async () => {
      for (let i = 0; i < 20; i++) await run('text: hello')
    })) / 20,
  }
}

/** In the page: types so many letters, each after the problems of the one before. -> milliseconds */
async function type(n) {
  const times = [], content = document.querySelector('#editor').shadowRoot.querySelector('.cm-content')
  content.focus()
  for (let i = 0; i < n; i++) {
    const begun = performance.now()
    const shown = new Promise(done => {
      const watch = new MutationObserver(() => (watch.disconnect(), done()))
      watch.observe(document.body, { attributeFilter: ['data-checked'] })
    })
    document.execCommand('insertText', false, 'x')
    await shown
    times.push(performance.now() - begun)
    await new Promise(done => setTimeout(done, 60))
  }
  return times
}

/** In the page: a service whose first piece comes late. -> milliseconds from the piece to the document that shows it */
function firstPiece() {
  const real = window.fetch
  return new Promise(done => {
    window.fetch = (url, options) => {
      if (!String(url).includes('/chat/completions')) return real(url, options)
      window.fetch = real
      const body = new ReadableStream({
        start(stream) {
          const seen = () => document.querySelector('#document').contentDocument?.body?.textContent.includes('Zebra')
          setTimeout(() => {
            const begun = performance.now()
            const look = () => seen() ? (done(performance.now() - begun), stream.close()) : requestAnimationFrame(look)
            stream.enqueue(new TextEncoder().encode('data: {"choices": [{"delta": {"content": "Zebra "}}]}\n\n'))
            look()
          }, 1500)
        },
      })
      return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }))
    }
    document.querySelector('[value=service]').click()
    document.querySelector('#run').click()
  })
}

async function inPage(modules, executablePath, address) {
  const { chromium } = createRequire(`${modules}/x.js`)('playwright-core')
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  const open = async program => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
    const hash = program ? `#p=${deflateRawSync(JSON.stringify({ program })).toString('base64url')}` : ''
    await page.goto(`${address}/index.html${hash}`)
    await page.waitForSelector('body[data-ready][data-checked]')
    return page
  }
  const page = await open()
  const out = await page.evaluate(() => ({ paint: performance.getEntriesByName('first-contentful-paint')[0].startTime, ready: performance.now() }))
  await page.evaluate(`(${type})(10)`)
  out.key = median(await page.evaluate(`(${type})(40)`))
  await page.close()
  const large = await open(LARGE)
  await large.evaluate(`(${type})(10)`)
  out.large = median(await large.evaluate(`(${type})(15)`))
  await large.close()
  const model = await open('text:\n- model: openai/x\n  input: hi\n')
  out.piece = await model.evaluate(`(${firstPiece})()`)
  await browser.close()
  return out
}

console.log(JSON.stringify(await (what === 'node' ? inNode(...given) : inPage(...given))))
