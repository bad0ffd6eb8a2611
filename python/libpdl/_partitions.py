# SPDX-License-Identifier: Apache-2.0
"""Runs the rows of a partition on a worker of Ray or Spark. Each process has an engine, and each partition has a
journal and a part of the job's budget. Ray and Spark run a partition again when its worker dies. Requests that were
answered must then not be sent again, so each answer is first appended to a file, which is named after the content of
the partition. The next worker that gets the partition finds the answers there. The budget of a job is kept by the
driver: workers take small parts of the rest and give back what they did not use. The part of a worker that died is
available again.
"""
from __future__ import annotations

import collections
import hashlib
import json
import os
import re
import secrets
import socket
import socketserver
import threading
import time
from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence, Union

ITEMS = ("calls", "tokens", "cost")
OWN = ("result", "error", "place", "pdl_worker", "pdl_partition", "pdl_run")
KEYS = re.compile(r"(_API_KEY|_API_BASE|_BASE_URL|_API_VERSION|_ACCESS_KEY_ID|_SECRET_ACCESS_KEY|_SESSION_TOKEN|_REGION|^PDL_\w+|^WATSONX_\w+)$")
Budget = Union[None, str, Mapping[str, float]]


def budget_of(budget: Budget) -> Optional[dict[str, float]]:
    """Returns a budget as a dict. It may be "calls=10,cost=0.5" or a mapping."""
    if budget is None:
        return None
    try:
        limits = dict(p.split("=", 1) for p in budget.split(",")) if isinstance(budget, str) else dict(budget)
        found = {str(k).strip(): float(v) for k, v in limits.items()}
    except (TypeError, ValueError):
        found = {"": 0.0}
    if any(k not in ITEMS or not v >= 0 for k, v in found.items()):
        raise ValueError("budget: expected some of calls=N,tokens=N,cost=X, not %r" % (budget,))
    return found


class Keeper:
    """Keeps the budget of a job, on the driver. Workers send JSON lines over TCP; each connection is a worker."""

    def __init__(self, budget: Mapping[str, float]) -> None:
        keeper = self
        self.left = dict(budget)
        self.lent: dict[int, dict[str, float]] = {}
        self.lock = threading.Lock()
        self.token = secrets.token_hex(16)

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                keeper._talk(self)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # the worker has died; its part is returned below

        self.server = Server(("0.0.0.0", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def address(self) -> tuple[str, int, str]:
        return _own_address(), self.port, self.token

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def _talk(self, handler: Any) -> None:
        me = id(handler)
        try:
            for line in handler.rfile:
                asked = json.loads(line)
                if asked.get("token") != self.token:
                    return
                handler.wfile.write(json.dumps(self._answer(me, asked)).encode() + b"\n")
        finally:
            with self.lock:  # the budget that a worker did not report as used becomes available again
                for k, v in self.lent.pop(me, {}).items():
                    self.left[k] += v

    def _answer(self, me: int, asked: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            held = self.lent.setdefault(me, dict.fromkeys(self.left, 0.0))
            for k, v in asked.get("used", {}).items():
                if k in held:
                    held[k] -= v
            for k in held:  # first, budget that is not needed any more is returned
                self.left[k] += held[k]
                held[k] = 0.0
            need, rows = asked.get("need", {}), int(asked.get("rows", 0))
            fits = min([rows] + [int(self.left[k] / max(need.get(k, 0), 1e-12)) if need.get(k, 0) > 0 else rows * (self.left[k] > 0)
                                 for k in self.left])
            others = sum(any(v > 0 for v in h.values()) for w, h in self.lent.items() if w != me)
            fits = max(min(fits, 1), fits // (others + 1) if others else fits)
            for k in self.left:
                held[k] = need.get(k, 0) * fits
                self.left[k] -= held[k]
            return {"rows": fits, "wait": fits == 0 and rows > 0 and others > 0}


def _own_address() -> str:
    """Returns the address at which other machines reach this one; the loopback address when there is no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("10.255.255.255", 1))
            return str(s.getsockname()[0])
        except OSError:
            return "127.0.0.1"


class Share:
    """The part of the job's budget that a worker may use."""

    def __init__(self, address: tuple[str, int, str]) -> None:
        host, port, self._token = address
        self._socket = socket.create_connection((host, port), timeout=60)
        self._file = self._socket.makefile("rwb")
        self._used = dict.fromkeys(ITEMS, 0.0)
        self._need = {"calls": 1.0, "tokens": 0.0, "cost": 0.0}  # the maximum that a row has used so far

    def take(self, rows: int) -> int:
        """Returns how many rows may be sent now; 0 when the budget is used up."""
        while True:
            got = self._ask(rows)
            if not got["wait"]:
                return int(got["rows"])
            time.sleep(0.05)

    def used(self, usage: Mapping[str, float]) -> None:
        for k in ITEMS:
            self._used[k] += usage.get(k, 0)
            self._need[k] = max(self._need[k], usage.get(k, 0))

    def close(self) -> None:
        self._ask(0)
        self._file.close()
        self._socket.close()

    def _ask(self, rows: int) -> dict[str, Any]:
        self._file.write(json.dumps({"token": self._token, "rows": rows, "need": self._need, "used": self._used}).encode() + b"\n")
        self._file.flush()
        self._used = dict.fromkeys(ITEMS, 0.0)
        line = self._file.readline()
        if not line:
            raise ConnectionError("the driver, which keeps the budget of the job, is gone")
        answer: dict[str, Any] = json.loads(line)
        return answer


class Journal:
    """The answers of one partition, in a file to which whole lines are appended."""

    def __init__(self, folder: Optional[str], run: str, hashes: list[str]) -> None:
        self.known: dict[int, list[Any]] = {}
        self._fd = -1
        if folder is None:
            return
        os.makedirs(folder, exist_ok=True)
        name = hashlib.sha256((run + "\n".join(hashes)).encode()).hexdigest()[:32]
        path = os.path.join(folder, "partition-%s.jsonl" % name)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with open(path, "rb") as f:
            data = f.read()
        for line in data.splitlines(keepends=True):
            try:
                row = json.loads(line) if line.endswith(b"\n") else None  # the last line may be incomplete
            except ValueError:
                continue
            if row and row[0] < len(hashes) and row[1] == hashes[row[0]]:
                self.known[row[0]] = row[2:]
        if data and not data.endswith(b"\n"):
            os.write(self._fd, b"\n")

    def put(self, number: int, key: str, answer: list[Any]) -> None:
        if self._fd >= 0:
            os.write(self._fd, json.dumps([number, key, *answer]).encode() + b"\n")

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


class Environment(dict[str, str]):
    """The variables that workers get. Some are keys of providers, and Ray and Spark show the repr of what they send to workers. So the repr does
    not contain the variables."""

    def __repr__(self) -> str:
        return "<%d variables>" % len(self)


def job_of(program: Any, jobs: int, journal: Any, budget: Budget, map: Optional[Mapping[str, str]], env: Optional[Mapping[str, str]],
           run: Optional[str], columns: Sequence[str] = ()) -> tuple[dict[str, Any], Optional[Keeper]]:
    """Returns the settings that workers get, and the keeper of the budget. columns: the columns of the data, empty when
    they are unknown."""
    text, name = str(program), None
    if isinstance(program, os.PathLike) or "\n" not in text:
        name = os.path.abspath(os.fspath(program))
        with open(name, encoding="utf-8") as f:
            text = f.read()
    limits = budget_of(budget)
    _check(text, name, jobs, columns, map or {})
    keeper = Keeper(limits) if limits is not None else None
    own = {k: v for k, v in os.environ.items() if KEYS.search(k)} if env is None else dict(env)
    key = hashlib.sha256(json.dumps([text, sorted((map or {}).items())]).encode()).hexdigest()[:16]
    return {"text": text, "name": name, "jobs": int(jobs), "journal": None if journal is None else os.path.abspath(os.fspath(journal)),
            "keeper": keeper.address() if keeper else None, "map": dict(map or {}), "env": Environment(own), "key": key,
            "run": run or secrets.token_hex(8)}, keeper


def _check(text: str, name: Optional[str], jobs: int, columns: Sequence[str], map: Mapping[str, str]) -> None:
    """Raises at once for a program that is broken, or for a program that needs a variable which no column gives. Otherwise
    the error would be repeated for each row, and for each worker that is started again."""
    import libpdl
    program = libpdl.Engine(jobs=jobs, code="process").loads(text, name=name)
    given = {map.get(n, n) for n in columns}
    for found in program.check() if columns else ():
        missing = re.match(r"'(.+)' is undefined$", found.message) if found.code == "name-undefined" else None
        if missing and missing[1] not in given:
            raise ValueError("the program needs the variable %r, and no column gives it (columns: %s): map={COLUMN: %r} takes a column for it"
                             % (missing[1], ", ".join(columns), missing[1]))


MAX_ENGINES = 4
_engines: collections.OrderedDict[tuple[Any, ...], Any] = collections.OrderedDict()
_before: dict[str, Optional[str]] = {}


def _set_environment(env: Mapping[str, str]) -> None:
    """Sets the environment of the process, which engines read for each run. When an earlier job set a variable that this job does not set, the
    variable is restored, so that a key of one job cannot reach another job."""
    for k in [k for k in _before if k not in env]:
        was = _before.pop(k)
        if was is None:
            os.environ.pop(k, None)
        else:
            os.environ[k] = was
    for k, v in env.items():
        _before.setdefault(k, os.environ.get(k))
        os.environ[k] = v


def _program_of(job: Mapping[str, Any]) -> Any:
    """Returns the program on this worker's engine. The program and the engine are made once for each process and job:
    Spark uses its workers again, and the next job may have another folder, URL or key. Only the engines of the most
    recent jobs are kept."""
    _set_environment(job["env"])
    which = (job["key"], job["name"], job["jobs"], tuple(sorted(job["env"].items())))
    if which not in _engines:
        import libpdl
        engine = libpdl.Engine(jobs=job["jobs"], code="process")
        _engines[which] = engine.loads(job["text"], name=job["name"])
    _engines.move_to_end(which)
    while len(_engines) > MAX_ENGINES:
        _engines.popitem(last=False)
    return _engines[which]


_json = json.JSONEncoder(ensure_ascii=False, default=str).encode


def _answer_of(result: Any, failure: type[Any]) -> list[Any]:
    if not isinstance(result, failure):
        return [_json(result.value), None, None]
    place = "%s:%d" % (result.file, result.line) if result.file else None
    return [None, result.message or str(result), place]


def _usage_of(result: Any) -> dict[str, float]:
    usage = getattr(result, "usage", None) or {}
    return {"calls": usage.get("model_calls", 1 if not usage else 0), "tokens": usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0),
            "cost": usage.get("cost", 0) or 0}


def _ask(job: Mapping[str, Any], rows: list[Any], numbers: list[int]) -> Iterator[tuple[int, Any]]:
    """Yields (number, result or error) for each of these rows when it ends, within the budget of the job."""
    program, names = _program_of(job), job["map"]

    def inputs(some: Iterable[int]) -> Iterator[dict[str, Any]]:
        return ({names.get(k, k): v for k, v in rows[i].items()} for i in some)
    if not job["keeper"]:
        for k, result in program.map_unordered(inputs(numbers), jobs=job["jobs"]):
            yield numbers[k], result
        return
    share = Share(job["keeper"])
    try:
        while numbers:
            n = share.take(min(job["jobs"], len(numbers)))
            if not n:
                break
            some, numbers = numbers[:n], numbers[n:]
            for k, result in program.map_unordered(inputs(some), jobs=job["jobs"]):
                share.used(_usage_of(result))
                yield some[k], result
    finally:
        share.close()


def run_rows(job: Mapping[str, Any], rows: list[dict[str, Any]], partition: str) -> dict[str, list[Any]]:
    """Returns the columns that are added to the rows of a partition."""
    from ._errors import Error
    hashes = [hashlib.sha256(json.dumps(r, sort_keys=True, default=str).encode()).hexdigest()[:32] for r in rows] if job["journal"] else []
    journal = Journal(job["journal"], job["key"], hashes)
    answers = dict(journal.known)
    try:
        for i, result in _ask(job, rows, [i for i in range(len(rows)) if i not in answers]):
            answers[i] = _answer_of(result, Error)
            if hashes:
                journal.put(i, hashes[i], answers[i])
    finally:
        journal.close()
    spent = [None, "the budget of the job is spent", None]
    worker = "%s:%d" % (socket.gethostname(), os.getpid())
    made = [answers.get(i, spent) for i in range(len(rows))]
    columns = [*([m[k] for m in made] for k in range(3)), *([x] * len(rows) for x in (worker, partition, job["run"]))]
    return dict(zip(OWN, columns))


def check_columns(names: Iterable[str], map: Optional[Mapping[str, str]] = None) -> None:
    """Raises an exception for everything that `pdl batch` refuses before the first row. names: the columns of the data,
    empty when they are unknown."""
    columns = list(names)
    clash = [n for n in columns if n in OWN]
    if clash:
        raise ValueError("the data has a column %r, which the output has itself: rename it" % clash[0])
    missing = [k for k in map or {} if columns and k not in columns]
    if missing:
        raise ValueError("map: the data has no column %r (columns: %s)" % (missing[0], ", ".join(columns)))
    variables: dict[str, str] = {}
    for n in columns:
        variable = (map or {}).get(n, n)
        other = variables.setdefault(variable, n)
        if other != n:
            raise ValueError("the columns %r and %r both give the variable %r: map gives one of them another name" % (other, n, variable))
