# SPDX-License-Identifier: Apache-2.0
"""The files that a run writes itself are invisible to its confined code, even in a folder that the code may read and write: the output, and an
existing trace. Python and commands can neither read, change, replace nor remove them."""
import http.client
import json
import os
import subprocess

from .. import serve_of
from ..checks import check, same

WAYS = {"output": ("w/out.txt", ("-o", "w/out.txt")), "trace": ("w/t.json", ("--trace=w/t.json",))}
CODE = """lang: python
code: |
  import os
  told = []
  for folder, _, names in os.walk('w'):
      for path in [os.path.join(folder, n) for n in names if n != 'free']:
          try:
              told.append('READ ' + path) if open(path).read() else None
          except OSError: pass
          for how in ("open(path, 'a').write('EVIL')", "os.rename(path, path + '.x')", "os.remove(path)", "open('w/n', 'w').close(); os.replace('w/n', path)"):
              try:
                  exec(how)
                  told.append('CHANGED ' + path)
              except OSError: pass
  open('w/free/mine', 'w').write('ok')
  result = ' '.join(told) + ' ' + open('w/free/mine').read()
"""


def test_own_files(pdl, folder, strength):
    for name, (path, args) in WAYS.items():
        home = folder / name
        (home / "w/free").mkdir(parents=True)
        (home / "a.pdl").write_text("text:\n- before\n- " + CODE.replace("\n", "\n  "))
        (home / "box.yaml").write_text("write: [w]\n")
        (home / "w/t.json").write_text("an older trace")
        env = {**os.environ, **strength.env, "HOME": str(home), "PDL_RUNS": str(home / "w/runs")}
        p = subprocess.run([pdl, *strength.more, "--sandbox=box.yaml", *args, "a.pdl"], cwd=home, env=env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
        out = p.stdout + ((home / "w/out.txt").read_text() if name == "output" else "")
        told = [x for x in out.split() if x.startswith("w/") and "t.json" not in x] if name == "output" else [x for x in out.split() if x.startswith("w/")]
        check(f"{name}: {strength.name}", p.returncode == 0 and "ok" in out and not told, out, p.stderr)
        text = (home / path).read_text()
        check(f"{name} is whole: {strength.name}", json.loads(text)["kind"] == "text" if name == "trace" else text.startswith("before") and "EVIL" not in text, text)


# The files of a run while it works, with what SQLite has beside them.
KEPT = {"recording": ("--record", "w/rec"), "cache": ("--cache", "w/cache"), "journal": ("--durable", "--record", "w/j"), "runs": ("--durable",), "wire": ("--wire", "w/wire"), "debug": ()}
CALL = "- {lang: command, code: cat a.pdl, contribute: []}\n"


def test_own_databases(pdl, folder, strength):
    for name, args in KEPT.items():
        home = folder / ("kept-" + name)
        (home / "w/free").mkdir(parents=True)
        (home / "a.pdl").write_text("text:\n- before\n" + CALL + "- " + CODE.replace("\n", "\n  "))
        (home / "box.yaml").write_text("write: [w]\n")
        env = {**os.environ, **strength.env, "HOME": str(home), "PDL_RUNS": str(home / "w/runs")}
        if name == "debug":
            env |= {"PDL_DEBUG": "effect", "PDL_DEBUG_FILE": "w/log"}
        p = subprocess.run([pdl, *strength.more, "--sandbox=box.yaml", *args, "a.pdl"], cwd=home, env=env, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
        told = [x for x in p.stdout.split() if x.startswith("w/") or x in ("READ", "CHANGED")]
        check(f"{name}: {strength.name}", p.returncode == 0 and p.stdout.endswith("ok\n") and not told, p.stdout, p.stderr)


# Commands that run the program themselves: their arguments before and after it.
COMMANDS = {"batch": (("batch",), ("-i", "one.jsonl", "-o", "w/table.jsonl", "--wire", "w/wire", "--cache", "w/cache", "--report", "w/report.json", "--report", "w/second.json",
                                *(x for i in range(30) for x in ("--report", "w/many%d.json" % i)))),
            "eval": (("eval",), ("-i", "one.jsonl", "--expect", "want", "-o", "w/table.json", "--wire", "w/wire", "--cache", "w/cache")),
            "infer": (("infer",), ("-n", "1", "--record", "w/j", "--wire", "w/wire"))}


def test_own_of_commands(pdl, folder, strength):
    for name, (before, after) in COMMANDS.items():
        home = folder / ("of-" + name)
        (home / "w/free").mkdir(parents=True)
        told = CODE.replace("result = ", "open('w/free/told', 'w').write(' '.join(told))\n  result = ")
        (home / "a.pdl").write_text("text:\n- " + told.replace("\n", "\n  "))
        (home / "one.jsonl").write_text('{"want": "x"}\n')
        (home / "box.yaml").write_text("write: [w]\n")
        for path in [x for x in after if x.startswith("w/") and x.endswith(".json") and name == "batch"]:
            (home / path).write_text("an older report")
        env = {**os.environ, **strength.env, "HOME": str(home), "PDL_RUNS": str(home / "w/runs")}
        p = subprocess.run([pdl, *before, *strength.more, "--sandbox=box.yaml", "a.pdl", *after], cwd=home, env=env, capture_output=True, text=True, timeout=120,
                           stdin=subprocess.DEVNULL)
        seen = (home / "w/free/told").read_text() if (home / "w/free/told").exists() else "it did not run"
        check(f"{name}: {strength.name}", p.returncode == 0 and not seen, p.returncode, seen, p.stderr)
        evil = [str(f) for f in (home / "w").rglob("*") if f.is_file() and (f.name == "wire" or f.suffix in (".json", ".jsonl")) and b"EVIL" in f.read_bytes()]
        same(evil, [])


def test_own_of_server(pdl, folder, strength):
    """The journal of a durable server, in the folder of runs and elsewhere, and its log; a key makes the request a run."""
    for name, args in (("elsewhere", ("--record", "w/j", "--log", "w/log")), ("runs", ())):
        home = folder / ("served-" + name)
        (home / "w/free").mkdir(parents=True)
        (home / "a.pdl").write_text("text:\n" + CALL + "- " + CODE.replace("\n", "\n  "))
        (home / "box.yaml").write_text("write: [w]\n")
        env = {**os.environ, **strength.env, "HOME": str(home), "PDL_RUNS": str(home / "w/runs")}
        p, port = serve_of.start(pdl, *strength.more, "--sandbox=box.yaml", "--durable", *args, "a.pdl", env=env, cwd=home)
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        c.request("POST", "/v1/chat/completions", json.dumps({"model": "a", "messages": [{"role": "user", "content": "x"}]}), {"Idempotency-Key": "k"})
        said = json.loads(c.getresponse().read())
        p.terminate()
        p.communicate(timeout=60)
        text = said["choices"][0]["message"]["content"] if "choices" in said else str(said)
        check(f"{name}: {strength.name}", text.endswith("ok") and "w/" not in text, text)


def run_in(pdl, home, strength, *args, **more):
    return subprocess.run([pdl, *args], cwd=home, env={**os.environ, **strength.env, "HOME": str(home), **more}, capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, check=False)


# Options that name the device that takes everything; code needs it for itself.
TO_NULL = {"wire": ((), ("--wire", "/dev/null"), {}), "trace": ((), ("--trace=/dev/null",), {}), "output": ((), ("-o", "/dev/null"), {}),
           "debug": ((), (), {"PDL_DEBUG": "effect", "PDL_DEBUG_FILE": "/dev/null"}), "report": (("batch",), ("-i", "one.jsonl", "-o", "t.jsonl", "--report", "/dev/null"), {})}


def test_devices_stay(pdl, folder, strength):
    (folder / "w/free").mkdir(parents=True)
    (folder / "box.yaml").write_text("write: [w]\n")
    (folder / "one.jsonl").write_text('{"x": 1}\n')
    (folder / "a.pdl").write_text("lang: python\ncode: |\n  import subprocess\n  subprocess.run(['cat'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)\n"
                                  "  open('/dev/null', 'w').write('x')\n  open('w/free/done', 'w').close()\n  result = 'ok'\n")
    for name, (before, after, more) in TO_NULL.items():
        p = run_in(pdl, folder, strength, *before, *strength.more, "--sandbox=box.yaml", "a.pdl", *after, **more)
        check(f"{name}: {strength.name}", p.returncode == 0 and (folder / "w/free/done").exists(), p.stdout, p.stderr)
        (folder / "w/free/done").unlink(missing_ok=True)


def test_runs_beside_the_program(pdl, folder, strength):
    """The folder of runs has the program in it, which code still sees; the command says that code sees the runs as well."""
    (folder / "sub").mkdir()
    (folder / "sub/a.pdl").write_text("lang: command\ncode: cat %s/sub/data.txt\n" % folder)
    (folder / "sub/data.txt").write_text("seen")
    for where in (folder, folder / "sub"):
        p = run_in(pdl, where, strength, "--durable", *strength.more, "--sandbox", str(folder / "sub/a.pdl"), PDL_RUNS=str(folder))
        check(f"{where.name}: {strength.name}", p.returncode == 0 and "seen" in p.stdout and p.stderr.count("confined code can see the files of runs in " + str(folder.resolve())) == 1, p.stdout, p.stderr)


LOOK = """defs: {form: {data: a}}
lang: python
code: |
  import glob
  open('data.txt').read()
  seen = []
  for name in glob.glob('**/*', recursive=True):
      if name.endswith(('scores.jsonl', 'candidates.jsonl', 'config.yaml', 'replies.db', 'state.json')):
          seen.append(name)
          try:
              seen.append(open(name, errors='replace').read()[:20])
          except OSError: seen.pop()
  result = 'no secret' if not any('answer' in s or '{' in s for s in seen) else 'read ' + ' '.join(seen)
"""
SEARCHES = {"absent": (), "here": ("--experiments-path", "."), "other": ("--experiments-path", "x"), "durable": ("--durable",)}


def test_own_of_search(pdl, folder, strength):
    """A search keeps the right answers in its own folder, which code does not see; all else in the folder above stays visible."""
    for name, args in SEARCHES.items():
        home = folder / ("search-" + name)
        home.mkdir()
        (home / "o.pdl").write_text(LOOK)
        (home / "data.txt").write_text("data")
        (home / "rows.jsonl").write_text("".join(json.dumps({"q": n, "answer": "no secret"}) + "\n" for n in range(12)))
        p = run_in(pdl, home, strength, "optimize", "o.pdl", "--data", "rows.jsonl", "--expect", "answer", "--vary", "form=a,b", "--json", *strength.more, "--sandbox", *args,
                   PDL_RUNS=str(home / "runs"))
        rows = [json.loads(line) for f in home.rglob("scores.jsonl") for line in f.read_text().splitlines()]
        wrong = [r for r in rows if r["result"] != "no secret"]
        check(f"{name}: {strength.name}", p.returncode == 0 and len(rows) >= 12 and not wrong, p.stderr, rows[:1], wrong[:2])
