# SPDX-License-Identifier: Apache-2.0
"""Approvals of parked runs (pdl answer), and values that a policy redacts in what is sent to a collector of telemetry."""
import os
import subprocess

from .. import http_of
from ..checks import check

ASKS = """
policy:
  policy: 1
  rules: [{sink: command, allow: [user], otherwise: approve}]
  otherwise: allow
text:
- {def: note, contribute: [], read: note.txt}
- {lang: command, args: [sh, -c, 'echo "$0" >> done.txt; echo done', "${ note }"], fallback: refused}
"""
HIDES = """
policy:
  policy: 1
  labels: {secret: [{read: note.txt}]}
  rules: [{sink: trace, deny: [secret]}]
  otherwise: allow
text:
- {def: note, contribute: [], read: note.txt}
- {lang: command, args: [echo, "${ note }"]}
- {lang: command, args: [echo, nobody minds]}
"""


def run(pdl, d, *args):
    env = {**os.environ, "HOME": str(d), "XDG_STATE_HOME": str(d / "state")}
    p = subprocess.run([pdl, *args], cwd=d, env=env, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, start_new_session=True, check=False)
    return p.returncode, p.stdout.strip(), p.stderr


def test_approvals(pdl, folder):
    (folder / "a.pdl").write_text(ASKS)
    (folder / "note.txt").write_text("words of a file")
    done = folder / "done.txt"
    for name, answer in (("yes", "y"), ("no", "n"), ("else", "yes please"), ("word", "yes"), ("upper", "Y")):
        want, happens = ("done", True) if answer in ("y", "yes") else ("refused", False)
        done.unlink(missing_ok=True)
        r = run(pdl, folder, "--durable", "--park", "--id", name, "a.pdl")
        check(name + ": the run is parked", r[0] == 75 and "The policy asks" in r[2] and "UNTRUSTED, from file" in r[2] and not done.exists(), r)
        r = run(pdl, folder, "answer", name, "--at", "text.1.code.approval", answer)
        check(name + ": answered", r[0] == 0, r)
        r = run(pdl, folder, "resume", name)
        check(name + ": it goes on", r[0] == 0 and r[1] == want and done.exists() == happens, r)
    done.write_text("")
    r = run(pdl, folder, "resume", "yes")
    check("an approval is not asked for, nor what it allowed done, again", done.read_text() == "", r)


def test_telemetry(pdl, folder):
    got = []

    class Handler(http_of.Quiet):
        def do_POST(self):
            got.append(self.body().decode("utf-8", "replace"))
            self.reply(b"{}")
    server = http_of.serve(Handler)
    (folder / "note.txt").write_text("words of a file")
    (folder / "b.pdl").write_text(HIDES)
    r = run(pdl, folder, "--otlp", "http://127.0.0.1:%d/v1/traces" % server.server_address[1], "--otlp-content", "b.pdl")
    sent = "".join(got)
    check("the run", r[0] == 0 and "words of a file" in r[1], r)
    check("texts are sent", "nobody minds" in sent, (r, sent[:500]))
    check("but not what the policy hides in traces", "words of a file" not in sent, sent[:3000])


def test_the_trace_of_a_durable_run(pdl, folder):
    """Its journal has the real values. The policies of the run hide them where the run is shown, and decide in it as they did."""
    (folder / "note.txt").write_text("hid7canary")
    (folder / "p.yaml").write_text("policy: 1\nlabels: {secret: [{read: note.txt}]}\nrules: [{sink: trace, deny: [secret]}, {sink: command, deny: [secret]}]\notherwise: allow\n")
    (folder / "a.pdl").write_text("text:\n- {def: note, contribute: [], read: note.txt}\n- {lang: command, args: [echo, \"${ note }\"], fallback: \"${ pdl_error.kind }\"}\n")
    for name, more in (("hidden", ("--policy", "p.yaml")), ("shown", ())):
        code, out, err = run(pdl, folder, "--durable", "--id", name, *more, "a.pdl")
        check(name + ": the run", code == 0 and out == ("policy" if more else "hid7canary"), out, err)
        for form in ("json", "html"):
            code, out, err = run(pdl, folder, "trace", "--format", form, name)
            check(f"{name}, {form}", code == 0 and ("hid7canary" in out) != bool(more) and ("[secret]" in out) == bool(more), out[:3000], err)
    (folder / "p.yaml").unlink()
    code, out, err = run(pdl, folder, "trace", "hidden")
    check("a policy that is not there hides nothing", code == 1 and "hid7canary" not in out and "the policy p.yaml cannot be read" in err, out[:3000], err)


class Says(http_of.Quiet):
    def do_POST(self):
        self.body()
        self.reply(b'{"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}', "application/json")


def test_a_run_is_shown_from_any_folder(pdl, folder):
    """Its program, its policies and a file of prices are found from the folder that they were named in; what the policy refused is refused again."""
    server = http_of.serve(Says)
    (folder / "sub").mkdir()
    (folder / "note.txt").write_text("hid7canary")
    (folder / "sub/p.yaml").write_text("policy: 1\nlabels: {secret: [{read: ../note.txt}]}\nrules: [{sink: trace, deny: [secret]}, {sink: command, deny: [secret]}]\notherwise: allow\n")
    (folder / "sub/a.pdl").write_text("text:\n- {def: note, contribute: [], read: ../note.txt}\n- {lang: command, args: [echo, \"${ note }\"], fallback: \"${ pdl_error.kind }\"}\n- {model: openai/m, input: hi, parameters: {api_base: \"http://127.0.0.1:%d\", api_key: k}}\n" % server.server_port)
    (folder / "sub/own.pdl").write_text("policy: p.yaml\n" + (folder / "sub/a.pdl").read_text())
    (folder / "sub/prices.json").write_text("{}")
    for name, args in (("given", ("--policy", "sub/p.yaml", "sub/a.pdl")), ("own", ("sub/own.pdl",))):
        code, out, err = run(pdl, folder, "--stream", "none", "--durable", "--id", name, *args)
        check(name + ": the run", (code, out) == (0, "policyhi"), code, out, err)
        for where in (folder, folder / "sub", folder / "state"):
            env = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
            shown = [subprocess.run([pdl, "trace", *more, name], cwd=where, env=env, capture_output=True, text=True, timeout=60, check=False)
                     for more in ((), ("--format", "html"), ("--prefix",), ("--prefix", "--prices", str(folder / "sub/prices.json")))]
            check(f"{name} in {where.name}: exit codes", [p.returncode for p in shown] == [0] * 4, shown)
            check(f"{name} in {where.name}: redacted", all("hid7canary" not in p.stdout for p in shown) and all("[secret]" in p.stdout for p in shown[:2]), shown)
            check(f"{name} in {where.name}: the call of the model", all("total: 1 call, " in p.stdout for p in shown[2:]), shown)
        p = subprocess.run([pdl, "trace", "--prefix", "--prices", "prices.json", name], cwd=folder / "sub", env=env, capture_output=True, text=True, timeout=60, check=False)
        check(name + ": prices are named from here", (p.returncode, p.stderr) == (0, ""), p)
    server.shutdown()
