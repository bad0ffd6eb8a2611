# SPDX-License-Identifier: Apache-2.0
"""How the documents of all examples look: light, dark and on a phone. Sizes of fonts, lengths of lines, contrast, texts that overlap, layout that jumps. First screens are left in BUILD/pictures."""
import pytest

from .browse import check, picture
from .test_document import EXAMPLES, RECORDED, html_of

pytestmark = [pytest.mark.builds, pytest.mark.roomy]
WIDTHS = (320, 390, 640, 1280, 1600, 2560)
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
      if (!e.closest('#strip, .source, .scroll, .saying, .value, .gives')) boxes.push({ r, text: node.data.trim().slice(0, 30) });
    }
  }
  for (let i = 0; i < boxes.length; i++)
    for (let k = i + 1; k < Math.min(boxes.length, i + 200); k++) {
      const [a, b] = [boxes[i].r, boxes[k].r];
      const w = Math.min(a.right, b.right) - Math.max(a.left, b.left), h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (w > 2 && h > Math.min(a.height, b.height) * 0.5) over.push([boxes[i].text, boxes[k].text]);
    }
  return { small: small.slice(0, 5), long: long.slice(0, 5), over: over.slice(0, 5) };
})()"""
SHIFT = "new Promise((done) => { let sum = 0; new PerformanceObserver((l) => l.getEntries().forEach((e) => (sum += e.hadRecentInput ? 0 : e.value))).observe({ type: 'layout-shift', buffered: true }); setTimeout(() => done(sum), 300); })"


@pytest.mark.parametrize("part", range(12))
def test_looks(b, folder, part):
    names = RECORDED[part::12]
    steps = []
    for name in names:
        url = html_of(folder, name)
        for look, options in {"light": {}, "dark": {"colorScheme": "dark"}, "phone": {"viewport": {"width": 390, "height": 844}}}.items():
            if look == "dark" and name not in KEPT:
                continue
            b.read(url, {"viewport": {"width": 1280, "height": 800}, **options})
            steps.append(("%s, %s" % (name, look), b.evaluate(LOOKS), b.evaluate(SHIFT) if look in ("light", "phone") else None, b.axe()))
            if name in KEPT:
                b.shot(picture("first-%s-%s" % (name.replace("/", "-"), look.replace(" ", "-"))))
    out = b.run()
    for title, looks, shift, axe in steps:
        found = out[looks]
        check("%s: fonts of 12 px and up, text of 15" % title, found["small"] == [], found["small"])
        check("%s: lines of at most 90 characters or so" % title, found["long"] == [], found["long"])
        check("%s: no text lies over another" % title, found["over"] == [], found["over"])
        check("%s: the layout does not jump" % title, shift is None or out[shift] < 0.05, shift is not None and out[shift])
        check("%s: axe" % title, out[axe] == [], out[axe])


def test_widths(b, folder):
    steps = []
    for name in KEPT:
        url = html_of(folder, name)
        for width in WIDTHS:
            b.read(url, {"viewport": {"width": width, "height": 800}})
            steps.append((name, width, b.evaluate("document.documentElement.scrollWidth")))
    out = b.run()
    for name, width, at in steps:
        check("%s at %d px: no scrolling to the side" % (name, width), out[at] <= width, out[at])
