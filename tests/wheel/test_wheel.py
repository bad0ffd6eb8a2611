# SPDX-License-Identifier: Apache-2.0
"""The wheels of `make wheel` in a Debian that has python3-venv and nothing of ours. In its own root (mmdebstrap), which is entered without network
(bubblewrap), they are installed into a fresh environment and used. A missing wheel is built first, but not the libraries in it, which take a quarter
of an hour. Skipped, with a line that says so, when a wheel cannot be built or the root cannot be entered. Packages of other people (IPython) are
fetched before and copied in; a test without them is skipped."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile


HERE = pathlib.Path(__file__).resolve().parent
from .. import bare_root
from ..checks import check, skip
import pytest
from ..harness.choice import Choice, ROOT

sys.path.insert(0, str(ROOT / "packaging" / "parts"))
import kit  # noqa: E402

BUILD = Choice.build
DIST = pathlib.Path(os.environ.get("PDL_DIST", ROOT / "dist"))  # make-release says where it made them
PY = "/venv/bin/python /t/use.py "
ABSENT = 77  # of make-wheel: something cannot be fetched
SERVE = ("rm -f /t/port; python3 /t/https.py /t/cert.pem /t/key.pem /t/port & server=$!; trap 'kill $server' EXIT; "
         "while ! [ -s /t/port ]; do sleep 0.1; done; port=$(cat /t/port); ")
TRUST = "export SSL_CERT_FILE=/t/cert.pem; "
LATER = "trixie"  # its Python is 3.13
LATER_TESTS = "test_run test_objects test_contexts test_code test_models test_async test_robust test_arguments test_endless"
# name, shell line in the root, a text of its output ("" for any).
STEPS = [
    ("nothing of ours is there before", "! command -v pdl && ! ldconfig -p | grep -E 'libpdl|libcurl|libuv|utf8proc'", ""),
    ("pip installs it", "python3 -m venv /venv && /venv/bin/pip install -q --no-index --find-links /wheels libpdl", ""),
    ("its version", PY + "version", kit.version()),
    ("a run in memory as stated", PY + "fresh", ""),
    ("the modules of the language", PY + "modules", ""),
    ("a code block", PY + "code", ""),
    ("a certificate that nobody signed is refused", SERVE + PY + "untrusted $port", ""),
    ("a model call over HTTPS", SERVE + TRUST + PY + "https $port", ""),
    ("certificates of certifi where the system has none", "mkdir -p /venv/certifi/certifi; cp /t/cert.pem /venv/certifi/certifi/cacert.pem; "
     "touch /venv/certifi/certifi/__init__.py; export PYTHONPATH=/venv/certifi; cd /etc/ssl/certs && mv ca-certificates.crt away 2>/dev/null; " + SERVE +
     PY + "https $port; status=$?; mv away ca-certificates.crt 2>/dev/null; exit $status", ""),
    ("twenty calls under asyncio", SERVE + TRUST + PY + "aio $port", ""),
    ("a journal is written and replayed", SERVE + TRUST + PY + "journal $port", ""),
    ("the command", "/venv/bin/pdl --version", "PDL " + kit.version()),
    ("the command by the name of the package", "/venv/bin/python -m libpdl --version", "PDL " + kit.version()),
    ("the command finds the modules", "printf 'defs:\\n  m: {import: lib/answer}\\ntext: found' >/t/m.pdl; /venv/bin/pdl /t/m.pdl", "found"),
    ("code blocks of the command run in the environment", "printf 'lang: python\\ncode: |\\n  import sys\\n  result = sys.prefix' >/t/c.pdl; "
     "/venv/bin/pdl /t/c.pdl", "/venv"),
    ("the command calls a model and keeps a journal", SERVE + TRUST + "rm -f /t/j; printf 'model: openai/m\\ninput: abc\\nparameters: "
     "{api_base: \"https://localhost:%s/v1\", api_key: k}' $port >/t/h.pdl; /venv/bin/pdl --record /t/j /t/h.pdl && kill $server && "
     "/venv/bin/pdl --replay /t/j /t/h.pdl", "cba"),
    ("exit status of the command", "printf 'text: ${ nobody }' >/t/e.pdl; /venv/bin/pdl /t/e.pdl; test $? = 1", ""),
    ("uninstalling leaves nothing", "cp -r /venv /venv2; /venv2/bin/python -m pip uninstall -q -y libpdl; ! ls -d /venv2/lib/python*/site-packages/libpdl*", ""),
]


def are_parts_there():
    return all((kit.place() / ("x86_64-linux-gnu." + kit.GLIBC) / ("." + part)).exists() for part in kit.sources())


def wheel_of(name):
    system = "manylinux_*_%s" % os.uname().machine if name == "libpdl" else "any"
    found = sorted(DIST.glob("%s-%s-*%s.whl" % (name, kit.version(), system)))
    return found[-1] if found else None


def is_current(wheel):
    """Nothing that it is made from is newer."""
    sources = (p for folder in ("src", "include", "lib", "python", "packaging/wheel", "packaging/parts") for p in (ROOT / folder).rglob("*") if p.suffix in (".c", ".h", ".def", ".py", ".pdl", ".txt"))
    return wheel is not None and max(p.stat().st_mtime for p in sources) <= wheel.stat().st_mtime


def check_files(wheel):
    """What is in the file, and for which systems auditwheel finds it good."""
    size = wheel.stat().st_size
    check("at most 8 MB", size <= 8 << 20, "%d bytes" % size)
    page = (ROOT / "docs" / "manual" / "production.md").read_text("utf-8")
    said = re.search(r"^\| `libpdl-\*-manylinux_\*\.whl` .*\| about (\d+) MB \|$", page, re.M)
    check("the page has its size", said and abs(float(said.group(1)) - size / 1e6) < 0.5, said, size)
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in ("libpdl/_pdl.abi3.so", "libpdl/bin/pdl", "libpdl/_lib/libpdl-http.so", "libpdl/_lib/libpdl-sqlite.so", "libpdl/py.typed",
                   "libpdl/_pdl.pyi", "libpdl/skill/SKILL.md", "libpdl/skill/language-card.md", "libpdl/lib/react/react.pdl" if (ROOT / "lib/react/react.pdl").is_file() else "libpdl/lib/answer.pdl"):
        check("the wheel has " + wanted, wanted in names, "it has not")
    for part in kit.sources():
        check("the licence of " + part, any("/licenses/%s/copyright" % part in n for n in names), "it is not in the wheel")
    tag = re.fullmatch(r"libpdl-[^-]+-cp310-abi3-(manylinux_2_\d+_x86_64)\.whl", wheel.name)
    check("its tag", tag, wheel.name)
    tool = next(iter((kit.place() / "tools" / "bin").glob("auditwheel")), None)
    if tool is None or not tag:
        skip("what the wheels link", "there is no auditwheel of `make wheel`")
        return
    said = " ".join(subprocess.run([tool, "show", wheel], capture_output=True, text=True, check=False).stdout.split())
    check("auditwheel agrees", 'platform tag: "%s"' % tag.group(1) in said, said)


def pip_download(folder, *names):
    """Wheels for the Python of the root, fetched on this machine. -> is all there?"""
    stamp = folder / (".has-" + "-".join(names))
    if stamp.exists():
        return True
    version = re.search(r"python(3\.\d+)", " ".join(p.name for p in (BUILD / "wheel-root" / "usr" / "bin").glob("python3.*"))).group(1)
    try:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--only-binary", ":all:", "--python-version", version, "--dest", folder, *names],
                       check=True, capture_output=True, timeout=300)
    except (OSError, subprocess.SubprocessError):
        return False
    stamp.touch()
    return True


def check_sources():
    """`pip install .`, with what is here and without network."""
    place = BUILD / "test-venv-sources"
    shutil.rmtree(place, ignore_errors=True)
    if not (pathlib.Path(sysconfig.get_paths()["include"]) / "Python.h").is_file() or sys.version_info < (3, 11):
        skip("an install from sources", "pip install . wants Python.h and, without network, Python 3.11")
        return
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    # Without what other tests set for themselves: PYTHONPATH would show them another libpdl than the one that is installed.
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PDL_"))}
    p = subprocess.run([place / "bin" / "pip", "install", "-q", "--no-index", ROOT], env=env, capture_output=True, text=True, timeout=1500, check=False)
    check("pip builds it from the sources", p.returncode == 0, p.stdout[-2000:] + p.stderr[-2000:])
    p = subprocess.run([place / "bin" / "pdl", "--version"], env=env, capture_output=True, text=True, check=False)
    check("and its command runs", p.stdout == "PDL %s\n" % kit.version(), "exit status %s\n%s%s" % (p.returncode, p.stdout, p.stderr))


def certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True)


def check_later_python(wheel):
    """The same file in the Python of a later Debian: tests of the package that need nothing else."""
    place = BUILD / "wheel-root-later"
    why = bare_root.make(place, ["python3-venv"], LATER)
    if why:
        skip("a root of a later release", why)
        return
    for used in ("venv", "wheels", "source"):
        shutil.rmtree(place / used, ignore_errors=True)
    (place / "wheels").mkdir()
    shutil.copy(wheel, place / "wheels")
    shutil.copytree(ROOT / "python" / "tests", place / "source" / "python" / "tests")
    (place / "source" / "tests").mkdir()
    shutil.copy(HERE.parent / "venv_of.py", place / "source" / "tests")
    line = ("python3 -m venv /venv && /venv/bin/pip install -q --no-index --find-links /wheels libpdl && cd /tmp && export PDL_BUILD=/source/build "
            "PYTHONPATH=/source/python/tests:/source/tests && /venv/bin/python -m unittest " + LATER_TESTS)
    p = subprocess.run(bare_root.enter(place, line), capture_output=True, text=True, timeout=900, check=False)
    check("the tests of the package in a later Python", p.returncode == 0 and "\nOK" in p.stderr, p.stdout[-1000:] + p.stderr[-4000:])


@pytest.mark.builds
@pytest.mark.seconds(3600)
def test_install_from_sources():
    check_sources()


@pytest.mark.builds
@pytest.mark.seconds(3600)
def test_wheel():
    if not is_current(wheel_of("libpdl")):
        if not are_parts_there():
            skip("the wheel", "its libraries are not compiled: make wheel", len(STEPS))
            return
        p = subprocess.run([sys.executable, ROOT / "packaging" / "wheel" / "make-wheel"], capture_output=True, text=True, check=False)
        if p.returncode == ABSENT:
            skip("the wheel", "it cannot be built: " + (p.stderr.splitlines() or ["?"])[-1], len(STEPS))
            return
        check("the wheel is built", p.returncode == 0, p.stdout[-2000:] + p.stderr[-4000:])
        if p.returncode:
            return
    wheel, drop_in = wheel_of("libpdl"), wheel_of("libpdl_compat")
    check_files(wheel)
    place = BUILD / "wheel-root"
    why = bare_root.make(place, ["python3-venv"])
    if why:
        skip("the wheel in a bare root", why, len(STEPS))
        return
    for used in ("venv", "venv2", "t", "wheels"):
        shutil.rmtree(place / used, ignore_errors=True)
    for folder in ("t", "wheels"):
        (place / folder).mkdir()
    for path in [wheel, drop_in]:
        if path:
            shutil.copy(path, place / "wheels")
    for name in ("use.py", "https.py"):
        shutil.copy(HERE / name, place / "t")
    certificate(place / "t")
    steps = list(STEPS)
    others = BUILD / "test-wheels"
    others.mkdir(exist_ok=True)
    if pip_download(others, "ipython"):
        shutil.copytree(others, place / "wheels", dirs_exist_ok=True)
        steps.append(("the notebook", "/venv/bin/pip install -q --no-index --find-links /wheels 'libpdl[notebook]' && " + PY + "notebook", ""))
    else:
        skip("cells", "IPython cannot be fetched")
    if drop_in:
        steps.append(("the drop-in", "/venv/bin/pip install -q --no-index --find-links /wheels libpdl-compat && " + PY + "compat", ""))
    else:
        skip("libpdl-compat", "there is no wheel of it")
    for name, line, want in steps:
        p = subprocess.run(bare_root.enter(place, line), capture_output=True, text=True, timeout=600, check=False)
        check(name, p.returncode == 0 and want in p.stdout, "exit status %s\n%s%s" % (p.returncode, p.stdout[-3000:], p.stderr[-3000:]))
    check_later_python(wheel)

