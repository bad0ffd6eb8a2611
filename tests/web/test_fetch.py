# SPDX-License-Identifier: Apache-2.0
"""lib/tools/fetch: pages as text and Markdown, robots.txt, redirects, types, limits, and what policies see of it."""
import json

from ..checks import same
from ..lib.agents import AGENTS, Bench
from ..model.loopback import Place
from . import site
from .site import Site, redirect, whole

PAGE = """<!DOCTYPE html><html><head><title>A &amp; <i>b</i></title><style>p{}</style><script>if (a<b) "</p>"</script></head><body>
<!-- no <p>text</p> --><svg><title>none</title></svg><h1>Head</h1><p title="a>b">One <a class=x href="../x?a=1&amp;b=2">link</a>, 1 &lt; 2, 3 < 4.
<ul><li>a<li>b &eacute;</ul><PRE>
  x  = 1\r
y &lt;b&gt; <b>z</b>
</PRE><P>a<br/>b <code>f()</code> <a href="javascript:x()">js</a> <a href=#top>up</a> <a href='/q(1)'><b>par</b></a> <a href=/empty> </a>
<table><tr><th>h<th>i<tr><td>1<td>2</table>\n\n\n<p>&lt;script&gt; &amp;lt;"""
TEXT = "Head\n\nOne link, 1 < 2, 3 < 4.\n\n- a\n- b é\n\n  x  = 1\ny <b> z\n\na\nb f() js up par\n\n| h | i\n| 1 | 2\n\n<script> &lt;"
MARKDOWN = ("# Head\n\nOne [link](%s/x?a=1&b=2), 1 < 2, 3 < 4.\n\n- a\n- b é\n\n```\n  x  = 1\ny <b> z\n```\n\na\nb `f()` js up "
            "[par](%s/q%%281%%29)\n\n| h | i\n| 1 | 2\n\n<script> &lt;")


def html(text):
    return whole(text.encode(), "text/html; charset=utf-8")


def run(build, expression, *options, place=None):
    p = place or Place(build)
    program = "defs: {fetch: {import: lib/tools/fetch}}\ntext: |-\n  ${ (%s) | json }\n" % expression
    return p.run("--stream", "none", *options, "p.pdl", program=program)


def value(build, expression, *options):
    status, out, err = run(build, expression, *options)
    same((status, err), (0, ""), expression)
    return json.loads(out)


def failure(build, expression, *options):
    status, out, err = run(build, expression, *options)
    same(status, 1, expression + out)
    return err


def test_forms(build):
    with Site(**{"a/b": html(PAGE)}) as s:
        address = s.url + "/a/b"
        rest = {"address": address, "status": 200, "type": "text/html"}
        same(value(build, "fetch.page('%s')" % address), dict(rest, title="A & <i>b</i>", text=TEXT))
        same(value(build, "fetch.page('%s', as='text').text" % address), TEXT)
        same(value(build, "fetch.page('%s', as='markdown')" % address), dict(rest, title="A & <i>b</i>", text=MARKDOWN % (s.url, s.url)))
        same(value(build, "fetch.page('%s', as='raw')" % address), dict(rest, title="", text=PAGE))


def test_broken_html(build):
    with Site() as s:
        for page, want in [("", ""), ("<", "<"), ("a<b", "a"), ("x<!-- open <p>y", "x"), ("x<script>y", "x"), ("<script><script></script>z", "z"),
                           ("<a href='x>y", ""), ("<pre>a  b", "a  b"), ("<title>t", ""), ("</p></div>x", "x"), ("<p\nclass=x\n>y", "y"), ("&bogus; &#0; &", "&bogus; \ufffd &"),
                           ("a\ue000b\ue003", "ab"), ("<p>x</p >y", "x\n\ny"), ("<scripts>x</scripts>", "x"), ("<a href=x><a href=y>z", "z"), ("1 <2> 3", "1 <2> 3")]:
            s.pages["/x"] = html(page)
            same(value(build, "fetch.page('%s/x').text" % s.url), want, page)
            value(build, "fetch.page('%s/x', as='markdown').text" % s.url)


def test_what_is_no_html(build):
    with Site(json=whole(b'{"a": "<b>"}', "application/json"), text=whole("grün".encode("latin-1"), "text/plain; charset=latin1"), png=whole(b"\x89PNG\0", "image/png"),
              odd=whole(b"x", "text/plain; charset=klingon"), page=whole(b'<meta charset="latin1"><p>\xf6', "text/html"), gone=whole(b"<p>no such", "text/html", 404)) as s:
        same([value(build, "fetch.page('%s/%s').text" % (s.url, x)) for x in ("json", "text", "page")], ['{"a": "<b>"}', "grün", "ö"])
        got = value(build, "fetch.page('%s/gone')" % s.url)
        same((got["status"], got["text"]), (404, "no such"))
        for path, said in (("png", "image/png"), ("odd", "text/plain; charset=klingon")):
            err = failure(build, "fetch.page('%s/%s')" % (s.url, path))
            same("fetch: %s/%s is no text that can be read: its type is %s" % (s.url, path, said) in err, True, err)


def test_robots(build):
    rules = b"# all\nUser-Agent: *\nDisallow: /\n\nUser-agent: other\nuser-agent: PDL\nDisallow: /no # comment\nAllow: /no/but\nDisallow: /*.php$\nDisallow:\nSitemap: x\nDisallow: /end$\n"
    with Site(**{"robots.txt": rules, "no/but": b"but", "yes": b"yes", "a.phpx": b"phpx", "ends": b"ends", "to": redirect("/no")}) as s:
        for path in ("no/but", "yes", "a.phpx", "ends"):
            s.asked.clear()
            same(value(build, "fetch.page('%s/%s').text" % (s.url, path)), path.rpartition("/")[2].rpartition(".")[2])
            same(s.paths(), ["/robots.txt", "/" + path])
        for path in ("no", "no/x", "none", "a.php", "b/a.php", "end", "to"):
            s.asked.clear()
            err = failure(build, "fetch.page('%s/%s')" % (s.url, path))
            same("fetch: robots.txt of %s does not allow %s/%s" % (s.url, s.url, "no" if path == "to" else path) in err, True, path + err)
            same(s.paths(), ["/robots.txt"] + ["/to"] * (path == "to"))
        s.pages["/robots.txt"] = b"User-agent: *\nAllow: /\nDisallow: /\n\nUser-agent: *\nDisallow: /yes"
        failure(build, "fetch.page('%s/yes')" % s.url)
        same(value(build, "fetch.page('%s/ends').text" % s.url), "ends")


def test_robots_that_cannot_be_read(build):
    with Site(**{"robots.txt": whole(b"oh", status=503), "x": b"x"}) as s:
        err = failure(build, "fetch.page('%s/x')" % s.url)
        same("fetch: %s/robots.txt says 503, so that it is not known what may be read there" % s.url in err, True, err)
        same(s.paths(), ["/robots.txt"])
        s.pages["/robots.txt"] = whole(b"a" * 600000)
        same("longer than 512000 bytes" in failure(build, "fetch.page('%s/x')" % s.url), True)


def test_servers_are_asked_once(build):
    with Site(a=b"a", b=b"b") as s, Site(c=b"c", d=redirect(s.url + "/a")) as other:
        got = value(build, "fetch.pages(['%s/a', '%s/b', '%s/c', '%s/d', '%s/a'])" % (s.url, s.url, other.url, other.url, s.url))
        same([x["text"] for x in got], ["a", "b", "c", "a", "a"])
        same((s.paths(), other.paths()), (["/robots.txt", "/a", "/b", "/a", "/a"], ["/robots.txt", "/c", "/d"]))
        same(value(build, "fetch.pages([])"), [])


def test_redirects_ask_the_other_server(build):
    with Site(end=html("<a href=x>y</a>"), **{"robots.txt": b"User-agent: *\nDisallow: /private"}) as s, Site(a=redirect(s.url + "/end"), b=redirect(s.url + "/private"), loop=redirect("/loop")) as first:
        got = value(build, "fetch.page('%s/a', as='markdown')" % first.url)
        same((got["address"], got["text"]), (s.url + "/end", "[y](%s/x)" % s.url))
        same("robots.txt of %s does not allow" % s.url in failure(build, "fetch.page('%s/b')" % first.url), True)
        same("too many redirects" in failure(build, "fetch.page('%s/loop')" % first.url), True)
        same(s.paths(), ["/robots.txt", "/end", "/robots.txt"])


def test_limits(build):
    with Site(endless=site.endless, slow=site.slow, exact=b"12345") as s:
        same("longer than 2000000 bytes" in failure(build, "fetch.page('%s/endless')" % s.url), True)
        same("longer than 4 bytes" in failure(build, "fetch.page('%s/exact', max_bytes=4)" % s.url), True)
        same(value(build, "fetch.page('%s/exact', max_bytes=5).text" % s.url), "12345")
        same("gave no whole answer in time" in failure(build, "fetch.page('%s/slow', timeout=0.5)" % s.url), True)
        for call, want in (("'%s/exact', as='pdf'" % s.url, "as should be text, markdown or raw, and is \"pdf\""), ("'ftp://x/'", "should begin with http"), ("'%s/exact', max_bytes=0" % s.url, "max_bytes should be")):
            same(want in failure(build, "fetch.page(%s)" % call), True, call)


def test_large_pages_take_no_long(build):
    with Site() as s:
        for part in ("<p>x &amp; <a href='y'>z</a></p>\n", "<script>", "<!-", "<a href=", "<pre>", "<title>", "'\"<", "<p \"", "<p a='", "&", "<"):
            s.pages["/x"] = html(part * (600000 // len(part)))
            for form in ("text", "markdown"):
                status, out, err = run(build, "fetch.page('%s/x', as='%s').status" % (s.url, form), "--budget", "seconds=15")
                same((status, out.strip()), (0, "200"), part + err)


def test_policies(build):
    with Site(a=html("<p>a"), out=redirect("/a")) as s, Site(b=b"other") as other:
        s.pages["/away"] = redirect(other.url.replace("127.0.0.1", "localhost") + "/b")
        p = Place(build)
        (p.dir / "hosts.yaml").write_text('policy: 1\nrules:\n- {sink: url, argument: host, matches: "127.0.0.*"}\n- {sink: url, allow: []}\notherwise: allow\n')
        same(run(build, "fetch.page('%s/out').text" % s.url, "--policy", "hosts.yaml", place=p)[:2], (0, '"a"\n'))
        status, out, err = run(build, "fetch.page('%s/away').text" % s.url, "--policy", "hosts.yaml", place=p)
        same((status, "of sink url localhost" in err, other.asked), (1, True, []), err)
        status, out, err = run(build, "fetch.page('%s/a').text" % s.url, "--policy", "careful", place=p)
        same((status, out), (0, '"a"\n'), err)
        status, out, err = run(build, "fetch.page('%s/a?' ~ (fetch.page('%s/a').text | urlencode))" % (s.url, s.url), "--policy", "careful", place=p)
        same((status, "from net" in err), (1, True), err)


def test_recorded_and_counted(build):
    with Site(a=html("<p>a")) as s:
        p = Place(build)
        same(run(build, "fetch.page('%s/a').text" % s.url, "--record", "j", place=p)[:2], (0, '"a"\n'))
        same(run(build, "fetch.page('%s/a').text" % s.url, "--replay", "j", place=p)[:2], (0, '"a"\n'))
        same(len(s.asked), 2)
        same("the budget of 1 request is spent" in failure(build, "fetch.page('%s/a')" % s.url, "--budget", "requests=1"), True)


def test_a_tool_of_agents(pdl):
    """The agent sees page and parameters, and a page that cannot be read is an observation."""
    with Site(a=html("<p>It is 12 m high."), png=whole(b"\0", "image/png")) as s:
        bench, agent = Bench(pdl), AGENTS["react/qwen"]
        o = bench.run(bench.program(agent, '["${ fetch.page }"]', "  fetch: {import: lib/tools/fetch}\n", "on_tool_error: observe"),
                      [x for path in ("a", "png") for x in agent.call("page", {"address": "%s/%s" % (s.url, path)})] + agent.final("12 m"))
        same((o.status, o.result["answer"]), (0, "12 m"), o.err)
        seen = [x["observation"] for x in o.result["steps"]]
        same(("It is 12 m high." in seen[0], "is no text that can be read" in seen[1]), (True, True), str(seen))
        same("Reads a web page as text, Markdown or raw" in json.dumps(o.requests), True)
