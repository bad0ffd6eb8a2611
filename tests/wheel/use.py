# SPDX-License-Identifier: Apache-2.0
"""use.py NAME [PORT] -- one test of the installed package in each function. It runs in a root that has Python and nothing of ours."""
import os
import sys
import tempfile


def version():
    import libpdl
    print(libpdl.__version__)


def call(port, **options):
    """A model call over HTTPS."""
    import libpdl
    program = ("model: openai/m\ninput: abc\nparameters: {api_base: 'https://localhost:%s/v1', api_key: k}" % port)
    return libpdl.Engine(timeout=20, **options).loads(program)


def https(port):
    assert call(port).run().value == "cba"
    assert list(call(port).stream()) == ["c", "b", "a"]
    # The libraries are those of the package: nothing else that could do this is in the process.
    maps = open("/proc/self/maps", encoding="utf-8").read()
    assert "libpdl-http.so" in maps and "libcurl" not in maps, maps


def untrusted(port):
    import libpdl
    try:
        call(port).run()
    except libpdl.ModelError as e:
        assert "certificate" in str(e), e
    else:
        raise AssertionError("a certificate that nobody signed was trusted")


def aio(port):
    import asyncio

    async def many():
        program = call(port)
        return [r.value for r in await asyncio.gather(*(program.arun() for _ in range(20)))]
    assert asyncio.run(many()) == ["cba"] * 20


def journal(port):
    import libpdl
    path = os.path.join(tempfile.mkdtemp(), "run.journal")
    assert call(port, record=path).run().value == "cba"
    assert call(port, replay=path).run().value == "cba"
    assert call(1, replay=path).run().value == "cba"  # nothing goes out
    maps = libpdl.Engine(record=path + "2").run("data: ${ maps() }", maps=lambda: open("/proc/self/maps", encoding="utf-8").read()).value
    assert "libpdl-sqlite.so" in maps and "libsqlite3" not in maps


def code():
    import libpdl
    program = "lang: python\ncode: |\n  import sys\n  result = sys.prefix + str(x)"
    assert libpdl.run(program, x=1).value == sys.prefix + "1"
    assert libpdl.Engine(code="process").run(program, x=1).value == sys.prefix + "1"


def modules():
    import libpdl
    assert libpdl.run("defs:\n  m: {import: lib/answer}\ntext: ok").text == "ok"


def notebook():
    import contextlib
    import io
    from IPython.core.interactiveshell import InteractiveShell
    shell, out = InteractiveShell.instance(), io.StringIO()
    with contextlib.redirect_stdout(out):
        shell.run_line_magic("load_ext", "libpdl.notebook")
        shell.user_ns["name"] = "Ada"
        assert shell.run_cell("%%pdl\ndefs: {n: 5}\ntext: Hello ${ name }").success
    assert out.getvalue() == "Hello Ada\n" and shell.user_ns["n"] == 5


def compat():
    from pdl.pdl import exec_str
    assert exec_str("text: Hello ${ name }", scope={"name": "Ada"}) == "Hello Ada"


def fresh():
    """Import and a run in less memory and time than anybody would notice."""
    import resource
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    import libpdl
    assert libpdl.run("text: hi").text == "hi"
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 20, "%.1f MB" % grown


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
