# SPDX-License-Identifier: Apache-2.0
"""left.py -- what blocks leave in modules, compiled into the names of worker.py for runs that can be resumed.

A resumed run has a new process. A block that reads what earlier blocks left in modules must not run before these blocks
ran again. So the reply of a block names the modules whose content blocks have changed, or "*" when any code may see the
change (working folder, builtins). A run that is resumed gives these names back with its code, and the code is refused
when it would import one of them, directly or through another module. Python does not report changes of modules. So the
content is described after each block, and compared with the description before the block. This is done only for modules
of the user, because modules of the library and of packages change all the time, for their caches.
"""
import builtins
import collections
import types

_MAX_PARTS = 20000  # limit for the parts of a description; a larger value is described by its length
_library = os.path.dirname(os.__file__) + os.sep
_packages = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_described = {}  # name of a module -> its content when it was last examined
_left = set()
_loading = threading.local()


def _is_file_of_user(file):
    return isinstance(file, str) and os.sep in file and not file.startswith(_library) and not any(p in file for p in _packages)


def _is_of_user(module):
    return _is_file_of_user(getattr(module, "__file__", None))


def _attempt(f, otherwise):
    try:
        return f()
    except Exception:
        return otherwise


def _members(names, depth, left):
    return tuple([(k, _describe(v, depth, left)) for k, v in list(names.items()) if type(k) is str and not k.startswith("__")])


def _cells(f):
    for cell in f.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            pass  # the closure's variable has no value


def _parts_of(o, t, depth, left):
    """Returns the parts of an object that may change while it stays the same object; None when it has no visible parts."""
    if t is dict or isinstance(o, (collections.OrderedDict, collections.defaultdict, collections.Counter)):
        return [(_describe(k, depth, left), _describe(v, depth, left)) for k, v in list(o.items())]
    if t in (list, tuple, collections.deque):
        return [_describe(x, depth, left) for x in list(o)]
    if t in (set, frozenset):
        return sorted(map(id, o))
    if t is types.FunctionType:
        return [_describe(x, depth, left) for x in (o.__defaults__, o.__kwdefaults__, o.__dict__, *_cells(o))]
    if isinstance(o, type):
        return _members(vars(o), depth, left) if _is_of_user(sys.modules.get(o.__module__)) else None
    own = getattr(t, "__module__", None)
    if t is types.SimpleNamespace or own == "__main__" or _is_of_user(sys.modules.get(own)):
        slots = [getattr(o, n, None) for c in t.__mro__ for n in _slots(c)]
        return [_members(getattr(o, "__dict__", None) or {}, depth, left), [_describe(x, depth, left) for x in slots]]
    return None


def _slots(c):
    s = c.__dict__.get("__slots__") or ()
    return (s,) if isinstance(s, str) else tuple(s)


def _describe(o, depth, left):
    """Returns a description of an object, which is equal to an earlier description when the object and its parts are
    the same. left: a list with the number of parts that may still be described."""
    t = type(o)
    if t in _PLAIN or t is int or t is bytes or t is complex:
        return (t, o)
    left[0] -= 1
    size = len(o) if t in (dict, list, tuple, set, collections.deque) else 0
    if depth == 0 or left[0] < size:
        return (id(o), size)
    try:
        parts = _parts_of(o, t, depth - 1, left)
    except Exception:  # another thread is changing the object, or its class treats attributes in its own way
        parts = None
    return (id(o), size, parts)


def _content(module):
    return _members(vars(module), 6, [_MAX_PARTS])


def _surroundings():
    try:
        folder = os.getcwd()
    except OSError:
        folder = None
    return folder, frozenset((k, id(v)) for k, v in vars(builtins).items() if k != "_")


def _users_modules():
    return [(name, m) for name, m in list(sys.modules.items()) if isinstance(m, types.ModuleType) and _is_of_user(m)]


def _see_new():
    """Describes modules that were just loaded: every process has the same content after loading them. A module that
    another thread is still loading is not complete, so it is described later."""
    for name, module in _users_modules():
        loading = getattr(getattr(module, "__spec__", None), "_initializing", False)
        if name not in _described and not loading:
            _described[name] = _content(module)


def _watch_loading():
    from importlib import _bootstrap

    load = _bootstrap._find_and_load

    def watched(*args):
        outer = getattr(_loading, "outer", False)
        _loading.outer = True
        try:
            return load(*args)
        finally:
            _loading.outer = outer
            if not outer:
                _see_new()

    _bootstrap._find_and_load = watched


class _Imports:
    """The names of the modules that a text imports. `makes`: the text imports modules by computed names."""

    def __init__(self, text, package):
        import ast

        self.names, self.makes = set(), False
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                self.names.update(x.name for x in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = package.split(".")[:len(package.split(".")) - node.level + 1] if node.level else []
                base = ".".join(base + ([node.module] if node.module else []))
                self.names.add(base)
                self.names.update(base + "." + x.name for x in node.names)
            elif isinstance(node, (ast.Name, ast.Attribute)):
                self.makes = self.makes or getattr(node, "id", None) == "__import__" or getattr(node, "attr", None) in ("import_module", "modules")


def _find(name, path):
    """Returns the spec of a module, without loading the module or the packages around it; None when it is not found."""
    from importlib.machinery import PathFinder

    spec, at = None, ""
    for part in name.split("."):
        at = at + "." + part if at else part
        spec = PathFinder.find_spec(at, path)
        if spec is None:
            return None
        path = spec.submodule_search_locations or []
    return spec


def _read_text(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def _looks_at(text, names, folder):
    """Returns True when the imports of the code, or of the user's modules that the code imports, may reach one of the
    modules `names`. "*" is always reached; "?" means any module of the user."""
    path = sys.path + ([folder] if folder is not None else [])
    todo, seen = [(text, "")], set()
    if "*" in names:
        return True
    while todo:
        try:
            found = _Imports(*todo.pop())
        except (SyntaxError, ValueError):
            continue
        if found.makes:
            return True
        parts = {".".join(n.split(".")[:i + 1]) for n in found.names for i in range(n.count(".") + 1)}
        if parts & names:
            return True
        for name in parts - seen:
            seen.add(name)
            spec = _attempt(lambda: _find(name, path), None)
            if spec is None or not spec.origin or not _is_file_of_user(spec.origin):
                continue
            if "?" in names:
                return True
            package = name if spec.submodule_search_locations else name.rpartition(".")[0]
            todo.append((_attempt(lambda: _read_text(spec.origin), ""), package))
    return False


def _what_is_left():
    """Returns the names of changed modules, for the reply of a block."""
    for name, module in _users_modules():
        now = _content(module)
        if _described.setdefault(name, now) != now:
            _described[name] = now
            _left.add(name)
    if _surroundings() != _first:
        _left.add("*")
    if dict(os.environ) != _environ:
        _left.update(("os", "subprocess"))
    return sorted(_left)


_environ = dict(os.environ)
_first = _surroundings()
_see_new()
_watch_loading()
