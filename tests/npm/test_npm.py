# SPDX-License-Identifier: Apache-2.0
"""The npm package pdl-lang in Node: its functions (api.test.mjs), its types, its archive, and the programs of the conformance kit."""
import collections
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from ..checks import check, skip
from ..conformance import run as kit
from ..harness.choice import Choice, ROOT

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


@pytest.mark.builds
def test_archive(package, tmp_path):
    if not shutil.which("npm"):
        skip("the archive", "there is no npm")
        return
    p = subprocess.run(["npm", "pack", "--silent", "--pack-destination", tmp_path], cwd=package, capture_output=True, text=True, timeout=120, check=False)
    made = tmp_path / p.stdout.strip()
    check("npm packs it", p.returncode == 0 and made.is_file(), p.stdout, p.stderr)
    check("in 2 MB", made.is_file() and made.stat().st_size <= 2 << 20, made)


@pytest.mark.builds
def test_programs_of_the_kit(package):
    """Each program once, with the probe behind it, judged as the kit judges the command (pdl.mjs stands for it)."""
    os.environ["PDL_NPM"] = str(package)
    server, command = kit.Server(), kit.subprocess_runner("node %s" % (HERE / "pdl.mjs"))
    passed, failed, skipped = [], [], collections.Counter()

    def judge(one):
        lacks = []

        def runner(argv, cwd, env, stdin, timeout):
            code, out, err = command(argv, cwd, {**env, "PDL_NPM": str(package)}, stdin, timeout)
            if code == ABSENT and err.startswith("skipped: "):
                lacks.append(err.split("skipped: ", 1)[1].strip())
            return code, out, err
        runner.whole = command.whole
        if "env" in one.spec:
            return one, [], ["it is about the environment of the command"]
        if one.id in OTHERWISE:
            return one, [], [OTHERWISE[one.id]]
        return one, kit.failures(one, one.golden(), runner, server, 60, once=True), lacks
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
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
