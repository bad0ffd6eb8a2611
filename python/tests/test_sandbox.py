# SPDX-License-Identifier: Apache-2.0
"""Engine(sandbox=, policy=): code and commands are confined, and values go where the policy lets them."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import libpdl

COMMAND = pathlib.Path(os.environ["PDL_BUILD"])
if COMMAND.name.endswith("-asan"):  # sanitizers reserve more address space than the helper allows itself
    COMMAND = COMMAND.with_name(COMMAND.name[:-5])
CAN = subprocess.run([COMMAND / "pdl", "sandbox", "--", "true"], capture_output=True, check=False).returncode == 0
os.environ["PDL_COMMAND"] = str(COMMAND / "pdl")
# policies are searched in lib/policies of this folder
os.environ["PDL_PATH"] = str(pathlib.Path(__file__).resolve().parent.parent.parent)

CAT = "lang: command\nargs: [sh, -c, 'cat %s 2>/dev/null || echo hidden']"
WHERE = "lang: python\ncode: |\n  import os\n  result = os.getpid()"
TO_COMMAND = {"policy": 1, "rules": [{"sink": "command", "argument": "1", "deny": ["model"]}], "otherwise": "allow"}
MODELS = {"m": lambda request: "said"}


class Sandbox(unittest.TestCase):
    def setUp(self):
        if not CAN:
            self.skipTest("this machine has no sandbox")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name).resolve() / "data" / "s.txt"
        self.file.parent.mkdir()
        self.file.write_text("secret")

    def test_profiles(self):
        profile = self.file.parent.parent / "profile.yaml"
        profile.write_text("read: [data]")
        for sandbox, want in ((None, "secret"), (False, "secret"), (True, "hidden"), ("code", "hidden"), ({}, "hidden"),
                              ({"read": [str(self.file.parent)]}, "secret"), (profile, "secret"), (str(profile), "secret")):
            self.assertEqual(libpdl.Engine(sandbox=sandbox).run(CAT % self.file).text.strip(), want, sandbox)

    def test_a_process_that_ignores_its_children(self):
        text = ("import signal, libpdl\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
                "print(libpdl.Engine(sandbox=True).run('lang: command\\ncode: echo said').text, signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN)")
        p = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((p.stdout.split(), p.stderr), (["said", "True"], ""))

    def test_paths_of_a_dict_begin_where_the_program_runs(self):
        before = os.getcwd()
        os.chdir(self.file.parent.parent)
        try:
            engine = libpdl.Engine(sandbox={"read": ["data"]})
        finally:
            os.chdir(before)
        self.assertEqual(engine.run(CAT % self.file).text, "secret")

    def test_code_runs_in_the_worker(self):
        self.assertEqual(libpdl.run(WHERE).value, os.getpid())
        engine = libpdl.Engine(sandbox=True)
        self.assertEqual(engine.code, "process")
        self.assertNotEqual(engine.run(WHERE).value, os.getpid())

    def test_what_a_run_left_in_the_process_keeps_its_labels(self):
        put = "lang: python\ncode: |\n  import builtins\n  builtins.kept = v\n  result = 1"
        get = ("lastOf:\n- {def: o, contribute: [], lang: python, code: \"import builtins\\nresult = getattr(builtins, 'kept', 'none')\"}\n"
               "- {lang: command, args: [printf, '%s', '${ o }'], fallback: '${ pdl_error.kind }'}")
        deny = {"policy": 1, "rules": [{"sink": "command", "deny": ["data"]}], "otherwise": "allow"}
        own, other = ("policy: %s\n" % str(dict(deny, approvals=n)).replace("'", '"') for n in (3, 4))
        engine = libpdl.Engine(code="process", policy=deny)
        self.assertEqual([engine.run(get).text, engine.run(put, {"v": "x"}).text, engine.run(get).text], ["none", "1", "policy"])
        engine = libpdl.Engine(code="process")
        ran = [engine.run(p, {"v": v} if v else None).text for p, v in ((put, "x"), (own + get, ""), (own + put, "y"), (own + get, ""), (other + get, ""), (get, ""))]
        # the fifth run has another process, but it could read a file that the process of the third run has left
        self.assertEqual(ran, ["1", "none", "1", "policy", "policy", "x"])

    def test_a_block_is_never_run_here(self):
        self.assertNotEqual(libpdl.run("sandbox: true\n" + WHERE).value, os.getpid())
        with self.assertRaises(libpdl.Error):  # a function of this process cannot be sent into the sandbox
            libpdl.run("sandbox: true\nlang: python\ncode: result = f()", {"f": lambda: 1})

    def test_mistakes(self):
        for sandbox, text in (({"raed": []}, "did you mean 'read'"), ({"read": ["/"]}, "/ is everything"), ("nonsense", "there is no profile")):
            with self.assertRaises(libpdl.Error) as e:
                libpdl.Engine(sandbox=sandbox).run(CAT % "x")
            self.assertIn(text, str(e.exception))

    def test_async(self):
        import asyncio

        async def both():
            engine = libpdl.Engine(sandbox=True)
            p = engine.loads(CAT % self.file)
            return [r.text.strip() for r in await asyncio.gather(*[p.arun() for _ in range(3)])]
        self.assertEqual(asyncio.run(both()), ["hidden"] * 3)


class Policy(unittest.TestCase):
    ECHO = "text:\n- {model: m, input: hi, def: x, contribute: []}\n- lang: command\n  args: [echo, '${ x }']"

    def test_policies(self):
        for policy in (TO_COMMAND, [TO_COMMAND], "careful", ["default", TO_COMMAND]):
            with self.assertRaises(libpdl.PolicyError) as e:
                libpdl.Engine(models=MODELS, policy=policy).run(self.ECHO)
            self.assertEqual(e.exception.kind, "policy")
        for policy in (None, [], "default", {"policy": 1, "otherwise": "allow"}):
            self.assertEqual(libpdl.Engine(models=MODELS, policy=policy).run(self.ECHO).text.strip(), "said")

    def test_a_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write("policy: 1\nrules: [{sink: command, argument: 1, deny: [model]}]\notherwise: allow\n")
            f.flush()
            self.assertRaises(libpdl.PolicyError, libpdl.Engine(models=MODELS, policy=f.name).run, self.ECHO)

    def test_the_environment(self):
        text = "import libpdl\nprint(libpdl.Engine(models={'m': lambda r: 'said'}).run(%r, {}))" % self.ECHO
        r = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False, env={**os.environ, "PDL_POLICY": "careful"})
        self.assertIn("PolicyError", r.stderr)

    def test_the_environment_asks_for_a_sandbox(self):
        asks = [("1", "process closed\nhere open\n"), ("code", "process closed\nhere open\n")] if CAN else []
        text = ("import os, libpdl\nfor given in (None, False):\n    e = libpdl.Engine(sandbox=given)\n"
                "    print(e.code, e.run('lang: python\\ncode: |\\n  try:\\n    open(\"/etc/passwd\", \"a\").close(); result = \"open\"\\n  except OSError: result = \"closed\"').value)")
        for value, out in [*asks, ("0", "here open\nhere open\n"), ("", "here open\nhere open\n")]:
            r = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False, env={**os.environ, "PDL_SANDBOX": value})
            if os.geteuid():
                out = out.replace("open\n", "closed\n")  # only root may write there
            self.assertEqual((r.stdout, r.stderr), (out, ""), value)

    def test_the_environment_asks_for_what_is_not_there(self):
        env = {**os.environ, "PDL_SANDBOX": "1", "PDL_SANDBOX_WITHOUT": "seccomp"}
        r = subprocess.run([sys.executable, "-c", "import libpdl; libpdl.run('{lang: python, code: result = 1}')"], capture_output=True, text=True, check=False, env=env)
        self.assertIn("this machine cannot confine code", r.stderr)

    def test_a_rule_for_code_means_the_worker(self):
        rule = {"policy": 1, "rules": [{"sink": "code", "deny": ["model"]}], "otherwise": "allow"}
        self.assertEqual(libpdl.Engine(policy=TO_COMMAND).code, "here")
        self.assertEqual(libpdl.Engine(policy=TO_COMMAND).run(WHERE).value, os.getpid())
        self.assertEqual(libpdl.Engine(policy=rule).code, "process")
        self.assertNotEqual(libpdl.Engine(policy=rule).run(WHERE).value, os.getpid())
        self.assertRaises(libpdl.UsageError, libpdl.Engine, policy=rule, code="here")

    def test_mistakes(self):
        for policy, text in (({"policy": 1, "ruels": []}, "did you mean 'rules'"), ("nonsense", "there is no policy"), ("/nowhere/p.yaml", "no such file")):
            with self.assertRaises(libpdl.Error) as e:
                libpdl.Engine(policy=policy).run("data: 1")
            self.assertIn(text, str(e.exception))


if __name__ == "__main__":
    unittest.main()
