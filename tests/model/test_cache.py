# SPDX-License-Identifier: Apache-2.0
"""--cache and `pdl cache`: replies that runs and processes share, over real HTTP."""
import json
import os
import sqlite3

from ..checks import same
from .loopback import Place, Server

ASK = "model: openai/m\ninput: %s\n"
SAMPLE = "for: {i: [1, 2, 3]}\nmap: {model: openai/m, input: same}\njoin: {with: ','}\n"


def counting(body, n):
    return "r%d" % n


def test_second_run_asks_nobody(build):
    with Server(counting) as s:
        p = Place(build, s)
        same(p.run("--cache", "c", "p.pdl", program=ASK % "hi"), (0, "r0\n", ""))
        same(p.run("--cache", "c", "p.pdl"), (0, "r0\n", ""))
        same(p.run("--stream", "none", "--cache", "c", "p.pdl"), (0, "r0\n", ""), "another --stream mode")
        same(p.run("--stream", "context", "--cache", "c", "p.pdl")[1], "\nassistant: r0\n")
        same(len(s.requests), 1)


def test_repetitions_stay_samples(build):
    with Server(counting) as s:
        p = Place(build, s)
        status, out, err = p.run("--cache", "c", "p.pdl", program=SAMPLE)
        same((status, sorted(out.strip().split(",")), err), (0, ["r0", "r1", "r2"], ""))
        same(p.run("--cache", "c", "p.pdl"), (0, out, ""))
        same(len(s.requests), 3)
        same(p.run("--cache", "c", "p.pdl", program=SAMPLE.replace("3]", "3, 4]")), (0, out.strip() + ",r3\n", ""))


def test_content_decides(build):
    """What shapes the answer makes another key; keys, time limits, addresses do not."""
    with Server(counting) as s:
        p = Place(build, s)
        base = ASK % "hi"
        for more, new in (("", True), ("parameters: {temperature: 0.5}\n", True), ("parameters: {timeout: 9}\n", False),
                          ("parameters: {api_key: other-key-987654}\n", False), ("spec: {a: integer}\nparser: json\n", None),
                          ("parameters: {max_tokens: 3}\n", True), ("role: system\n", True)):
            n = len(s.requests)
            p.run("--cache", "c", "p.pdl", program=base + more)
            same(len(s.requests) > n, new is not False, more)
        same(p.run("--cache", "c", "p.pdl", program="model: openai/m\ninput: hi\nparameters: {mock_response: fake}")[1], "fake\n")


def test_failures_are_asked_again(build):
    state = {"bad": True}

    def reply(body, n):
        if state["bad"]:
            return 400, {}, {"error": {"message": "no"}}
        return "good"
    with Server(reply) as s:
        p = Place(build, s)
        same(p.run("--cache", "c", "p.pdl", program=ASK % "hi")[0], 1)
        state["bad"] = False
        same(p.run("--cache", "c", "p.pdl"), (0, "good\n", ""))
        same(p.run("--cache", "c", "p.pdl"), (0, "good\n", ""))
        same(len(s.requests), 2)


def test_failure_gives_its_number_back(build):
    """The call that failed is repeated with the same number: the next run finds its answer at once."""
    def reply(body, n):
        return (400, {}, {"error": {"message": "no"}}) if n == 0 else "r%d" % n
    with Server(reply) as s:
        p = Place(build, s)
        program = ASK % "hi" + "retry: 1\n"
        same(p.run("--cache", "c", "p.pdl", program=program)[:2], (0, "r1\n"))
        same(p.run("--cache", "c", "p.pdl")[:2], (0, "r1\n"))
        same(len(s.requests), 2)


def test_recorded_behind_the_cache(build):
    with Server(counting) as s:
        p = Place(build, s)
        p.run("--cache", "c", "p.pdl", program=ASK % "hi")
        same(p.run("--cache", "c", "--record", "j", "p.pdl"), (0, "r0\n", ""))
    same(p.run("--replay", "j", "p.pdl"), (0, "r0\n", ""))
    os.remove(p.dir / "c")
    same(p.run("--cache", "c", "--replay", "j", "p.pdl"), (0, "r0\n", ""), "a replay needs no cache")


def test_no_secret_in_the_file(build):
    with Server(lambda body, n: "I saw sk-secret-0123456789") as s:
        p = Place(build, s)
        p.run("--cache", "c", "p.pdl", program=ASK % "'key sk-secret-0123456789'")
        files = [x for x in p.dir.iterdir() if x.name.startswith("c")]
        same([x.name for x in files if b"sk-secret" in x.read_bytes()], [])
        same("[REDACTED]" in p.run("cache", "export", "c")[1], True)
        same(os.stat(p.dir / "c").st_mode & 0o077, 0, "others may not read it")


def test_processes_share_one_file(build):
    with Server(lambda body, n: body["messages"][0]["content"].upper(), delay=0.01) as s:
        p = Place(build, s)
        program = "for: {i: \"${ range(100) | list }\"}\nmap: {model: openai/m, input: 'n${ i }'}\njoin: {with: ','}\n"
        (p.dir / "p.pdl").write_text(program)
        runs = [p.start("--cache", "c", "p.pdl") for _ in range(6)]
        want = ",".join("N%d" % i for i in range(100)) + "\n"
        for r in runs:
            out, err = r.communicate(timeout=120)
            same((r.returncode, out, err), (0, want, ""))
        n = len(s.requests)
        same(p.run("--cache", "c", "p.pdl")[1], want)
        same(len(s.requests), n, "all is there")
        same(len(p.run("cache", "list", "c")[1].splitlines()), 100)


def test_processes_start_with_a_new_file(build, scale):
    """One of them makes it, and none takes what is half made for somebody else's file."""
    p = Place(build)
    (p.dir / "p.pdl").write_text("text: hi\n")
    for i in range(scale(12, 4)):
        runs = [p.start("--cache", "c%d" % i, "p.pdl") for _ in range(10)]
        same([(r.communicate(timeout=120), r.returncode) for r in runs], [(("hi\n", ""), 0)] * 10)


def test_killed_process_leaves_a_good_file(build):
    with Server(lambda body, n: body["messages"][0]["content"].upper(), delay=0.02) as s:
        p = Place(build, s)
        r = p.start("--jobs", "1", "--cache", "c", "p.pdl",
                    program="for: {i: \"${ range(500) | list }\"}\nmap: {model: openai/m, input: 'n${ i }'}\n")
        while len(s.requests) < 20:
            pass
        r.kill()
        r.communicate()
        status, out, err = p.run("cache", "list", "c")
        same((status, err, len(out.splitlines()) >= 15), (0, "", True))


def test_other_format(build):
    """A cache of another version is refused with both numbers, and stays as it is."""
    with Server(counting) as s:
        p = Place(build, s)
        same(p.run("--cache", "c", "p.pdl", program=ASK % "hi")[0], 0)
        with sqlite3.connect(p.dir / "c") as file:
            file.execute("PRAGMA user_version = 7")
        status, out, err = p.run("--cache", "c", "p.pdl")
        same((out, "(format 7, this one reads 1)" in err, "a new file" in err, len(s.requests)), ("", True, True, 1), err)
        same(status != 0, True)


def test_damaged_files(build):
    p = Place(build)
    (p.dir / "p.pdl").write_text("text: hi")
    (p.dir / "text").write_text("no database, and long enough to be looked at: " + "x" * 200)
    same(p.run("--cache", "text", "p.pdl"), (2, "", "pdl: error: argument --cache: 'text' is no cache: it is a file of another kind\ntry 'pdl --help'\n"))
    p.run("--record", "j", "p.pdl")
    same(p.run("--cache", "j", "p.pdl")[2], "pdl: error: j is not a cache: give the name of a new file, or of one made by --cache\n")
    same(p.run("--cache", "no/such/folder", "p.pdl")[2], "pdl: error: argument --cache: there is no folder 'no/such': 'no/such/folder'\ntry 'pdl --help'\n")
    with Server(lambda body, n: "x" * 3000) as s:
        q = Place(build, s)
        q.run("--stream", "none", "--cache", "c", "p.pdl", program="for: {i: \"${ range(50) | list }\"}\nmap: {model: openai/m, input: 'n${ i }'}\n")
        data = bytearray((q.dir / "c").read_bytes())
        data[5000:len(data) - 5000] = b"\xff" * (len(data) - 10000)
        (q.dir / "c").write_bytes(bytes(data))
        status, out, err = q.run("--stream", "none", "--cache", "c", "p.pdl")
        same((status, out, err.count("\n")), (1, "", 1))
        same("c is damaged" in err or "malformed" in err, True, err)


# What no run writes: a column, its value in SQL, and what the list shows of it; NOT_TEXT: an error says so.
NOT_TEXT = (1, "pdl: error: the cache c cannot be used: a text in it is not UTF-8\n")
DAMAGE = [
    ("model", "CAST(x'6f6e65ff22' AS TEXT)", NOT_TEXT),
    ("model", "x'00ff'", NOT_TEXT),
    ("model", "'a\"' || char(10, 27)", "a\"\n\x1b"),
    ("model", "NULL", ""),
    ("key", "CAST(x'c328220a' AS TEXT)", NOT_TEXT),
    ("key", "'a\"\\'", "a\"\\"),
    ("hits", "'many'", 0),
    ("hits", "1e300", 2**63 - 1),
    ("stored", "NULL", 0),
    ("used", "-9e99", -2**63),
    ("request", "'{\"messages\": ['", "{\"messages\": ["),
    ("request", "'[1]'", [1]),
    ("reply", "CAST(x'22ff' AS TEXT)", NOT_TEXT),
    ("reply", "''", ""),
]


def test_list_of_damaged_rows(build):
    """Whatever a row holds, the list and the export write whole lines of JSON, and the row beside it is as it was."""
    with Server(counting) as s:
        p = Place(build, s)
        for name in ("one", "two"):
            p.run("--cache", "whole", "p.pdl", program="model: openai/%s\ninput: hi\n" % name)
        with sqlite3.connect(p.dir / "whole") as file:
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        file.close()
        beside = [x for x in p.run("cache", "export", "whole")[1].splitlines() if "openai/two" in x]
        for column, value, shown in DAMAGE:
            (p.dir / "c").write_bytes((p.dir / "whole").read_bytes())
            with sqlite3.connect(p.dir / "c") as file:
                file.execute("UPDATE replies SET %s = %s WHERE model = 'openai/one'" % (column, value))
            file.close()
            what = "%s = %s" % (column, value)
            for action in (["list", "--json"], ["export"], ["list"]):
                status, out, err = p.run("cache", action[0], "c", *action[1:])
                wanted = shown if shown is NOT_TEXT else (0, "")
                same((status, err), wanted, what)
                rows = {} if action == ["list"] else {json.loads(x)["model"] == "openai/two": x for x in out.splitlines()}
                if action == ["export"]:
                    same([rows.get(True)], beside, what)
                if rows and shown is not NOT_TEXT and column in json.loads(rows[False]):
                    same(json.loads(rows[False])[column], shown, what)
            for end in ("", "-wal", "-shm"):
                (p.dir / ("c" + end)).unlink(missing_ok=True)


def test_list_of_damaged_files(build):
    """A file that is damaged between its rows: the lines before the damage are whole, then there is one error."""
    with Server(lambda body, n: "x" * 3000) as s:
        p = Place(build, s)
        p.run("--stream", "none", "--cache", "c", "p.pdl", program="for: {i: \"${ range(50) | list }\"}\nmap: {model: openai/m, input: 'n${ i }'}\n")
        whole = (p.dir / "c").read_bytes()
        p.run("--record", "j", "p.pdl", program="text: hi\n")
    (p.dir / "text").write_text("no database, and long enough to be looked at: " + "x" * 200)
    for name, data in (("pages", whole[:9000] + b"\xff" * (len(whole) - 9000)), ("cut", whole[:len(whole) // 2]), ("head", whole[:5000])):
        (p.dir / name).write_bytes(data)
        status, out, err = p.run("cache", "list", name, "--json")
        same((status, err.count("\n"), err.startswith("pdl: error: ")), (1, 1, True), "%s: %s" % (name, err))
        same(all(json.loads(x)["model"] == "openai/m" for x in out.splitlines()) and len(out.splitlines()) < 50, True, name)
    same(p.run("cache", "list", "text", "--json"), (2, "", "pdl: error: 'text' is no cache: it is a file of another kind\ntry 'pdl cache --help'\n"))
    same(p.run("cache", "list", "j", "--json")[:2], (1, ""))


def test_list_prune_export(build):
    with Server(counting) as s:
        p = Place(build, s)
        for m in ("a", "b"):
            p.run("--cache", "c", "p.pdl", program="model: openai/%s\ninput: 'two\n\n  lines'\n" % m)
        lines = p.run("cache", "list", "c")[1].splitlines()
        same(lines[0].endswith("  0  openai/a #0  'two\\nlines'"), True, lines[0])
        rows = [json.loads(x) for x in p.run("cache", "export", "c")[1].splitlines()]
        same([(r["model"], r["repetition"], r["reply"]["content"]) for r in rows], [("openai/a", 0, "r0"), ("openai/b", 0, "r1")])
        same(p.run("cache", "prune", "c", "--older-than", "1d"), (0, "0 replies removed\n", ""))
        same(p.run("cache", "prune", "c", "--model", "openai/b*"), (0, "1 reply removed\n", ""))
        same(p.run("cache", "prune", "c", "--all"), (0, "1 reply removed\n", ""))
        same(p.run("cache", "list", "c"), (0, "", ""))
        for wrong in (("prune", "c"), ("list",), ("drop", "c"), ("list", "c", "--all"), ("prune", "c", "--older-than", "x")):
            same(p.run("cache", *wrong)[0], 2, str(wrong))
        same(p.run("cache", "list", "none")[0], 2)
