#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py -- builds the Python package and runs its tests.

    python/tests/run.py BUILD [TEST ...]

Over a sanitizer build the sanitizers are preloaded. Last line: `N passed, N failed[, N skipped]`.
"""
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent))
import pdl_build  # noqa: E402


def sanitizers():
    """Returns the libraries of the compiler that must come first in the process."""
    found = [subprocess.run(["cc", "-print-file-name=" + name], capture_output=True, text=True, check=True).stdout.strip()
             for name in ("libasan.so", "libubsan.so")]
    return ":".join(p for p in found if "/" in p)


def again(build, argv):
    """Runs argv in an interpreter that begins with the sanitizers. Leaks are not detected, because Python itself
    leaks a little memory; tests count them instead."""
    env = {**os.environ, "LD_PRELOAD": sanitizers(), "PYTHONMALLOC": "malloc", "PDL_PYTHON_PRELOADED": "1",
           "ASAN_OPTIONS": "detect_leaks=0:exitcode=99:allocator_may_return_null=1"}
    return subprocess.run([sys.executable, *argv], env=env, check=False).returncode


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    if build.name.endswith("-asan") and "PDL_PYTHON_PRELOADED" not in os.environ:
        return again(build, sys.argv)
    bare = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    p = subprocess.run([sys.executable, ROOT / "tools" / "build-python", build], capture_output=True, text=True, check=False, env=bare)
    if p.returncode == 77:
        print("%s0 passed, 0 failed, 1 skipped" % p.stdout)
        return 0
    if p.returncode:
        print("%s%s0 passed, 1 failed" % (p.stdout, p.stderr))
        return 1
    package = str(build / pdl_build.folder())
    sys.path[:0] = [package, str(build / "python-compat"), str(HERE)]
    os.environ["PYTHONPATH"] = package
    os.environ["PDL_BUILD"] = str(build)
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromNames(sys.argv[2:]) if sys.argv[2:] else loader.discover(str(HERE), top_level_dir=str(HERE))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    print("%d passed, %d failed%s" % (result.testsRun - failed - skipped, failed, ", %d skipped" % skipped if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
