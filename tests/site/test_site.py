# SPDX-License-Identifier: Apache-2.0
"""test_site.py -- `make site`: every page exists, and links lead to existing places. In Chromium, pages that are opened as files are light and dark,
can be searched, fit on a phone and on paper, and request nothing from the network. Pictures are left in BUILD/pictures. Skipped when the generator or
the browser is not installed."""
import contextlib
import functools
import html.parser
import http.server
import json
import re
import subprocess
import sys
import threading

import pytest

from .. import browser_of, node_of
from ..checks import check, skip
from ..harness.choice import Choice, ROOT

BUILD = Choice.build
SITE = BUILD / "site"
QUESTIONS = {"How do I see what is sent before I pay?": "manual/calls.html", "few shot": "manual/cookbook.html", "How do I do logging?": "manual/production.html", "web search": "manual/patterns.html", "system prompt": "manual/guide.html",
             "How do I read a CSV with a header?": "manual/tables.html", "agent example": "manual/patterns.html", "spans collector": "manual/telemetry.html"}
PAGES = ["index", "manual/index", "manual/messages-yaml", "manual/quick-reference", "manual/policies", "manual/guide"]


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        self.links += [a[k] for k in ("href", "src") if a.get(k)]
        self.ids |= {a[k] for k in ("id", "name") if a.get(k)}


def pages():
    docs = [p.relative_to(ROOT / "docs").with_suffix(".html") for p in (ROOT / "docs").rglob("*.md") if p.name != "home.md"]
    docs = [p.with_name("index.html") if p.stem == "README" else p for p in docs]
    absent = [str(p) for p in docs if not (SITE / p).is_file()]
    check("every page of docs/ is a page of the site", not absent, absent)
    broken, outside = [], []
    ids = {page: Links(page.read_text("utf-8")).ids for page in SITE.rglob("*.html")}
    for page in SITE.rglob("*.html"):
        if page.name == "404.html":
            continue
        for link in Links(page.read_text("utf-8")).links:
            target, part = link.split("#")[0].split("?")[0], link.partition("#")[2]
            to = (page.parent / target).resolve() if target else page
            if re.match(r"(https?:)?//", link):
                outside += [link] if re.search(r"\.(js|css|woff2?|png|svg)\b|shim", link) else []
            elif target and not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
                broken.append("%s: %s" % (page.relative_to(SITE), link))
            elif part and not re.match(r"[a-z]+:|_", link) and not part.startswith(("_", "p=")) and to in ids and part not in ids[to]:
                broken.append("%s: %s: no such heading" % (page.relative_to(SITE), link))
    check("links lead somewhere", not broken, *broken[:10])
    check("scripts, styles and pictures are its own", not outside, *outside[:5])
    words = re.findall(r"<pre[^>]*>.*?</pre>", (SITE / "manual/guide.html").read_text("utf-8"), re.S)
    barred = [p.name for p in SITE.rglob("*.html") if re.search(r"<td><code>[^<]*\\\|", p.read_text("utf-8"))]
    check("a bar in the code of a table is a bar", not barred, barred)
    check("programs are shown with colours", any('class="nt"' in w for w in words), len(words))


def playground():
    """The folder of the playground, made from what is there; None, and a word, where it cannot be made."""
    for tool in ("wasm/make-wasm", "playground/make-playground"):
        p = subprocess.run([sys.executable, ROOT / "packaging" / tool, *([] if Choice.fetch else ["--no-fetch"])], cwd=ROOT, text=True, capture_output=True,
                           timeout=1500, check=False)
        if p.returncode:
            skip('"Try it"', p.stdout.strip() + p.stderr[-300:])
            return None
    return ROOT / "build-wasm" / "playground"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@contextlib.contextmanager
def over_http(is_wanted):
    """-> the address of the site; None when it is not wanted"""
    if not is_wanted:
        yield None
        return
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield "http://127.0.0.1:%d" % server.server_port
    server.shutdown()


def browser(is_tried):
    modules, why = node_of.modules(BUILD, "playwright-core@1.49.0")
    chromium, none = browser_of.browser()
    if not modules or not chromium:
        skip("the browser", why or none)
        return
    pictures = BUILD / "pictures"
    pictures.mkdir(exist_ok=True)
    file = BUILD / "site-steps.json"
    with over_http(is_tried) as served:
        file.write_text(json.dumps({"modules": modules, "chromium": chromium, "site": str(SITE), "pages": PAGES, "pictures": str(pictures), "served": served, "questions": QUESTIONS}))
        r = subprocess.run(["node", str(ROOT / "tests/site/site.mjs"), str(file)], capture_output=True, text=True, timeout=300, check=False)
    check("the browser", r.returncode == 0, r.stderr[-800:])
    if r.returncode:
        return
    out = json.loads(r.stdout)
    check("nothing is asked of the network", not out["asked"], out["asked"][:3])
    check("no errors of scripts", not out["errors"], out["errors"][:3])
    check("light and dark", out["background"]["light"] != out["background"]["dark"], out["background"])
    light, dark = (sum(int(x) for x in re.findall(r"\d+", out["contrast"][k])[:3]) for k in ("light", "dark"))
    check("links are seen on both", light < 384 < dark, out["contrast"])
    check("nothing is wider than a phone", not out["phone"], out["phone"])
    check("no menus on paper", not out["print"], out["print"])
    check("the search finds", all(n > 0 for n in out["found"].values()), out["found"])
    if is_tried:
        check('"Try it" is below each program that runs in a browser', out["offered"] > 20, out["offered"])
        check("it opens beside the page, and closes", out["beside"] and out["closed"], out)
        check("on a phone in place of the page", out["narrow"] == "/playground/index.html", out["narrow"])
    check("a question leads to its page", not out["answers"], out["answers"])


@pytest.mark.builds
@pytest.mark.roomy
@pytest.mark.seconds(1500)
def test_site():
    tried = playground()
    r = subprocess.run([sys.executable, ROOT / "tools" / "make-site", BUILD, *(["--playground", tried] if tried else [])], capture_output=True, text=True, timeout=1200, check=False)
    if r.returncode == 77:
        skip("the site", r.stderr.strip())
    else:
        check("make site", r.returncode == 0 and (SITE / "index.html").is_file(), r.stderr[-800:])
        if not r.returncode:
            pages()
            browser(bool(tried))

