# SPDX-License-Identifier: Apache-2.0
"""The npm package pdl-lang in Node: its functions (api.test.mjs), its types, its archive, and the programs of the conformance kit."""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

import pytest

from .. import node_of
from ..checks import check, skip
from ..conformance import run as kit
from ..harness.choice import Choice, ROOT

sys.path.insert(0, str(ROOT / "tools"))
import samples  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ABSENT = 77
MIN_PROGRAMS = 560  # of the kit, through the package
OTHERWISE = {"programs/few_shot": "JSON of JavaScript writes 0.0 as 0"}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The folder of the package, made from what is there; fetches a compiler only with --fetch."""
    if not shutil.which("node"):
        skip("the npm package", "there is no node")
        pytest.skip("there is no node")
    made = subprocess.run([sys.executable, ROOT / "packaging/wasm/make-wasm", *([] if Choice.fetch else ["--no-fetch"])], cwd=ROOT, text=True,
                          capture_output=True, timeout=1500, check=False)
    if made.returncode == ABSENT:
        skip("the npm package", made.stdout.strip())
        pytest.skip(made.stdout)
    assert made.returncode == 0, made.stdout + made.stderr
    folder = tmp_path_factory.mktemp("npm") / "pdl-lang"
    subprocess.run([sys.executable, ROOT / "packaging/npm/make-npm", "--out", folder], check=True, capture_output=True)
    return folder


@pytest.mark.builds
def test_api(package):
    p = subprocess.run(["node", "--test", HERE / "api.test.mjs"], env={"PATH": "/usr/bin:/bin", "PDL_NPM": str(package)}, capture_output=True,
                       text=True, timeout=300, check=False)
    check("the functions do what they say", p.returncode == 0, p.stdout[-6000:], p.stderr[-2000:])


TSCONFIG = {"compilerOptions": {"strict": True, "noEmit": True, "target": "es2022", "module": "nodenext", "types": ["node"], "lib": ["es2022", "dom", "dom.asynciterable"],
                               "allowJs": True, "checkJs": True, "noImplicitAny": False, "noFallthroughCasesInSwitch": True}, "include": ["types.ts", "readme.js", "names.js"]}


@pytest.mark.builds
def test_types(package, tmp_path):
    """The compiler of TypeScript reads index.d.ts, a program in TypeScript, the samples of the README, and a use of each name that the package has."""
    modules, why = node_of.modules(Choice.build, "typescript@5.8.3", "@types/node@20.19.0")
    if not modules:
        skip("the types", why)
        return
    names = subprocess.run(["node", "--input-type=module", "-e", "console.log(Object.keys(await import('%s/index.js')).join(' '))" % package],
                           capture_output=True, text=True, check=True).stdout.split()
    check("names of the package", "LanguageServer" in names and "run" in names, names)
    (tmp_path / "node_modules").mkdir()
    shutil.copytree(package, tmp_path / "node_modules" / "pdl-lang")
    (tmp_path / "node_modules" / "@types").symlink_to(pathlib.Path(modules) / "@types")
    (tmp_path / "node_modules" / "undici-types").symlink_to(pathlib.Path(modules) / "undici-types")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "tsconfig.json").write_text(json.dumps(TSCONFIG))
    shutil.copy(HERE / "types.ts", tmp_path)
    (tmp_path / "names.js").write_text("import * as all from 'pdl-lang'\n" + "".join("console.log(all.%s)\n" % n for n in names))
    (tmp_path / "readme.js").write_text("\n".join(re.findall(r"^```js\n(.*?)^```$", (package / "README.md").read_text("utf-8"), re.M | re.S)))
    p = subprocess.run(["node", str(pathlib.Path(modules) / "typescript/bin/tsc"), "-p", tmp_path], capture_output=True, text=True, timeout=120, check=False)
    check("the types are those of the package", p.returncode == 0, p.stdout[-3000:], p.stderr[-1000:])


# Samples that the page runs otherwise than "Try it", by page and title, and why.
ELSEWHERE = {
    ("content.md", "The parts"): "the form of a service is the host's",
    ("cookbook.md", "1. A chat"): "the command prints what read asks",
    ("getting-started.md", "Reading the user"): "the command prints what read asks",
    ("cookbook.md", "21. Serve a program as a model"): "the page has a server",
    ("serve.md", "Programs as models"): "the page has a server",
    ("errors.md", "When a service is down: another model"): "which models are asked is up to the host",
    ("messages-models.md", "A model without its provider"): "the provider is the host's",
    ("structured-output.md", "What each service is sent"): "the form of a service is the host's",
}


def expected(rest):
    """(kind, text, standard input) that a page says behind a program, as tests/docs reads it; None when it says nothing."""
    stdin = ""
    for m in samples.FENCE.finditer(rest):
        if m.group(1) in ("output", "error"):
            return m.group(1), m.group(3), stdin
        if m.group(1) not in ("input", "replies"):
            return None
        stdin = m.group(3) if m.group(1) == "input" else stdin
    return None


@pytest.mark.builds
def test_samples(package):
    """What "Try it" offers does what the manual says: each program with its files and scripted answers, in one process."""
    asked, wanted = [], []
    for page in sorted((ROOT / "docs/manual").glob("*.md")):
        text = page.read_text("utf-8")
        for s in samples.samples(text):
            want = expected(text[s["end"]:])
            if want and (page.name, s["title"]) not in ELSEWHERE:
                asked.append({k: s[k] for k in ("program", "files", "replies") if k in s} | {"stdin": want[2]})
                wanted.append((page.name, s["title"], want))
    p = subprocess.run(["node", HERE / "samples.mjs"], input=json.dumps(asked), env={"PATH": os.environ["PATH"], "PDL_NPM": str(package), "TZ": "UTC"}, capture_output=True,
                       text=True, timeout=300, check=False)
    check("they run", p.returncode == 0, p.stderr[-2000:])
    bad = []
    for (page, title, (kind, text, _)), said in zip(wanted, json.loads(p.stdout or "[]")):
        if said["kind"] != kind or (kind == "output" and said["text"].rstrip() != text.rstrip()):
            bad.append("%s, %s: %s: %s" % (page, title, said["kind"], said["text"][:300]))
    check("at least 250 samples", len(wanted) >= 250, len(wanted))
    check("as the manual says", not bad, *bad)


@pytest.mark.builds
def test_archive(package, tmp_path):
    if not shutil.which("npm"):
        skip("the archive", "there is no npm")
        return
    p = subprocess.run(["npm", "pack", "--silent", "--pack-destination", tmp_path], cwd=package, capture_output=True, text=True, timeout=120, check=False)
    made = tmp_path / p.stdout.strip()
    check("npm packs it", p.returncode == 0 and made.is_file(), p.stdout, p.stderr)
    check("in 2 MB", made.is_file() and made.stat().st_size <= 2 << 20, made)


PAGE = """import { check, run, scripted } from 'pdl-lang'
const { text } = await run('text: [Hello, {model: openai/x}]', { model: scripted('- " you"') })
console.log(text, check('modl: x').length)
"""


@pytest.mark.builds
def test_bundle(package, tmp_path):
    """esbuild joins it to a program for a page, without an option, and the module is found beside the script."""
    modules, why = node_of.modules(Choice.build, "esbuild@0.28.2")
    if not modules:
        skip("a bundle for a page", why)
        return
    shutil.copytree(package, tmp_path / "node_modules" / "pdl-lang")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "page.js").write_text(PAGE)
    p = subprocess.run(["node", str(pathlib.Path(modules) / "esbuild/bin/esbuild"), "page.js", "--bundle", "--minify", "--format=esm", "--platform=browser", "--outfile=dist/page.js"],
                       cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    check("it is joined", p.returncode == 0, p.stderr[-2000:])
    shutil.copy(package / "libpdl.wasm", tmp_path / "dist")
    p = subprocess.run(["node", "dist/page.js"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    check("it runs", p.stdout == "Hello you 1\n", p.stdout, p.stderr[-2000:])


class Node:
    """pdl.mjs, started once for each thread that asks: starting it takes longer than most programs of the kit."""

    def __init__(self, package):
        self.package, self.own, self.all = package, threading.local(), []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.all:
            p.kill()
            p.wait()

    def process(self):
        p = getattr(self.own, "process", None)
        if p is None or p.poll() is not None:
            p = self.own.process = subprocess.Popen(["node", str(HERE / "pdl.mjs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
                                                    env={**os.environ, "PDL_NPM": str(self.package), "TZ": "UTC"})
            self.all.append(p)
        return p

    def __call__(self, argv, cwd, env, stdin, timeout):
        p = self.process()
        clock = threading.Timer(timeout, p.kill)
        clock.start()
        p.stdin.write(json.dumps({"argv": argv, "cwd": cwd, "base": env["OPENAI_API_BASE"], "stdin": stdin}) + "\n")
        p.stdin.flush()
        line = p.stdout.readline()
        clock.cancel()
        if not line:
            return "timeout", "", "the process has ended: %s" % p.wait()
        said = json.loads(line)
        return said["code"], said["out"], said["err"]


@pytest.mark.builds
def test_programs_of_the_kit(package):
    """Each program once, with the probe behind it, judged as the kit judges the command (pdl.mjs stands for it)."""
    server, command = kit.Server(), Node(package)
    passed, failed, skipped = [], [], collections.Counter()

    def judge(one):
        lacks = []

        def runner(argv, cwd, env, stdin, timeout):
            code, out, err = command(argv, cwd, env, stdin, timeout)
            if code == ABSENT and err.startswith("skipped: "):
                lacks.append(err.split("skipped: ", 1)[1].strip())
            return code, out, err
        runner.whole = []
        if "env" in one.spec:
            return one, [], ["it is about the environment of the command"]
        if one.id in OTHERWISE:
            return one, [], [OTHERWISE[one.id]]
        return one, kit.failures(one, one.golden(), runner, server, 60, once=True), lacks
    with command, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for one, bad, lacks in pool.map(judge, kit.load_cases([kit.DEFAULT_ROOT])):
            if lacks:
                skipped[lacks[0]] += 1
            elif bad:
                failed.append(one.id)
                print("%s: %s" % (one.id, " ".join(bad)[:600]))
            else:
                passed.append(one.id)
    for why, n in skipped.most_common():
        skip("%d programs of the kit" % n, why, n)
    check("no program differs", not failed, failed)
    check("at least %d programs" % MIN_PROGRAMS, len(passed) >= MIN_PROGRAMS, len(passed))
