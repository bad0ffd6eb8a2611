#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py -- replays the corpora, or fuzzes.

    fuzz/run.py BUILD_DIR                     replays fuzz/corpus with pdl-fuzz-replay of the build, for any compiler
    fuzz/run.py --change SECONDS BUILD_DIR [TARGET ...]   runs each target this long over random changes of its corpus, without clang and without guidance
    fuzz/run.py --fuzz SECONDS [TARGET ...]   fuzzes one target after the other with clang's libFuzzer, ASan and UBSan

The programs that --fuzz builds are kept in build-fuzz; inputs that fail are written there.
"""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
LIBS = "-luv -lpcre2-8 -lutf8proc -lgmp -lcurl -ldl -lm -lpthread".split()
FLAGS = ["-std=c17", "-D_GNU_SOURCE", "-Ifuzz", "-g", *subprocess.run(["sh", str(ROOT / "tools" / "sources"), "--includes"], capture_output=True, text=True, check=True).stdout.split()]
# The files that the binary carries stand in meson.build, a symbol and a path each.
EMBEDDED = re.findall(r"\['(pdl_\w+)', '(src/[^']+|lib/[^']+)'\]", (ROOT / "meson.build").read_text())
# Libraries that only a target needs, as something to compare with; without its header there is no such target.
ORACLES = {"yaml_events": ("/usr/include/yaml.h", ["-lyaml"])}
TARGETS = sorted(t for t in (p.stem[5:] for p in HERE.glob("fuzz_*.c")) if t not in ORACLES or os.path.exists(ORACLES[t][0]))


def dictionary(target):
    own = HERE / "dict" / (target + ".dict")
    return own if own.exists() else HERE / "dict" / "pdl.dict"


def replay(build):
    exe = str(build / "fuzz" / "pdl-fuzz-replay")
    passed = failed = 0
    for t in subprocess.run([exe, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split():
        files = [str(f) for f in sorted((HERE / "corpus" / t).iterdir())]
        if subprocess.run([exe, t, *files], capture_output=True, timeout=300).returncode == 0:
            passed += len(files)
            continue
        for f in files:
            p = subprocess.run([exe, t, f], capture_output=True, timeout=60)
            passed += p.returncode == 0
            failed += p.returncode != 0
            if p.returncode:
                print("FAIL %s %s: exit status %d\n%s" % (t, f, p.returncode, p.stderr.decode("utf-8", "replace")[-1500:]))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


def change(seconds, build, targets):
    exe = str(build / "fuzz" / "pdl-fuzz-replay")
    known = subprocess.run([exe, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    bad = 0
    for t in targets or known:
        seed = str(int.from_bytes(os.urandom(4), "big"))
        p = subprocess.run([exe, "--change", str(seconds), seed, t, str(HERE / "corpus" / t)], capture_output=True, cwd=build, timeout=seconds + 120)
        print("%s, seed %s: %s" % (t, seed, p.stderr.decode("utf-8", "replace")[-1500:] if p.returncode else p.stdout.decode().strip().splitlines()[-1]), flush=True)
        bad += p.returncode != 0
    return 1 if bad else 0


def object_of(out, source):
    """Where the object of a source goes: stems stand more than once in the tree."""
    return out / "obj" / ("_".join(source.with_suffix(".o").parts[-4:]))


def library_sources():
    """The sources of the library on this platform, as meson.build chooses them: without those of the command and of its static form."""
    listed = subprocess.run(["sh", str(ROOT / "tools" / "sources"), "--for", "linux", "c"], capture_output=True, text=True, check=True).stdout.split()
    return [ROOT / p for p in listed if not p.startswith("src/apps/cli/") and not p.endswith("/libraries_inside.c")]


def lacks_fuzzer():
    """Whether clang is here without its fuzzer, which Debian has in a package of its own."""
    name = "libclang_rt.fuzzer-%s.a" % platform.machine()
    return subprocess.run(["clang", "-print-file-name=" + name], capture_output=True, text=True, check=True).stdout.strip() == name


def fuzz(seconds, targets):
    if not shutil.which("clang") or lacks_fuzzer():
        print("fuzz/run.py: clang with its libFuzzer is not installed; on Debian 12 install clang and libclang-rt-14-dev, or take --change", file=sys.stderr)
        return 2
    out = ROOT / "build-fuzz"
    (out / "obj").mkdir(parents=True, exist_ok=True)
    san = ["-O1", "-fsanitize=fuzzer-no-link,address,undefined", "-fno-sanitize-recover=undefined"]
    subprocess.run(["cc", "-o", str(out / "embed"), "tools/embed.c"], cwd=ROOT, check=True)
    for name, source in EMBEDDED:
        subprocess.run([str(out / "embed"), source, str(out / (name + ".c")), name], cwd=ROOT, check=True)
    sources = library_sources()
    sources += [ROOT / "tests" / "unit" / "script_world.c", *(out / (name + ".c") for name, _ in EMBEDDED)]
    jobs = []
    for s in sources:
        o = object_of(out, s)
        newest = max([s.stat().st_mtime] + [h.stat().st_mtime for h in (ROOT / "src").rglob("*.[hd]*")])
        if not o.exists() or o.stat().st_mtime < newest:
            jobs.append(subprocess.Popen(["clang", *FLAGS, *san, "-c", str(s), "-o", str(o)], cwd=ROOT))
        while sum(j.poll() is None for j in jobs) >= (os.cpu_count() or 2):
            next(j for j in jobs if j.poll() is None).wait()
    if any(j.wait() for j in jobs):
        return 1
    objects = [str(object_of(out, s)) for s in sources]
    bad = 0
    for t in targets or TARGETS:
        exe = out / t
        subprocess.run(["clang", *FLAGS, "-O1", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined", "fuzz/fuzz_%s.c" % t, "-o", str(exe),
                        *objects, *LIBS, *ORACLES.get(t, ("", []))[1]], cwd=ROOT, check=True)
        found = out / ("found-" + t)
        found.mkdir(exist_ok=True)
        p = subprocess.run([str(exe), "-max_total_time=%d" % seconds, "-timeout=15", "-rss_limit_mb=3000", "-malloc_limit_mb=2500", "-max_len=4096", "-print_final_stats=0",
                            "-verbosity=0", "-dict=" + str(dictionary(t)), "-artifact_prefix=%s/%s-" % (out, t), str(found), str(HERE / "corpus" / t)], cwd=out)
        print("%s: %s" % (t, "failed" if p.returncode else "passed"), flush=True)
        bad += p.returncode != 0
    return 1 if bad else 0


if __name__ == "__main__":
    if sys.argv[1] == "--fuzz":
        sys.exit(fuzz(int(sys.argv[2]), sys.argv[3:]))
    if sys.argv[1] == "--change":
        sys.exit(change(int(sys.argv[2]), pathlib.Path(sys.argv[3]).resolve(), sys.argv[4:]))
    sys.exit(replay(pathlib.Path(sys.argv[1]).resolve()))
