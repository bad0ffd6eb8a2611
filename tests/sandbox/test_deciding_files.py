# SPDX-License-Identifier: Apache-2.0
"""Files that decide about a run are in a folder that its confined code may write: policies and the files that they name, profiles, prices, tool
servers, inputs. The code can neither change, replace, move nor remove them. Files with keys or with right answers, and those of other runs, are
invisible to it."""
import http.client
import json
import os
import subprocess

from .. import serve_of
from ..checks import check

CODE = """lang: python
code: |
  import os
  told = []
  for folder, _, names in os.walk('w'):
      for path in [os.path.join(folder, n) for n in names if 'free' not in folder]:
          for how in ("open(path, 'a').write('EVIL')", "os.rename(path, path + '.x')", "os.remove(path)", "open('w/free/n', 'w').close(); os.replace('w/free/n', path)",
                      "os.truncate(path, 0)", "os.link(path, 'w/free/l'); open('w/free/l', 'a').write('EVIL')"):
              try:
                  exec(how)
                  told.append('CHANGED ' + path)
              except OSError: pass
  try:
      os.rename('w/sub', 'w/bus')
      told.append('MOVED')
  except OSError: pass
  open('w/free/mine', 'w').write(' '.join(told))
  result = 'ok'
"""
POLICY = "policy: 1\nlock: tools.lock\nlists: {us: {read: us.txt}}\nrules:\n- {sink: command, in: us, argument: 0}\notherwise: allow\n"
FILES = {"p.yaml": POLICY, "tools.lock": '{"lock": 1, "servers": {}}', "us.txt": "ls\n", "box.yaml": "write: [../w, ../../w]\n", "prices.yaml": "{}\n", "vars.yaml": "a: 1\n",
         "one.jsonl": '{"x": 1}\n', "servers.json": '{"mcpServers": {}}', "module.pdl": "policy: q.yaml\ndefs: {f: {function: {}, return: 1}}\n",
         "q.yaml": "policy: 1\notherwise: allow\n"}
# name: files of FILES, what comes before the program, what comes after it, the environment, the root of the program
RUNS = {
    "policy": (("p.yaml", "tools.lock", "us.txt"), ("--policy", "{w}/p.yaml"), (), {}, ""),
    "policy of the environment": (("p.yaml", "tools.lock", "us.txt"), (), (), {"PDL_POLICY": "{w}/p.yaml"}, ""),
    "policy of the program": (("p.yaml", "tools.lock", "us.txt"), (), (), {}, "policy: {w}/p.yaml\n"),
    "policy of a module": (("module.pdl", "q.yaml"), (), (), {}, "defs: {m: {import: {w}/module}}\n"),
    "profile": (("box.yaml",), (), (), {}, ""),
    "prices": (("prices.yaml",), ("--prices", "{w}/prices.yaml"), (), {}, ""),
    "prices of the environment": (("prices.yaml",), (), (), {"PDL_PRICES": "{w}/prices.yaml"}, ""),
    "tool servers": (("servers.json",), (), (), {"PDL_MCP_CONFIG": "{w}/servers.json"}, ""),
    "variables": (("vars.yaml",), ("-f", "{w}/vars.yaml"), (), {}, ""),
    "variables of an option": (("vars.yaml",), ("-d", "@{w}/vars.yaml"), (), {}, ""),
    "rows": (("one.jsonl",), ("batch",), ("-i", "{w}/one.jsonl", "-o", "out.jsonl"), {}, ""),
}


def run(pdl, home, strength, args, env):
    return subprocess.run([pdl, *args], cwd=home, env={**os.environ, **strength.env, "HOME": str(home), "PDL_RUNS": str(home / "runs"), **env}, capture_output=True, text=True,
                          timeout=120, stdin=subprocess.DEVNULL, check=False)


def test_deciding_files(pdl, folder, strength):
    for number, (name, (files, before, after, env, root)) in enumerate(RUNS.items()):
        for where in ("w", "w/sub"):
            home = folder / ("%d-%s" % (number, where.replace("/", "-")))
            (home / where).mkdir(parents=True)
            (home / "w/free").mkdir()
            for file in files:
                (home / where / file).write_text(FILES[file])
            box = home / ("box.yaml" if name != "profile" else where + "/box.yaml")
            box.write_text("write: [w]\n" if name != "profile" else "write: [%s]\n" % (home / "w"))
            # a mapping whose last part is the code
            told = root.replace("{w}", where) + "text:\n- " + CODE.replace("\n", "\n  ")
            (home / "a.pdl").write_text(told)
            fill = [x.replace("{w}", where) for x in before]
            verb = [fill.pop(0)] if fill[:1] == ["batch"] else []
            p = run(pdl, home, strength, [*verb, *strength.more, "--sandbox=" + str(box.relative_to(home)), *fill, "a.pdl", *(x.replace("{w}", where) for x in after)],
                    {k: v.replace("{w}", where) for k, v in env.items()})
            free = home / "w/free/mine"
            seen = free.read_text() if free.exists() else "it did not run"
            bad = [x for x in seen.split() if x != "CHANGED" and x != "w/free/mine"] if where == "w/sub" or "MOVED" not in seen else []
            check(f"{name} in {where}: {strength.name}", p.returncode == 0 and not bad, seen, p.stdout, p.stderr)
            changed = [f for f in files if not (home / where / f).exists() or (home / where / f).read_text() != (FILES[f] if f != "box.yaml" else box.read_text())]
            if name == "policy of the program":
                check(f"{name}: the program too: {strength.name}", (home / "a.pdl").read_text() == told)
            check(f"{name} in {where} is whole: {strength.name}", not changed and "EVIL" not in box.read_text(), changed)


MAKE = """lang: python
code: |
  import glob, os
  told = [sorted(glob.glob('w/*'))]
  for path in ('w/pdl.toml', 'w/sub/pdl.toml'):
      try:
          open(path, 'w').close()
          told.append(path)
      except OSError: pass
  result = str(told)
"""


def test_settings_of_projects(pdl, folder, strength):
    """None is made where pdl reads it for this program. Elsewhere nothing is in the way of code that lists its folder, and a new one is reported."""
    made = "'w/sub/pdl.toml'" if strength.name == "process" else "'w/pdl.toml', 'w/sub/pdl.toml'"  # with that one, no file is made beside a folder
    for program, want in (("a.pdl", "[['w/sub'], %s]" % made), ("w/sub/a.pdl", "[['w/pdl.toml', 'w/sub']]")):
        home = folder / str(program.count("/"))
        (home / "w/sub").mkdir(parents=True)
        (home / "box.yaml").write_text("write: [w]\n")
        (home / program).write_text(MAKE)
        p = run(pdl, home, strength, (*strength.more, "--sandbox=box.yaml", program), {})
        reported = "files that programs run at their start are new" in p.stderr
        check(f"{program}: {strength.name}", p.returncode == 0 and p.stdout.strip() == want and reported == (program == "a.pdl"), p.stdout, p.stderr)
        check(f"{program}: nothing is left: {strength.name}", program == "a.pdl" or not (home / "w/pdl.toml").exists())


SEE = """lang: python
code: |
  import os
  seen = []
  for folder, _, names in os.walk('.'):
      for path in [os.path.join(folder, n) for n in names]:
          try:
              if os.path.getsize(path) and open(path, 'rb').read(): seen.append(path)
          except OSError: pass
  result = ' '.join(sorted(seen))
"""


def test_files_of_other_runs(pdl, folder, strength):
    """Recordings, caches and the list of runs under any name, and the folders of searches."""
    (folder / "o.pdl").write_text('defs: {form: {data: a}}\ntext: "no ${ form }"\n')
    (folder / "rows.jsonl").write_text("".join(json.dumps({"q": n, "answer": "no b"}) + "\n" for n in range(12)))
    (folder / "data.db").write_text("SQLite format 3 is what this text is about, and it is no database at all. PDLJ PDLC")
    env = {"PDL_RUNS": str(folder / "kept/runs")}
    for args in (("--record", "rec", "o.pdl"), ("--record", "kept.db", "o.pdl"), ("--cache", "answers.cache", "o.pdl"), ("--durable", "o.pdl"),
                 ("optimize", "o.pdl", "--data", "rows.jsonl", "--expect", "answer", "--vary", "form=a,b", "-o", "best.pdl"),
                 ("optimize", "o.pdl", "--data", "rows.jsonl", "--expect", "answer", "--vary", "form=a,b", "-o", "best.pdl", "--experiments-path", "elsewhere")):
        (folder / "kept").mkdir(exist_ok=True)
        p = run(pdl, folder, strength, args, env)
        check(f"{args}", p.returncode == 0, p.stderr)
    (folder / "link").symlink_to("rec")
    (folder / "persons").mkdir()  # a program may give its files the names of those of a search
    for name in ("candidates.jsonl", "scores.jsonl"):
        (folder / "persons" / name).write_text('{"candidate": "Ann"}\n')
    (folder / "a.pdl").write_text(SEE)
    p = run(pdl, folder, strength, (*strength.more, "--sandbox", "a.pdl"), env)
    seen = [x for x in p.stdout.split() if x.startswith("./")]
    check(f"what is seen: {strength.name}", p.returncode == 0 and seen == ["./" + x for x in ("a.pdl", "best.pdl", "data.db", "o.pdl", "persons/candidates.jsonl", "persons/scores.jsonl", "rows.jsonl")], p.stdout, p.stderr)
    (folder / "box.yaml").write_text("read: [rec]\n")
    p = run(pdl, folder, strength, (*strength.more, "--sandbox=box.yaml", "a.pdl"), env)
    check(f"what the profile names: {strength.name}", "./rec" in p.stdout and "./kept.db" not in p.stdout, p.stdout, p.stderr)


def test_the_token_of_a_server(pdl, folder, strength):
    (folder / "a.pdl").write_text(SEE)
    (folder / "token").write_text("token-5f0e8c1b7a\n")
    env = {**os.environ, **strength.env, "HOME": str(folder)}
    p, port = serve_of.start(pdl, *strength.more, "--sandbox", "--token-file", "token", "a.pdl", env=env, cwd=folder)
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request("POST", "/v1/chat/completions", json.dumps({"model": "a", "messages": [{"role": "user", "content": "x"}]}), {"Authorization": "Bearer token-5f0e8c1b7a"})
    said = c.getresponse().read().decode()
    p.terminate()
    p.communicate(timeout=60)
    check(f"the token: {strength.name}", "./a.pdl" in said and "./token" not in said, said)


MOVE = """lang: python
code: |
  import os
  try:
      os.rename('w/sub', 'w/bus')
      os.mkdir('w/sub')
      result = 'MOVED'
  except OSError: result = 'ok'
"""


def test_folders_of_own_files_stay(pdl, folder, strength):
    """With another folder in its place, a journal of code would be the one that is resumed."""
    for name, args in {"journal": ("--durable", "--record", "w/sub/j"), "cache": ("--cache", "w/sub/c"), "output": ("-o", "w/sub/out")}.items():
        home = folder / name
        (home / "w/sub").mkdir(parents=True)
        (home / "box.yaml").write_text("write: [w]\n")
        (home / "a.pdl").write_text("text:\n- {lang: command, code: cat a.pdl, contribute: []}\n- " + MOVE.replace("\n", "\n  "))
        p = run(pdl, home, strength, (*strength.more, "--sandbox=box.yaml", *args, "a.pdl"), {})
        check(f"{name}: {strength.name}", p.returncode == 0 and not (home / "w/bus").exists(), p.stdout, p.stderr)


EXCHANGE = """lang: python
code: |
  import os
  told = []
  for path in ('w/l', 'w/f', 'w/.env', 'w/.bashrc', 'w/s/l'):
      if not os.path.lexists(path): continue
      for how in ("os.remove(path)", "os.rename(path, path + '.x')", "open('w/free/n', 'w').close(); os.replace('w/free/n', path)",
                  "os.symlink('free/n', 'w/free/m'); os.replace('w/free/m', path)"):
          try:
              exec(how)
              told.append('CHANGED ' + path + ' ' + how)
          except OSError: pass
  open('w/free/mine', 'w').write(' '.join(told) or 'nothing')
  result = 'ok'
"""
# name: its file in `real`, what comes before the program, what comes after it, the environment; {w}: the way through a link
LINKED = {name: (RUNS[name][0][:1], *RUNS[name][1:4]) for name in ("policy", "policy of the environment", "prices", "tool servers", "variables", "variables of an option")}
LINKED |= {"output": (("out",), ("-o", "{w}/out"), (), {}), "journal": ((), ("--durable", "--record", "{w}/j"), (), {}), "cache": ((), ("--cache", "{w}/c"), (), {}),
           "trace": (("t.json",), ("--trace={w}/t.json",), (), {})}


def test_links_to_deciding_files(pdl, folder, strength):
    """A link in a folder to write, by which a file of the run is found, leads where it led; it may be the file's own, or that of a folder. bubblewrap cannot
    mount over a link: there it can be exchanged, and those of start files are reported."""
    for number, (name, (files, before, after, env)) in enumerate(LINKED.items()):
        for kind in ("file", "folder", "two"):
            if kind != "folder" and not files:
                continue
            home = folder / ("%d-%s" % (number, kind))
            for path in ("w/free", "w/s", "real"):
                (home / path).mkdir(parents=True)
            for file in files:
                (home / "real" / file).write_text(FILES.get(file, "x\n") if name != "policy" else "policy: 1\notherwise: allow\n")
            if "policy" in name:
                (home / "real" / files[0]).write_text("policy: 1\notherwise: allow\n")
            for start in (".env", ".bashrc"):
                (home / "real" / start).write_text("A=1\n")
                (home / "w" / start).symlink_to("../real/" + start)
            (home / "w/f").symlink_to(home / "real")
            if kind != "folder":
                (home / "w/l").symlink_to("s/l" if kind == "two" else "../real/" + files[0])
                (home / "w/s/l").symlink_to("../../real/" + files[0])
            links = {p: os.readlink(p) for p in (home / "w").rglob("*") if p.is_symlink()}
            (home / "box.yaml").write_text("write: [w]\n")
            (home / "a.pdl").write_text("text:\n- {lang: command, code: cat a.pdl, contribute: []}\n- " + EXCHANGE.replace("\n", "\n  "))
            way = "w/f" if kind == "folder" else "w/l"

            def filled(text):
                return text.replace("{w}/" + files[0], way) if files and kind != "folder" else text.replace("{w}", way)
            fill = [filled(x) for x in before]
            verb = [fill.pop(0)] if fill[:1] == ["batch"] else []
            p = run(pdl, home, strength, [*verb, *strength.more, "--sandbox=box.yaml", *fill, "a.pdl", *map(filled, after)], {k: filled(v) for k, v in env.items()})
            told = (home / "w/free/mine").read_text() if (home / "w/free/mine").exists() else "it did not run"
            used = [home / x for x in (("w/f",) if kind == "folder" else ("w/l",) if kind == "file" else ("w/l", "w/s/l"))]
            used += [home / "w/.env", home / "w/.bashrc"]
            moved = [str(q) for q in used if not q.is_symlink() or os.readlink(q) != links[q]]
            if "bubblewrap" in strength.name:
                moved = [q for q in (".env", ".bashrc") if str(home / "w" / q) in moved and "w/" + q not in p.stderr]
            # the link that was exchanged led to the journal
            lost = name == "journal" and "bubblewrap" in strength.name and "was removed while the run worked" in p.stderr
            check(f"{name}, {kind}: {strength.name}", p.returncode == int(lost) and not moved and told != "it did not run", moved, told, p.stdout, p.stderr)


FOLLOW = """lang: command
args: [sh, -c, "cat HOME/current/data.txt; echo new >> HOME/current/old.txt && cat HOME/current/old.txt"]
"""


def test_links_to_folders_stay_usable(pdl, folder, strength):
    """Code reads and writes through a link to a folder by which a file of the run is found."""
    for number, args in enumerate((("-o", "current/out"), ("-d", "@current/vars.json"), ("--policy", "current/p.yaml"), ("--sandbox=current/box.yaml",))):
        home = folder / str(number)
        (home / "v1").mkdir(parents=True)
        (home / "current").symlink_to("v1")
        for name, text in {"data.txt": "data\n", "old.txt": "old\n", "vars.json": '{"a": 1}', "p.yaml": "policy: 1\notherwise: allow\n", "box.yaml": "write: [..]\n",
                           "a.pdl": FOLLOW.replace("HOME", str(home))}.items():
            (home / "v1" / name).write_text(text)
        (home / "box.yaml").write_text("write: [.]\n")
        box = () if "--sandbox" in args[0] else ("--sandbox=box.yaml",)
        p = run(pdl, home, strength, (*strength.more, *box, *args, "v1/a.pdl"), {})
        got = (home / "v1/out").read_text() if args[0] == "-o" else p.stdout
        check(f"{args}: {strength.name}", p.returncode == 0 and got.split() == ["data", "old", "new"], p.returncode, p.stdout, p.stderr)


WRITE_ALL = """lang: python
code: |
  import os
  bad = made = 0
  for folder, _, names in os.walk('w'):
      for name in names:
          try: name[0] == '.' or open(os.path.join(folder, name), 'a').write('y')
          except OSError: bad += 1
      try:
          open(os.path.join(folder, 'new'), 'w').close()
          made += folder != 'w'
      except OSError: pass
  result = f'{bad} {made}'
"""


def test_many_files_beside_links(pdl, folder, strength):
    """A link to a hidden start file costs none of the files beside it, however many they are."""
    (folder / "real").mkdir()
    (folder / "real/.env").write_text("A=1\n")
    sizes = (520, 520, 520, 520, 520, 520, 1500)
    for number, size in enumerate(sizes):
        at = folder / ("w/%d" % number)
        at.mkdir(parents=True)
        (at / ".env").symlink_to("../../real/.env")
        for n in range(size):
            (at / ("f%d" % n)).write_text("x")
    (folder / "box.yaml").write_text("write: [w]\n")
    (folder / "a.pdl").write_text(WRITE_ALL)
    p = run(pdl, folder, strength, (*strength.more, "--sandbox=box.yaml", "a.pdl"), {})
    made = 0 if strength.name == "process" else len(sizes)
    check(f"{strength.name}", p.returncode == 0 and p.stdout.strip() == "0 %d" % made, p.stdout, p.stderr)


COUNT = """lang: command
args: [sh, -c, "echo x > w/new; cat w/new; ls w | wc -l; find w -name '*.db' -exec cat {} + 2>/dev/null | wc -c"]
"""


def test_many_recordings(pdl, folder, strength):
    """Thousands of recordings, beside other files and alone in a folder, are all out of sight; a file can still be made beside them."""
    alone = 4500
    beside = 200 if "bubblewrap" in strength.name else 3000  # bubblewrap needs milliseconds for each
    (folder / "w/sub").mkdir(parents=True)
    (folder / "o.pdl").write_text("text: a secret\n")
    p = run(pdl, folder, strength, ("--record", "rec.db", "o.pdl"), {})
    check("a recording", p.returncode == 0, p.stderr)
    for n in range(beside):
        os.link(folder / "rec.db", folder / ("w/r%d.db" % n))
    for n in range(alone):
        os.link(folder / "rec.db", folder / ("w/sub/r%d.db" % n))
    (folder / "box.yaml").write_text("write: [w]\n")
    (folder / "a.pdl").write_text(COUNT)
    p = run(pdl, folder, strength, (*strength.more, "--sandbox=box.yaml", "a.pdl"), {})
    made = "x" if strength.name != "process" else ""
    check(f"{strength.name}", p.returncode == 0 and p.stdout.split() == [x for x in (made, str(beside + 1 + bool(made)), "0") if x], p.stdout, p.stderr)
