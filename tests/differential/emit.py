# SPDX-License-Identifier: Apache-2.0
"""emit.py -- writes a tree of Python values as YAML, in block or flow style and with quotes at random. Raw texts are written unchanged."""
import json

PLAIN = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")


class Raw(str):
    """A scalar written as it stands."""


class Plain:
    """The chance of the plain style: never quotes a key, never flow style. The reference finds its lines by a scan of the text, which quotes and
    flow collections mislead."""
    def random(self):
        return .99

    def choice(self, xs):
        return xs[0]


def scalar(v, r, flow):
    if isinstance(v, Raw):
        return str(v)
    if v is None:
        return "" if not flow and r.random() < .2 else r.choice(["null", "~"])
    if v is True or v is False:
        return "true" if v else "false"
    if isinstance(v, (int, float)):
        return json.dumps(v)
    plain = bool(v) and v[0] in PLAIN and v[-1] != " " and not any(c in v for c in ":#{}[],&*!|>'\"%@`\n\t\\") and v.lower() not in ("true", "false", "null", "yes", "no", "on", "off", "nan", "inf") and v.isascii()
    if plain and (isinstance(r, Plain) or r.random() < .6):
        return v
    if not flow and v.startswith("${") and v[-1] == "}" and "\n" not in v and ": " not in v and " #" not in v and r.random() < .6:
        return v
    if "\n" not in v and "\t" not in v and v.isprintable() and r.random() < .4:
        return "'" + v.replace("'", "''") + "'"
    return json.dumps(v, ensure_ascii=False if isinstance(r, Plain) else r.random() < .5)


def in_flow(v, r):
    if isinstance(v, dict):
        return "{" + ", ".join("%s: %s" % (scalar(k, r, True), in_flow(x, r)) for k, x in v.items()) + "}"
    if isinstance(v, list):
        return "[" + ", ".join(in_flow(x, r) for x in v) + "]"
    return scalar(v, r, True)


def has_block_scalar(v):
    if isinstance(v, dict):
        return any(has_block_scalar(x) for x in v.values())
    if isinstance(v, list):
        return any(has_block_scalar(x) for x in v)
    return isinstance(v, Raw) and v.startswith("|")


def size(v):
    return len(json.dumps(v, default=str))


def emit(v, r):
    """Lines of a value at the start of a document."""
    return body(v, r, 0).lstrip("\n").lstrip(" ") + "\n" if isinstance(v, (dict, list)) and v else scalar(v, r, False) + "\n" if not isinstance(v, (dict, list)) else in_flow(v, r) + "\n"


def body(v, r, n):
    """The value after `key:` or `-`, at indentation n: begins with a newline or a space."""
    pad = " " * n
    if isinstance(v, (dict, list)) and v and (has_block_scalar(v) or not (size(v) < 60 and r.random() < .55)):
        if isinstance(v, dict):
            out = ""
            for k, x in v.items():
                out += "\n%s%s:%s" % (pad, scalar(k, r, True), body(x, r, n + 2))
            return out
        out = ""
        for x in v:
            inner = body(x, r, n + 2)
            out += "\n%s-%s" % (pad, inner if not inner.startswith("\n") else " " + inner.lstrip("\n").lstrip(" "))
        return out
    if isinstance(v, (dict, list)):
        return " " + in_flow(v, r)
    if isinstance(v, Raw) and v.startswith("|"):
        return " |\n" + "\n".join(pad + "  " + line.strip() for line in v.split("\n")[1:])
    if isinstance(v, str) and not isinstance(v, Raw) and "\n" in v and not v.startswith((" ", "\n")) and all(c == "\n" or c.isprintable() for c in v) and r.random() < .5 and n > 0:
        mark = "|" if v.endswith("\n") and not v.endswith("\n\n") else "|-" if not v.endswith("\n") else "|+"
        return " %s\n" % mark + "\n".join((pad + line) if line else "" for line in v.rstrip("\n").split("\n"))
    s = scalar(v, r, False)
    return " " + s if s else ""
