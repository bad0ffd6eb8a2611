# SPDX-License-Identifier: Apache-2.0
"""How the documents of all examples look before any key is pressed: their text is in view, their titles are not paths, their words are for people;
light, dark and on a phone. Also sizes of fonts, lengths of lines, contrast, overlapping texts, and layout that jumps. First screens are left in
BUILD/pictures."""
import re
import subprocess

import pytest

from .browse import PDL, check, picture
from .test_document import EXAMPLES, RECORDED, html_of
from ..harness.choice import Choice

pytestmark = [pytest.mark.builds, pytest.mark.roomy]
WIDTHS = (320, 390, 640, 1280, 1600, 2560)
NEVER = r"pdl__|<function|litellm|\btext\.\d|lastOf|\bNaN\b|\bundefined\b|\bnull\b"
# Of the first 20 printed lines: how many there are, and how many are in view, neither covered nor clipped.
IN_VIEW = """(() => {
  const seen = [];
  for (const paper of document.querySelectorAll('#document .paper, #document .loop')) {
    const walker = document.createTreeWalker(paper, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.parentElement.closest('.who, .took, .n, .between')) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const r of range.getClientRects()) {
        if (r.width < 2 || seen.length && Math.abs(seen.at(-1).y - r.y) < 6) continue;
        const at = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
        seen.push({ y: r.y, shown: !!at && paper.contains(at) });
      }
    }
  }
  const first = seen.slice(0, 20);
  return [first.length, first.filter((l) => l.shown).length, document.documentElement.scrollWidth <= innerWidth];
})()"""
AROUND = "[document.getElementById('name').textContent, ...[...document.querySelectorAll('#totals, #strip, .label, .work-head, .fold, .quiet, .sent-top')].map((e) => e.textContent)].join('\\n')"
KEPT = ("patterns/team", "patterns/router", "chatbot", "rag", "react", "tour", "tools", "patterns/webgpt")  # whose first screens are pictures
# Of what is drawn: fonts that are too small, lines that are too long, texts that overlap or leave what they are in.
LOOKS = """(() => {
  const small = [], long = [], over = [], boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    if (!node.data.trim() || e.closest('script, .unseen') || !e.offsetParent) continue;
    const size = parseFloat(getComputedStyle(e).fontSize);
    const isText = e.closest('.paper, .saying') && !e.closest('.who, .took, .n, .between, .loop-head');
    if (size < (isText ? 15 : 12) - 0.01) small.push([size, node.data.trim().slice(0, 30)]);
    const range = document.createRange();
    range.selectNodeContents(node);
    const isCut = getComputedStyle(e).textOverflow === 'ellipsis'; // the text goes on where nobody sees it
    for (const r of isCut ? [e.getBoundingClientRect()] : range.getClientRects()) {
      if (r.width < 1 || r.height < 1 || r.bottom < 0 || r.top > innerHeight) continue;
      if (isText && r.width / (size * 0.5) > 110) long.push(node.data.trim().slice(0, 30));
      if (!e.closest('#strip, .source, .scroll')) boxes.push({ r, text: node.data.trim().slice(0, 30) });
    }
  }
  for (let i = 0; i < boxes.length; i++)
    for (let k = i + 1; k < Math.min(boxes.length, i + 200); k++) {
      const [a, b] = [boxes[i].r, boxes[k].r];
      const w = Math.min(a.right, b.right) - Math.max(a.left, b.left), h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (w > 2 && h > Math.min(a.height, b.height) * 0.5) over.push([boxes[i].text, boxes[k].text]);
    }
  // lines of the program that are cut, and results that are above the arguments
  const cut = [...document.querySelectorAll('.row > .source .code-line')].filter((e) => { const r = e.getBoundingClientRect(), end = e.closest('.source').getBoundingClientRect().bottom; return r.height && r.top < end - 1 && r.bottom > end + 1; }).map((e) => e.textContent);
  const above = [...document.querySelectorAll('.use:has(.gives)')].filter((e) => e.querySelector('.arg')?.getBoundingClientRect().top > e.querySelector('.gives').getBoundingClientRect().top + 8).map((e) => e.textContent.slice(0, 60));
  // lines of facts with a dot at an end, and texts that are scrolled inside of their line
  const dots = [...document.querySelectorAll('#totals > *, .facts > *')].filter((e) => {
    const has = (which) => getComputedStyle(e, which).content !== 'none', list = e.parentElement, left = e.getBoundingClientRect().left, next = e.nextElementSibling;
    const isFirst = left < list.getBoundingClientRect().left + 2, isLast = !next || next.getBoundingClientRect().left <= left;
    return (isFirst && has('::before') && getComputedStyle(list).clipPath === 'none') || (isLast && has('::after'));
  }).map((e) => e.textContent);
  const scrolled = [...document.querySelectorAll('.saying, .value, .gives')].filter((e) => e.clientHeight && e.scrollHeight > e.clientHeight + 2).map((e) => e.textContent.slice(0, 60));
  return { dots, scrolled, cut: cut.slice(0, 5), above: above.slice(0, 5), small: small.slice(0, 5), long: long.slice(0, 5), over: over.slice(0, 5) };
})()"""
SHIFT = "new Promise((done) => { let sum = 0; new PerformanceObserver((l) => l.getEntries().forEach((e) => (sum += e.hadRecentInput ? 0 : e.value))).observe({ type: 'layout-shift', buffered: true }); setTimeout(() => done(sum), 300); })"


PARTS = 4  # each has a browser


def verbose_models(name):
    r = subprocess.run([PDL, "--verbose", "--replay", name + ".journal", name + ".pdl"], cwd=EXAMPLES, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
    return len(re.findall(r"line \d+: model ", r.stderr))


def check_screen(name, wide, phone, around, problems):
    for title, found, share in ("wide", wide, 0.6), ("phone", phone, 0.4):
        lines, shown, fits = found
        check("%s, %s: printed lines in view" % (name, title), lines and (shown == lines if lines < 6 else shown >= share * lines), found)
        check("%s, %s: no scrolling to the side" % (name, title), fits)
    check("%s: words" % name, not re.search(NEVER, around), re.findall(NEVER, around), around)
    check("%s: the title is no path" % name, "/" not in around.split("\n")[0], around.split("\n")[0])
    calls = re.search(r"(\d+) model calls?", around)
    check("%s: as many calls as --verbose has" % name, int(calls.group(1) if calls else 0) == verbose_models(name), around)
    check("%s: nothing is wrong" % name, problems == [], problems)


def check_look(title, found, shift, axe):
    check("%s: fonts of 12 px and up, text of 15" % title, found["small"] == [], found["small"])
    check("%s: no line of the program is cut" % title, found["cut"] == [], found["cut"])
    check("%s: no line of facts has a dot at an end" % title, found["dots"] == [], found["dots"])
    check("%s: nothing is scrolled inside of a line" % title, found["scrolled"] == [], found["scrolled"])
    check("%s: results come after arguments" % title, found["above"] == [], found["above"])
    check("%s: lines of at most 90 characters or so" % title, found["long"] == [], found["long"])
    check("%s: no text lies over another" % title, found["over"] == [], found["over"])
    check("%s: the layout does not jump" % title, shift is None or shift < 0.05, shift)
    check("%s: axe" % title, axe == [], axe)


@pytest.mark.parametrize("part", range(PARTS))
def test_looks(b, folder, part):
    """Each example is read once for each look, and asked for everything."""
    names = RECORDED[part::PARTS]
    steps, screens = [], []
    for name in names:
        url, seen = html_of(folder, name), {}
        for look, options in {"light": {}, "dark": {"colorScheme": "dark"}, "phone": {"viewport": {"width": 390, "height": 844}}}.items():
            if look == "dark" and name not in KEPT:
                continue
            b.read(url, {"viewport": {"width": 1280, "height": 800}, **options})
            seen[look] = b.evaluate(IN_VIEW)
            if look == "light":
                seen["words"], seen["problems"] = b.evaluate(AROUND), b.problems()
            steps.append(("%s, %s" % (name, look), b.evaluate(LOOKS), b.evaluate(SHIFT) if look in ("light", "phone") else None, b.axe()))
            if name in KEPT:
                b.shot(picture("first-%s-%s" % (name.replace("/", "-"), look.replace(" ", "-"))))
        screens.append((name, seen))
    out = b.run()
    for name, seen in screens:
        check_screen(name, out[seen["light"]], out[seen["phone"]], out[seen["words"]], out[seen["problems"]])
    for title, looks, shift, axe in steps:
        check_look(title, out[looks], None if shift is None else out[shift], out[axe])


def test_widths(b, folder):
    """A window that is made wider or narrower. In `make soak` each width is opened by itself."""
    steps = []
    for name in KEPT:
        url = html_of(folder, name)
        for width in WIDTHS:
            size = {"width": width, "height": 800}
            if width == WIDTHS[0] or Choice.tier == "soak":
                b.read(url, {"viewport": size})
            else:
                b.resize(size)
            steps.append((name, width, b.evaluate("document.documentElement.scrollWidth")))
    out = b.run()
    for name, width, at in steps:
        check("%s at %d px: no scrolling to the side" % (name, width), out[at] <= width, out[at])
