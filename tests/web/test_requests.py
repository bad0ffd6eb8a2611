# SPDX-License-Identifier: Apache-2.0
"""`stdlib.http`: requests, redirects, encodings, limits, and servers that misbehave."""
import json
import re
import pathlib
import time

from ..checks import same
from ..model.loopback import Place
from . import site
from .site import Site, redirect, whole


def asked(build, s, expression, *options, **env):
    """Runs a program that prints the value of an expression as JSON, with `site` and `here` of the server."""
    p = Place(build, **env)
    program = "defs: {site: '%s', here: '%s'}\ntext: |-\n  ${ (%s) | json }\n" % (s.url, s.at, expression)
    return p.run("--stream", "none", *options, "p.pdl", program=program)


def value(build, s, expression, *options, **env):
    status, out, err = asked(build, s, expression, *options, **env)
    same((status, err), (0, ""), expression)
    return json.loads(out)


def failure(build, s, expression, *options, **env):
    status, out, err = asked(build, s, expression, *options, **env)
    same(status, 1, expression + out)
    return err


def test_a_page(build):
    with Site(a=whole("grün".encode(), "text/plain; charset=utf-8", 200, [("X-Two", "1"), ("X-Two", "2")])) as s:
        got = value(build, s, "stdlib.http(site ~ '/a#part')")
        same([got[k] for k in ("status", "type", "charset", "text", "base64", "url")],
             [200, "text/plain", "utf-8", "grün", None, s.url + "/a"])
        same(got["headers"]["x-two"], "1, 2")


def test_any_status_is_a_reply(build):
    with Site(gone=whole(b"gone", status=410), broken=whole(b"oh", status=500)) as s:
        same([value(build, s, "stdlib.http(site ~ '/%s').status" % x) for x in ("gone", "broken", "none")], [410, 500, 404])


def test_methods_and_bodies(build):
    with Site(x=b"ok") as s:
        value(build, s, "[stdlib.http(site ~ '/x', method='head').text, stdlib.http(site ~ '/x', method='POST').text,"
              "stdlib.http(site ~ '/x', method='put', body={'a': 'ä'}).text, stdlib.http(site ~ '/x', method='PATCH', body='b').text,"
              "stdlib.http(site ~ '/x', method='DELETE', headers={'X-Why': 'w'}).text]")
        same([(m, h.get("Content-Type"), h.get("X-Why"), b.decode()) for m, _, h, b in s.asked],
             [("HEAD", None, None, ""), ("POST", "application/x-www-form-urlencoded", None, ""), ("PUT", "application/json", None, '{"a":"ä"}'),
              ("PATCH", "text/plain; charset=utf-8", None, "b"), ("DELETE", None, "w", "")])


def test_wrong_requests(build):
    with Site(x=b"ok") as s:
        for args, want in [
            ("'ftp://x/y'", "should begin with http:// or https://"), ("'x.org'", "should begin with"), ("'file:///etc/passwd'", "should begin"),
            ("'http://a b/'", "a space"), ("'http://good.org\\\\@bad.org/'", "backslash"), ("'http://me:pw@x/'", "user name"),
            ("'http://2130706433/'", "a host that is a number"), ("'http://0x7f.1/'", "a host that is a number"), ("'http:///x'", "no valid host"),
            ("'http://x:99999/'", "no valid port"), ("'http://bücher.example/'", "xn--"), ("'http://a%2eb/'", "no valid host"),
            ("site, method='CONNECT'", "method should be"), ("site, method='GET\\r\\nX: y'", "method should be"), ("site, body='b'", "with a body is no GET"),
            ("site, headers={'Host': 'other'}", "not set by programs"), ("site, headers={'content-length': '3'}", "not set by programs"),
            ("site, headers={'A': 'x\\r\\nB: y'}", "not one line"), ("site, headers={'A b': 'x'}", "name of a header"), ("site, headers={'A': 1}", "a string"),
            ("site, timeout=0", "timeout should be"), ("site, timeout=1e9", "timeout should be"), ("site, max_bytes=0", "max_bytes should be"),
            ("site, auth={'variable': 'HOME'}", "ends in KEY"), ("site, auth={'variables': 'A_KEY'}", "auth should be"),
            ("site, auth={'variable': 'A_KEY', 'header': 'Host'}", "not set by programs"),
        ]:
            err = failure(build, s, "stdlib.http(%s)" % args)
            same(want in err, True, args + "\n" + err)
            same("pw@" in err or "Error during the evaluation of" in err, False, err)
        same(s.asked, [])


def test_requests_that_a_program_made_itself(build):
    """What sends requests checks them as what makes them does: there is no way around the normal form, which policies judge."""
    good = "'method': 'GET', 'url': site ~ '/x', 'headers': {}, 'body': none, 'timeout': 5, 'max_bytes': 100"
    with Site(x=b"ok") as s:
        same(value(build, s, "pdl_http_send({%s}).text" % good), "ok")
        for more, want in [("'url': site ~ '\\\\@other.org/'", "backslash"), ("'url': 'HTTP://' ~ here ~ '/x'", "is not as"), ("'url': site", "is not as"),
                           ("'url': 'file:///etc/passwd'", "should begin"), ("'url': 1", "a string"), ("'method': 'get'", "is not as"),
                           ("'method': 'GET / HTTP/1.1\\r\\nX: y\\r\\n\\r\\nPOST'", "method should be"), ("'headers': {'Host': 'other'}", "not set by programs"),
                           ("'headers': {'A': 'x\\r\\nB: y'}", "not one line"), ("'headers': none", "an object"), ("'body': 'b'", "no GET"), ("'body': 1", "a string"),
                           ("'timeout': 0", "timeout should be"), ("'max_bytes': 1e9", "max_bytes should be"), ("'auth': {'variable': 'HOME'}", "ends in KEY"),
                           ("'auth': {'variable': 'A_KEY'}", "is not as"), ("'auth': none", "an object")]:
            for send in ("pdl_http_send(%s)", "stdlib.http_hop(%s, 1, 1)"):
                err = failure(build, s, send % ("{%s, %s}" % (good, more)), A_KEY="0")
                same(want in err, True, more + err)
        same(len(s.asked), 1)


def test_actions_are_sent_once(build):
    """A server that ends a used connection without an answer may have done what was asked: nothing but GET and HEAD is sent again."""
    def ends(h):
        h.close_connection = True
    for method, times in (("GET", 2), ("POST", 1), ("DELETE", 1), ("PUT", 1)):
        with Site(first=b"1") as s:
            s.pages["/second"] = ends
            failure(build, s, "[stdlib.http(site ~ '/first').text, stdlib.http(site ~ '/second', method='%s').text]" % method)
            same(len([x for x in s.paths() if x == "/second"]), times, method)


def test_redirects(build):
    with Site(a=redirect("b?q=1"), b=redirect("/c/./d/../e"), end=b"end", **{"c/e": redirect("//HOST/end")}) as s:
        s.pages["/c/e"] = redirect("//%s/end" % s.at)
        same(value(build, s, "stdlib.http(site ~ '/a').url"), s.url + "/end")
        same(s.paths(), ["/a", "/b?q=1", "/c/e", "/end"])
        same(value(build, s, "stdlib.http(site ~ '/a', redirects=0).status"), 302)
        same("too many redirects" in failure(build, s, "stdlib.http(site ~ '/a', redirects=2).status"), True)


def test_loops_and_bad_redirects(build):
    with Site(loop=redirect("/loop"), file=redirect("file:///etc/passwd"), js=redirect("javascript:1"), empty=redirect(""),
              user=redirect("http://a:b@c/"), odd=redirect("http://good.org\\@bad.org/")) as s:
        for path, want, n in [("loop", "too many redirects, the last one from " + s.at, 6), ("file", "should begin with http://", 1),
                              ("js", "should begin with http://", 1), ("empty", "too many redirects", 6), ("user", "user name", 1), ("odd", "backslash", 1)]:
            s.asked.clear()
            err = failure(build, s, "stdlib.http(site ~ '/%s')" % path)
            same((want in err, "Error during the evaluation of" in err, len(s.asked)), (True, False, n), path + err)


def test_methods_after_redirects(build):
    with Site(end=b"end", a=redirect("/end", 301), b=redirect("/end", 303), c=redirect("/end", 307), d=redirect("/end", 308)) as s:
        for path, method, want in [("a", "POST", "GET"), ("b", "PUT", "GET"), ("c", "POST", "POST"), ("d", "PUT", "PUT"), ("a", "PUT", "PUT")]:
            value(build, s, "stdlib.http(site ~ '/%s', method='%s', body='x').text" % (path, method))
            m, _, headers, body = s.asked[-1]
            same((m, body, "Content-Type" in headers), (want, b"" if want == "GET" else b"x", want != "GET"), path + method)


def test_other_servers_get_no_credentials(build):
    with Site(end=b"end") as other, Site(a=redirect(other.url + "/end"), own=redirect("/end"), end=b"end") as s:
        args = "headers={'Authorization': 'Bearer abcdefgh1', 'Cookie': 'c=d', 'X-Mine': '1', 'Accept': 'text/plain'}, auth={'variable': 'A_KEY', 'header': 'X-Key'}"
        value(build, s, "stdlib.http(site ~ '/a', %s).text" % args, A_KEY="key-of-the-first")
        value(build, s, "stdlib.http(site ~ '/own', %s).text" % args, A_KEY="key-of-the-first")
        kept = [{k: h.get(k) for k in ("Authorization", "Cookie", "X-Mine", "X-Key", "Accept")} for _, _, h, _ in other.asked + s.asked]
        everything = {"Authorization": "Bearer abcdefgh1", "Cookie": "c=d", "X-Mine": "1", "X-Key": "key-of-the-first", "Accept": "text/plain"}
        same(kept, [{"Authorization": None, "Cookie": None, "X-Mine": None, "X-Key": None, "Accept": "text/plain"}] + [everything] * 3)


def test_encodings(build):
    meta = "<meta charset=\"%s\">ö".encode
    with Site() as s:
        for body, kind, want in [
            ("ö".encode("latin-1"), "text/plain; charset=ISO-8859-1", ("windows-1252", "ö")), (b"\x80", "text/plain;charset=\"latin1\"", ("windows-1252", "€")),
            ("ö".encode("latin-1"), "text/plain", ("windows-1252", "ö")), ("ö".encode(), "text/plain", ("utf-8", "ö")),
            (b"a\xffb", "text/plain; charset=utf-8", ("utf-8", "a\ufffdb")), ("ö".encode("utf-16"), "text/plain; charset=latin1", ("utf-16le", "ö")),
            ("😀".encode("utf-16-be"), "text/plain; charset=utf-16be", ("utf-16be", "😀")), (b"\xd8\x00\x00", "text/plain; charset=utf-16be", ("utf-16be", "\ufffd\ufffd")),
            ("\ufeffö".encode(), "text/html", ("utf-8", "ö")), (b'<meta charset="latin1">\xf6', "text/html", ("windows-1252", '<meta charset="latin1">ö')),
            (b"<meta http-equiv=x content='text/html; charset=utf-16'>", "text/html", ("utf-8", "<meta http-equiv=x content='text/html; charset=utf-16'>")),
            (b"\x00\x01", "image/png", (None, None)), (b"x", "text/plain; charset=klingon", (None, None)), (b"{}", "application/ld+json", ("utf-8", "{}")),
        ]:
            s.pages["/x"] = whole(body, kind)
            got = value(build, s, "stdlib.http(site ~ '/x')")
            same((got["charset"], got["text"]), want, kind)
            same((got["base64"] is None), want[0] is not None, kind)


def test_compressed(build):
    with Site(x=site.packed(b"small"), bomb=site.packed(b"0" * 20_000_000), bad=lambda h: h.reply(b"nonsense", headers=[("Content-Encoding", "gzip")])) as s:
        same(value(build, s, "stdlib.http(site ~ '/x').text"), "small")
        same("longer than 1000000 bytes" in failure(build, s, "stdlib.http(site ~ '/bomb', max_bytes=1000000).text"), True)
        same("no whole answer from" in failure(build, s, "stdlib.http(site ~ '/bad').text"), True)


def test_bad_servers_are_bounded(build):
    pages = {"cut": site.cut, "endless": site.endless, "slow": site.slow, "headers": site.many_headers, "exact": b"12345"}
    with Site(**pages) as s:
        begun = time.monotonic()
        for call, want in [("site ~ '/cut'", "no whole answer from " + s.at), ("site ~ '/endless', max_bytes=100000", "longer than 100000 bytes"),
                           ("site ~ '/slow', timeout=0.5", "gave no whole answer in time"), ("site ~ '/headers'", "longer than"),
                           ("'http://127.0.0.1:1/'", "no connection to 127.0.0.1:1"), ("site ~ '/exact', max_bytes=4", "longer than 4 bytes")]:
            err = failure(build, s, "stdlib.http(%s)" % call)
            same(want in err, True, call + err)
        same(value(build, s, "stdlib.http(site ~ '/exact', max_bytes=5).text"), "12345")
        same(time.monotonic() - begun < 20, True)


def test_errors_have_their_kinds(build):
    program = ("lastOf:\n- def: x\n  text: ${ stdlib.http(site ~ '%s', max_bytes=10, timeout=0.5) }\n  contribute: []\n"
               "  fallback: ${ pdl_error.kind }\n- text: ${ x }\n")
    with Site(long=b"x" * 100, slow=site.slow, loop=redirect("/loop"), cut=site.cut) as s:
        p = Place(build)
        for path, kind in [("/long", "limit"), ("/slow", "timeout"), ("/loop", "limit"), ("/cut", "protocol")]:
            out = p.run("--stream", "none", "-d", json.dumps({"site": s.url}), "p.pdl", program=program % path)
            same(out[:2], (0, kind + "\n"), path + out[2])


def test_shown_without_the_key(build):
    key = "k-5f0e8c1b7a"
    with Site(a=lambda h: h.reply(("you sent " + h.headers.get("X-Subscription-Token", "?")).encode())) as s:
        p = Place(build, SEARCH_KEY=key, PDL_RUNS="runs")
        program = ("text: |-\n  ${ stdlib.http('%s/a', auth={'variable': 'SEARCH_KEY', 'header': 'X-Subscription-Token'}).status }\n" % s.url)
        status, out, err = p.run("--stream", "none", "--record", "j", "--cache", "c", "--verbose", "p.pdl", "-t", "trace.json", program=program)
        same((status, out, s.asked[0][2]["X-Subscription-Token"]), (0, "200\n", key), err)
        status, _, more = p.run("--durable", "--id", "one", "p.pdl")
        same(status, 0, more)
        for path in (x for x in p.dir.rglob("*") if x.is_file()):
            same(key.encode() in path.read_bytes(), False, str(path))
        same(key in err + more, False)
        literal = "text: |-\n  ${ stdlib.http('%s/a', headers={'X-Subscription-Token': '%s'}, max_bytes=3).status }\n" % (s.url, key)
        status, out, err = p.run("--record", "j2", "p.pdl", "-t", "trace.json", program=literal)
        same((status, key in err, key.encode() in (p.dir / "j2").read_bytes(), key in (p.dir / "trace.json").read_text()), (1, False, False, False), err)


def test_keys_have_hosts(build):
    """NAME_HOSTS binds a key to hosts; the key of a service of models goes nowhere else without it."""
    with Site(a=b"ok") as s:
        host = s.url.split("//")[1]
        for name, hosts, goes in [("A_KEY", None, True), ("A_KEY", "127.0.0.1", True), ("A_KEY", host, True), ("A_KEY", "api.example.org, 127.0.*", True),
                                  ("A_KEY", "api.example.org", False), ("A_KEY", "127.0.0.1:1", False), ("A_KEY", "27.0.0.1", False),
                                  ("OPENAI_API_KEY", None, False), ("OPENAI_API_KEY", "127.0.0.1", True), ("HF_TOKEN", None, False), ("HF_TOKEN", "*", True),
                                  ("AWS_SECRET_ACCESS_KEY", None, False), ("ANTHROPIC_AUTH_TOKEN", None, False), ("WATSONX_TOKEN", None, False)]:
            env = {name: "k-5f0e8c1b7a", **({name + "_HOSTS": hosts} if hosts else {})}
            before = len(s.asked)
            p = Place(build, **env)
            status, out, err = p.run("--stream", "none", "p.pdl", program="text: |-\n  ${ stdlib.http('%s/a', auth={'variable': '%s'}).text }\n" % (s.url, name))
            same((status, len(s.asked) - before), (0, 1) if goes else (1, 0), (name, hosts, err))
            same(goes or ("the key of %s is not sent to %s" % (name, host) in err and name + "_HOSTS" in err), True, err)
            same("k-5f0e8c1b7a" in err + out, False, err)


def test_a_file_does_not_bind_a_key_of_the_environment(build):
    """A file .env may have come with the program: it binds the keys that are in itself."""
    with Site(a=b"ok") as s:
        program = "text: |-\n  ${ stdlib.http('%s/a', auth={'variable': 'OPENAI_API_KEY'}).text }\n" % s.url
        for env, lines, status in [({"OPENAI_API_KEY": "k-5f0e8c1b7a"}, "OPENAI_API_KEY_HOSTS=127.0.0.1\n", 1),
                                   ({}, "OPENAI_API_KEY=k-5f0e8c1b7a\nOPENAI_API_KEY_HOSTS=127.0.0.1\n", 0)]:
            p = Place(build, **env)
            for name in {"OPENAI_API_KEY"} - set(env):
                p.env.pop(name, None)
            (p.dir / ".env").write_text(lines)
            same(p.run("--stream", "none", "p.pdl", program=program)[0], status, lines)


def test_recorded_replayed_and_shared(build):
    with Site(n=b"") as s:
        s.pages["/n"] = lambda h: h.reply(b"%d" % len(s.asked))
        p = Place(build)
        program = "text: |-\n  %s\n" % ",".join("${ stdlib.http('%s/n', method='%s').text }" % (s.url, m) for m in ("GET", "GET", "POST"))
        same(p.run("--stream", "none", "--record", "j", "p.pdl", program=program)[:2], (0, "1,2,3\n"))
        same(p.run("--stream", "none", "--replay", "j", "p.pdl")[:2], (0, "1,2,3\n"))
        same(len(s.asked), 3)
        same(p.run("--stream", "none", "--cache", "c", "p.pdl")[:2], (0, "4,5,6\n"))
        same(p.run("--stream", "none", "--cache", "c", "--budget", "requests=1", "p.pdl")[:2], (0, "4,5,7\n"))


def test_budget(build):
    with Site(a=redirect("/b"), b=b"b") as s:
        same("the budget of 1 request is spent" in failure(build, s, "stdlib.http(site ~ '/a')", "--budget", "requests=1"), True)
        same(s.paths(), ["/a"])
        same(value(build, s, "stdlib.http(site ~ '/a').text", "--budget", "requests=2,calls=0"), "b")
        program = "budget: {requests: 1}\nfallback: '${ pdl_error.kind } ${ pdl_error.budget }'\ntext: ${ stdlib.http('%s/a').text }\n" % s.url
        same(Place(build).run("p.pdl", program=program)[:2], (0, "budget requests\n"))


def test_requests_are_no_calls_of_models(build):
    """A spent budget of requests stops no model, and one of calls no request."""
    with Site(b=b"b") as s:
        program = ("text:\n- ${ stdlib.http('%s/b').text }\n- {model: openai/m, input: x, parameters: {mock_response: said}}\n" % s.url)
        same(Place(build).run("--stream", "none", "--budget", "requests=1,calls=1", "p.pdl", program=program)[:2], (0, "bsaid\n"))


def test_explain_sends_nothing(build):
    with Site(a=b"a") as s:
        p = Place(build)
        status, out, err = p.run("explain", "p.pdl", program="text: ${ stdlib.http('%s/a').text }\n" % s.url)
        same((status, "http (--allow http)" in out, s.asked), (0, True, []), out + err)
        p.run("explain", "--allow", "http", "p.pdl")
        same(s.paths(), ["/a"])


def test_policies(build):
    with Site(a=redirect("/b"), b=b"b") as s, Site(b=b"other") as other:
        s.pages["/out"] = redirect(other.url.replace("127.0.0.1", "localhost") + "/b")
        p = Place(build)
        (p.dir / "hosts.yaml").write_text('policy: 1\nrules:\n- {sink: url, argument: host, matches: "127.0.0.*"}\n- {sink: url, allow: []}\notherwise: allow\n')
        program = "text: ${ stdlib.http(where).text }\n"

        def run(where, policy, *more):
            return p.run("--stream", "none", "-d", json.dumps({"where": where}), "--policy", policy, *more, "p.pdl", program=program)
        same(run(s.url + "/a", "hosts.yaml")[:2], (0, "b\n"))
        status, out, err = run(s.url + "/out", "hosts.yaml")
        same((status, "refuses argument address of sink url localhost" in err, other.asked), (1, True, []), err)
        status, out, err = run(s.url + "/a", "careful")
        same((status, s.paths()[-1], "from net" in err), (1, "/a", True), err)
        same(run(s.url + "/b", "careful")[0], 0)


def test_what_goes_out_is_judged(build):
    with Site(a=b"a") as s:
        p = Place(build)
        (p.dir / "secret.txt").write_text("the secret")
        (p.dir / "policy.yaml").write_text('policy: 1\nlabels:\n  secret: [{read: "secret.txt"}]\nrules:\n- {sink: url, deny: [secret]}\notherwise: allow\n')
        for call in ("stdlib.http(site, method='POST', body=x)", "stdlib.http(site, method='POST', body={'a': [x]})", "stdlib.http(site ~ '/?' ~ x | urlencode)",
                     "stdlib.http(site, headers={'X-A': x})"):
            program = "defs:\n  x: {read: secret.txt}\n  site: '%s'\ntext: |\n  ${ %s.status }\n" % (s.url, call)
            status, out, err = p.run("--policy", "policy.yaml", "p.pdl", program=program)
            same((status, "sink url" in err, s.asked), (1, True, []), call + err)


def test_answers_are_untrusted(build):
    with Site(a=b"ls") as s:
        p = Place(build)
        program = "defs: {x: '${ stdlib.http(\"%s/a\").text }'}\nargs: ['${ x }']\n" % s.url
        status, out, err = p.run("--policy", "careful", "p.pdl", program=program)
        same((status, "from net" in err), (1, True), err)


def test_durable_actions_happen_once(build):
    """A POST that was sent when the process died is not sent again in silence; a GET is."""
    for method, repeated in (("GET", True), ("POST", False), ("DELETE", False)):
        with Site(slow=site.slow) as s:
            p = Place(build, PDL_RUNS="runs")
            running = p.start("--durable", "--id", "one", "p.pdl", program="text: ${ stdlib.http('%s/slow', method='%s', timeout=60).status }\n" % (s.url, method))
            end = time.monotonic() + 20
            while not s.asked and time.monotonic() < end:
                time.sleep(0.02)
            running.kill()
            running.communicate()
            s.pages["/slow"] = whole(b"done")
            status, out, err = p.run("resume", "one")
            same((status, len(s.asked)), (0, 2) if repeated else (1, 1), method + err)
            if repeated:
                continue
            same(("--again" in err, "--skip" in err, s.asked[0][2].get("Idempotency-Key", "") != ""), (True, True, True), err)
            place = re.search(r"ended: (\S+) \(http\)", err)[1]
            same("the text of its answer" in p.run("resume", "one", "--skip", place + "=3")[2], True)
            same(p.run("resume", "one", "--again", place)[::2], (0, ""), place)
            same(len(s.asked), 2)


def test_durable_action_is_skipped(build):
    with Site(slow=site.slow) as s:
        for given, want in (('"said"', "200 said\n"), ('{"status": 404}', "404 None\n")):
            p = Place(build, PDL_RUNS="runs")
            program = "defs: {x: '${ stdlib.http(\"%s/slow\", method=\"POST\", timeout=60) }'}\ntext: ${ x.status } ${ x.text }\n" % s.url
            s.asked.clear()
            running = p.start("--durable", "--id", "one", "p.pdl", program=program)
            while not s.asked:
                time.sleep(0.02)
            running.kill()
            running.communicate()
            place = re.search(r"ended: (\S+) \(http\)", p.run("resume", "one")[2])[1]
            same(p.run("resume", "one", "--skip", place + "=" + given)[:2], (0, want))
            same(len(s.asked), 1)


