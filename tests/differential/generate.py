# SPDX-License-Identifier: Apache-2.0
"""generate.py -- random well-typed PDL programs, as cases of the conformance kit.

A program is a tree of Python values, which `emit` writes as YAML, in block or flow style at random. An expression is made for a type, from the
variables in scope at its place, so that most programs run to their end. One program in eight is then broken in one place. Features that the reference
is known to get wrong (docs/differences.md, rows R) are not generated.
"""
import copy
import json
import random

from .emit import Plain, Raw, emit

WORDS = ["a", "bc", "Hello", "x y", "tail ", " lead", "", "é", "1", "true", "null", "it's", 'q"q', "a,b", "k: v", "#h", "日本", "%d", "two\nlines", "{x}", "$5", "a\tb", "0", "-"]
SAFE_WORDS = ["a", "bc", "Hello", "x y", "z1", "w", "def", "Q"]
QUIRKS = ["yes", "no", "on", "Off", "~", "0x1F", "017", "0o17", "1_000", "1:30", "1e3", "1.e+3", ".5", "5.", "-0.0", "+12", "08", "y", "n", "Null", "1.0", "'1'", "'yes'", '"\\u00e9"',
          "a:b", "-1", "1.0e+400", ".inf", "nan", "!!str 12", "!!int '7'", "!!float 3", "''", "\"\"", "a b", "_1", "0b101", "12e03", "tRUE", "null"]
ROLES = ["system", "assistant", "tool", "user", "available_tools"]


class Gen:
    def __init__(self, seed, models=False):
        self.r = random.Random(seed)
        self.vars = []          # (name, type)
        self.funs = []          # (name, [(parameter, type, optional)], result type)
        self.fresh = 0
        self.files = {}
        self.out_files = []
        self.args = []          # of the command line
        self.stdin = []         # lines
        self.models = models
        self.stream = True
        self.roots = {}         # definitions that the program begins with
        self.budget = 24
        self.in_object = 0      # fields of object: no look at the context (spec execution R4)
        self.pure = 0           # no contributions to streams, no models: order would be free there

    # ------------------------------------------------------------------------------------------------------- names
    def name(self, kind="v"):
        self.fresh += 1
        return kind + str(self.fresh)

    def of(self, t):
        return [n for n, k in self.vars if k == t]

    def chance(self, p):
        return self.r.random() < p

    def pick(self, xs):
        return self.r.choice(xs)

    # ------------------------------------------------------------------------------------------------- expressions
    def quoted(self, s):
        return "'" + s.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t") + "'"

    def var(self, t):
        names = self.of(t)
        return self.pick(names) if names and self.chance(.65) else None

    def call(self, t):
        fs = [f for f in self.funs if f[2] == t]
        if not fs or not self.chance(.3):
            return None
        n, ps, _ = self.pick(fs)
        args, keyword = [], False
        for p, pt, opt in ps:
            if opt and self.chance(.4):
                keyword = True
                continue
            keyword = keyword or self.chance(.3)
            args.append((p + "=" if keyword else "") + self.expr(pt, 0))
        return "%s(%s)" % (n, ", ".join(args))

    def expr(self, t, d=2):
        made = self.var(t) or (d > 0 and self.call(t)) or None
        if made:
            return made
        return getattr(self, "x_" + t)(d)

    def x_int(self, d):
        if d <= 0 or self.chance(.25):
            return str(self.pick([0, 1, 2, 3, 5, 7, -1, 10, 100, 12345678901234567890]))
        k = self.r.randrange(12)
        e = lambda t: self.expr(t, d - 1)
        if k < 3:
            return "(%s %s %s)" % (e("int"), self.pick(["+", "-", "*"]), e("int"))
        return [lambda: "(%s %s %s)" % (e("int"), self.pick(["//", "%"]), self.pick(["2", "3", "7", "-4"])),
                lambda: "%s | length" % self.paren(e(self.pick(["str", "ilist", "slist", "obj"]))),
                lambda: "(%s if %s else %s)" % (e("int"), e("bool"), e("int")),
                lambda: "%s | abs" % self.paren(e("int")),
                lambda: "(%s | sum)" % self.paren(e("ilist")),
                lambda: "(%s + [4]) | %s" % (e("ilist"), self.pick(["first", "last", "max", "min"])),
                lambda: "%s.a" % self.paren(e("obj")),
                lambda: "%s['a']" % self.paren(e("obj")),
                lambda: "%s | int" % self.paren(e(self.pick(["str", "num", "int"])))][k - 3]()

    def x_num(self, d):
        if d <= 0 or self.chance(.3):
            return self.pick(["0.5", "1.5", "-2.25", "1e16", "3.0", "1e-7", "2.675", "100.0"])
        e = lambda t: self.expr(t, d - 1)
        return self.pick([lambda: "(%s %s %s)" % (e("num"), self.pick("+-*"), e(self.pick(["int", "num"]))),
                          lambda: "(%s / %s)" % (e("int"), self.pick(["2", "3", "7", "0.5"])),
                          lambda: "%s | round(%d)" % (self.paren(e("num")), self.r.randrange(4)),
                          lambda: "%s | float" % self.paren(e(self.pick(["int", "str"])))])()

    def x_str(self, d):
        if d <= 0 or self.chance(.3):
            return self.quoted(self.pick(WORDS))
        e = lambda t: self.expr(t, d - 1)
        k = self.r.randrange(12)
        return [lambda: "(%s ~ %s)" % (e("str"), e("any")),
                lambda: "(%s + %s)" % (e("str"), e("str")),
                lambda: "%s | %s" % (self.paren(e("str")), self.pick(["upper", "lower", "title", "capitalize", "trim", "replace('a', 'b')", "e", "striptags", "indent(2)", "center(8)", "truncate(5, true)",
                                                                       "urlencode", "wordwrap(4)", "string", "default('z')", "d('q', true)"])),
                lambda: "%s.%s" % (self.paren(e("str")), self.pick(["upper()", "strip()", "replace('l', 'L', 1)", "swapcase()", "zfill(4)", "ljust(5, '.')", "title()", "removeprefix('a')"])),
                lambda: "%s | join(%s)" % (self.paren(e(self.pick(["slist", "ilist"]))), self.quoted(self.pick([",", "", "-", " "]))),
                lambda: "%s | string" % self.paren(e("any")),
                lambda: "%s | tojson" % self.paren(e("any")),
                lambda: "%s.b" % self.paren(e("obj")),
                lambda: "%s[%s]" % (self.paren(e("str")), self.pick(["1:", ":2", "::-1", "-1:"])),
                lambda: "('%s' | format(%s))" % (self.pick(["%s", "<%s>", "%r", "%5s|"]), e("any")),
                lambda: "'{}-{}'.format(%s, %s)" % (e("any"), e("int")),
                lambda: "(%s if %s else %s)" % (e("str"), e("bool"), e("str"))][k]()

    def x_bool(self, d):
        if d <= 0 or self.chance(.2):
            return self.pick(["true", "false", "True", "False"])
        e = lambda t: self.expr(t, d - 1)
        return self.pick([lambda: "(%s %s %s)" % (e("int"), self.pick(["<", "<=", ">", ">=", "==", "!="]), e(self.pick(["int", "num"]))),
                          lambda: "(%s %s %s)" % (e("any"), self.pick(["==", "!="]), e("any")),
                          lambda: "(%s %s %s)" % (e("bool"), self.pick(["and", "or"]), e("bool")),
                          lambda: "(not %s)" % e("any"),
                          lambda: "(%s %s %s)" % (e("int"), self.pick(["in", "not in"]), e("ilist")),
                          lambda: "(%s in %s)" % (e("str"), e("slist")),
                          lambda: "(%s is %s%s)" % (e("any"), self.pick(["", "not "]), self.pick(["string", "number", "mapping", "iterable", "sequence", "none", "defined", "boolean", "integer", "float", "callable"])),
                          lambda: "(%s is %s)" % (e("int"), self.pick(["odd", "even", "divisibleby 3", "gt 2", "in [1, 2]", "eq 1"])),
                          lambda: "(undefined_name is defined)"])()

    def x_ilist(self, d):
        if d <= 0 or self.chance(.3):
            return "[%s]" % ", ".join(str(self.r.randrange(9)) for _ in range(self.r.randrange(1, 4)))
        e = lambda t: self.expr(t, d - 1)
        return self.pick([lambda: "[%s]" % ", ".join(e("int") for _ in range(self.r.randrange(1, 4))),
                          lambda: "(%s + %s)" % (e("ilist"), e("ilist")),
                          lambda: "%s | %s" % (self.paren(e("ilist")), self.pick(["sort", "sort(reverse=true)", "list", "reverse | list", "unique | list", "map('abs') | list", "select('odd') | list + [1]"])),
                          lambda: "(range(%d) | list)" % self.r.randrange(1, 5),
                          lambda: "(%s | map('length') | list)" % self.paren(e("slist")),
                          lambda: "%s[%s]" % (self.paren(e("ilist")), self.pick(["::-1", ":2", "0:"]))])()

    def x_slist(self, d):
        if d <= 0 or self.chance(.3):
            return "[%s]" % ", ".join(self.quoted(self.pick(SAFE_WORDS)) for _ in range(self.r.randrange(1, 4)))
        e = lambda t: self.expr(t, d - 1)
        return self.pick([lambda: "[%s]" % ", ".join(e("str") for _ in range(self.r.randrange(1, 4))),
                          lambda: "(%s).split(%s)" % (e("str"), self.pick(["','", "' '", "'a'"])),
                          lambda: "%s | map('%s') | list" % (self.paren(e("slist")), self.pick(["upper", "string", "trim", "title"])),
                          lambda: "%s | list" % self.paren(e("obj")),
                          lambda: "%s | sort" % self.paren(e("slist")),
                          lambda: "(%s + %s)" % (e("slist"), e("slist"))])()

    def x_obj(self, d):
        e = lambda t: self.expr(t, d - 1)
        return "{'a': %s, 'b': %s%s}" % (e("int"), e("str"), ", 'c': " + e("any") if self.chance(.3) else "")

    def x_any(self, d):
        if self.chance(.12):
            return self.pick(["none", "[]", "{}", "''", "(1, 2)", "[none, true]", "{1: 'x'}", "[[1], []]"])
        return self.expr(self.pick(["int", "num", "str", "bool", "ilist", "slist", "obj"]), d)

    def paren(self, x):
        return x if x.isidentifier() or (x[0] in "([{'" and x[-1] in ")]}'" and " " not in x) else "(%s)" % x

    def tmpl(self, t, d=2):
        """A string whose value has type t: one ${ }."""
        x = self.expr(t, d)
        return self.pick(["${ %s }", "${ %s }", "${ %s }", "${%s}"]) % x

    def text(self, d=1):
        """A string with pieces in it."""
        out = ""
        for _ in range(self.r.randrange(1, 4)):
            out += self.pick(["", self.pick(WORDS), self.pick(SAFE_WORDS) + " ", "$", "\n", "{", "}}", "\\", " # "]) if self.chance(.7) else ""
            if self.chance(.65):
                out += self.tmpl(self.pick(["int", "num", "str", "bool", "ilist", "slist", "obj", "any"]), d)
        return out

    # ------------------------------------------------------------------------------------------------------ literals
    def value(self, t, d=1):
        """A literal tree (for data, for, args) of type t, with expressions in it."""
        if self.chance(.5):
            return self.tmpl(t, d + 1)
        r = self.r
        if t == "int":
            return self.pick([0, 1, 2, 5, -3, Raw("0x1F"), Raw("1_000"), Raw("017"), Raw("1:30"), 10**20])
        if t == "num":
            return self.pick([0.5, -2.25, Raw("1.e+3"), Raw(".5"), Raw("5."), 3.0])
        if t == "str":
            return self.pick([self.pick(WORDS), self.text(), Raw("1e3"), Raw("0o17"), Raw("'yes'"), Raw("y"), Raw("08")])
        if t == "bool":
            return self.pick([True, False, Raw("yes"), Raw("Off"), Raw("ON")])
        if t == "ilist":
            return [self.value("int", d - 1) for _ in range(r.randrange(1, 4))]
        if t == "slist":
            return [self.value("str", d - 1) for _ in range(r.randrange(1, 4))]
        if t == "obj":
            out = {"a": self.value("int", d - 1), "b": self.value("str", d - 1)}
            if self.chance(.3):
                out[self.pick(["c", "k${ 1 + 1 }", "x y", "é"])] = self.value("any", d - 1)
            return out
        if self.chance(.25):
            return self.pick([None, [], {}, [None, True, 1.5], {"n": None}, [[1], {"z": [2]}], Raw(self.pick(QUIRKS))])
        return self.value(self.pick(["int", "num", "str", "bool", "ilist", "slist", "obj"]), d)

    TYPES = ["int", "num", "str", "bool", "ilist", "slist", "obj"]
    SPECS = {"int": ["integer", "number", {"type": "integer"}, {"enum": [0, 1, 2]}, "int"], "num": ["number", {"type": "number", "minimum": -1e30}, "float"], "str": ["string", {"type": "string"}, {"type": "string", "minLength": 1}, "str"],
             "bool": ["boolean", "bool", {"enum": [True, False]}], "ilist": [["integer"], "array", {"type": "array", "items": {"type": "integer"}}, [{"optional": "integer"}]], "slist": [["string"], "array"],
             "obj": [{"a": "integer", "b": "string"}, "object", {"object": {"a": "integer", "b": "string"}}, {"a": "integer", "b": {"optional": "string"}}, {"a": "integer", "b": "string", "c": {"optional": "string"}}], "any": [None]}

    def spec(self, t):
        return self.pick(self.SPECS[t])

    # -------------------------------------------------------------------------------------------------------- blocks
    def block(self, t, d):
        self.budget -= 1
        if d <= 0 or self.budget <= 0:
            b = self.leaf(t)
        else:
            b = self.pick([self.leaf, self.leaf, self.b_join, self.b_seq, self.b_if, self.b_match, self.b_call, self.b_special])(t, d)
            if b is None:
                b = self.leaf(t)
        return self.decorate(b, t, d)

    def leaf(self, t, d=0):
        k = self.r.random()
        if t == "str" and k < .3:
            return self.text()
        if t == "str" and k < .45:
            return {"lang": "jinja", "code": self.jinja()}
        if k < .45:
            return self.tmpl(t)
        if k < .5 and t in ("int", "str", "bool", "num"):
            return self.value(t)
        if k < .55 and self.of(t):
            return {"get": self.pick(self.of(t))}
        if k < .59 and self.of("obj") and t in ("int", "str"):
            return {"get": self.pick(self.of("obj")) + {"int": ".a", "str": self.pick([".b", "['b']"])}[t]}
        if k < .62 and t in ("int", "ilist"):
            return {"lang": self.pick(["python", "Python"]), "code": Raw("|\n  result = %s" % self.py(t))} if self.chance(.3) else {"data": self.value(t)}
        if k < .66 and t == "str" and self.chance(.4):
            return self.pick([{"lang": "command", "code": self.pick(["echo hi", "printf 'a b'", "echo 'x  y' z"])}, {"args": ["printf", "%s|", "a b", self.tmpl("str", 0)]}])
        if k < .7 and t == "str":
            return self.parsed_text(t)
        if k < .75 and t in ("ilist", "obj", "slist"):
            return self.parsed(t)
        b = {"data": self.value(t, 2)}
        if self.chance(.07) and not isinstance(b["data"], Raw) and t == "str":
            b["raw"] = True
        return b

    def py(self, t):
        return {"int": self.pick(["1 + 2", "len('abc')", "2 ** 70", "sum([1, 2])"]), "ilist": self.pick(["[1, 2]", "sorted([3, 1])", "list(range(3))"])}[t]

    def jinja(self):
        e = lambda t: self.expr(t, 1)
        parts = []
        for _ in range(self.r.randrange(1, 3)):
            parts.append(self.pick([lambda: "{{ %s }}" % e("any"), lambda: "{%% for x in %s %%}%s{{ x }}{%% if not loop.last %%},{%% endif %%}{%% endfor %%}" % (e("ilist"), self.pick(["", "{{ loop.index }}:"])),
                                    lambda: "{%% if %s %%}A{%% else %%}B{%% endif %%}" % e("bool"), lambda: "{%% set q = %s %%}<{{ q }}>" % e("any"), lambda: "text {{ nope }}", lambda: "line\n",
                                    lambda: "{%% macro m(x, y=2) %%}{{ x }}{{ y }}{%% endmacro %%}{{ m(%s) }}" % e("int"), lambda: "{# c #}- {{- ' t' -}} -"])())
        text = "".join(parts)
        # ${ } and {# #} belong to PDL in a code block: kept away by raw text
        return text.replace("{# c #}", "")

    def parsed_text(self, t):
        return {"text": self.pick(["x=12, y=7", "ab-cd"]), "parser": {"regex": self.pick(["x=([0-9]+).*", "([a-z]+)-([a-z]+)", "(?P<k>\\w+).*"]), "mode": self.pick(["search", "match", "fullmatch"])}, "def": self.name("r"),
                "contribute": ["context"]} if self.chance(.5) else self.text()

    def parsed(self, t):
        if t == "ilist":
            return self.pick([{"text": "[1, %s, 3]" % self.pick(["2", "${ 1 + 1 }"]), "parser": "json"}, {"data": "- 1\n- 0x10\n", "parser": "yaml"}, {"text": ["1\n", "2\n"], "parser": "jsonl"},
                              {"data": "{bad: 1,}[2", "parser": "json", "def": self.name("p"), "contribute": ["context"]} if False else {"data": "[1, 2,", "parser": "json"}])
        if t == "slist":
            return self.pick([{"data": "a1b22c", "parser": {"regex": "[0-9]+", "mode": "findall"}}, {"data": "a, b", "parser": {"regex": ",\\s*", "mode": "split"}}, {"data": "k=v", "parser": {"regex": "(.)=(.)"}},
                              {"data": "[a, b]", "parser": "yaml"}])
        return self.pick([{"data": '{"a": 1, "b": "x"}', "parser": "json"}, {"data": "a: 2\nb: z", "parser": "yaml"}, {"data": "{'a': 1, b: y", "parser": "json"},
                          {"data": '{"a": ${ 1 + 1 }, "b": "q"}', "parser": self.pick(["json", "yaml", "JSON"]), "spec": {"a": "integer", "b": "string"}}])

    def children(self, d, n=None):
        return [self.block(self.pick(self.TYPES), d - 1) for _ in range(n or self.r.randrange(1, 4))]

    def b_seq(self, t, d):
        if t == "str":
            if self.chance(.12):
                return {"text": self.block(self.pick(self.TYPES), d - 1)}
            return {"text": self.children(d)}
        if t in ("ilist", "slist"):
            return {"array": [self.block("int" if t == "ilist" else "str", d - 1) for _ in range(self.r.randrange(1, 4))]}
        if t == "obj":
            self.in_object += 1
            if self.chance(.7):
                out = {"object": {"a": self.block("int", d - 1), "b": self.block("str", d - 1)}}
            else:
                out = {"object": [{"data": {"a": 0}}, self.block("obj", d - 1)]}
            self.in_object -= 1
            return out
        return self.last_of(t, d)

    def last_of(self, t, d):
        self.stream = False      # (spec execution R1)
        kids = self.children(d, self.r.randrange(0, 3)) + [self.block(t, d - 1)]
        if self.chance(.25):
            return {"sequence": kids, "join": {"as": "lastOf"}}
        return {"lastOf": kids}

    def branch(self, t, d):
        mark = len(self.vars)
        b = self.block(t, d)
        del self.vars[mark:]
        return b

    def b_if(self, t, d):
        b = {"if": self.pick([self.tmpl("bool"), self.tmpl("any"), True, False, Raw("yes"), "x" if self.chance(.3) else self.tmpl("bool")]), "then": self.branch(t, d - 1)}
        if t != "str" or self.chance(.6):
            b["else"] = self.branch(t, d - 1)
        return b

    def pattern(self, t):
        """-> pattern, [(name, type)] bound by it"""
        if self.chance(.15):
            n = self.name("m")
            return {"any": None, "def": n}, [(n, t)]
        if t == "obj":
            p, bound = self.pattern("int")
            q, more = self.pattern("str") if self.chance(.5) else (None, [])
            return {"object": {"a": p, **({"b": q} if q is not None else {})}}, bound + more
        if t in ("ilist", "slist"):
            ps = [self.pattern(t[0] == "i" and "int" or "str") for _ in range(self.r.randrange(1, 3))]
            return {"array": [p for p, _ in ps]}, [b for _, bs in ps for b in bs]
        if self.chance(.2):
            n = self.name("m")
            return {"anyOf": [self.const(t), self.const(t)], "def": n}, [(n, t)]
        return self.const(t), []

    def const(self, t):
        return {"int": lambda: self.pick([0, 1, 2, 3]), "num": lambda: self.pick([0.5, 1.0]), "str": lambda: self.pick(SAFE_WORDS + ["1", ""]), "bool": lambda: self.chance(.5)}.get(t, lambda: None)()

    def b_match(self, t, d):
        s = self.pick(self.TYPES)
        cases = []
        for _ in range(self.r.randrange(1, 4)):
            mark = len(self.vars)
            c, (p, bound) = {}, self.pattern(s)
            if self.chance(.85):
                c["case"] = p
                self.vars += bound
            if self.chance(.3):
                c["if"] = self.tmpl("bool")
            c["then"] = self.block(t, d - 1)
            del self.vars[mark:]
            cases.append(c)
        if t != "str" or self.chance(.5):
            cases.append({"then": self.branch(t, d - 1)})
        return {"match": self.value(s, 1) if self.chance(.5) else self.tmpl(s), "with": cases}

    def b_call(self, t, d):
        fs = [f for f in self.funs if f[2] == t]
        if not fs:
            return None
        n, ps, _ = self.pick(fs)
        args = {}
        for p, pt, opt in ps:
            if not (opt and self.chance(.4)):
                args[p] = self.value(pt)
        b = {"call": "${ %s }" % n}
        if args or self.chance(.5):
            b["args"] = args
        if self.chance(.15):
            b["args"] = "${ {%s} }" % ", ".join("'%s': %s" % (p, self.expr(pt, 1)) for p, pt, _ in ps)
        return b

    def function(self, d):
        n, t = self.name("f"), self.pick(self.TYPES)
        ps = [(self.pick("pqs") + str(i), self.pick(self.TYPES), self.chance(.2)) for i in range(self.r.randrange(0, 3))]
        params = {p: ({"optional": self.spec(pt)} if opt else (None if self.chance(.1) else self.pick(self.SPECS[pt][:1]))) for p, pt, opt in ps}
        keep, kept = list(self.vars), list(self.funs)
        self.vars += [(p, pt) for p, pt, opt in ps if not opt]
        self.pure += 1
        body = self.block(t, min(d, 2))
        self.pure -= 1
        self.vars, self.funs = keep, kept
        b = {"function": params or self.pick([None, {}]), "return": body}
        if self.chance(.25):
            b["spec"] = self.SPECS[t][0]
        if self.chance(.15):
            b["description"] = "about " + n
        self.funs.append((n, ps, t))
        return n, b

    def loop_head(self, b, d):
        """for / index / maxIterations; at least one iteration."""
        n = self.r.randrange(1, 4)
        kind = self.r.randrange(4)
        if kind < 3:
            b["for"] = {}
            for _ in range(self.pick([1, 1, 1, 2])):
                v, t = self.name("i"), self.pick(["int", "str", "bool"])
                b["for"][v] = [self.value(t, 0) for _ in range(n)] if t != "int" or self.chance(.6) else "${ range(%d) | list }" % n
                self.vars.append((v, t))
        if kind == 3 or self.chance(.2):
            b["maxIterations"] = self.pick([1, 2, 3, "${ 1 + 1 }", Raw("'2'") if False else 2])
        if self.chance(.25):
            v = self.name("k")
            b["index"] = v
            self.vars.append((v, "int"))

    def b_join(self, t, d):
        kind = self.pick(["repeat", "repeat", "map"])
        b = {}
        mark = len(self.vars)
        self.loop_head(b, d)
        if kind == "map":
            self.pure += 1
        body_t, join = {"str": (self.pick(self.TYPES), self.pick([None, {"with": self.pick([",", "", "\n", " - "])}, {"as": "text"}, {"as": "text", "with": ";"}])), "ilist": ("int", {"as": "array"}),
                        "slist": ("str", {"as": "array"}), "obj": ("obj", {"as": "object"})}.get(t, (t, {"as": "lastOf"}))
        reducers = [f for f in self.funs if [p[1] for p in f[1]] == [t, t] and f[2] == t]
        if reducers and self.chance(.7):
            body_t, join = t, {"reduce": "${ %s }" % self.pick(reducers)[0]}
        elif t in ("int", "str") and self.chance(.08):
            n = self.name("f")
            self.funs.append((n, [("p0", t, False), ("p1", t, False)], t))
            join = {"reduce": "${ %s }" % n}
            b["defs"] = {n: {"function": {"p0": self.SPECS[t][0], "p1": self.SPECS[t][0]}, "return": "${ p0 + p1 }"}}
            body_t = t
        b[kind] = self.block(body_t, d - 1)
        if kind == "map":
            self.pure -= 1
            if self.chance(.2):
                b["maxWorkers"] = self.pick([0, 1, 3])
        elif self.chance(.2):
            b["until"] = self.tmpl("bool")
            b.setdefault("maxIterations", 3)
        elif self.chance(.15):
            b["while"] = self.pick([True, "${ true }"])
            b.setdefault("maxIterations", 3)
        if join is not None:
            b["join"] = join
        del self.vars[mark:]
        return b

    # ---------------------------------------------------------------------------------------------------- contexts
    def about_context(self):
        """An expression over the context; what it gives depends on what stands before it."""
        return self.pick(["pdl_context | length", "pdl_context | map(attribute='role') | list", "pdl_context | map(attribute='content') | list", "(pdl_context | last).content if pdl_context else 'none'",
                          "pdl_context[-1].role if pdl_context | length > 0 else '-'", "pdl_context[:2] | map(attribute='content') | list", "pdl_context is sequence", "pdl_context is string", "not pdl_context",
                          "(pdl_context + pdl_context) | length", "(pdl_context * pdl_context) | length", "pdl_context == []", "pdl_context[0]['role'] if pdl_context | length > 1 else 0",
                          "pdl_context | selectattr('role', 'eq', 'user') | list | length", "pdl_context[1:] | length", "(pdl_context | map(attribute='content') | map('string') | join('|'))"])

    def b_context(self, d):
        kids = []
        for _ in range(self.r.randrange(2, 6)):
            kids.append(self.pick([
                lambda: self.block("str", d - 1), lambda: {"text": self.text(), "role": self.pick(ROLES)}, lambda: {"data": "${ %s }" % self.about_context(), "contribute": ["result"]},
                lambda: "${ %s }" % self.about_context(), lambda: {"text": [self.text(), "${ %s }" % self.about_context()], "context": self.pick(["independent", "dependent"])},
                lambda: {"array": [{"text": [self.text(), {"data": 1}], "context": "independent"}, "${ %s }" % self.about_context()]},
                lambda: {"data": self.value(self.pick(self.TYPES)), "contribute": self.pick([["context"], ["result"], []])},
                lambda: {"defs": {self.name(): "${ %s }" % self.about_context()}, "text": self.text()},
                lambda: {"for": {self.name("i"): [1, 2]}, "repeat": {"text": ["a", "${ %s }" % self.about_context()]}, "context": self.pick(["independent", "dependent"]), "join": {"with": self.pick(["", "/"])}},
                lambda: {"for": {self.name("i"): [1, 2]}, "map": {"text": ["a", "${ %s }" % self.about_context()]}},
                lambda: {"if": True, "then": {"text": ["t", "${ %s }" % self.about_context()]}, **({"context": "independent"} if self.chance(.3) else {})},
                lambda: {"role": self.pick(ROLES), "content": {"text": ["m", "${ %s }" % self.about_context()]}, "contribute": ["context"], **({"name": "n"} if self.chance(.3) else {}), **({"tool_call_id": "c1"} if self.chance(.2) else {})},
                lambda: self.b_model(d) if self.models and not self.pure else "m",
                lambda: {"call": "${ %s }" % self.context_function()[0], "args": {"pdl_context": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]} if self.chance(.4) else {}},
                lambda: {"text": self.text(), "fallback": "fb", "retry": 1, "role": self.pick(ROLES)},
                lambda: "${ %s() }" % self.context_function()[0]])())
        return {"text": kids, **({"context": "independent"} if self.chance(.15) else {}), **({"role": self.pick(ROLES)} if self.chance(.15) else {})}

    def context_function(self):
        """A function over the context, defined at the root."""
        n = self.name("g")
        self.roots[n] = {"function": self.pick([None, {}]), "return": {"text": ["<", "${ %s }" % self.about_context(), ">"], **({"role": self.pick(ROLES)} if self.chance(.2) else {})}}
        return n, None

    # ------------------------------------------------------------------------------------------------------ functions
    def b_higher(self, t, d):
        """Functions as values: closures, functions that make functions, recursion, default arguments by keyword."""
        f, g, x = self.name("f"), self.name("f"), self.name()
        a, b = self.expr("int", 1), self.expr("int", 1)
        return self.pick([
            lambda: {"defs": {f: {"function": {"k": "integer"}, "return": {"function": {"j": "integer"}, "return": "${ k * 10 + j }"}}}, "data": "${ %s(%s)(%s) }" % (f, a, b)},
            lambda: {"defs": {x: 1, f: {"function": {}, "return": "${ %s }" % x}, g: {"text": "", "defs": {x: 2}}}, "data": "${ %s() }" % f},
            lambda: {"defs": {f: {"function": {"n": "integer"}, "return": {"if": "${ n <= 1 }", "then": 1, "else": "${ n * %s(n - 1) }" % f}}}, "data": "${ %s(%d) }" % (f, self.r.randrange(1, 8))},
            lambda: {"defs": {f: {"function": {"h": None, "v": "integer"}, "return": "${ h(v) + h(v=1) }"}, g: {"function": {"v": "integer"}, "return": "${ v + 1 }"}}, "call": "${ %s }" % f, "args": {"h": "${ %s }" % g, "v": "${ %s }" % a}},
            lambda: {"defs": {f: {"function": {"a": "integer", "b": {"optional": "integer"}}, "return": "${ a + (b | default(5)) }"}}, "data": "${ %s(%s) * 100 + %s(b=1, a=2) }" % (f, a, f)},
            lambda: {"defs": {f: {"function": {"a": "integer"}, "description": "d", "return": 1}}, "data": "${ (%s.signature | tojson | length) + 0 }" % f},
            lambda: {"defs": {f: {"function": {"a": "integer"}, "spec": "integer", "return": {"data": "${ a }"}}}, "call": "${ %s }" % f, "args": {"a": "${ %s }" % a}, "spec": "integer"}])()

    def b_expect(self, d):
        f, n = self.name("f"), self.name("o")
        self.out_files.append(n + ".txt")
        self.roots[f] = {"function": {"expectation": None, "response": None}, "return": self.pick([None, {"data": ""}, {"data": "try harder"}, {"data": 0.5}, {"data": [0.25, "again"]},
                         {"if": "${ response == 'x' }", "then": {"data": "not x"}, "else": {"data": None}}])}
        return {"data": self.pick(["x", "y", 3]), "expectations": [{"expect": self.text(0), "feedback": "${ %s }" % f}], **({"retry": self.pick([0, 1, 2])} if self.chance(.7) else {})}

    def b_aggregate(self, d):
        n = self.name("o")
        self.out_files.append(n + ".txt")
        self.roots[n] = {"aggregator": {"file": n + ".txt", **({"prefix": self.pick(["> ", "${ 1 }-"])} if self.chance(.4) else {}), **({"suffix": self.pick(["", ";\n"])} if self.chance(.4) else {}), **({"mode": "a"} if self.chance(.2) else {})}}
        kids = []
        for _ in range(self.r.randrange(1, 4)):
            b = self.block(self.pick(self.TYPES), d - 1)
            b = b if isinstance(b, dict) else {"data": b}
            if "function" not in b and "parser" not in b:
                b["contribute"] = self.pick([[n], [n, "result"], ["result", {n: {"value": self.value("any", 0)}}], ["context", n]])
            kids.append(b)
        return {"text": kids}

    def b_collect(self, d):
        n = self.name("o")
        self.roots[n] = {"aggregator": "context"}
        return {"text": [{"data": self.value(self.pick(self.TYPES)), "contribute": [n], **({"role": self.pick(ROLES)} if self.chance(.5) else {})} for _ in range(self.r.randrange(1, 3))] + [{"text": "zz", "contribute": [n, "result"]}] + ["${ %s.messages | map(attribute='content') | list }" % n]}

    def b_structured(self, d):
        """A model with a schema, its reply parsed."""
        return {"model": self.pick(["openai/schema", "openai/say:{\"a\":_3}", "openai/say:[1,2]", "openai/params"]), "input": self.text(0), "parser": "json", **({"spec": self.pick([{"a": "integer"}, {"a": "integer", "b": {"optional": "string"}}])} if self.chance(.5) else {}),
                "fallback": {"data": "fb"}, **({"modelResponse": self.name("raw")} if self.chance(.3) else {}), **({"structuredDecoding": False} if self.chance(.2) else {}), **({"parameters": {"temperature": "${ 0.5 }", "max_tokens": 50, "seed": None}} if self.chance(.4) else {})}

    def b_code(self, d):
        v = self.var("int") or "3"
        return self.pick([lambda: {"lang": "python", "code": Raw("|\n  result = str(%s) + '!'" % (v if v.isidentifier() else "7"))}, lambda: {"lang": "jinja", "code": "{% for x in range(3) %}\n  {{ x }}\n{% endfor %}\n", "parameters": self.pick([{"trim_blocks": True}, {"lstrip_blocks": True}, {"keep_trailing_newline": True}])},
                          lambda: {"lang": "jinja", "code": "{{ zz }}-{{ q }}", "scope": {"zz": self.value("any", 0)}}, lambda: {"lang": "command", "code": "printf '%%s' '%s'" % self.pick(SAFE_WORDS)},
                          lambda: {"lang": "pdl", "code": "text: [a, {data: [1, null]}, {for: {i: [1, 2]}, map: {data: 2}, join: {with: ','}}]", "scope": {"aa": 1}},
                          lambda: {"lang": "pdl", "code": self.pick(["data: 1", "array: [1, {def: x, data: 2}]", "1", "a", "lang: jinja\ncode: '{{ 1 }}'"])}])()

    def b_special(self, t, d):
        if t == "str" and self.chance(.45) and not self.in_object:
            made = [self.b_context]
            if not self.pure:
                made += [self.b_expect, self.b_aggregate, self.b_collect] + ([self.b_structured] if self.models else [])
            return self.pick(made + [self.b_code])(d)
        if t == "int" and self.chance(.3):
            return self.b_higher(t, d)
        k = self.r.randrange(9)
        if k == 0:
            return self.b_fallback(t, d)
        if k == 1 and t == "str" and self.chance(.5):
            return self.b_read()
        if k == 1 and t in ("str", "int", "obj") and not self.pure and not self.in_object:
            return self.b_input(t)
        if k == 2 and self.models and t == "str" and not self.pure and not self.in_object:
            return self.b_model(d)
        if k == 3:
            return self.b_include(t, d)
        if k == 4 and t == "int" and not self.in_object:
            return self.pick(["${ pdl_context | length }", {"data": "${ pdl_context | map(attribute='content') | list | length }"}])
        if k == 5 and t == "str":
            return {"lang": "pdl", "code": json.dumps({"text": [self.pick(SAFE_WORDS), {"data": 1}, {"for": {"z": [1, 2]}, "repeat": {"data": [3]}}]})}
        if k == 6 and t == "int":
            n = self.name("w")
            return {"lastOf": [{"defs": {n: 0}, "repeat": {"defs": {n: "${ %s + 1 }" % n}, "data": "${ %s }" % n}, "until": "${ %s >= %d }" % (n, self.r.randrange(1, 4)), "join": {"as": self.pick(["array", "lastOf"])}}, "${ %s }" % n]} if self.no_stream() else None
        if k == 7 and not self.in_object and t == "str":
            m = {"role": self.pick(ROLES), "content": self.branch("str", d - 1)}
            if self.chance(.2):
                m["name"] = "n1"
            return {"text": [{"def": self.name("c"), **m, "contribute": ["context"]}, self.block("str", d - 1)]}
        return self.b_import(t, d) if k == 8 else None

    def no_stream(self):
        self.stream = False
        return True

    def b_fallback(self, t, d):
        bad = self.pick([lambda: "${ nope%d }" % self.r.randrange(3), lambda: {"data": "x", "spec": "integer"}, lambda: {"data": "{]", "parser": "yaml"}, lambda: "${ 1 // 0 }", lambda: {"read": "./no_such_file"},
                         lambda: {"data": "zz", "parser": {"regex": "(a", "mode": "search"}}, lambda: {"data": "[}", "parser": "jsonl"}, lambda: {"lang": "jinja", "code": "{% if %}"},
                         lambda: {"lang": "python", "code": "result = 1/0"} if self.chance(.3) else "${ [].nope }"])()
        if not isinstance(bad, dict):
            bad = {"data": bad}
        self.no_stream()
        bad["fallback"] = self.branch(t, d - 1)
        if self.chance(.3):
            bad["retry"] = self.pick([0, 1, 2])
        bad.pop("def", None)
        return bad

    def b_read(self):
        n = "f%d.txt" % len(self.files)
        self.files[n] = self.pick(["plain\n", "two\nlines", "${ x } raw", "", "é"])
        return {"read": self.pick(["./" + n, n])}

    def b_input(self, t):
        """Standard input: a line, all of it, or a parsed line."""
        b = {"read": None, "message": self.pick(["> ", "say: ", "", "é "])}
        if t == "str" and self.chance(.15):
            b["multiline"] = True
        if t != "str":
            b["parser"] = "json"
        self.stdin.append({"str": self.pick(["a line", "", "é ü", "  blanks  ", "${ x }", "1"]), "int": "7", "obj": '{"a": 1, "b": "x"}'}[t])
        return b

    def outside(self):
        """Variables of the command line and of a data file: the former win."""
        given = [{}, {}]
        for where in given:
            for _ in range(self.r.randrange(0, 3) if self.chance(.25) else 0):
                n, t = self.name("o"), self.pick(["int", "str", "bool", "ilist", "slist", "obj"])
                where[n] = {"int": 3, "str": self.pick(["out", "é", "a: b", ""]), "bool": True, "ilist": [1, 2], "slist": ["p", "q"],
                            "obj": {"a": 4, "b": "y"}}[t]
                self.vars.append((n, t))
        if given[0] and given[1] and self.chance(.5):
            name = next(iter(given[1]))
            given[0][name] = "hidden"
        if given[0]:
            self.files["data.yaml"] = json.dumps(given[0], ensure_ascii=False) + "\n"
            self.args += [self.pick(["-f", "--data-file"]), "data.yaml"]
        if given[1]:
            self.args += [self.pick(["-d", "--data"]), json.dumps(given[1], ensure_ascii=False)]

    def b_include(self, t, d):
        n = "inc%d.pdl" % len(self.files)
        self.files[n] = ""
        self.files[n] = emit(self.as_program(self.branch(t, d - 1)), self.r)
        return {"include": self.pick(["./" + n, n])}

    def b_import(self, t, d):
        if t not in ("int", "str"):
            return None
        n = "lib%d" % len(self.files)
        self.files[n + ".pdl"] = ""
        keep, kept = self.vars, self.funs
        self.vars, self.funs = [], []
        self.pure += 1
        tree = {"defs": {"val": {"data": self.value(t)}, "fun": {"function": {"x": self.SPECS[t][0]}, "return": {"text": ["<", "${ x }", ">"]} if t == "str" else "${ x + 1 }"}}, "text": self.children(1)}
        self.pure -= 1
        self.vars, self.funs = keep, kept
        self.files[n + ".pdl"] = emit(tree, self.r)
        v = self.name("l")
        use = self.pick(["${ %s.val }" % v, "${ %s.fun(%s) }" % (v, self.expr(t, 0)), {"call": "${ %s.fun }" % v, "args": {"x": self.value(t)}}])
        if isinstance(use, str):
            use = {"data": use}
        use["defs"] = {v: {"import": self.pick(["./" + n, n, n + ".pdl"])}}
        return use

    def b_model(self, d):
        b = {"model": "openai/" + self.pick(["echo", "upper", "count", "roles", "dump", "say:ok_then", "words", "empty", "reverse"])}
        k = self.r.randrange(5)
        if k == 0:
            b["input"] = self.text()
        elif k == 1:
            b["input"] = {"array": [{"role": self.pick(ROLES[:2]), "content": self.text()}, {"role": "user", "content": self.text() + "."}]}
        elif k == 2:
            b["parameters"] = {"temperature": self.pick([0, 0.5]), "stop": self.pick(["x", ["l", "z"]])}
        if self.chance(.2):
            b["role"] = self.pick(ROLES[:2])
        return b

    # --------------------------------------------------------------------------------------------------- decoration
    def as_program(self, b):
        return b

    def decorate(self, b, t, d):
        if not isinstance(b, dict) or "function" in b:
            return b
        if self.chance(.18) and "def" not in b:
            n = self.name()
            b["def"] = n
            self.after = (n, t)
        p = self.chance
        if p(.1) and "spec" not in b and "parser" not in b and "model" not in b and "fallback" not in b:
            b["spec"] = self.SPECS[t][0]
        if p(.07) and not self.in_object:
            b["role"] = self.pick(ROLES)
        if p(.08) and "contribute" not in b and "def" in b:
            b["contribute"] = self.pick([["result"], ["context"], ["result", "context"], []] if t == "str" and "parser" not in b and "spec" not in b else [["result"], ["result", "context"]])
            if not self.pure and p(.3):
                b["contribute"] = b["contribute"] + [self.pick(["stderr", {"stderr": {"value": "${ %s }" % b["def"]}}])]
        elif p(.05) and "contribute" not in b and not self.pure and not self.in_object:
            b["contribute"] = self.pick([["stdout"], ["result", "stdout"], ["context", "stderr"], ["stdout", "result", "context"],
                                         [{"stdout": {"value": "said"}}, "result"], ["context", {"stderr": {"value": [1, None]}}]])
            if "result" not in b["contribute"]:
                t = "none"
            if self.chance(.4):
                b["role"] = self.pick(ROLES)
        if p(.06) and any(k in b for k in ("text", "array", "repeat", "if", "match")) and not self.in_object:
            b["context"] = self.pick(["independent", "dependent"])
        if p(.05):
            b["description"] = self.pick(["note", "a: b", "multi\nline"])
        if "def" in b and t in self.TYPES and not ("contribute" in b and False):
            self.vars.append((b["def"], t if "parser" not in b else {"ilist": "ilist", "slist": "slist", "obj": "obj"}.get(t, "none")))
        if p(.04) and d > 0 and "for" not in b and "defs" not in b and "def" not in b:
            # definitions seen by the block itself come first: made after, so not used inside
            b["defs"] = {self.name("u"): self.value("any", 1) if False else {"data": self.value("any", 1)}}
        return b

    def program(self):
        r = self.r
        defs = {}
        self.outside()
        for _ in range(r.randrange(0, 5)):
            if self.chance(.35):
                n, b = self.function(3)
                defs[n] = b
            else:
                n, t = self.name(), self.pick(self.TYPES)
                self.pure += 1
                defs[n] = self.block(t, 1) if self.chance(.4) else {"data": self.value(t, 2)}
                self.pure -= 1
                if not (isinstance(defs[n], dict) and "contribute" in defs[n]):
                    self.vars.append((n, t))
        top = self.pick(["str", "str", "str", "ilist", "slist", "obj", "int"])
        if top == "str" or self.chance(.5):
            main = {"text": self.children(4, r.randrange(1, 5))}
        else:
            main = self.block(top, 4)
            if not isinstance(main, dict):
                main = {"data": main}
        if "defs" in main:
            defs = {**defs, **main["defs"]}
        defs = {**self.roots, **defs}
        if defs:
            main = {"defs": defs, **{k: v for k, v in main.items() if k != "defs"}}
        return main

    # ------------------------------------------------------------------------------------------------------- breakage
    def break_one(self, tree):
        """Change one place so that an error is likely."""
        places = []

        def walk(v, path):
            if isinstance(v, dict):
                for k in v:
                    places.append(path + [k])
                    walk(v[k], path + [k])
            elif isinstance(v, list):
                for i in range(len(v)):
                    places.append(path + [i])
                    walk(v[i], path + [i])
        walk(tree, [])
        if not places:
            return
        path = self.pick(places)
        at = tree
        for k in path[:-1]:
            at = at[k]
        key = path[-1]
        k = self.r.randrange(7)
        if k == 0 and isinstance(at, dict):
            at[self.pick(["foo", "texts", "cases", "Def", "model2"])] = self.pick([1, "x", [1]])
        elif k == 1:
            del at[key]
        elif k == 2:
            at[key] = self.pick(["${ undefined_name }", "${ 1 + 'a' }", "${ x.y.z }", "${ [1][7] }", "${ 1 +* 2 }", "${ nope() }", "${ 'a' | nofilter }", "${ {} is notest }", "${", "${ 'a' | int(x) }"])
        elif k == 3:
            at[key] = self.pick([None, 3, "word", [1, 2], {"a": 1}, True, 2.5, {}, [], Raw("2024-01-15")])
        elif k == 4 and isinstance(at, dict):
            at["spec"] = self.pick(["integer", "string", ["string"], {"a": "integer"}, {"zz": "string"}, "boolean", {"enum": ["q"]}, {"type": "number", "maximum": 0}])
        elif k == 5 and isinstance(at, dict):
            at["parser"] = self.pick(["json", "yaml", "jsonl", "csv", {"regex": "(?P<z>x)"}, {"regex": "["}])
        else:
            at[key] = {"data": at[key]} if not isinstance(at[key], dict) else self.pick(["word", 1])


def case(seed, models=False, broken=None):
    """-> {file name: text}, case.json, replies"""
    g = Gen(seed, models)
    tree = g.program()
    broken = g.chance(.13) if broken is None else broken
    if broken:
        tree = copy.deepcopy(tree)  # types are shared with the generator: breaking one would break all programs after it
        g.break_one(tree)
    files = {"main.pdl": emit(tree, Plain() if broken else g.r), **g.files}
    spec = {"description": "generated from %s" % seed, "trace": True}
    if g.stdin:
        spec["stdin"] = "".join(line + "\n" for line in g.stdin + ["more", "and more"])
    if g.chance(.12):  # run once, in this mode
        g.args += ["--stream", g.pick(["context", "none"]) if g.stream else "none"]
    if g.args:
        spec["args"] = g.args
    if g.out_files:
        spec["files"] = g.out_files
    if not g.stream:
        spec["stream"] = False
    if g.models:
        spec["requests_order"] = "any"
    return tree, files, spec
