// try.js -- opens the playground when "Try it" below a program of the manual is pressed, on a wide screen beside the page. Without this script,
// the links lead to the page of the playground.
// SPDX-License-Identifier: Apache-2.0
const MIN_WIDTH = 1000 // pixels; on a narrower screen the playground takes the place of the page

function made(tag, more, ...inside) {
  const element = Object.assign(document.createElement(tag), more)
  element.append(...inside)
  return element
}

let panel = null, opener = null

function close() {
  panel.hidden = true
  document.documentElement.classList.remove('is-tried')
  opener?.focus()
}

function open(link) {
  if (!panel) {
    const frame = made('iframe', { title: 'Playground' })
    const button = made('button', { type: 'button', onclick: close }, 'Close')
    const own = made('a', { target: '_blank' }, 'Open in a tab of its own')
    panel = made('aside', { id: 'tried', onkeydown: e => e.key === 'Escape' && close() }, made('p', {}, button, own), frame)
    panel.setAttribute('aria-label', 'Playground')
    document.body.append(panel)
  }
  opener = link
  panel.hidden = false
  panel.querySelector('iframe').src = panel.querySelector('p a').href = link.href
  document.documentElement.classList.add('is-tried')
  panel.querySelector('button').focus()
}

// A page that is opened as a file may load no module, so the playground needs a web server.
if (location.protocol === 'file:') document.documentElement.classList.add('is-file')

document.addEventListener('click', e => {
  const link = e.target.closest?.('.try a')
  if (!link || innerWidth < MIN_WIDTH || e.button || e.ctrlKey || e.metaKey || e.shiftKey) return
  e.preventDefault()
  open(link)
})
