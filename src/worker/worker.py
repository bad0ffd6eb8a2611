"""worker.py -- the other end of src/worker/python.c: runs Python code for a PDL run.

Messages are JSON with their length in four bytes in front, on descriptor 3 (to us) and 4 (from us); descriptors 0, 1, 2 belong to
user code. Plain Python 3.8 or later, standard library only. Each block runs in a thread: the first in the main thread, one that
arrives while others wait for an answer in a thread of its own. A block runs while it holds the baton and hands it on while it
waits, so that blocks take turns at well-defined places. Whoever waits reads for all.
"""
import io
import os
import sys
import threading
from _collections import deque
from _signal import SIGINT, signal as set_signal
from _thread import interrupt_main
from itertools import count

# Start-up counts: the C halves of json and signal are at hand, their Python halves pull in much that nobody needs here.
try:
    from _json import encode_basestring_ascii, make_encoder, make_scanner
except ImportError:
    import json
else:

    class json:
        strict, object_hook, object_pairs_hook, memo = True, None, None, {}
        parse_float, parse_int, parse_constant = float, int, float

        @staticmethod
        def dumps(o, _encode=make_encoder({}, None, encode_basestring_ascii, None, ": ", ", ", False, False, True)):
            return "".join(_encode(o, 0))

        @classmethod
        def loads(cls, text, _scan=[]):
            if not _scan:
                _scan.append(make_scanner(cls))
            return _scan[0](text.decode("utf-8"), 0)[0]

_NAME = "<pdl-worker>"
_BLOCK = "<code-block>"
_PID = os.getpid()
_BIG = 10 ** 4000  # longer decimal numbers are refused by newer Pythons: they travel in hexadecimal


class _Later:
    """Names of the second part of this file, which most runs never need: `_rest`, given by the boot code."""

    _lock = threading.RLock()

    def __getattr__(self, name):
        with self._lock:
            if name not in globals():
                exec(compile(_rest, _NAME, "exec"), globals())
        self.__dict__[name] = value = globals()[name]
        return value


later = _Later()
_Namespace = type(sys.implementation)  # types.SimpleNamespace
SESSION = _Namespace()


# --- the wire ----------------------------------------------------------------------------------

os.set_inheritable(3, False)
os.set_inheritable(4, False)
_target = os.fdopen(4, "wb", closefd=False)
_send_lock = threading.RLock()
_numbers = count(1)


def _deep(f, *args):
    """f(*args), again with a higher limit when it was nested too deeply."""
    try:
        return f(*args)
    except RecursionError:
        return later._deeper(f, *args)


def _read(n):
    parts = []
    while n:
        part = os.read(3, min(n, 1 << 24))
        if not part:
            return None
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def _receive():
    head = _read(4)
    body = _read(int.from_bytes(head, "big")) if head else None
    return {"t": "bye"} if body is None else _deep(json.loads, body)


def _send(message):
    data = _deep(json.dumps, message).encode("ascii")
    with _send_lock:
        try:
            _target.write(len(data).to_bytes(4, "big") + data)
            _target.flush()
        except OSError:
            os._exit(1)  # nobody is there any more


# --- waiting and taking turns ------------------------------------------------------------------

_turn = threading.Lock()  # the baton
_cond = threading.Condition()
_answers = {}
_requests = deque()
_state = _Namespace(reading=False, idle=False, strangers=0, current=None)
_local = threading.local()  # block, turn, user_code: it runs now
_cancelled = set()  # blocks that the run gave up


def _dispatch(m, early=False):
    """early: a request may wait until the main thread is idle or waits."""
    t = m["t"]
    if t == "answer":
        _answers[m["id"]] = m
    elif t == "drop":
        for n in m["ids"]:
            _forget(n)
    elif t == "cancel":
        _cancelled.add(m["id"])
        if _state.current and _state.current.id == m["id"] and threading.current_thread() is not threading.main_thread():
            interrupt_main()
    elif early or _state.idle and not _requests:
        _requests.append(m)
    elif t == "bye":
        os._exit(0)
    else:
        threading.Thread(target=_serve_beside, args=(m,), daemon=True).start()


def _wait(key):
    """The answer to question `key`, or the next request of the main thread for None."""
    with _cond:
        while True:
            if key is None:
                if _requests:
                    return _requests.popleft()
            elif key in _answers:
                return _answers.pop(key)
            if _state.reading:
                _cond.wait()
                continue
            _state.reading = True
            _cond.release()
            try:
                m = _receive()
            finally:
                _cond.acquire()
                _state.reading = False
                _cond.notify_all()
            _dispatch(m)


def _ask(message):
    """Ask the run and wait. Other blocks run meanwhile."""
    if os.getpid() != _PID:
        raise RuntimeError("PDL cannot be reached from a child process")
    block = _block()
    key = next(_numbers)
    message["id"] = key
    message["block"] = block.id if block else 0
    _flush_all()
    mine = getattr(_local, "turn", False)  # a thread started by user code takes no turns
    in_code, _local.user_code = getattr(_local, "user_code", False), False
    if mine:
        _turn.release()
    else:
        _state.strangers += 1
    try:
        _send(message)
        with _cond:
            while _requests:
                _dispatch(_requests.popleft())  # the main thread is not idle: they get threads
        answer = _wait(key)
    finally:
        if mine:
            _turn.acquire()
        else:
            _state.strangers -= 1
        _local.user_code = in_code
    if answer.get("cancel"):
        raise KeyboardInterrupt
    return answer


def _look():
    """Take what has arrived, without waiting."""
    import select

    with _cond:
        while not _state.reading and select.select([3], [], [], 0)[0]:
            _dispatch(_receive(), True)


def _on_interrupt(number, frame):
    """The run gave up a block: which one says a message that was sent before this signal. A block that waits is told by its answer."""
    block = getattr(_local, "block", None)
    if block is None:
        return  # idle: the message is read before the block begins
    _look()
    if block.id in _cancelled and getattr(_local, "user_code", False):
        raise KeyboardInterrupt


# --- standard streams --------------------------------------------------------------------------


class _Block:
    def __init__(self, n):
        self.id = n
        self.text = []
        self.size = 0


def _block():
    return getattr(_local, "block", None) or _state.current


def _settle():
    """Wait until what went to descriptor 1 directly (child processes, C code) was read: it came first."""
    try:
        import fcntl
        import time

        for request in (0x5411, 0x541B):  # TIOCOUTQ for sockets, FIONREAD for pipes
            try:
                for _ in range(2000):
                    left = fcntl.ioctl(1, request, b"\0\0\0\0")
                    if not any(left):
                        return
                    time.sleep(0.0005)
                return
            except OSError:
                continue
    except ImportError:
        pass


def _flush(block):
    with _send_lock:
        if block.text:
            text = "".join(block.text)
            block.text.clear()
            block.size = 0
            _settle()
            _send({"t": "out", "id": block.id, "s": text})


def _flush_all():
    block = _block()
    if block:
        _flush(block)


class _OutBytes(io.BufferedIOBase):
    def __init__(self, text):
        self.raw = self
        self._text = text

    def writable(self):
        return True

    def write(self, data):
        data = bytes(data)
        self._text.write(data.decode("utf-8", "replace"))
        return len(data)

    def flush(self):
        self._text.flush()

    def fileno(self):
        return 1


class _Out(io.TextIOBase):
    encoding = "utf-8"
    errors = "strict"
    newlines = None
    name = "<stdout>"
    mode = "w"
    line_buffering = True

    def __init__(self):
        self.buffer = _OutBytes(self)

    def writable(self):
        return True

    def fileno(self):
        return 1

    def isatty(self):
        return False

    def reconfigure(self, **options):
        pass

    def write(self, s):
        if not isinstance(s, str):
            raise TypeError("write() argument must be str, not " + type(s).__name__)
        block = _block()
        if block is None or os.getpid() != _PID:
            data = s.encode("utf-8", "replace")
            while data:
                data = data[os.write(1, data):]
            return len(s)
        block.text.append(s)
        block.size += len(s)
        if block.size > 8192 or "\n" in s:
            _flush(block)
        return len(s)

    def flush(self):
        if os.getpid() == _PID:
            _flush_all()


class _InBytes(io.BufferedIOBase):
    def __init__(self, text):
        self._text = text

    def readable(self):
        return True

    def read(self, size=-1):
        return self._text.read(size).encode("utf-8")

    def readline(self, size=-1):
        return self._text.readline(size).encode("utf-8")

    def fileno(self):
        return 0


class _In(io.TextIOBase):
    encoding = "utf-8"
    errors = "strict"
    name = "<stdin>"
    mode = "r"

    def __init__(self):
        self._left = ""
        self.buffer = _InBytes(self)

    def readable(self):
        return True

    def fileno(self):
        return 0

    def isatty(self):
        return False

    def _more(self):
        answer = _ask({"t": "input"})
        if answer["eof"]:
            return False
        self._left += answer["text"] + "\n"
        return True

    def readline(self, size=-1):
        if not self._left:
            self._more()
        end = self._left.find("\n") + 1
        if size is not None and 0 <= size < end:
            end = size
        line, self._left = self._left[:end], self._left[end:]
        return line

    def read(self, size=-1):
        while (size is None or size < 0 or len(self._left) < size) and self._more():
            pass
        if size is None or size < 0:
            size = len(self._left)
        text, self._left = self._left[:size], self._left[size:]
        return text

    def __next__(self):
        line = self.readline()
        if not line:
            raise StopIteration
        return line


# --- values ------------------------------------------------------------------------------------

_objects = {}  # handle -> [object, how often the run holds it]
_handles = {}  # id(object) -> handle
_released = []  # functions and other values of the run that nobody here holds any more


def _forget(n):
    entry = _objects.get(n)
    if entry:
        entry[1] -= 1
        if entry[1] == 0:
            del _objects[n]
            _handles.pop(id(entry[0]), None)


def _result_of(answer):
    if "error" in answer:
        raise later._pdl_error(answer["error"])
    return _decode(answer["value"], answer.get("refs"))


def _is_key(k):
    t = type(k)
    if t is tuple:
        return all(_is_key(x) for x in k)
    return k is None or t in (str, int, float, bool, bytes) or t.__module__ == "datetime" and t.__name__ in ("date", "datetime")


def _encode_dict(o, known):
    keys = o.keys()
    if all(type(k) is str for k in keys) and "$pdl" not in o:
        return {k: _encode(x, known) for k, x in o.items()}
    if not all(_is_key(k) for k in keys):
        return later._handle(o, known)
    return {"$pdl": "dict", "items": [[_encode(k, known), _encode(x, known)] for k, x in o.items()]}


def _encode_other(o, known):
    t = type(o)
    if t is tuple:
        return {"$pdl": "tuple", "items": [_encode(x, known) for x in o]}
    if t is bytes:
        return {"$pdl": "bytes", "hex": o.hex()}
    return later._encode_rare(o, known)


_PLAIN = frozenset((str, bool, float, type(None)))


def _encode(o, known=False):
    """JSON form of any object. known: objects that have no handle yet become a mark that nothing equals."""
    t = type(o)
    if t in _PLAIN:
        return o
    if t is int:
        return o if -_BIG < o < _BIG else {"$pdl": "int", "hex": "%x" % o}
    if t is list:
        return [
            x if type(x) in _PLAIN or type(x) is int and -_BIG < x < _BIG else _encode(x, known) for x in o
        ]
    if t is dict:
        return _encode_dict(o, known)
    return _encode_other(o, known)


def _encode_all(o):
    try:
        return _encode(o)
    except RecursionError:
        return later._encode_deep(o)


def _decode_handle(j):
    entry = _objects.get(j["id"])
    if entry is None:
        raise RuntimeError("the object %s is gone" % j["id"])
    return entry[0]


def _decode_ref(j, refs):
    n = j["id"]
    info = refs[str(n)]
    made = info.get("made")
    if made is None:
        made = info["made"] = (later._Function if info["kind"] == "func" else later._Ref)(n, info)
    return made


def _decode_tagged(tag, j, refs):
    if tag == "tuple":
        return tuple([_decode(x, refs) for x in j["items"]])
    if tag == "set":
        return {_decode(x, refs) for x in j["items"]}
    if tag == "dict":
        return {_decode(k, refs): _decode(x, refs) for k, x in j["items"]}
    if tag == "context":
        return later._Context(_decode(x, refs) for x in j["items"])
    if tag == "bytes":
        return bytes.fromhex(j["hex"])
    if tag == "int":
        return int(j["hex"], 16)
    if tag == "range":
        return range(j["start"], j["stop"], j["step"])
    if tag == "handle":
        return _decode_handle(j)
    if tag == "ref":
        return _decode_ref(j, refs)
    return later._decode_time(j)


def _decode(j, refs=None):
    t = type(j)
    if t is list:
        return [_decode(x, refs) if type(x) is list or type(x) is dict else x for x in j]
    if t is dict:
        tag = j.get("$pdl")
        if tag is None:
            return {k: _decode(x, refs) for k, x in j.items()}
        return _decode_tagged(tag, j, refs)
    return j


# --- python blocks -----------------------------------------------------------------------------


def _may_change(raw):
    return type(raw) is list or type(raw) is dict and raw.get("$pdl") in (None, "dict", "set", "tuple")


def _changed(raw, env):
    out = {}
    for name, (before, o) in raw.items():
        try:
            if json.dumps(_encode(o, True)) != json.dumps(before):
                out[name] = _encode(o)
        except RecursionError:
            out[name] = _encode_all(o)
    return out


def _result(env):
    if "result" not in env:
        raise AttributeError("'types.SimpleNamespace' object has no attribute 'result'")
    return env["result"]


def _run_python(m):
    env, refs, watched = {"PDL_SESSION": SESSION}, m["refs"], {}
    folder = m.get("dir")
    try:
        for name, j in m["vars"].items():
            env[name] = _deep(_decode, j, refs)
            if _may_change(j):
                watched[name] = (j, env[name])
        del refs
        m["refs"] = None
        if folder is not None:
            sys.path.append(folder)
        try:
            code = compile(m["code"], _BLOCK, "exec")
            _local.user_code = True
            _look()
            if _local.block.id in _cancelled:
                raise KeyboardInterrupt
            exec(code, env)
        finally:
            _local.user_code = False
            if folder is not None and folder in sys.path:
                del sys.path[len(sys.path) - 1 - sys.path[::-1].index(folder)]
        return {"t": "done", "value": _encode_all(_result(env)), "rebound": _changed(watched, env)}
    except BaseException as e:
        return dict(later._failure(e, env, m["code"]), t="fail")


# --- serving -----------------------------------------------------------------------------------


class _Finder:
    """Finds the pdl package here, whether or not one is installed: programs started by code belong to this run."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "pdl" and not name.startswith("pdl."):
            return None
        return later._package_spec(name, _Finder)

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        module.__dict__.update(later._package()[module.__name__])


def _serve(m):
    block = _Block(m["id"])
    outer, before = getattr(_local, "block", None), _state.current
    _local.block = _state.current = block
    try:
        run = _run_python if m["lang"] == "python" else getattr(later, "_run_" + m["lang"])
        reply = run(m)
    finally:
        _local.block, _state.current = outer, before
        _cancelled.discard(block.id)
    with _send_lock:
        _flush(block)
        _settle()
        reply["id"] = m["id"]
        if _released:
            reply["released"] = _released[:]
            del _released[:len(reply["released"])]
        _send(reply)


def _serve_beside(m):
    turn = _state.strangers == 0  # a stranger waits: the holder of the baton may be waiting for that thread
    if turn:
        _turn.acquire()
    _local.turn = turn
    try:
        _serve(m)
    finally:
        if turn:
            _turn.release()


def _main():
    sys.argv = ["pdl"]
    sys.stdout, sys.stdin = _Out(), _In()
    sys.__stdout__, sys.__stdin__ = sys.stdout, sys.stdin
    sys.meta_path.insert(0, _Finder)
    set_signal(SIGINT, _on_interrupt)
    while True:
        _state.idle = True
        m = _wait(None)
        _state.idle = False
        if m["t"] == "bye":
            break
        with _turn:
            _local.turn = True
            _serve(m)


# ==== the rest is compiled when it is first needed ====

# --- values without a plain JSON form ----------------------------------------------------------


import collections
import json
import signal


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


_MAX_DEPTH = 900  # of values on the wire


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
    if t.__module__ == "datetime":
        return _encode_time(o, known)
    if t is _Function or t is _Ref:
        return {"$pdl": "ref", "id": o._pdl_ref}
    if t is _Context:
        return [_encode(x, known) for x in o]
    if t in (collections.OrderedDict, collections.defaultdict, collections.Counter):
        return _encode_dict(o, known)
    if isinstance(o, str) and t.__str__ is str.__str__:
        return str.__str__(o)
    if isinstance(o, float) and str(o) == float.__repr__(o):
        return float(o)
    if isinstance(o, int) and t is not bool and str(o) == int.__repr__(o):
        return int(o)
    return _handle(o, known)


def _attempt(f, otherwise):
    try:
        return f()
    except Exception:  # whatever an object does when it is looked at is no failure of the block
        return otherwise


def _class_name(t):
    module = getattr(t, "__module__", None)
    if module in (None, "builtins"):
        return t.__qualname__
    return "%s.%s" % (module, t.__qualname__)


def _json_form(o):
    text = json.dumps(o)
    return _encode(json.loads(text))


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
        "callable": callable(o),
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
    names = (e.get("foreign") or "").split(",")
    kind = {
        "expression": PDLRuntimeExpressionError, "parser": PDLRuntimeParserError, "syntax": PDLParseError, "schema": PDLParseError,
    }.get(e.get("kind"), PDLRuntimeError)
    error = kind(e.get("msg") or "")
    error.foreign = [n for n in names if n]
    return error


# --- failures ----------------------------------------------------------------------------------


def _bases(t):
    return ",".join(c.__name__ for c in t.__mro__ if c not in (object, BaseException))


def _own_frames(tb, env):
    """What traceback prints, without frames of this file. Line of the innermost frame of the block, or 0."""
    line, hide = 0, set()
    for i, (frame, number) in enumerate(_walk(tb)):
        if frame.f_code.co_filename == _BLOCK:
            if frame.f_globals is env:
                line = number
            else:
                hide.add(i)
    return line, hide


def _walk(tb):
    while tb is not None:
        yield tb.tb_frame, tb.tb_lineno
        tb = tb.tb_next


def _clean(te, hide, seen):
    while te is not None and id(te) not in seen:
        seen.add(id(te))
        kept = []
        for i, f in enumerate(te.stack):
            if f.filename == _NAME or f.filename.startswith("<frozen importlib"):
                continue
            if f.filename == _BLOCK and i in hide:
                f._line = ""
                f._lines = ""
            kept.append(f)
        te.stack[:] = kept
        if te.__context__ is not None:
            _clean(te.__context__, (), seen)
        te, hide = te.__cause__, ()


def _traceback(e, env, code):
    import linecache
    import traceback

    lines = code.splitlines(True) if isinstance(code, str) else []
    linecache.cache[_BLOCK] = (sum(map(len, lines)), None, lines, _BLOCK)
    try:
        line, hide = _own_frames(e.__traceback__, env)
        te = traceback.TracebackException(type(e), e, e.__traceback__)
        _clean(te, hide, set())
        text = "".join(te.format())
        if not text.startswith("Traceback") and e.__cause__ is None and e.__context__ is None:
            text = "Traceback (most recent call last):\n" + text
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
        return {"kind": "exit", "status": _exit_status(e), "msg": "exit", "foreign": "SystemExit"}
    if isinstance(e, KeyboardInterrupt):
        return {"kind": "interrupt", "msg": "Keyboard Interrupt", "foreign": "KeyboardInterrupt"}
    text, line = _traceback(e, env, code)
    foreign = _bases(type(e))
    if isinstance(e, PDLException) and getattr(e, "foreign", None):
        foreign = ",".join([foreign] + e.foreign)
    return {"kind": "code", "msg": "Python Code error: " + text, "foreign": foreign, "line": line}


# --- ipython blocks ----------------------------------------------------------------------------

_LIMIT_CHARS = 2000


def _ipython_shell():
    try:
        from IPython.core.interactiveshell import InteractiveShell

        return InteractiveShell
    except Exception:
        return None


def _run_cell(shell_class, code, env):
    """In the child: the cell's output."""
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


def _ipython_child(out, m, env, shell_class):
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.setpgid(0, 0)
        sys.stdin = io.StringIO()
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
    """What the child wrote, and whether it was in time."""
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
        data, in_time = _collect(out, m.get("seconds") or 5)
        os.close(out)
        if not in_time:
            for kill in (os.killpg, os.kill):
                _attempt(lambda: kill(pid, signal.SIGKILL), None)
        os.waitpid(pid, 0)
        text = data.decode("utf-8", "replace")
        if not in_time:
            text = "TimeoutError: Execution exceeded the time limit."
        return {"t": "done", "value": text or "Error: Unknown error occurred.", "rebound": {}}
    except Exception as e:
        return {"t": "fail", "kind": "code", "msg": "Code error: %r" % e, "foreign": _bases(type(e))}


# --- objects -----------------------------------------------------------------------------------


def _look_up(o, name, attribute_first):
    """Attribute and item as templates see them; an undefined value when there is neither."""
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
        except (AttributeError, TypeError, LookupError):
            continue
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


def _operate(m, refs):
    op = m["op"]
    if op == "binary":
        return _binary(m["operator"], _decode(m["left"], refs), _decode(m["right"], refs))
    o = _decode_handle({"id": m["id"]})
    args = m.get("args")
    args = _decode(args, refs) if args is not None else []
    kwargs = _decode(m.get("kwargs") or {}, refs)
    if op == "call" or op == "method":
        name = m.get("name")
        if name is None and op == "method":
            name, args = args[0], args[1:]
        return (o if name is None else getattr(o, name))(*args, **kwargs)
    if op == "iter":
        return list(o)
    if op == "unary":
        return {"-": lambda x: -x, "+": lambda x: +x, "not": lambda x: not x}[m["operator"]](o)
    if op == "set":
        key, x = _decode(m["key"], refs), _decode(m["value"], refs)
        if m.get("item"):
            o[key] = x
        else:
            setattr(o, key, x)
        return None
    return {"len": len, "str": str, "repr": repr, "drop": lambda x: None}[op](o)


def _run_object(m):
    r = m["request"]
    try:
        _local.user_code = True
        try:
            if r["op"] in ("attr", "item"):
                name = _decode(r.get("name", r.get("key", r.get("args"))), m["refs"])
                value = _look_up(_decode_handle(r), name, r["op"] == "attr")
            else:
                value = _encode_all(_operate(r, m["refs"]))
        finally:
            _local.user_code = False
        return {"t": "done", "value": value}
    except Exception as e:
        return {"t": "fail", "kind": "code", "msg": str(e), "foreign": _bases(type(e))}
    except BaseException as e:
        return dict(_failure(e, None, ""), t="fail")


# --- the pdl package ---------------------------------------------------------------------------


def _check_config(config):
    out = {}
    for k, x in (config or {}).items():
        out[k] = str(x) if isinstance(x, os.PathLike) else x
    return out


class _Program:
    """What parse_str gives: the text of a program that was checked."""

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
