# SPDX-License-Identifier: Apache-2.0
"""Makes items of pytest from cases that are not Python functions.

tests/cli/**/*.test       a command line: sections that begin with `--- NAME [ARGUMENT]`
    file NAME   a file of the working directory     run      a shell line; `pdl` is the command under test
    stdin       standard input                      stdout   exact; stdout-has: each line occurs
    stderr      each line occurs                    exit N   exit status, 0 unless given
tests/**/*.pdl            programs that contain their expectation in leading comments `# KEY: VALUE`
    expect  a line of standard output, in order     error    a text of standard error, may be repeated
    args    options before the program              exit     exit status (0, or 1 where there is an error)
    stdin   a line of standard input, in order
tests/unit/**/test_*.c    programs of cmocka, built as BUILD/tests/unit/NAME
"""
import os
import pathlib
import re
import subprocess
import tempfile

import pytest

from .. import checks
from .choice import Choice, ROOT

HANGS = 120  # seconds after which a command has hung


class Case(pytest.Item):
    def reportinfo(self):
        return self.path, 0, self.name

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


def wrong(bad, err=""):
    if bad:
        raise AssertionError("%s\n%s" % ("; ".join(bad), err[-2000:]))


class Command(Case):
    def runtest(self):
        sections = re.split(r"^--- ?(.+)\n", self.path.read_text(encoding="utf-8"), flags=re.M)[1:]
        sections = [(head.split(), body) for head, body in zip(sections[::2], sections[1::2])]
        get = {head[0]: body for head, body in sections}
        want = next((int(head[1]) for head, _ in sections if head[0] == "exit"), 0)
        work = pathlib.Path(tempfile.mkdtemp())
        for head, body in sections:
            if head[0] == "file":
                (work / head[1]).parent.mkdir(parents=True, exist_ok=True)
                (work / head[1]).write_text(body, encoding="utf-8")
        env = {**os.environ, "PATH": "%s:%s" % (Choice.build, os.environ["PATH"]), "HOME": str(work)}
        p = subprocess.run(["sh", "-c", get["run"]], input=get.get("stdin", "").encode(), capture_output=True, timeout=HANGS, cwd=work, env=env, check=False)
        out, err = p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace")
        bad = [] if p.returncode == want else ["exit status %d, not %d" % (p.returncode, want)]
        if "stdout" in get and out != get["stdout"]:
            bad.append("standard output is\n%s" % out)
        bad += ["standard output lacks: " + x for x in get.get("stdout-has", "").splitlines() if x not in out]
        bad += ["standard error lacks: " + x for x in get.get("stderr", "").splitlines() if x not in err]
        wrong(bad, err)


class Program(Case):
    def runtest(self):
        said = {"expect": [], "error": [], "args": [], "exit": [], "stdin": []}
        for line in self.path.read_text(encoding="utf-8").splitlines():
            m = re.match(r"#\s?(expect|error|args|exit|stdin):(?: (.*))?$", line)
            if m:
                said[m.group(1)].append(m.group(2) or "")
            elif not line.startswith("#"):
                break
        want = int(said["exit"][0]) if said["exit"] else (1 if said["error"] else 0)
        argv = [str(Choice.build / "pdl"), "--stream", "none"] + [w for a in said["args"] for w in a.split()] + [self.path.name]
        p = subprocess.run(argv, input="".join(x + "\n" for x in said["stdin"]).encode(), capture_output=True, timeout=HANGS, cwd=self.path.parent, check=False)
        out, err = p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace")
        bad = [] if p.returncode == want else ["exit status %d, not %d" % (p.returncode, want)]
        if said["expect"] and out.rstrip("\n") != "\n".join(said["expect"]).rstrip("\n"):
            bad.append("standard output is\n%s" % out)
        bad += ["standard error lacks: " + text for text in said["error"] if text not in err]
        wrong(bad, err)


class Unit(Case):
    """A test program in C: its lines in the Test Anything Protocol are the checks."""

    def runtest(self):
        p = subprocess.run([Choice.build / "tests" / "unit" / self.path.stem], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           timeout=HANGS, cwd=ROOT, env={**os.environ, "CMOCKA_MESSAGE_OUTPUT": "tap"}, check=False)
        text = p.stdout.decode("utf-8", "replace")
        passed, failed = len(re.findall(r"^ok \d", text, re.M)), len(re.findall(r"^not ok \d", text, re.M))
        skipped = len(re.findall(r"^ok \d.*# SKIP", text, re.M))
        checks.add(passed - skipped, failed, skipped)
        if p.returncode != 0 or failed or not passed:
            raise AssertionError("exit status %d\n%s" % (p.returncode, text[-6000:]))


class CaseFile(pytest.File):
    kind = Case

    def collect(self):
        yield self.kind.from_parent(self, name=self.path.stem)


class CommandFile(CaseFile):
    kind = Command


class ProgramFile(CaseFile):
    kind = Program


class UnitFile(CaseFile):
    kind = Unit

    def collect(self):
        for item in super().collect():
            item.add_marker(pytest.mark.dies)  # its children abort where an assertion is meant to fail; its own death is its exit status
            yield item


def has_expectation(path):
    return re.search(r"^#\s?(expect|error|exit):", path.read_text("utf-8"), re.M)


def pytest_collect_file(file_path, parent):
    place = file_path.relative_to(ROOT).parts[:2]
    if file_path.suffix == ".test":
        return CommandFile.from_parent(parent, path=file_path)
    if file_path.suffix == ".pdl" and place[1] in ("lang", "errors", "lib") and has_expectation(file_path):
        return ProgramFile.from_parent(parent, path=file_path)
    if file_path.suffix == ".c" and place[1] == "unit" and file_path.name.startswith("test_"):
        return UnitFile.from_parent(parent, path=file_path)
    return None
