# SPDX-License-Identifier: Apache-2.0
"""Cells of notebooks: in a shell of IPython, in a kernel that is spoken to, and as a notebook that is executed. Skipped without IPython."""
import contextlib
import html
import importlib.util
import io
import os
import queue
import re
import socket
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

import libpdl
from libpdl import _painter

HAS_IPYTHON = importlib.util.find_spec("IPython") is not None
HAS_KERNEL = all(importlib.util.find_spec(m) for m in ("ipykernel", "nbclient"))
# maximum time from the interrupt to the reply of the kernel, in addition to that of a cell of plain Python
MAX_SECONDS = 0.1
ATTEMPTS = 5  # number of measurements, each beside one of plain Python, because the machine may be busy at one moment
MODEL = libpdl.Engine(models={"m": lambda request: iter(["green ", "\x1b[2Jtext"])}) if HAS_IPYTHON else None


@unittest.skipUnless(HAS_IPYTHON, "there is no IPython")
class Cells(unittest.TestCase):
    def setUp(self):
        from IPython.core.interactiveshell import InteractiveShell
        InteractiveShell.clear_instance()
        self.shell = InteractiveShell.instance()
        self.names = self.shell.user_ns
        self.shell.run_line_magic("load_ext", "libpdl.notebook")

    def tearDown(self):
        self.shell.run_line_magic("unload_ext", "libpdl.notebook")

    def cell(self, text, out=None):
        out = out or io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            return self.shell.run_cell(text), out.getvalue()

    def test_variables_go_in_and_out(self):
        self.names["name"] = "Ada"
        r, out = self.cell("%%pdl\ndefs: {n: 5, _hidden: 1}\ntext: Hello ${ name }")
        self.assertTrue(r.success)
        self.assertEqual(out, "Hello Ada\n")
        self.assertEqual(self.names["n"], 5)
        for name in ("stdlib", "_hidden", "pdl_usage", "pdl_particle_id", "pdl_model_default_parameters"):
            self.assertNotIn(name, self.names)

    def test_a_variable_that_the_program_leaves_alone_stays_the_same_object(self):
        for value in ([1, [2]], (1, 2), {"a": (1,)}, "text", 3.5, None):
            self.names["x"] = value
            self.cell("%%pdl\ndata: ${ x }")
            self.assertIs(self.names["x"], value)
        self.cell("%%pdl\ndefs: {x: 9}\ntext: ''")
        self.assertEqual(self.names["x"], 9)

    def test_an_included_program_has_the_variables_that_the_cell_does_not_name(self):
        with tempfile.NamedTemporaryFile("w", suffix=".pdl") as f:
            f.write("text: ${ secret_name }")
            f.flush()
            self.names["secret_name"] = "seen"
            self.assertEqual(self.cell("%%pdl\ninclude: " + f.name)[1], "seen\n")

    def test_functions_of_the_notebook_are_called(self):
        self.cell("def twice(x):\n    return 2 * x")
        self.assertEqual(self.cell("%%pdl\ndata: ${ twice(4) }")[1], "8\n")

    def test_the_context_goes_on(self):
        self.cell("%%pdl\ntext: one")
        self.assertEqual(self.cell("%%pdl\ntext: ${ pdl_context | length }")[1], "1\n")
        self.assertEqual([m["content"] for m in self.names["pdl_context"]], ["one", 1])
        self.assertEqual(self.cell("%%pdl -r\ntext: ${ pdl_context | length }")[1], "0\n")
        self.cell("%pdl_reset")
        self.assertEqual(self.names["pdl_context"], [])

    def test_an_error_is_a_message_with_its_place_and_the_cell_fails(self):
        r, out = self.cell("%%pdl\ntext: ${ nobody }")
        self.assertFalse(r.success)
        self.assertNotIn("Traceback", out)
        self.assertRegex(out, r"<cell \d+>:1 - .*'nobody' is undefined")
        self.assertIn("^^^^^^", out)
        r, out = self.cell("%%pdl --keep-going\ntext: ${ nobody }")
        self.assertTrue(r.success)
        self.assertIn("'nobody' is undefined", out)

    def test_wrong_words_are_errors_that_say_what_there_is(self):
        for line, said in (("--nonsense", "unknown option --nonsense; there are -r"), ("--stream loud", "not 'loud'"), ("--stream", "wants a value"),
                           ("-t 1x", "name of a variable"), ("file.pdl", "unknown option file.pdl"), ("'", "No closing quotation"),
                           ("--no-run=false", "--no-run takes no value"), ("-r=1", "-r takes no value"), ("--viewer=", "--viewer takes no value")):
            r, out = self.cell("%%%%pdl %s\ntext: a" % line)
            self.assertFalse(r.success, line)
            self.assertIn(said, out, line)
        for line, said in (("%pdl", "name of a file is missing"), ("%pdl /nonexistent.pdl", "/nonexistent.pdl"), ("%pdl a.pdl b.pdl", "there are two: a.pdl and b.pdl"),
                           ("%pdl_usage x", "%pdl_usage takes no words"), ("%pdl_reset x", "%pdl_reset takes no words")):
            r, out = self.cell(line)
            self.assertFalse(r.success, line)
            self.assertIn(said, out, line)

    def test_streams(self):
        libpdl.notebook.use(MODEL)
        program = "\ntext:\n- 'ask '\n- model: m\n"
        self.assertEqual(self.cell("%%pdl --stream result" + program)[1], "ask green \u241b[2Jtext\n")
        r, out = self.cell("%%pdl --stream none" + program)
        self.assertEqual(r.result, "ask green \x1b[2Jtext")
        self.assertEqual(self.cell("%%pdl --stream=context" + program)[1], "user: ask \nassistant: green \u241b[2Jtext\n")
        self.assertEqual(self.names["pdl_context"][-1]["role"], "assistant")

    def test_models_are_green(self):
        libpdl.notebook.use(MODEL)
        out = io.StringIO()
        out.isatty = lambda: True
        with unittest.mock.patch.dict("os.environ", {}):
            _painter.os.environ.pop("NO_COLOR", None)
            self.assertIn("\033[32mgreen \033[0m", self.cell("%%pdl\nmodel: m\ninput: x", out)[1])

    def test_a_trace_is_left_also_by_a_failure(self):
        self.cell("%%pdl -t trace --stream none\ntext: [a, b]")
        self.assertEqual(self.names["trace"]["kind"], "text")
        del self.names["trace"]
        self.cell("%%pdl -t trace\ntext: [a, '${ nobody }']")
        self.assertEqual(self.names["trace"]["kind"], "text")

    def test_only_checked(self):
        r, out = self.cell("%%pdl --no-run\ntext: ${ nobody }")
        self.assertTrue(r.success)
        self.assertIn("<cell", out)
        self.assertIn("warning", out)
        self.assertFalse(self.cell("%%pdl --no-run\ntxt: hi")[0].success)

    def test_a_file_and_usage(self):
        libpdl.notebook.use(libpdl.Engine(models={"m": lambda r: {"content": "hi", "usage": {"prompt_tokens": 3, "completion_tokens": 2}}}))
        with tempfile.NamedTemporaryFile("w", suffix=".pdl") as f:
            f.write("defs: {left: 7}\nmodel: m\ninput: ${ word }")
            f.flush()
            self.names["word"] = "x"
            self.assertEqual(self.cell("%%pdl %s" % f.name)[1], "hi\n")
            self.cell("%%pdl --stream none %s" % f.name)
        self.assertEqual(self.names["left"], 7)
        self.assertEqual(self.cell("%pdl_usage")[0].result, {"model_calls": 2, "prompt_tokens": 6, "completion_tokens": 4})

    def test_a_policy_asks_through_input(self):
        ask = {"policy": 1, "rules": [{"sink": "command", "allow": ["user"], "otherwise": "approve"}], "otherwise": "allow"}
        program = "%%pdl\ntext:\n- {def: x, contribute: [], model: m, input: a}\n- {lang: command, args: [echo, 'ran ${ x }']}"
        models = {"m": lambda request: "this"}
        libpdl.notebook.use(libpdl.Engine(models=models, policy=ask))
        for answer, is_yes in (("y", True), ("", False), ("yes", True), ("Y", False), ("n", False)):
            with unittest.mock.patch("builtins.input", lambda *prompt: answer):
                r, out = self.cell(program)
            self.assertEqual((r.success, "ran this\n" in out.splitlines(True)), (is_yes, is_yes), out)
            self.assertIn("y or yes and Enter: yes", out)

        with unittest.mock.patch("builtins.input", lambda *prompt: "y"):
            out = self.cell("%%pdl\ntext:\n- {model: m, input: a, def: x}\n- {lang: command, args: [echo, 'ran ${ x }']}")[1]
        self.assertEqual(out.splitlines()[:2], ["this", "The policy asks: may this be done?"])

        def ends(*prompt):
            raise EOFError
        with unittest.mock.patch("builtins.input", ends):
            self.assertFalse(self.cell(program)[0].success)
        libpdl.notebook.use(libpdl.Engine(models=models, policy=ask, approve=lambda request: True))
        with unittest.mock.patch("builtins.input", ends):
            self.assertTrue(self.cell(program)[0].success)

    def test_origins_go_from_cell_to_cell(self):
        """The policy of a later cell refuses a text that a model wrote, whatever was made of the text between the
        cells."""
        import json
        reply = json.dumps({"name": "x.txt", "n": 7, "many": list(range(40)), "big": 123456, "yes": True, "c": "x"})
        libpdl.notebook.use(libpdl.Engine(models={"m": lambda request: reply}))
        self.cell("%%pdl --stream none\ndefs: {own: mine, at: {read: /etc/hostname}}\ntext: {model: m, input: a, parser: json, def: d}")
        r, out = self.cell("%%pdl\ndefs: {s: '${ d.name }', small: '${ d.n }', both: {data: [own, '${ d.name }']}, lost: {data: [own, '${ d.c }']}, f: {function: {}, return: '${ d.name }'}}\ntext: ''")
        self.assertTrue(r.success, r.error_in_exec)
        self.names["host"] = "of the notebook"
        for text in ("plain = s", "made = s + '!'", "made2 = len(made)", "def g(): return d['name']", "deep = {'k': [d['name']]}",
                     "box = []", "box.append(s)", "clean = 'a' + host", "number = d['n']", "flag = 'x' in s", "again = g() + '!'"):
            self.assertTrue(self.cell(text)[0].success, text)
        refused = ("s", "d.name", "d.n", "d.many[3]", "d.big", "small", "plain", "made", "made2", "deep.k[0]", "box[0]", "number", "flag", "again",
                   "both[1]", "lost[1]", "f()", "at", "pdl_context[0].content")
        for name in refused:
            with self.subTest(name):
                r, out = self.cell("%%%%pdl --policy careful\nargs: [echo, 'ran ${ %s }']" % name)
                self.assertFalse(r.success)
                self.assertIn("policy careful", str(r.error_in_exec))
                self.assertNotIn("\nran ", "\n" + out)
        for name in ("host", "clean", "own", "both[0]"):
            with self.subTest(name):
                r, out = self.cell("%%%%pdl --policy=careful\nargs: [echo, 'ran ${ %s }']" % name)
                self.assertTrue(r.success, r.error_in_exec)
                self.assertIn("ran ", out)
        libpdl.notebook.use(libpdl.Engine())
        for name in ("s", "d.name", "d.many[3]", "small", "plain", "deep.k[0]", "number", "flag", "both[1]", "pdl_context[0].content"):
            with self.subTest(name + " on another engine"):
                r, out = self.cell("%%%%pdl --policy careful\nargs: [echo, 'ran ${ %s }']" % name)
                self.assertIn("policy careful", str(r.error_in_exec))
        self.assertTrue(self.cell("%%pdl --policy careful\nargs: [echo, '${ host }']")[0].success)
        self.assertIn("a function or object of another engine", str(self.cell("%%pdl\ndata: ${ f() }")[0].error_in_exec))
        self.names["s"] = "typed again"
        self.assertTrue(self.cell("%%pdl --policy careful\nargs: [echo, '${ s }']")[0].success)

    def test_a_trace_has_the_origins_of_its_run(self):
        libpdl.notebook.use(libpdl.Engine(models={"m": lambda request: "a reply"}))
        for program, is_clean in (("text: clean", True), ("lastOf: [{model: m, input: a, contribute: []}, clean]", False), ("text: {read: /etc/hostname}", False),
                                  ("- {model: m, input: a, contribute: []}\n- ${ stdlib.fail('no') }", False)):
            self.cell("%%pdl -r -t kept\n" + program)
            self.cell("part = str(kept) + '!'")
            for name in ("kept | string", "part"):
                with self.subTest((program, name)):
                    r, out = self.cell("%%%%pdl --policy careful\nargs: [echo, 'ran ${ %s }']" % name)
                    self.assertEqual(r.success, is_clean, out)

    def test_the_cells_of_compat(self):
        """The classes of the reference's package are converted at each cell; origins stay."""
        try:
            self.shell.run_line_magic("load_ext", "pdl.pdl_notebook_ext")
        except ImportError as e:
            self.skipTest(str(e))
        libpdl.notebook.use(libpdl.Engine(models={"m": lambda request: "a reply"}))
        self.cell("%%pdl --stream none\nmodel: m\ninput: a\ndef: s")
        for text in ("made = {'k': s + '!'}", "rows = []", "rows.append(s + '?')", "said = pdl_context[0]['content'] + '!'"):
            self.assertTrue(self.cell(text)[0].success, text)
        for name in ("s", "made.k", "rows[0]", "said", "pdl_context[0].content"):
            with self.subTest(name):
                out = self.cell("%%%%pdl --policy careful\nargs: [echo, 'ran ${ %s }']" % name)[1]
                self.assertIn("policy careful, line", out)

    def test_results_of_functions_of_the_notebook_have_their_origins(self):
        """No untrusted text chose the function that a cell of Python defines, so the function may be called. Its results have the origins of
        everything that the cell names. A dict with a function in it is a value of that cell, so it has these origins itself, and so has the choice
        of an entry."""
        libpdl.notebook.use(libpdl.Engine(models={"m": lambda request: "a Reply"}))
        with tempfile.TemporaryDirectory() as folder:
            def rule(name, sink):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                    f.write("{policy: 1, rules: [{sink: %s, deny: [model]}], otherwise: allow}" % sink)
            rule("no-command.yaml", "command")
            rule("no-name.yaml", "code object, argument: name")
            self.cell("%%pdl --stream none\nmodel: m\ninput: a\ndef: d")
            cells = ("def f(): return d.upper()", "async def later(): return d.upper()", "again = f", "def outer(): return f() + '!'", "table = {'f': f}",
                     "class Kind:\n    def get(self): return d.upper()\n    @property\n    def seen(self): return d + '!'\nkept = Kind()", "def clean(): return 'clean'")
            for text in cells:
                self.assertTrue(self.cell(text)[0].success, text)
            for used in ("clean()", "f()", "later()", "again()", "outer()", "table.f()", "kept.get()", "kept.seen"):
                with self.subTest(used):
                    r, out = self.cell("%%%%pdl --policy %s/no-command.yaml\nargs: [echo, 'ran ${ %s }']" % (folder, used))
                    self.assertEqual(r.success, used == "clean()", (out, r.error_in_exec))
                    self.assertTrue(r.success or "from model" in str(r.error_in_exec), r.error_in_exec)
                    r, out = self.cell("%%%%pdl --policy %s/no-name.yaml\ntext: ${ %s }" % (folder, used))
                    self.assertEqual(r.success, used != "table.f()", r.error_in_exec)

    def test_names_that_a_policy_gives_go_from_cell_to_cell(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("secret.txt", "s3cret"), ("one.yaml", "{policy: 1, labels: {other: [{tool: 'x/*'}], hidden: [{read: '/**'}]}, otherwise: allow}"),
                               ("two.yaml", "{policy: 1, labels: {hidden: [{read: '/**'}]}, rules: [{sink: command, deny: [hidden]}], otherwise: allow}")):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                    f.write(text)
            self.cell("%%%%pdl --policy %s/one.yaml\ntext: {read: %s/secret.txt, def: t}" % (folder, folder))
            self.cell("%%pdl\ntext: {data: '${ t }!', def: u}")
            r, out = self.cell("%%%%pdl --policy %s/two.yaml\nargs: [echo, '${ u }']" % folder)
            self.assertIn("from hidden", str(r.error_in_exec), out)

    def test_readers_go_from_cell_to_cell(self):
        """For a value of an earlier cell, only the readers that the policy itself names are known. Readers in fields of the source are unknown."""
        with tempfile.TemporaryDirectory() as folder:
            label = "{from: [{read: '/**'}], readers: [me, '${ item.to }']}"
            for name, text in (("mail.json", '{"to": ["ann"], "text": "lunch"}'), ("me.yaml", "me"), ("ann.yaml", "ann"), ("eve.yaml", "eve")):
                if name.endswith("yaml"):
                    text = "{policy: 1, labels: {inbox: %s}, rules: [{sink: command, argument: 1, readers: [%s]}], otherwise: allow}" % (label, text)
                with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                    f.write(text)
            read, send = "{read: %s/mail.json, def: t}" % folder, "{lang: command, args: [echo, 'has ${ t }']}"
            for to, passes in (("me", True), ("ann", True), ("eve", False)):
                r, out = self.cell("%%%%pdl --policy %s/%s.yaml\nlastOf: [%s, %s]" % (folder, to, read, send))
                self.assertEqual(r.success, passes, (to, out, r.error_in_exec))
            for to, passes in (("me", True), ("ann", False), ("eve", False)):
                self.cell("%%%%pdl --policy %s/%s.yaml\n%s" % (folder, to, read))
                self.cell("%%pdl\ntext: {data: '${ t }!', def: t}")
                r, out = self.cell("%%%%pdl --policy %s/%s.yaml\n%s" % (folder, to, send))
                self.assertEqual(r.success, passes, (to, out, r.error_in_exec))
                if not passes:
                    self.assertIn("no reader of inbox", str(r.error_in_exec))

    def test_a_cell_in_a_sandbox(self):
        where = "%%pdl --sandbox\nlang: python\ncode: |\n  import os\n  result = str(os.getpid()) + os.environ.get('OUTSIDE_ONLY', '')"
        with unittest.mock.patch.dict(os.environ, {"OUTSIDE_ONLY": "leaks"}):
            r, out = self.cell(where)
            if "the machine" in str(r.error_in_exec) or "namespace" in str(r.error_in_exec):
                self.skipTest(str(r.error_in_exec))
            self.assertTrue(r.success, r.error_in_exec)
            self.assertNotIn("leaks", out)
            self.assertNotEqual(out.strip(), str(os.getpid()))
            self.assertIn("leaks", self.cell(where.replace(" --sandbox", ""))[1])
        self.assertIn("no such", str(self.cell("%%pdl --sandbox=./none.yaml\ntext: a")[0].error_in_exec).lower())

    def test_read_asks_through_input(self):
        said = iter(["Bob", "one", "two", ""])
        with unittest.mock.patch("builtins.input", lambda *prompt: next(said)):
            self.assertEqual(self.cell("%%pdl\ntext:\n- read:\n  message: 'Name? '\n- '!'")[1], "Name? Bob!\n")
            self.assertEqual(self.cell("%%pdl\nread:\nmultiline: true")[1].splitlines()[-2:], ["one", "two"])
        def ends(*prompt):
            raise EOFError
        with unittest.mock.patch("builtins.input", ends):
            self.assertTrue(self.cell("%%pdl\nread:\nmessage: x")[0] is not None)

    def test_a_handler_that_is_interrupted_ends_the_cell(self):
        def interrupted(*prompt):
            raise KeyboardInterrupt
        with unittest.mock.patch("builtins.input", interrupted):
            r, out = self.cell("%%pdl\ntext:\n- before\n- read:\n  message: x\n  fallback: no")
        self.assertIsInstance(r.error_in_exec, KeyboardInterrupt)
        self.assertIn("before", out)
        self.assertNotIn("Traceback", out)

    def test_wrong_engines_are_refused(self):
        for wrong in (None, "engine", object()):
            with self.assertRaises(TypeError):
                libpdl.notebook.use(wrong)

    def test_what_runs_have_to_show(self):
        r = libpdl.loads("text:\n- <b>&\n- {data: {a: 1}, def: x}").traced()
        frame = r._repr_html_()
        self.assertTrue(frame.startswith("<iframe"))
        self.assertIn('sandbox="allow-scripts"', frame)  # the page cannot reach the notebook
        page = html.unescape(re.search('srcdoc="([^"]*)"', frame).group(1))
        self.assertIn("<!doctype html>", page)
        self.assertNotIn("<b>&", page)
        self.assertNotRegex(page, r"(src|href)=.?https?://")
        self.assertIsNone(libpdl.run("text: a")._repr_html_())


@unittest.skipUnless(HAS_IPYTHON, "there is no IPython")
class Completion(unittest.TestCase):
    def suggest(self, program, **names):
        from libpdl import _complete
        return _complete.suggest(program.replace("|", ""), program.partition("|")[0], names)

    def test_keys(self):
        self.assertEqual(self.suggest("te|"), ["text: "])
        self.assertIn("repeat: ", self.suggest("text:\n- re|"))
        self.assertIn("model: ", self.suggest("text: {mo|"))
        self.assertEqual(self.suggest("text: mo|"), [])

    def test_names(self):
        self.assertEqual(self.suggest("text: ${ nam|", name=1, _names=2), ["name", "namespace"])
        for program in ("defs:\n  alpha: 1\n  other: 2\ntext: ${ al|", "defs: {alpha: 1}\ntext: ${ al|", "text: a\ndef: alpha\n---\n${ al|",
                        "for:\n  alpha: [1]\nrepeat: ${ al|", "text: '{% if al|"):
            self.assertIn("alpha", self.suggest(program, **({"alpha": 1} if "%" in program else {})), program)
        self.assertNotIn("alpha", self.suggest("defs:\n  x:\n    alpha: 1\ntext: ${ al|"))

    def test_functions_filters_tests(self):
        from libpdl import _complete
        self.assertEqual(_complete.suggest("", "text: ${ x | upp", {}), ["upper"])
        self.assertEqual(_complete.suggest("", "if: ${ x is not und", {}), ["undefined"])
        self.assertIn("expectations", _complete.suggest("", "text: ${ stdlib.exp", {}))
        self.assertIn("range", _complete.suggest("", "text: ${ ran", {}))
        self.assertEqual(_complete.suggest("", "text: ${ x } text", {}), [])

    def test_through_the_shell(self):
        from IPython.core.completer import provisionalcompleter
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        shell.run_line_magic("load_ext", "libpdl.notebook")
        self.addCleanup(shell.run_line_magic, "unload_ext", "libpdl.notebook")

        def found(text):
            with provisionalcompleter():
                return [text[:c.start] + c.text + text[c.end:] for c in shell.Completer.completions(text, len(text))]
        self.assertIn("%%pdl\ndescri" + "ption: ", found("%%pdl\ndescri"))
        self.assertEqual(found("%%pdl --vi"), ["%%pdl --viewer"])
        self.assertIn("import sys", found("import sy"))


@unittest.skipUnless(HAS_IPYTHON and HAS_KERNEL, "there is no ipykernel and nbclient")
class Kernel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from jupyter_client.manager import start_new_kernel
        env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        cls.manager, cls.client = start_new_kernel(kernel_name="python3", env=env)
        cls.run_cell("%load_ext libpdl.notebook")

    @classmethod
    def tearDownClass(cls):
        cls.client.stop_channels()
        cls.manager.shutdown_kernel(now=True)

    @classmethod
    def run_cell(cls, text, answer=None, on_output=None):
        """Returns the reply and everything that was printed."""
        got = types.SimpleNamespace(text="")
        ident = cls.client.execute(text, allow_stdin=answer is not None)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if answer is not None:
                with contextlib.suppress(queue.Empty):
                    cls.client.get_stdin_msg(timeout=0.02)
                    cls.client.input(answer)
            with contextlib.suppress(queue.Empty):
                message = cls.client.get_iopub_msg(timeout=0.02)
                if message["parent_header"].get("msg_id") == ident:
                    got.text += message["content"].get("text", "")
                    if on_output and message["msg_type"] == "stream":
                        on_output(got.text)
                    if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                        return cls.reply_to(ident), got.text
        raise AssertionError("the cell does not end: %r" % got.text)

    @classmethod
    def reply_to(cls, ident):
        while True:
            message = cls.client.get_shell_msg(timeout=10)
            if message["parent_header"].get("msg_id") == ident:
                return message["content"]

    def test_the_input_box(self):
        reply, text = self.run_cell("%%pdl\ntext:\n- read:\n  message: 'Name? '\n- '!'", answer="Bob")
        self.assertEqual((reply["status"], text), ("ok", "Name? Bob!\n"))

    def test_models_are_green(self):
        self.run_cell("import libpdl, libpdl.notebook as n; n.use(libpdl.Engine(models={'m': lambda r: 'leaf'}))")
        self.assertEqual(self.run_cell("%%pdl\nmodel: m\ninput: x")[1], "\033[32mleaf\033[0m\n")
        self.run_cell("n.use(libpdl.Engine())")

    def test_pieces_come_while_the_program_runs(self):
        times = []
        self.run_cell("%%pdl\ntext:\n- first\n- lang: python\n  code: |\n    import time\n    time.sleep(1)\n    result = 'last'",
                      on_output=lambda text: times.append((time.monotonic(), text)))
        self.assertTrue(times[0][1].startswith("first"))
        self.assertGreater(times[-1][0] - times[0][0], 0.5)

    def interrupted(self, program, ready):
        began = []

        def on_output(text):
            if ready in text and not began:
                time.sleep(0.2)
                began.append(time.monotonic())
                self.manager.interrupt_kernel()
        reply, text = self.run_cell(program, on_output=on_output)
        self.assertEqual(reply["status"], "error")
        self.assertIn(ready, text)
        return time.monotonic() - began[0], reply

    def ends_at_once(self, program):
        """The cell is as fast as a cell of plain Python. Both wait for the same kernel on the same machine, so pairs of
        measurements are compared."""
        pairs = []
        for _ in range(ATTEMPTS):
            plain, _ = self.interrupted("import time\nprint('started', flush=True)\ntime.sleep(60)", "started")
            seconds, reply = self.interrupted("%%pdl\n" + program, "started")
            self.assertEqual(reply["traceback"], ["interrupted"])
            pairs.append((seconds, plain))
            if seconds < MAX_SECONDS + 2 * plain:
                break
        else:
            self.fail("seconds from the interrupt to the reply, with a program and with plain Python: %r" % pairs)
        if os.environ.get("PDL_SHOW_TIMES"):
            print("interrupt: %.0f ms, plain Python %.0f ms" % (1000 * seconds, 1000 * plain))

    def test_an_interrupt_ends_a_model_call_and_keeps_what_was_printed(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            self.ends_at_once("text:\n- started\n- model: openai/m\n  input: x\n  parameters: {api_base: 'http://127.0.0.1:%d/v1', api_key: k}" % port)

    def test_an_interrupt_ends_code_and_loops(self):
        self.ends_at_once("text:\n- started\n- lang: python\n  code: |\n    import time\n    time.sleep(60)\n    result = 1")
        self.ends_at_once("defs: {n: 0}\ntext:\n- started\n- repeat: {defs: {n: '${ n + 1 }'}, data: ''}\n  until: ${ n < 0 }")

    def test_run_all_stops_at_an_error(self):
        import nbclient
        import nbformat
        cells = ["%load_ext libpdl.notebook", "%%pdl --viewer\ntext: [one, two]", "%%pdl\ntext: ${ nobody }", "print('not reached')"]
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        with self.assertRaises(nbclient.exceptions.CellExecutionError):
            nbclient.NotebookClient(book, kernel_name="python3").execute()
        kinds = [o.get("data", {}).keys() for o in book.cells[1].outputs]
        self.assertIn("text/html", kinds[-1])
        error = book.cells[2].outputs[-1]
        self.assertEqual(error["ename"], "CellError")
        self.assertIn("<cell 3>:1", error["evalue"])
        self.assertNotIn("Traceback", "".join(error["traceback"]))
        self.assertEqual(book.cells[3].outputs, [])


if __name__ == "__main__":
    sys.exit(unittest.main())
