# SPDX-License-Identifier: Apache-2.0
"""PDL in notebooks: `%load_ext libpdl.notebook`, then cells that begin with `%%pdl`.

    %%pdl [-r|--reset-context] [--viewer] [--stream result|context|none] [-t NAME] [--no-run] [--keep-going]
          [--policy NAME|FILE] [--sandbox[=FILE]]
    %pdl [the same] FILE
    %pdl_reset, %pdl_usage

use(engine) lets the cells run on an engine of yours, with its models, tools and files. The variables of a cell keep their origins, for the policies of later
cells: as variables, and in values that cells of Python make of them.
"""
from __future__ import annotations

import builtins
import re
import shlex
import sys
import threading
from typing import Any, Callable, Iterable, Optional

from . import _engine, _errors, _hooks, _painter, _pdl, _program

NOT_BACK = frozenset(("stdlib", "pdl_usage", "pdl_context", "pdl_particle_id", "pdl_scope"))
# Defaults that every run defines. They are written back only when the notebook has such a variable.
GIVEN = frozenset(("pdl_llm_as_judge", "pdl_llm_context_transformer", "pdl_model_default_parameters"))
# A cell with one of these words may use variables that it does not name.
OPEN_WORDS = frozenset(("include", "import", "pdl_scope", "code"))
# Words of %%pdl: name in Options, whether a value follows, the help.
WORDS: dict[str, tuple[str, str, str]] = {
    "-r": ("reset", "", "the context begins empty"),
    "--reset-context": ("reset", "", "the same"),
    "--viewer": ("viewer", "", "shows the blocks of the run"),
    "--stream": ("stream", "result|context|none", "what is printed while the program runs"),
    "-t": ("trace", "NAME", "leaves the trace in this variable"),
    "--no-run": ("no_run", "", "only checks the program"),
    "--keep-going": ("keep_going", "", "a program that fails prints its message, and the cell succeeds"),
    "--policy": ("policies", "NAME|FILE", "this policy is asked, too; may be repeated"),
    "--sandbox": ("sandbox", "[=FILE]", "code, commands and tool servers of the cell run in a sandbox"),
}
SCALARS = (str, int, float, bytes, type(None))  # types whose values never change
PLAIN = (*SCALARS, list, tuple, dict)
STREAMS = {"none": 0, "result": 1, "context": 2}
_shell: Any = None


class CellError(Exception):
    """An error that is shown as its message alone."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines() or [""]


class Interrupted(KeyboardInterrupt):
    """An interrupt that is shown as one word, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return ["interrupted"]


def _no_words(magic: str, line: str) -> None:
    if line.strip():
        raise CellError("pdl: %s takes no words, and there is %s" % (magic, line.strip()))


def _shown(word: str) -> str:
    wants = WORDS[word][1]
    return word + (wants if wants.startswith("[") else " " + wants if wants else "")


class Options:
    """The words after %%pdl, as options."""

    def __init__(self, line: str, has_file: bool = False) -> None:
        self.reset = self.viewer = self.no_run = self.keep_going = False
        self.stream, self.trace, self.file, self.sandbox = "result", "", "", ""
        self.policies: list[str] = []
        try:
            words = iter(shlex.split(line))
        except ValueError as e:
            raise CellError("pdl: %s: %s" % (e, line)) from None
        for word in words:
            self._take(word, words, has_file)
        if self.stream not in STREAMS:
            raise CellError("pdl: --stream is %s, not %r" % (WORDS["--stream"][1], self.stream))
        if self.trace and not self.trace.isidentifier():
            raise CellError("pdl: -t wants the name of a variable, not %r" % self.trace)
        if has_file and not self.file:
            raise CellError("pdl: the name of a file is missing: %pdl [options] FILE")

    def _take(self, word: str, words: Iterable[str], has_file: bool) -> None:
        known, equals, value = word.partition("=")
        if known not in WORDS:
            if has_file and self.file and not word.startswith("-"):
                raise CellError("pdl: one file, and there are two: %s and %s" % (self.file, word))
            if not has_file or word.startswith("-"):
                raise CellError("pdl: unknown option %s; there are %s" % (word, ", ".join(map(_shown, WORDS))))
            self.file = word
            return
        name, wants, _ = WORDS[known]
        if not wants:
            if equals:
                raise CellError("pdl: %s takes no value: %s" % (known, word))
            setattr(self, name, True)
            return
        if not equals and not wants.startswith("["):
            value = next(iter(words), "")
        elif not equals:
            value = "code"
        if not value:
            raise CellError("pdl: %s wants a value: %s" % (known, wants))
        setattr(self, name, [*self.policies, value] if name == "policies" else value)


def _is_same(before: Any, after: Any) -> bool:
    """Returns true when a result of a run equals the value that was passed in. Tuples come back as lists, and other
    types as plain values."""
    if before is after:
        return True
    if isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        return len(before) == len(after) and all(map(_is_same, before, after))
    if isinstance(before, dict) and isinstance(after, dict):
        return before.keys() == after.keys() and all(_is_same(before[k], after[k]) for k in before)
    if type(before) is type(after):
        return bool(before == after)
    try:
        plain = _hooks.plain(before)
        return plain is not before and _is_same(plain, after)
    except (TypeError, ValueError, NotImplementedError):
        return False


def _is_taken(value: Any) -> bool:
    """Returns true when a program can have this value."""
    try:
        return value is None or isinstance(value, (str, int, float, list, tuple, dict)) or _hooks.plain(value) is not NotImplemented
    except NotImplementedError:
        return False


class Magics:
    """The magics of a notebook. The context continues from cell to cell in the variable pdl_context."""

    def __init__(self, shell: Any, keep_going: bool = False) -> None:
        self.shell, self.keep_going = shell, keep_going
        self.usage: dict[str, int] = {}
        self.painter: Optional[_painter.Painter] = None  # shows the output of the run
        self.known: dict[str, tuple[Any, _pdl.Handle]] = {}  # variables that have origins: the object, and the program's value
        self.before: dict[str, Any] = {}  # the variables when the cell began
        self.use(_engine.Engine())

    def use(self, engine: "_engine.Engine") -> None:
        """Makes cells run on this engine. `read` blocks ask through the input box, and so does a policy unless the engine has
        approve=."""
        before, self.engine = getattr(self, "engine", engine), engine
        engine._core().track()
        if before is not engine:
            self._take_origins(before)
        engine._also("input", self._ask)
        if engine._approve is None:
            engine._also("approval", self._ask_approval)

    def _take_origins(self, before: "_engine.Engine") -> None:
        """Gives the variables the origins that they had on another engine."""
        known, self.known = self.known, {}
        for name, value in list(self.shell.user_ns.items()):
            was, handle = known.get(name, (self, None))
            try:
                of = handle if was is value else before._core().derive(value, []) if isinstance(value, PLAIN) else None
                handle = self.engine._core().derive(value, [of]) if of is not None else None
            except (_errors.Error, TypeError, ValueError):
                continue  # no program can have such a value
            if handle is not None:
                self.known[name] = (value, handle)

    def _ask(self, request: _pdl.Request) -> None:
        data = request.data()
        sys.stdout.flush()  # the prompt was printed as a part of the output
        try:
            first = builtins.input()
            lines = [first]
            while data.get("multiline") and lines[-1]:
                lines.append(builtins.input())
        except EOFError:
            request.answer(None)
            return
        request.answer("\n".join(lines[:-1]) + "\n" if data.get("multiline") else first)

    def _ask_approval(self, request: _pdl.Request) -> None:
        if self.painter is not None:
            self.painter.end_line()  # the question is not a part of the output
        print(request.data()["text"], flush=True)
        try:
            request.answer(builtins.input().strip() in ("y", "yes"))
        except EOFError:
            request.answer(False)

    # --- variables

    def _of(self, name: str) -> Any:
        """Returns the variable, or the program's value of it when the variable is still the object that a program returned."""
        value = self.shell.user_ns[name]
        was, handle = self.known.get(name, (self, None))
        return handle if handle is not None and was is value and isinstance(value, SCALARS) else value

    def begin_cell(self, info: Any) -> None:
        """Called before IPython runs a cell."""
        self.before = dict(self.shell.user_ns)

    def end_cell(self, result: Any) -> None:
        """Called when IPython has run a cell. A variable or function that a cell of Python sets may be made of everything that the cell names,
        so it gets the origins of everything that is named."""
        names, before, self.before = self.shell.user_ns, self.before, {}
        text = str(getattr(getattr(result, "info", None), "raw_cell", None) or "")
        used = set(re.findall(r"[^\W\d]\w*", text)) & before.keys()
        of = [self._of(name) for name in used if isinstance(before[name], PLAIN)]
        of += [handle for was, handle in (self.known[name] for name in used if name in self.known) if not isinstance(was, PLAIN)]
        if text.lstrip().startswith("%%pdl") or not of:
            return
        for name, value in list(names.items()):
            is_new = name not in before or before[name] is not value or (name in used and isinstance(value, (list, dict)))
            if not is_new or name.startswith("_"):
                continue
            try:
                handle = self.engine._core().derive(value, of)
            except (_errors.Error, TypeError, ValueError):
                continue  # no program can have such a value
            self.known.pop(name, None)
            if handle is not None:
                self.known[name] = (value, handle)

    def _scope(self, text: str) -> dict[str, Any]:
        """Returns variables of the notebook: those that the program names, or all when the program may use others."""
        words = set(re.findall(r"[^\W\d]\w*", text))
        every = bool(words & OPEN_WORDS)
        hidden = self.shell.user_ns_hidden
        scope = {k: self._of(k) for k, v in self.shell.user_ns.items()
                 if (k in words or (every and not k.startswith("_"))) and k not in hidden and _is_taken(v)}
        scope["pdl_context"] = self.shell.user_ns.get("pdl_context", [])
        return scope

    def _keep(self, scope: dict[str, Any], result: "_program.Result[Any]") -> None:
        names = self.shell.user_ns
        left = result._variables if isinstance(result._variables, _pdl.Handle) else None
        names["pdl_context"] = [*scope["pdl_context"], *result.messages]
        for key, value in result.variables.items():
            is_ours = key.startswith("_") or key in NOT_BACK or (key in GIVEN and key not in names)
            if is_ours or (key in scope and _is_same(names.get(key), value)):
                continue
            names[key] = value
            self.known.pop(key, None)
            handle = left.entry(key) if left is not None else None
            if handle is not None:
                self.known[key] = (value, handle)
        for key, n in result.usage.items():
            self.usage[key] = self.usage.get(key, 0) + n

    def _number(self) -> int:
        """Returns the number of the cell, for the name of its program."""
        return max(1, int(self.shell.displayhook.prompt_count))

    # --- runs

    def _drive(self, job: "_program.Job", painter: "_painter.Painter", is_guarded: bool) -> None:
        """Runs the job to its end. is_guarded: its code does not run in this process."""
        engine = job.program._engine
        before, engine._running = engine._running, threading.get_ident()
        outer, self.painter = self.painter, painter
        here, engine._not_here = engine._not_here, engine._not_here or is_guarded
        try:
            while not job.advance(_program.SLICE_MS):
                painter.flush()
        finally:
            engine._running, self.painter, engine._not_here = before, outer, here
            painter.end()

    def _run(self, program: "_program.Program[Any]", text: str, options: Options) -> Any:
        scope = self._scope(text)
        painter = _painter.Painter(sys.stdout)
        is_traced = bool(options.viewer or options.trace)
        job = _program.Job(program, program._inputs(scope, {}), STREAMS[options.stream], is_traced, shown=painter.show,
                           policies=options.policies, sandbox=options.sandbox or None)
        job.has_handles = True  # _keep reads the origins of the variables
        self._drive(job, painter, bool(options.policies or options.sandbox))
        try:
            result = job.result()
        except _errors.Error as e:
            self._leave_trace(e.trace, options)
            raise
        self._keep(scope, result)
        self._leave_trace(result.trace, options)
        if options.viewer:
            from IPython.display import display  # type: ignore[import-not-found,unused-ignore]
            display(result)  # type: ignore[no-untyped-call,unused-ignore]
        return result.value if options.stream == "none" and not options.viewer else None

    def _leave_trace(self, trace: Any, options: Options) -> None:
        if options.trace and trace is not None:
            self.shell.user_ns[options.trace] = trace

    def _check(self, program: "_program.Program[Any]") -> None:
        for d in program.check():
            print("%s:%d:%d: %s: %s" % (d.file, d.line, d.column, d.severity, d.message))

    def _shielded(self, options: Options, run: Callable[[], Any]) -> Any:
        """Shows errors of programs as their message, and Ctrl-C without a traceback."""
        try:
            return run()
        except _errors.Error as e:
            if not options.keep_going and not self.keep_going:
                raise CellError(str(e)) from e.__cause__
            print(e)
            return None
        except KeyboardInterrupt:
            raise Interrupted() from None

    def cell(self, line: str, cell: str) -> Any:
        """Runs the cell as a program of PDL."""
        options = Options(line)
        if options.reset:
            self.reset("")

        def run() -> Any:
            program = self.engine.loads(cell, name="<cell %d>" % self._number())
            return self._check(program) if options.no_run else self._run(program, cell, options)
        return self._shielded(options, run)

    def file(self, line: str) -> Any:
        """Runs the program in a file."""
        options = Options(line, has_file=True)
        if options.reset:
            self.reset("")

        def run() -> Any:
            program = self.engine.load(options.file)
            with open(options.file, encoding="utf-8", errors="replace") as f:
                text = f.read()
            return self._check(program) if options.no_run else self._run(program, text, options)
        return self._shielded(options, run)

    def reset(self, line: str) -> None:
        """Empties the context."""
        _no_words("%pdl_reset", line)
        self.shell.user_ns["pdl_context"] = []

    def show_usage(self, line: str) -> dict[str, int]:
        """Returns the model calls and tokens of all cells so far."""
        _no_words("%pdl_usage", line)
        return dict(self.usage)


Magics.cell.__doc__ = "Runs the cell as a program of PDL.\n\n" + "\n".join("%-30s %s" % (_shown(w), WORDS[w][2]) for w in WORDS)


def _magics() -> Optional[Magics]:
    return getattr(_shell, "pdl_magics", None)


def use(engine: "_engine.Engine") -> None:
    """Makes cells with %%pdl run on this engine from now on."""
    magics = _magics()
    if magics is None:
        raise _errors.UsageError("use() comes after %load_ext libpdl.notebook")
    if not isinstance(engine, _engine.Engine):
        raise TypeError("engine must be a libpdl.Engine, not %s" % type(engine).__name__)
    magics.use(engine)


def load(shell: Any, keep_going: bool = False, kind: type[Magics] = Magics) -> Magics:
    """Registers the magics. keep_going: all cells behave as with --keep-going. kind: the class of the magics."""
    global _shell
    from . import _complete
    _shell = shell
    magics = shell.pdl_magics = kind(shell, keep_going)
    shell.register_magic_function(magics.cell, "cell", "pdl")
    shell.register_magic_function(magics.file, "line", "pdl")
    shell.register_magic_function(magics.reset, "line", "pdl_reset")
    shell.register_magic_function(magics.show_usage, "line", "pdl_usage")
    _complete.register(shell)
    shell.events.register("pre_run_cell", magics.begin_cell)
    shell.events.register("post_run_cell", magics.end_cell)
    return magics


def load_ipython_extension(shell: Any) -> None:
    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    from . import _complete
    _complete.unregister(shell)
    for kind, name in (("cell", "pdl"), ("line", "pdl"), ("line", "pdl_reset"), ("line", "pdl_usage")):
        shell.magics_manager.magics[kind].pop(name, None)
    shell.events.unregister("pre_run_cell", shell.pdl_magics.begin_cell)
    shell.events.unregister("post_run_cell", shell.pdl_magics.end_cell)
    del shell.pdl_magics
