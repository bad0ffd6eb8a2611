# SPDX-License-Identifier: Apache-2.0
"""worker.py -- the other end of src/world/worker/python.c: runs Python code for a PDL run.

A message is JSON after four bytes with its length. Messages to this process are on descriptor 3, messages from it on
descriptor 4; descriptors 0, 1, 2 belong to user code. Plain Python 3.8 or later, standard library only. The first block
runs in the main thread; a block that arrives while others wait for an answer runs in a separate thread. A block runs
while it holds the baton (a lock). It gives the baton to another block while it waits, so that blocks take turns at
well-defined places. A thread that waits for an answer reads the messages for all threads. What most runs never need is
in later.py.
"""
import _thread
import io
import os
import sys
import threading
from _collections import deque
from _signal import SIGINT, default_int_handler, signal as set_signal
from _thread import get_ident
from itertools import count

# The start must be quick: the parts of json and signal that are written in C are loaded already, and the parts in
# Python import much that is not needed here.
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
# the exit status that python.c knows; the bytes that must be free for the next block
_NO_MEMORY, _NEXT_BLOCK = 97, 64 << 20
_BIG = 10 ** 4000  # newer Pythons refuse longer decimal numbers, so longer numbers are sent in hexadecimal


class _Later:
    """Loads the names that later.py defines, which most runs never need. The boot code provides its text as `_rest`."""

    _lock = threading.RLock()

    def __getattr__(self, name):
        with self._lock:
            if name not in globals():
                exec(compile(_rest, _NAME, "exec"), globals())
        self.__dict__[name] = value = globals()[name]
        return value


later = _Later()


def _watch():
    """Begins to record what blocks leave in modules. The code is left.py, whose text the boot code provides as
    `_left_text`."""
    if "_what_is_left" not in globals():
        exec(compile(_left_text, _NAME, "exec"), globals())


def _begin_chance(block, seed):
    """Seeds the random generators for a block. The code is chance.py, whose text the boot code provides as
    `_chance_text`."""
    if "_seed_all" not in globals():
        exec(compile(_chance_text, _NAME, "exec"), globals())
    block.seed = int(seed, 16)
    _seed_all(block)


_Namespace = type(sys.implementation)  # this type is types.SimpleNamespace
SESSION = _Namespace()
_own_sessions = {}  # slot of a run of an inference -> [number of the run, its PDL_SESSION]


def _session(own):
    if not own:
        return SESSION
    entry = _own_sessions.get(own >> 32)
    if entry is None or entry[0] != own:
        entry = _own_sessions[own >> 32] = [own, _Namespace()]
    return entry[1]


# --- the wire ----------------------------------------------------------------------------------

os.set_inheritable(3, False)
os.set_inheritable(4, False)
_target = os.fdopen(4, "wb", closefd=False)
_send_lock = threading.RLock()
_numbers = count(1)


def _deep(f, *args):
    """Calls f(*args). When it fails because the recursion is too deep, calls it again with a higher limit."""
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
            os._exit(1)  # the process of the run has ended


# --- waiting and taking turns ------------------------------------------------------------------

_turn = threading.Lock()  # the baton: only the block that holds it runs
_cond = threading.Condition()
_answers = {}
_requests = deque()
_state = _Namespace(reading=False, idle=False, strangers=0, current=None, interrupted=False, child=False)
_local = threading.local()  # for each thread: its block, and whether it has the turn
_running = {}  # id -> block that began and has not ended
_cancelled = set()  # ids of the blocks that the run cancelled


def _dispatch(m, early=False):
    """Handles a message. early: a request is queued until the main thread is idle or waits for an answer."""
    t = m["t"]
    if t == "answer":
        _answers[m["id"]] = m
    elif t == "drop":
        for n in m["ids"]:
            _forget(n)
    elif t == "cancel":
        _cancelled.add(m["id"])
        block = _running.get(m["id"])
        if block and block.user_code and block.thread != get_ident():
            later._interrupt(block.thread)
    elif early or _state.idle and not _requests:
        _requests.append(m)
    elif t == "bye":
        os._exit(0)
    else:
        threading.Thread(target=_serve_beside, args=(m,), daemon=True).start()


def _wait(key):
    """Returns the answer to question `key`. Without a key, returns the next request for the main thread."""
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
    """Asks the run and waits for its answer. Other blocks run meanwhile."""
    if os.getpid() != _PID:
        raise RuntimeError("PDL cannot be reached from a child process")
    block = _block()
    key = next(_numbers)
    message["id"] = key
    message["block"] = block.id if block else 0
    in_code = _enter()
    try:
        _flush_all()
        answer = _question(block, message, key)
    finally:
        _leave(in_code)
    if answer.get("cancel"):
        raise KeyboardInterrupt
    return answer


def _question(block, message, key):
    mine = getattr(_local, "turn", False)  # a thread that user code started takes no turns with other blocks
    states = _states() if mine and block.seed is not None else None
    if mine:
        _turn.release()
    else:
        _state.strangers += 1
    try:
        _send(message)
        with _cond:
            while _requests and not _state.idle:
                _dispatch(_requests.popleft())  # the main thread is not idle, so each request gets a thread
        return _wait(key)
    finally:
        if mine:
            block.parked = True
            _turn.acquire()
            block.parked = False
            if states:
                _set_states(states)
        else:
            _state.strangers -= 1


# --- cancelled blocks --------------------------------------------------------------------------

# The run sends a message that names the cancelled block, and SIGINT, so that a block that computes reads the message.
# The signal may come at any moment, even while a message is being read or written. Then the signal is only noted, and
# the block is interrupted when user code continues. When user code is running, it is interrupted at once.


def _enter():
    """Called when user code calls a function of this file. An interrupt waits until _leave, which then acts on it."""
    block = getattr(_local, "block", None)
    in_code = block is not None and block.user_code
    if in_code:
        block.user_code = False
    return in_code


def _leave(in_code=True):
    """Called when user code continues or begins."""
    if in_code:
        _local.block.user_code = True
        if _state.interrupted or _cancelled:
            _obey(_local.block)


def _obey(block):
    """Called in user code: ends the block if the run has cancelled it. A block that catches the interrupt and
    continues gets the next signal."""
    while _state.interrupted:
        block.user_code = block.notified = False
        _state.interrupted = False
        _look(threading.current_thread() is threading.main_thread())
        block.user_code = True
    if block.id in _cancelled and not block.notified:
        block.notified = True
        raise KeyboardInterrupt


def _look(early):
    """Handles the messages that have arrived. Does not wait for more."""
    import select

    with _cond:
        while not _state.reading and select.select([3], [], [], 0)[0]:
            _dispatch(_receive(), early)


def _on_interrupt(number, frame):
    _state.interrupted = True
    block = getattr(_local, "block", None)
    if block is None:
        return
    if block.user_code:
        _obey(block)
    elif block.parked:  # another thread is computing
        block.parked = False
        _look(False)
        block.parked = True


def _in_child():
    """Called in a process that user code forked: it must not use the protocol."""
    if not _state.child:
        _state.child = True
        os.closerange(3, 5)
        set_signal(SIGINT, default_int_handler)


# --- standard streams --------------------------------------------------------------------------


class _Block:
    def __init__(self, n):
        self.id = n
        self.text = []
        self.size = 0
        self.thread = get_ident()
        self.user_code = False  # user code is running, so an interrupt may end the block
        self.notified = False  # the block was notified of its cancellation
        self.parked = False  # the block has its answer, and waits for its turn
        self.seed = None  # the number from which the block's random numbers start


def _block():
    return getattr(_local, "block", None) or _state.current


def _settle():
    """Waits until all bytes that child processes or C code wrote directly to descriptor 1 were read, because these
    bytes precede the message that follows."""
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
        in_code = _enter()
        try:
            block.text.append(s)
            block.size += len(s)
            if block.size > 8192 or "\n" in s:
                _flush(block)
        finally:
            _leave(in_code)
        return len(s)

    def flush(self):
        if os.getpid() == _PID:
            in_code = _enter()
            try:
                _flush_all()
            finally:
                _leave(in_code)


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

_objects = {}  # handle -> [object, number of references that the run has to it]
_handles = {}  # id(object) -> handle
_released = []  # ids of functions and other values of the run that this process does not use any more


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
    return k is None or t in (str, int, float, bool, bytes) or getattr(t, "__module__", None) == "datetime" and t.__name__ in ("date", "datetime")


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
    """Returns a JSON form of any object. With `known`, which is for comparisons, no new handle is made, and an object
    without a handle becomes a mark that differs from every value."""
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
    env, refs, watched = {"PDL_SESSION": _session(m.get("own"))}, m["refs"], {}
    folder = m.get("dir")
    watches = m.get("watch")
    try:
        if watches:
            _watch()
        if m.get("left") and _looks_at(m["code"], set(m["left"]), folder):
            return {"t": "fail", "kind": "code", "msg": "it needs what earlier blocks left", "py_class": "PDLNeedsSession"}
        for name, j in m["vars"].items():
            env[name] = _deep(_decode, j, refs)
            if _may_change(j):
                watched[name] = (j, env[name])
        del refs
        m["refs"] = None
        if folder is not None:
            sys.path.append(folder)
        try:
            _execute(compile(m["code"], _BLOCK, "exec"), env)
        finally:
            if folder is not None and folder in sys.path:
                del sys.path[len(sys.path) - 1 - sys.path[::-1].index(folder)]
        reply = {"t": "done", "value": _encode_all(_result(env)), "rebound": _changed(watched, env)}
        if watches:
            reply["left"] = _what_is_left()
        return reply
    except BaseException as e:
        if isinstance(e, MemoryError):
            _free(e, env)
            bytes(_NEXT_BLOCK)  # This allocation fails when the next block would have no memory either; then this process ends.
        _enter()
        return dict(later._failure(e, env, m["code"]), t="fail")


def _free(e, env):
    """Frees what a block that ran out of memory still holds, so that its error can be reported and the next block can run."""
    tb = e.__traceback__
    while tb is not None:
        try:
            tb.tb_frame.clear()
        except RuntimeError:
            pass  # this is the frame of _run_python, which is still running
        tb = tb.tb_next
    env.clear()


def _execute(code, env):
    try:
        _leave()
        exec(code, env)
    finally:
        _enter()


# --- serving -----------------------------------------------------------------------------------


class _Finder:
    """Finds the pdl package in this file, even when another one is installed, because programs that code starts belong to
    this run."""

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
    _local.block = _state.current = _running[block.id] = block
    try:
        if "seed" in m:
            _begin_chance(block, m["seed"])
        run = _run_python if m["lang"] == "python" else getattr(later, "_run_" + m["lang"])
        reply = run(m)
    except MemoryError:
        os._exit(_NO_MEMORY)
    finally:
        _local.block, _state.current = outer, before
        _running.pop(block.id)
        _cancelled.discard(block.id)
    if os.getpid() != _PID:
        os._exit(0)  # this is a fork of the block that has come to the end of the code
    with _send_lock:
        _flush(block)
        _settle()
        reply["id"] = m["id"]
        if _released:
            reply["released"] = _released[:]
            del _released[:len(reply["released"])]
        _send(reply)


def _serve_beside(m):
    # While a thread that user code started waits for an answer, no turn is taken, because the block with the baton may
    # be waiting for that thread.
    turn = _state.strangers == 0
    if turn:
        _turn.acquire()
    _local.turn = turn
    try:
        _serve(m)
    finally:
        if turn:
            _turn.release()


def _orphan():
    """Ends this process soon after the run has ended, because code that computes does not notice the end of the run."""
    import select
    import time
    p = select.poll()
    p.register(3, 0)  # with 0, poll reports only that the other end was closed
    p.poll()
    time.sleep(1)
    os._exit(1)


def _main():
    sys.argv = ["pdl"]
    _thread.start_new_thread(_orphan, ())
    sys.stdout, sys.stdin = _Out(), _In()
    sys.__stdout__, sys.__stdin__ = sys.stdout, sys.stdin
    sys.meta_path.insert(0, _Finder)
    os.register_at_fork(after_in_child=_in_child)
    set_signal(SIGINT, _on_interrupt)
    _send({"t": "ready"})
    while True:
        _state.idle = True
        m = _wait(None)
        _state.idle = False
        if m["t"] == "bye":
            break
        with _turn:
            _local.turn = True
            _serve(m)
