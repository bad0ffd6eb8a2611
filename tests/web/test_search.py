# SPDX-License-Identifier: Apache-2.0
"""lib/tools/search: the forms of SearXNG and of Brave, keys, wrong services and wrong answers, and what policies see."""
import json
import pathlib
import urllib.parse

from ..checks import same
from ..lib.agents import AGENTS, Bench
from ..model.loopback import Place
from .site import Site, redirect, whole

KEY = "k-4d1f9a72bc"
SEARXNG = {"query": "q", "results": [{"url": "https://a.example/%d" % i, "title": "T%d &amp; <b>t</b>" % i, "content": "C%d" % i, "engine": "x"} for i in range(9)]}
BRAVE = {"type": "search", "web": {"results": [{"url": "https://b.example/", "title": "T", "description": "a <strong>bold</strong> &lt;word&gt;"},
                                               {"title": "no address"}, {"url": "https://c.example/", "title": None}]}}


def answer(value):
    return whole(json.dumps(value).encode(), "application/json")


def run(build, service, expression, *options, place=None, **env):
    p = place or Place(build, **env)
    program = ("defs:\n  search: {import: lib/tools/search}\n  mine: \"${ search.service(%s) }\"\ntext: |-\n  ${ (%s) | json }\n" % (service, expression))
    return p.run("--stream", "none", *options, "p.pdl", program=program)


def value(build, service, expression, **env):
    status, out, err = run(build, service, expression, **env)
    same((status, err), (0, ""), expression)
    return json.loads(out)


def failure(build, service, expression="mine.web('q')", **env):
    status, out, err = run(build, service, expression, **env)
    same(status, 1, expression + out)
    return err


def asked(s):
    _, path, headers, _ = s.asked[-1]
    path, _, query = path.partition("?")
    return path, urllib.parse.parse_qs(query), headers


def test_searxng(build):
    with Site(search=answer(SEARXNG), **{"sub/search": answer({"results": []})}) as s:
        got = value(build, "'searxng', '%s'" % s.url, "mine.web('two words & ä/?#')")
        same((len(got), got[1]), (5, {"title": "T1 & t", "address": "https://a.example/1", "text": "C1"}))
        path, query, headers = asked(s)
        same((path, query, "Authorization" in headers), ("/search", {"q": ["two words & ä/?#"], "format": ["json"]}, False))
        for address in ("/", "/search", "/search/"):
            same(len(value(build, "'searxng', '%s%s'" % (s.url, address), "mine.web('q', n=2)")), 2)
            same(asked(s)[0], "/search")
        same(value(build, "'searxng', '%s/sub'" % s.url, "mine.web('q')"), [])
        value(build, "'searxng', '%s', 'MY_KEY'" % s.url, "mine.web('q')", MY_KEY=KEY)
        same(asked(s)[2]["Authorization"], "Bearer " + KEY)


def test_brave(build):
    with Site(search=answer(BRAVE)) as s:
        service = "'brave', '%s/search'" % s.url
        got = value(build, service, "mine.web('q', n=7)", BRAVE_API_KEY=KEY)
        same(got, [{"title": "T", "address": "https://b.example/", "text": "a bold <word>"}, {"title": "", "address": "https://c.example/", "text": ""}])
        path, query, headers = asked(s)
        same((path, query, headers["X-Subscription-Token"], headers["Accept"]), ("/search", {"q": ["q"], "count": ["7"]}, KEY, "application/json"))
        value(build, service + ", 'OTHER_TOKEN'", "mine.web('q')", OTHER_TOKEN="other-" + KEY)
        same(asked(s)[2]["X-Subscription-Token"], "other-" + KEY)
        same("BRAVE_API_KEY" in failure(build, service), True)


def test_without_a_service_it_is_brave(build):
    """Nothing is asked: a policy says where the request would go."""
    p = Place(build, BRAVE_API_KEY=KEY)
    (p.dir / "none.yaml").write_text("policy: 1\nrules:\n- {sink: url, allow: []}\notherwise: allow\n")
    status, _, err = run(build, "'brave'", "search.web(words)", "--policy", "none.yaml", "-d", '{"words": "q"}', place=p)
    same((status, "of sink url api.search.brave.com" in err), (1, True), err)


def test_wrong_services(build):
    for service, want in [("'google'", "should be brave or searxng, and is \"google\""), ("'searxng'", "the service needs an address"),
                          ("'searxng', 'ftp://x'", "should begin with http"), ("'brave', 'http://127.0.0.1:1/', 'HOME'", "ends in KEY")]:
        same(want in failure(build, service), True, service)
    for call, want in [("mine.web(' ')", "the query is empty"), ("mine.web('q', n=0)", "n should be from 1 to 20, and is 0"), ("mine.web('q', n=21)", "from 1 to 20")]:
        same(want in failure(build, "'searxng', 'http://127.0.0.1:1'", call), True, call)


def test_wrong_answers(build):
    with Site() as s:
        for page, want in [(whole(b"no", status=429), "search: %s answers with status 429"), (whole(b"<html>", "text/html"), "search: %s does not answer as searxng does"),
                           (whole(b"\0", "image/png"), "search: %s does not answer as searxng does"), (answer([]), "does not answer as searxng does"), (answer({"error": "x"}), "does not answer as searxng does"), (whole(b"x" * 3000000), "longer than 2000000 bytes")]:
            s.pages["/search"] = page
            err = failure(build, "'searxng', '%s'" % s.url)
            same((want % s.url if "%s" in want else want) in err, True, err)
        for form in ("searxng", "brave"):
            for odd in ({"results": None, "web": None}, {"results": 1, "web": {"results": 1}}, {"results": [1, None, {"url": 1}], "web": {"results": [{}]}},
                        {"results": {"a": 1}, "web": []}, {"results": "text", "web": "text"}):
                s.pages["/search"] = answer(odd)
                same(value(build, "'%s', '%s/search', 'A_KEY'" % (form, s.url), "mine.web('q')", A_KEY=KEY), [], json.dumps(odd))


def test_the_key_is_nowhere(build):
    with Site(search=lambda h: h.reply(json.dumps({"web": {"results": [{"url": "https://x/", "title": h.headers["X-Subscription-Token"]}]}}).encode()),
              bad=lambda h: h.reply(h.headers["X-Subscription-Token"].encode(), "text/plain", 401)) as s, Site(search=answer(BRAVE)) as other:
        s.pages["/away"] = redirect(other.url + "/search")
        for path in ("search", "bad", "away"):
            p = Place(build, BRAVE_API_KEY=KEY)
            _, _, err = run(build, "'brave', '%s/%s'" % (s.url, path), "mine.web('q')", "--record", "j", "--cache", "c", "--verbose", "-t", "trace.json", place=p)
            same(KEY in err, False, path)
            for x in (x for x in pathlib.Path(p.dir).rglob("*") if x.is_file()):
                same(KEY.encode() in x.read_bytes(), False, str(x))
        same([x[2]["X-Subscription-Token"] for x in s.asked], [KEY] * 3)
        same([x[2].get("X-Subscription-Token") for x in other.asked], [None])


def test_policies(build):
    with Site(search=answer(SEARXNG)) as s:
        p = Place(build)
        (p.dir / "hosts.yaml").write_text('policy: 1\nrules:\n- {sink: url, argument: host, matches: "127.0.0.*"}\n- {sink: url, allow: []}\notherwise: allow\n')
        service = "'searxng', '%s'" % s.url
        same(run(build, service, "mine.web('q', n=1)[0].text", "--policy", "hosts.yaml", place=p)[:2], (0, '"C0"\n'))
        same(run(build, service, "mine.web('q', n=1)[0].text", "--policy", "careful", place=p)[:2], (0, '"C0"\n'))
        status, _, err = run(build, service, "mine.web(mine.web('q')[0].text)", "--policy", "careful", place=p)
        same((status, "from net" in err), (1, True), err)


def test_a_tool_of_agents(pdl):
    with Site(search=answer(SEARXNG)) as s:
        bench, agent = Bench(pdl), AGENTS["react/qwen"]
        defs = "  search: {import: lib/tools/search}\n  mine: \"${ search.service('searxng', '%s') }\"\n" % s.url
        o = bench.run(bench.program(agent, '["${ mine.web }"]', defs), agent.call("web", {"query": "bridges", "n": 1}) + agent.final("yes"))
        same((o.status, o.result and o.result["answer"]), (0, "yes"), o.err)
        same("https://a.example/0" in o.result["steps"][0]["observation"], True, str(o.result))
        same(asked(s)[1]["q"], ["bridges"])
