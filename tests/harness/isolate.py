# SPDX-License-Identifier: Apache-2.0
"""Runs each item in a separate process.

The tests run a command that forks, kills, fills disks and opens thousands of descriptors, and they must not reach each other. So the process that has
collected everything forks for each item: nothing is imported twice, and the item gets a session, a folder for temporary files, and limits of time,
memory and processor. When the item ends, every process that it started and that still runs is killed. The parent is the subreaper of the item, so
orphans become its children. For the same reason the processor time of an item includes all its processes. An item also fails, whatever it expected,
when a sanitizer wrote a report, or when a `pdl` that it started died of SIGILL, SIGABRT or SIGSEGV.
"""
import ctypes
import faulthandler
import os
import pathlib
import pickle
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest
from _pytest.reports import TestReport
from _pytest.runner import runtestprotocol

from .. import checks
from . import hung
from .choice import Choice

SECONDS = 240        # of the clock, for one item; under sanitizers three times as many
BUDGET = {"check": 5, "test": 5, "all": 20, "soak": 0}  # seconds of the processor that an item should take; it fails at three times as many
MEMORY = 4 << 30     # bytes of data of one process of an item
BROKEN = {-signal.SIGILL, -signal.SIGABRT, -signal.SIGSEGV, 128 + signal.SIGILL, 128 + signal.SIGABRT, 128 + signal.SIGSEGV}
SANITIZERS = "detect_leaks=1:abort_on_error=0:exitcode=99:allocator_may_return_null=1:handle_abort=1:handle_sigill=1:log_path=%s/report"
PR_SET_CHILD_SUBREAPER = 36


def begin():
    """Called once in each process that runs items."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    pid, found = os.getpid(), []
    for task in os.listdir("/proc/%d/task" % pid):
        try:
            found += map(int, pathlib.Path("/proc/%d/task/%s/children" % (pid, task)).read_text().split())
        except OSError:
            pass
    return found


def end_the_rest(known):
    """Kills and reaps all children but the known ones, until none comes up any more. -> the commands of those that were running."""
    ended, until = {}, time.monotonic() + 10
    while time.monotonic() < until:
        left = [p for p in children() if p not in known]
        if not left:
            break
        for p in left:
            try:
                state = pathlib.Path("/proc/%d/stat" % p).read_text().rsplit(")", 1)[1].split()[0]
                if state != "Z":
                    ended[p] = pathlib.Path("/proc/%d/cmdline" % p).read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")[:200]
                    os.kill(p, signal.SIGKILL)
            except OSError:
                pass
        reap(0)
        time.sleep(0.002)
    return list(ended.values())


def watch_exits(broken):
    """Every exit of a command under test by a signal of a fault is noted, even where the test expected it."""
    original = subprocess.Popen._handle_exitstatus

    def noted(self, *args, **kwargs):
        original(self, *args, **kwargs)
        if self.returncode in BROKEN and "pdl" in str(self.args):
            broken.append("%s ended with %d" % (str(self.args)[:300], self.returncode))
    subprocess.Popen._handle_exitstatus = noted


def limit(what, value):
    _, hard = resource.getrlimit(what)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (value, hard))


def prepare(item, folder):
    """In the process of the item, before it runs."""
    os.setsid()
    for what in (signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGCHLD):
        signal.signal(what, signal.SIG_DFL)  # nohup and shells ignore some, and what is started here would, too
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    limit(resource.RLIMIT_CORE, 0)
    if BUDGET[Choice.tier] and not item.get_closest_marker("builds"):
        limit(resource.RLIMIT_CPU, 4 * BUDGET[Choice.tier])  # of each process; the sum is judged afterwards
    if not Choice.sanitized and not item.get_closest_marker("roomy"):
        limit(resource.RLIMIT_DATA, MEMORY)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "tmp")
    if Choice.sanitized:
        os.environ["ASAN_OPTIONS"] = SANITIZERS % (folder / "log")
        os.environ["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1:exitcode=99:log_path=%s/report" % (folder / "log")
    checks.Counts.passed = checks.Counts.failed = checks.Counts.skipped = 0
    checks.Counts.reasons = []


def in_the_child(item, folder):
    broken = []
    try:
        prepare(item, folder)
        watch_exits(broken)
        hung.watch_timeouts()
        reports = runtestprotocol(item, log=False, nextitem=None)
        data = [item.config.hook.pytest_report_to_serializable(config=item.config, report=r) for r in reports]
        counts = checks.Counts
        (folder / "reports").write_bytes(pickle.dumps((data, (counts.passed, counts.failed, counts.skipped), counts.reasons, broken)))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


def reap(pid):
    """Reaps what has ended, orphans too, which others may be waiting to see gone. -> the exit status of the child, or None."""
    while True:
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if ended == 0:
            return None
        if ended == pid:
            return status


def wait_for(pid, seconds):
    """-> the exit status of the child, or None when it took too long."""
    until, fd = time.monotonic() + seconds, os.pidfd_open(pid)
    ready = select.poll()
    ready.register(fd, select.POLLIN)
    try:
        while time.monotonic() < until:
            ready.poll(20)
            status = reap(pid)
            if status is not None:
                return status
        print("\n".join(hung.tree(pid)), flush=True)
        os.kill(pid, signal.SIGUSR1)  # it says where it is
        time.sleep(0.5)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return None
    finally:
        os.close(fd)


def captured(item):
    manager = item.config.pluginmanager.getplugin("capturemanager")
    try:
        out, err = manager.read_global_capture()
        return (out + err)[-8000:]
    except Exception:
        return ""


def report_of(item, why):
    """A report for an item whose process did not make one itself."""
    return TestReport(item.nodeid, item.location, {}, "failed", why, "call", [], 0)


def run_apart(item):
    """-> the reports of the item, of which the last has the properties checks, cpu and the like."""
    known = set(children())
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pdl-t-", dir=os.environ.get("PDL_TEST_TMP")))
    (folder / "tmp").mkdir()
    (folder / "log").mkdir()
    os.chmod(folder, 0o755)  # commands under another user reach it
    os.chmod(folder / "tmp", 0o1777)
    os.chmod(folder / "log", 0o1777)
    marker = item.get_closest_marker("seconds")
    usual = 5 * SECONDS if Choice.tier in ("all", "soak") else SECONDS  # there, items wait for packages that others install
    seconds = (marker.args[0] if marker else usual) * (3 if Choice.sanitized else 1)
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        in_the_child(item, folder)
    status = wait_for(pid, seconds)
    ended = end_the_rest(known)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    try:
        return reports_of(item, folder, status, seconds, ended, cpu, time.monotonic() - begun)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def reported(log, meant):
    """What sanitizers wrote, but for warnings, for commands that do not even begin under a limit of memory, which tests try, and, where a
    death is meant, for aborts."""
    texts = [f.read_text("utf-8", "replace") for f in sorted(log.iterdir())]
    return [t[:6000] for t in texts if "ERROR: " in t and "ReserveShadowMemoryRange" not in t and not (meant and "Sanitizer: ABRT" in t)][:3]


def reports_of(item, folder, status, seconds, ended, cpu, clock):
    try:
        data, counts, reasons, broken = pickle.loads((folder / "reports").read_bytes())
        reports = [item.config.hook.pytest_report_from_serializable(config=item.config, data=d) for d in data]
    except (OSError, EOFError, pickle.UnpicklingError):
        how = "no end within %d s" % seconds if status is None else "its process ended with status %s" % status
        reports, counts, reasons, broken = [report_of(item, how + "\n" + captured(item))], (0, 0, 0), [], []
    marker = item.get_closest_marker("dies")
    faults = [] if marker else ["a command died: " + b for b in broken]
    faults += reported(folder / "log", marker)
    budget = BUDGET[Choice.tier]
    if budget and cpu > 3 * budget and not item.get_closest_marker("builds"):
        faults.append("it took %.1f s of the processor, and items of this tier are made for %d" % (cpu, budget))
    return finished(item, reports, counts, reasons, faults, {"cpu": round(cpu, 3), "clock": round(clock, 3), "left": ended})


def finished(item, reports, counts, reasons, faults, measured):
    """Adds what was counted and found to the reports."""
    passed, failed, skipped = counts
    bad = next((r for r in reports if r.failed), None)
    if faults:
        if bad is None:
            bad = next((r for r in reports if r.when == "call"), reports[-1])
            bad.outcome = "failed"
            bad.longrepr = "\n".join(faults)
        else:
            bad.longrepr = "%s\n%s" % (bad.longrepr, "\n".join(faults))
    if bad is not None:
        failed = max(failed, 1)
    elif any(r.skipped for r in reports):
        skipped = max(skipped, 1)
        reasons = reasons or ["%s: %s" % (item.name, str(r.longrepr[-1]).removeprefix("Skipped: ")) for r in reports if r.skipped and isinstance(r.longrepr, tuple)]
    elif not (passed or failed or skipped):
        passed = 1  # an item that only asserts
    for key, value in [("checks", passed), ("failed", failed), ("skipped", skipped), ("reasons", reasons), *measured.items()]:
        reports[-1].user_properties.append((key, value))
    return reports


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Failed checks fail the item, when its function has ended well."""
    outcome = yield
    report = outcome.get_result()
    if call.when == "call" and report.passed and checks.Counts.failed:
        report.outcome = "failed"
        report.longrepr = "%d of %d checks failed (FAIL in its output)" % (checks.Counts.failed, checks.Counts.passed + checks.Counts.failed)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    if item.config.getoption("here") or item.config.getoption("usepdb"):
        return None
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in run_apart(item):
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
