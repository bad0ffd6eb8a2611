# SPDX-License-Identifier: Apache-2.0
"""later.py -- the rest of worker.py, compiled into the same names when it is first needed: values without a plain JSON
form, failures, IPython blocks, objects of which the run has only a handle, the pdl package.
"""
import collections.abc
import json
import signal


# --- values without a plain JSON form ----------------------------------------------------------


class _Ref:
    """A value of the run that has no Python form."""

    def __init__(self, n, info):
        self.__dict__["_pdl_ref"] = n
        self.__dict__["_pdl_text"] = info.get("text") or "<PDL object>"
        self.__dict__.update(info.get("attrs") or {})

    def __repr__(self):
        return self._pdl_text

    def __del__(self):
        _released.append(self._pdl_ref)


class _Function(_Ref):
    """A PDL function: calling it calls back into the run."""

    def __init__(self, n, info):
        _Ref.__init__(self, n, info)
        name = info.get("name")
        self.__dict__.update(
            __name__=name or "function", __qualname__=name or "function", name=name, description=info.get("description"),
            __doc__=info.get("description"), signature=_decode(info.get("signature")), function=_decode(info.get("params")),
        )

    def __call__(self, *args, **kwargs):
        return _result_of(_ask({
            "t": "call", "func": self._pdl_ref, "args": _encode(list(args)), "kwargs": _encode(kwargs),
        }))


class _Context(list):
    """Background messages: a list of dicts."""

    def serialize(self, mode=None):
        return [dict(m) for m in self]

    def __repr__(self):
        return "[" + ",".join(map(repr, self)) + "]"


def _encode_set(o, known):
    if not all(_is_key(x) for x in o):
        return _handle(o, known)
    return {"$pdl": "set", "items": [_encode(x, known) for x in o]}


def _encode_time(o, known):
    name = type(o).__name__
    if name == "date":
        return {"$pdl": "date", "iso": o.isoformat()}
    offset = o.utcoffset() if name == "datetime" else None
    if name != "datetime" or offset is not None and (offset.microseconds or offset.seconds % 60):
        return _handle(o, known)
    return {"$pdl": "datetime", "iso": o.isoformat(" ")}


def _encode_range(o, known):
    if max(abs(o.start), abs(o.stop), abs(o.step)) >= 2 ** 62:
        return _handle(o, known)
    return {"$pdl": "range", "start": o.start, "stop": o.stop, "step": o.step}


_MAX_DEPTH = 900  # limit for values on the wire


def _deeper(f, *args):
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 8 * _MAX_DEPTH))
    try:
        return f(*args)
    finally:
        sys.setrecursionlimit(limit)


def _depth(j):
    deepest, todo = 0, [(j, 1)]
    while todo:
        x, n = todo.pop()
        deepest = max(deepest, n)
        if type(x) is dict:
            x = x.values()
        elif type(x) is not list:
            continue
        todo.extend([(y, n + 1) for y in x if type(y) in (dict, list)])
    return deepest


def _encode_deep(o):
    try:
        j = _deeper(_encode, o)
        if _depth(j) <= _MAX_DEPTH:
            return j
    except RecursionError:
        pass
    return _handle(o, False)


def _encode_rare(o, known):
    t = type(o)
    if t is set:
        return _encode_set(o, known)
    if t is range:
        return _encode_range(o, known)
    if getattr(t, "__module__", None) == "datetime":
        return _encode_time(o, known)
    if t is _Function or t is _Ref:
        return {"$pdl": "ref", "id": o._pdl_ref}
    if t is _Context:
        return {"$pdl": "context", "items": [_encode(x, known) for x in o]}
    if t in (collections.OrderedDict, collections.defaultdict, collections.Counter):
        return _encode_dict(o, known)
    if isinstance(o, str) and t.__str__ is str.__str__:
        return str.__str__(o)
    if isinstance(o, float) and str(o) == float.__repr__(o):
        return float(o)
    if isinstance(o, int) and t is not bool and str(o) == int.__repr__(o):
        return int(o)
    return _handle(o, known)


def _interrupt(thread):
    """Raises KeyboardInterrupt in a thread that is running user code."""
    if thread == threading.main_thread().ident:
        _thread.interrupt_main()
        return
    try:
        from ctypes import c_ulong, py_object, pythonapi
    except ImportError:
        return  # the run ends this process after a while
    pythonapi.PyThreadState_SetAsyncExc(c_ulong(thread), py_object(KeyboardInterrupt))


def _attempt(f, otherwise):
    try:
        return f()
    except Exception:  # an object that fails when it is examined does not make the block fail
        return otherwise


def _class_name(t):
    module = getattr(t, "__module__", None)
    if module in (None, "builtins"):
        return t.__qualname__
    return "%s.%s" % (module, t.__qualname__)


def _json_form(o):
    text = json.dumps(o)
    return _encode(json.loads(text))


def _kinds(o):
    """Returns which of the tests of templates (such as `number` or `mapping`) the object passes."""
    numbers = sys.modules.get("numbers")
    return [kind for kind, holds in (
        ("callable", callable(o)), ("number", numbers is not None and isinstance(o, numbers.Number)),
        ("iterable", hasattr(type(o), "__iter__") or hasattr(type(o), "__getitem__")),
        ("sequence", hasattr(type(o), "__len__") and hasattr(type(o), "__getitem__")),
        ("mapping", isinstance(o, collections.abc.Mapping)),
    ) if holds]


def _handle(o, known):
    n = _handles.get(id(o))
    if known:
        return {"$pdl": "handle", "id": n} if n else {"$pdl": "new"}
    if n is None:
        n = next(_numbers)
        _handles[id(o)] = n
        _objects[n] = [o, 0]
    _objects[n][1] += 1
    t = type(o)
    plain = object.__repr__(o)
    h = {
        "$pdl": "handle", "id": n, "type": _class_name(t), "str": _attempt(lambda: str(o), plain),
        "repr": _attempt(lambda: repr(o), plain), "truth": _attempt(lambda: bool(o), True), "len": _attempt(lambda: len(o), -1),
        "is": _kinds(o),
    }
    if isinstance(o, (dict, list, tuple, str, int, float)):
        form = _attempt(lambda: _json_form(o), h)
        if form is not h:
            h["json"] = form
    return h


def _decode_time(j):
    import datetime

    return (datetime.date if j["$pdl"] == "date" else datetime.datetime).fromisoformat(j["iso"])


# --- errors of PDL as exceptions ---------------------------------------------------------------


class PDLException(Exception):
    def __init__(self, message=""):
        super().__init__(message)
        self.message = message


class PDLParseError(PDLException):
    pass


class PDLRuntimeError(PDLException):
    def __init__(self, message="", loc=None, trace=None, fallback=None):
        super().__init__(message)
        self.loc, self.pdl__trace, self.fallback = loc, trace, fallback


class PDLRuntimeExpressionError(PDLRuntimeError):
    pass


class PDLRuntimeParserError(PDLRuntimeError):
    pass


class PDLRuntimeProcessBlocksError(PDLException):
    def __init__(self, message="", blocks=None, loc=None, fallback=None):
        super().__init__(message)
        self.blocks, self.loc, self.fallback = blocks, loc, fallback


for _class in (
    PDLException, PDLRuntimeError, PDLRuntimeExpressionError, PDLRuntimeParserError, PDLRuntimeProcessBlocksError,
):
    _class.__module__ = "pdl.pdl_ast"
PDLParseError.__module__ = "pdl.pdl_parser"


def _pdl_error(e):
    if e.get("kind") == "exit":
        return SystemExit(e.get("status", 0))
    if e.get("kind") == "interrupt":
        return KeyboardInterrupt()
    names = (e.get("py_class") or "").split(",")
    kind = {
        "expression": PDLRuntimeExpressionError, "parser": PDLRuntimeParserError, "syntax": PDLParseError, "schema": PDLParseError,
    }.get(e.get("kind"), PDLRuntimeError)
    error = kind(e.get("msg") or "")
    error.py_classes = [n for n in names if n]
    return error


# --- failures ----------------------------------------------------------------------------------


def _of_class(t, name):
    """Returns an attribute as Python itself finds it in the class, whatever the metaclass answers."""
    return type.__dict__[name].__get__(t)


def _bases(t):
    return ",".join(_of_class(c, "__name__") for c in _of_class(t, "__mro__") if c not in (object, BaseException))


def _own_frames(tb, env):
    """Returns the innermost line of the block, or 0, and the indexes of the frames of other blocks."""
    line, left_out = 0, set()
    for i, (frame, number) in enumerate(_walk(tb)):
        if frame.f_code.co_filename == _BLOCK:
            if frame.f_globals is env:
                line = number
            else:
                left_out.add(i)
    return line, left_out


def _walk(tb):
    while tb is not None:
        yield tb.tb_frame, tb.tb_lineno
        tb = tb.tb_next


_MAX_FRAMES = 2000  # limit for one traceback: Python takes 10 us for each frame, and a recursion may have millions of frames


def _shortened(tb):
    """Returns the traceback, and how many frames between its two halves are left out."""
    n = sum(1 for _ in _walk(tb))
    if n <= _MAX_FRAMES:
        return tb, 0
    half, at, kept = _MAX_FRAMES // 2, tb, []
    for i in range(n):
        if i < half or i >= n - half:
            kept.append(at)
        at = at.tb_next
    short = None
    for t in reversed(kept):
        short = type(t)(short, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return short, n - len(kept)


def _clean(te, left_out, seen):
    while te is not None and id(te) not in seen:
        seen.add(id(te))
        kept = []
        for i, f in enumerate(te.stack):
            if f.filename == _NAME or f.filename.startswith("<frozen importlib"):
                continue
            if f.filename == _BLOCK and i in left_out:
                for name in ("_line", "_lines"):  # the name depends on the version of Python
                    if hasattr(type(f), name):
                        setattr(f, name, "")
            kept.append(f)
        te.stack[:] = kept
        if te.__context__ is not None:
            _clean(te.__context__, (), seen)
        te, left_out = te.__cause__, ()


def _text_of(e, te):
    """Returns what traceback prints. te.format() fails for a class without a module, or with a metaclass that hides the
    module; the text is then made here."""
    try:
        return "".join(te.format())
    except Exception:
        lines = ["Traceback (most recent call last):\n"] + te.stack.format()
        try:
            said = str(e)
        except Exception:
            said = "<exception str() failed>"
        name = _of_class(type(e), "__name__")
        return "".join(lines) + (name + ": " + said if said else name)


def _traceback(e, env, code):
    import linecache
    import traceback

    lines = code.splitlines(True) if isinstance(code, str) else []
    linecache.cache[_BLOCK] = (sum(map(len, lines)), None, lines, _BLOCK)
    try:
        tb, cut = _shortened(e.__traceback__)
        line, left_out = _own_frames(tb, env)
        te = traceback.TracebackException(type(e), e, tb, limit=-_MAX_FRAMES)  # this limit is for chains of causes
        _clean(te, left_out, set())
        text = _text_of(e, te)
        if not text.startswith("Traceback") and e.__cause__ is None and e.__context__ is None:
            text = "Traceback (most recent call last):\n" + text
        if cut:
            before, head, after = text.rpartition("Traceback (most recent call last):\n")
            text = "%s%s  [%d frames in the middle are left out]\n%s" % (before, head, cut, after)
    finally:
        linecache.cache.pop(_BLOCK, None)
    if isinstance(e, SyntaxError) and e.filename == _BLOCK:
        line = e.lineno or 0
    return text.rstrip("\n"), line


def _exit_status(e):
    if e.code is None:
        return 0
    if isinstance(e.code, int):
        return int(e.code) & 255
    print(e.code, file=sys.stderr)
    return 1


def _failure(e, env, code):
    if isinstance(e, SystemExit):
        return {"kind": "exit", "status": _exit_status(e), "msg": "exit", "py_class": "SystemExit"}
    if isinstance(e, KeyboardInterrupt):
        return {"kind": "interrupt", "msg": "Keyboard Interrupt", "py_class": "KeyboardInterrupt"}
    text, line = _traceback(e, env, code)
    py_class = _bases(type(e))
    if isinstance(e, PDLException) and getattr(e, "py_classes", None):
        py_class = ",".join([py_class] + e.py_classes)
    return {"kind": "code", "msg": "Python Code error: " + text, "py_class": py_class, "line": line}


# --- ipython blocks ----------------------------------------------------------------------------

_LIMIT_CHARS = 2000


def _ipython_shell():
    try:
        from IPython.core.interactiveshell import InteractiveShell

        return InteractiveShell
    except Exception:
        return None


def _run_cell(shell_class, code, env):
    """Runs in the child process. Returns the output of the cell."""
    import contextlib

    captured = io.StringIO()
    if shell_class is not None:
        from IPython.utils.capture import capture_output

        shell = shell_class.instance(user_ns=env, colors="NoColor")
        with capture_output() as both:
            shell.run_cell(code, store_history=False, silent=True)
        return both.stdout
    with contextlib.redirect_stdout(captured):
        try:
            exec(compile(code, _BLOCK, "exec"), env)
        except BaseException as e:
            captured.write(_traceback(e, env, code)[0] + "\n")
    return captured.getvalue()


def _end_with_reader(fd):
    """Ends the cell and its child processes when its output is not needed any more."""
    import select

    p = select.poll()
    p.register(fd, 0)  # with 0, poll reports only that the other end was closed
    p.poll()
    os.killpg(0, signal.SIGKILL)


def _ipython_child(out, m, env, shell_class):
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.setpgid(0, 0)
        _thread.start_new_thread(_end_with_reader, (out,))
        sys.stdin = io.StringIO()
        if _block().seed is not None:
            _seed_all(_block())
        try:
            text = _run_cell(shell_class, m["code"], env) or "[Executed Successfully with No Output]"
        except BaseException as e:
            text = "Error: %s" % e
        if len(text) > _LIMIT_CHARS:
            text = text[:_LIMIT_CHARS] + "...\n[Output Truncated]"
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(out, data):]
        status = 0
    finally:
        os._exit(status)


def _collect(fd, seconds):
    """Returns what the child process wrote, and whether the process ended in time."""
    import select
    import time

    end, data = time.monotonic() + seconds, b""
    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            return data, False
        piece = os.read(fd, 65536)
        if not piece:
            return data, True
        data += piece


def _end_cell(pid, out):
    os.close(out)
    for kill in (os.killpg, os.kill):
        _attempt(lambda: kill(pid, signal.SIGKILL), None)
    os.waitpid(pid, 0)


def _run_ipython(m):
    try:
        env = {name: _decode(j, m["refs"]) for name, j in m["vars"].items()}
        shell_class = _ipython_shell()
        out, end = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(out)
            _ipython_child(end, m, env, shell_class)
        os.close(end)
        try:
            _leave()
            data, in_time = _collect(out, m.get("seconds") or 5)
        finally:
            _enter()
            _end_cell(pid, out)
        text = data.decode("utf-8", "replace")
        if not in_time:
            text = "TimeoutError: Execution exceeded the time limit."
        return {"t": "done", "value": text or "Error: Unknown error occurred.", "rebound": {}}
    except Exception as e:
        return {"t": "fail", "kind": "code", "msg": "Code error: %r" % e, "py_class": _bases(type(e))}
    except BaseException as e:
        return dict(_failure(e, None, ""), t="fail")


# --- objects -----------------------------------------------------------------------------------


def _look_up(o, name, attribute_first):
    """Returns the attribute or item as templates see it; an undefined value when there is neither."""
    def attribute():
        return getattr(o, name)

    def item():
        return o[name]

    steps = (attribute, item) if attribute_first else (item, attribute)
    for step in steps:
        if step is attribute and not isinstance(name, str):
            continue
        try:
            return _encode_all(step())
        except AttributeError:
            continue
        except (TypeError, LookupError):
            if step is attribute:  # reading a property raised this error
                raise
    shown = "attribute %r" % name if isinstance(name, str) else "element %r" % (name,)
    return {"$pdl": "undefined", "why": "'%s object' has no %s" % (_class_name(type(o)), shown)}


def _binary(name, a, b):
    import operator

    table = {
        "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
        "%": operator.mod, "**": operator.pow, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
        ">": operator.gt, ">=": operator.ge, "in": lambda x, y: x in y, "not in": lambda x, y: x not in y,
        "~": lambda x, y: str(x) + str(y),
    }
    return table[name](a, b)


def _getter(attribute, fold, many=False):
    """Returns a function for filters, which returns the item or attribute that a path names, or (`many`) a list of them."""
    if attribute is None:
        paths = [[]]
    elif isinstance(attribute, str):
        names = attribute.split(",") if many else [attribute]
        paths = [[int(p) if p.isdigit() else p for p in name.split(".")] for name in names]
    else:
        paths = [[attribute]]

    def get(o, path):
        for name in path:
            try:
                o = o[name]
            except (AttributeError, TypeError, LookupError):
                if not isinstance(name, str) or not hasattr(o, name):
                    raise AttributeError("'%s object' has no attribute %r" % (_class_name(type(o)), name)) from None
                o = getattr(o, name)
        return o.lower() if fold and isinstance(o, str) else o

    if many and attribute is not None:
        return lambda o: [get(o, path) for path in paths]
    return lambda o: get(o, paths[0])


def _to_int(value, default=0, base=10):
    try:
        return int(value, base) if isinstance(value, str) else int(value)
    except (TypeError, ValueError):
        try:
            return int(float(value))
        except (TypeError, ValueError, OverflowError):
            return default


def _to_float(value, default=0.0):
    try:
        return float(value)
    except (TypeError, ValueError):
        return default


def _round(value, precision=0, method="common"):
    import math

    if method not in ("common", "ceil", "floor"):
        raise ValueError("method must be common, ceil or floor")
    if method == "common":
        return round(value, precision)
    return (math.ceil if method == "ceil" else math.floor)(value * 10 ** precision) / 10 ** precision


def _extreme(choose):
    def run(value, case_sensitive=False, attribute=None):
        items = list(value)
        if not items:
            return _Missing("No aggregated item, sequence was empty.")
        return choose(items, key=_getter(attribute, not case_sensitive))
    return run


def _sum(iterable, attribute=None, start=0):
    return sum(map(_getter(attribute, False), iterable), start)


def _sort(value, reverse=False, case_sensitive=False, attribute=None):
    return sorted(value, key=_getter(attribute, not case_sensitive, True), reverse=reverse)


def _map(value, name, *args):
    return [_filters[name](x, *args) for x in value]


def _pick(by_attribute, keep):
    def run(value, *args, operator):
        get = _getter(args[0] if by_attribute else None, False)
        return [x for x in value if bool(_binary(operator, get(x), args[-1])) is keep]
    return run


class _Missing:
    def __init__(self, why):
        self.why = why


_filters = {
    "abs": abs, "int": _to_int, "float": _to_float, "round": _round, "max": _extreme(max), "min": _extreme(min), "sum": _sum,
    "sort": _sort, "map": _map, "select": _pick(False, True), "reject": _pick(False, False), "selectattr": _pick(True, True),
    "rejectattr": _pick(True, False), "format": lambda s, *args, **kwargs: str(s) % (kwargs or args), "str.format": str.format,
}


def _operate(m, refs):
    op = m["op"]
    if op == "binary":
        value = _binary(m["operator"], _decode(m["left"], refs), _decode(m["right"], refs))
        return not value if m.get("negated") else value
    if op == "filter":
        given = {"operator": m["operator"]} if m.get("operator") else {}
        return _filters[m["name"]](*_decode(m["args"], refs), **_decode(m["kwargs"], refs), **given)
    o = _decode_handle({"id": m["id"]})
    args = m.get("args")
    args = _decode(args, refs) if args is not None else []
    kwargs = _decode(m.get("kwargs") or {}, refs)
    if op == "call":
        name = m.get("name")
        return (o if name is None else getattr(o, name))(*args, **kwargs)
    if op == "iter":
        return list(o)
    if op == "slice":
        return o[slice(*args)]
    if op == "unary":
        return {"-": lambda x: -x, "+": lambda x: +x, "not": lambda x: not x}[m["operator"]](o)
    if op == "set":
        key, x = _decode(m["key"], refs), _decode(m["value"], refs)
        if m.get("item"):
            o[key] = x
        else:
            setattr(o, key, x)
        return None
    return {"len": len, "str": str, "repr": repr}[op](o)


def _run_object(m):
    r = m["request"]
    try:
        try:
            _leave()
            if r["op"] in ("attr", "item"):
                name = _decode(r.get("name", r.get("key", r.get("args"))), m["refs"])
                value = _look_up(_decode_handle(r), name, r["op"] == "attr")
            else:
                value = _operate(r, m["refs"])
                value = {"$pdl": "undefined", "why": value.why} if type(value) is _Missing else _encode_all(value)
        finally:
            _enter()
        return {"t": "done", "value": value}
    except Exception as e:
        return {"t": "fail", "kind": "code", "msg": str(e), "py_class": _bases(type(e))}
    except BaseException as e:
        return dict(_failure(e, None, ""), t="fail")


# --- the pdl package ---------------------------------------------------------------------------


def _check_config(config):
    out = {}
    for k, x in (config or {}).items():
        out[k] = str(x) if isinstance(x, os.PathLike) else x
    return out


class _Program:
    """The result of parse_str: the text of a program that was checked."""

    def __init__(self, text, name=None):
        self.text, self.name = text, name
        self.root = self


def _parse(text, name=None):
    _result_of(_ask({"t": "program", "request": {"op": "parse", "text": text, "name": name, "dir": None}}))
    return _Program(text, name)


def _exec(text, name, config, scope, output):
    config = _check_config(config)
    folder = config.pop("cwd", None)
    if hasattr(scope, "data") and not isinstance(scope, dict):
        scope = scope.data
    return _result_of(_ask({"t": "program", "request": {
        "op": "run", "text": text, "name": name, "dir": folder, "scope": _encode(dict(scope or {})),
        "config": _encode(config), "output": output,
    }}))


def _read_program(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def _parse_str(pdl_str, file_name=""):
    return _parse(pdl_str, file_name or None), None


def _parse_file(pdl_file):
    return _parse(_read_program(pdl_file), str(pdl_file)), None


def _parse_dict(pdl_dict):
    return _parse(json.dumps(pdl_dict))


def _exec_str(prog, config=None, scope=None, output="result"):
    return _exec(prog, None, config, scope, output)


def _exec_dict(prog, config=None, scope=None, output="result"):
    return _exec(json.dumps(prog), None, config, scope, output)


def _exec_program(prog, config=None, scope=None, loc=None, output="result"):
    return _exec(prog.text, prog.name, config, scope, output)


def _exec_file(prog, config=None, scope=None, output="result"):
    config = dict(config or {})
    if config.get("cwd") is None:
        config["cwd"] = os.path.dirname(str(prog)) or "."
    return _exec(_read_program(prog), str(prog), config, scope, output)


def _decorator(func):
    def pdl_wrapper(scope):
        return _exec_str(func.__doc__, scope=scope)

    return pdl_wrapper


def _stringify(result):
    if isinstance(result, str):
        return result
    if isinstance(result, _Function):
        return ""
    try:
        return json.dumps(result)
    except (TypeError, ValueError):
        return str(result)


def _package():
    errors = dict(
        PDLException=PDLException, PDLRuntimeError=PDLRuntimeError, PDLRuntimeExpressionError=PDLRuntimeExpressionError,
        PDLRuntimeParserError=PDLRuntimeParserError, PDLRuntimeProcessBlocksError=PDLRuntimeProcessBlocksError,
    )
    parser = dict(parse_str=_parse_str, parse_file=_parse_file, parse_dict=_parse_dict, PDLParseError=PDLParseError)
    run = dict(
        exec_str=_exec_str, exec_file=_exec_file, exec_dict=_exec_dict, exec_program=_exec_program, InterpreterConfig=dict,
        pdl=_decorator,
    )
    return {
        "pdl": {},
        "pdl.pdl": dict(run, **parser),
        "pdl.pdl_parser": parser,
        "pdl.pdl_ast": dict(errors, Program=_Program, ScopeType=dict),
        "pdl.pdl_utils": dict(stringify=_stringify),
        "pdl.pdl_interpreter": dict(errors),
        "pdl.pdl_interpreter_state": dict(ScopeType=dict),
    }


def _package_spec(name, loader):
    if name not in _package():
        return None
    from importlib.machinery import ModuleSpec

    return ModuleSpec(name, loader, is_package=name == "pdl")
