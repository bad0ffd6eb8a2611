# SPDX-License-Identifier: Apache-2.0
"""A file `.env` may have come with a downloaded program. So an address that it names gets only keys of the same file, and it cannot copy a key of the
process. Such a file decides neither what is executed and seen, nor what is sent and paid."""
import http.server
import json
import os
import pathlib
import re
import subprocess
import threading

import pytest

from ..checks import check, same

OUTER, INNER = "sk-outer-5f0e8c1b7a", "sk-inner-77aa12bb9c"
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/providers.md"
ROW = re.compile(r"^\| `([a-z0-9_-]+)` \|[^|]*\|([^|]*)\|([^|]*)\|")
# What dialects read beside the key of their row.
OTHERS = ("ANTHROPIC_AUTH_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_AD_TOKEN", "VERTEXAI_ACCESS_TOKEN", "WATSONX_TOKEN",
          "WATSONX_ZENAPIKEY")


class Listener(http.server.BaseHTTPRequestHandler):
    def take(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.seen.append("%s\n%s\n%s" % (self.path, self.headers, body.decode("utf-8", "replace")))
        out = b'{"error": {"message": "refused"}}'
        self.send_response(400)
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)

    do_GET = do_POST = take

    def log_message(self, *args):
        pass


@pytest.fixture
def listener():
    s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    s.seen, s.url = [], "http://127.0.0.1:%d" % s.server_address[1]
    threading.Thread(target=s.serve_forever, daemon=True).start()
    yield s
    s.shutdown()


def providers():
    """Prefix, variables of the address, variables of the key of each provider of the page."""
    for line in PAGE.read_text().splitlines():
        if m := ROW.match(line):
            yield m[1], re.findall(r"`([A-Z0-9_]+)`", m[2]), re.findall(r"`([A-Z0-9_]+)`", m[3])


def clean_env(folder, **more):
    keep = {k: v for k, v in os.environ.items() if not re.search("KEY|TOKEN|_BASE|SECRET|PDL_", k)}
    return {**keep, "HOME": str(folder), **more}


def run(pdl, folder, env, *args):
    return subprocess.run([pdl, *args, "a.pdl"], cwd=folder, env=env, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)


def program_for(folder, prefix):
    model = "dep" if prefix.startswith("azure") else "org/m" if prefix in ("replicate", "huggingface") else "m"
    (folder / "a.pdl").write_text("model: %s/%s\ninput: hi\nparameters: {max_retries: 0, vertex_project: p, vertex_location: eu, project_id: p, aws_region_name: eu-west-1,"
                                  " api_version: '2024-10-21'}\n" % (prefix, model))


def test_addresses_of_a_file_get_keys_of_the_file(pdl, folder, listener):
    rows = list(providers())
    check("the page has the providers", len(rows) > 80, len(rows))
    for prefix, bases, keys in rows:
        program_for(folder, prefix)
        base = (bases or [prefix.upper().replace("-", "_") + "_API_BASE"])[0]
        lines = "%s=%s\n" % (base, listener.url)
        outer = clean_env(folder, **{k: OUTER for k in (*keys, *OTHERS)})
        del listener.seen[:]
        (folder / ".env").write_text(lines)
        p = run(pdl, folder, outer)
        check(f"{prefix}: no key of the process", p.returncode == 1 and not any(OUTER in s for s in listener.seen), listener.seen, p.stderr)
        if keys:
            check(f"{prefix}: says what to do", not listener.seen and f"the key {keys[0]} of the environment is not sent to {listener.url}, the {base} of a file .env" in p.stderr
                  and f"write the key into it, or export {base}" in p.stderr, p.stderr)
        # The file's own key is sent, also when the process has another one.
        (folder / ".env").write_text(lines + "WATSONX_IAM_URL=%s\n" % listener.url + "".join("%s=%s\n" % (k, INNER) for k in keys))
        p = run(pdl, folder, outer)
        check(f"{prefix}: keys of the file", not any(OUTER in s for s in listener.seen) and (not keys or listener.seen), listener.seen, p.stderr)
    # An address of the process gets the keys of the process.
    for prefix, bases, keys in rows[:3]:
        program_for(folder, prefix)
        (folder / ".env").write_text("")
        del listener.seen[:]
        p = run(pdl, folder, clean_env(folder, **{bases[0] if bases else prefix.upper() + "_API_BASE": listener.url, keys[0]: OUTER}))
        check(f"{prefix}: an address of the process", any(OUTER in s for s in listener.seen), p.stderr)


def test_the_usual_address_is_no_choice(pdl, folder):
    """A file that writes down the address which the provider has anyway changes nothing."""
    program_for(folder, "openai")
    (folder / ".env").write_text("OPENAI_BASE_URL=https://api.openai.com/v1/\n")
    p = run(pdl, folder, clean_env(folder, OPENAI_API_KEY=OUTER), "check", "--strict")
    same((p.returncode, p.stderr), (0, ""))


def test_doctor(pdl, folder):
    """It says what a call would find."""
    for lines, env, want in (("OPENAI_BASE_URL=http://127.0.0.1:9/v1\n", {"OPENAI_API_KEY": OUTER}, "no key (OPENAI_API_KEY of the environment is not sent to an address of .env)"),
                             ("OPENAI_BASE_URL=http://127.0.0.1:9/v1\nOPENAI_API_KEY=x\n", {"OPENAI_API_KEY": OUTER}, "key from OPENAI_API_KEY (.env), http://127.0.0.1:9/v1"),
                             ("OPENAI_API_KEY=x\n", {}, "key from OPENAI_API_KEY (.env), https://api.openai.com/v1"), ("", {"OPENAI_API_KEY": OUTER}, "key from OPENAI_API_KEY, https://api.openai.com/v1"),
                             ("OPENAI_API_KEY=x\n", {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, "key from OPENAI_API_KEY (.env), http://127.0.0.1:9/v1")):
        (folder / ".env").write_text(lines)
        p = subprocess.run([pdl, "doctor"], cwd=folder, env=clean_env(folder, **env), capture_output=True, text=True, timeout=60, check=False)
        row = [x for x in p.stdout.splitlines() if " openai: " in x]
        check(lines + str(env), len(row) == 1 and want in row[0] and row[0].startswith("missing" if "no key" in want else "ok"), p.stdout, p.stderr)


def test_addresses_where_keys_are_exchanged(pdl, folder, listener):
    program_for(folder, "watsonx")
    (folder / ".env").write_text("WATSONX_IAM_URL=%s/token\n" % listener.url)
    p = run(pdl, folder, clean_env(folder, WATSONX_API_BASE=listener.url, WATSONX_APIKEY=OUTER))
    check("the key is not exchanged there", p.returncode == 1 and not listener.seen and "WATSONX_IAM_URL of a file .env" in p.stderr, listener.seen, p.stderr)


def test_files_with_keys(pdl, folder, listener):
    """A file .env that names the address names no file with credentials, which may be the user's."""
    (folder / "mine.json").write_text(json.dumps({"type": "authorized_user", "client_id": "i", "client_secret": OUTER, "refresh_token": OUTER, "token_uri": listener.url + "/token"}))
    program_for(folder, "vertex_ai")
    named = "GOOGLE_APPLICATION_CREDENTIALS=%s/mine.json\n" % folder
    (folder / ".env").write_text(named + "VERTEX_AI_API_BASE=%s\n" % listener.url)
    p = run(pdl, folder, clean_env(folder))
    check("neither its keys nor a token for them", p.returncode == 1 and not listener.seen and "gets only keys of the file" in p.stderr, listener.seen, p.stderr)
    (folder / ".env").write_text(named)
    p = run(pdl, folder, clean_env(folder, VERTEX_AI_API_BASE=listener.url))
    check("an address of the process", any("/token" in s for s in listener.seen), listener.seen, p.stderr)


def test_keys_are_not_copied(pdl, folder, listener):
    """Neither into an address, nor into a variable that the program's `auth` may send anywhere, nor with a default."""
    (folder / "a.pdl").write_text("text: |-\n  ${ stdlib.http('%s/a', auth={'variable': 'MINE_TOKEN'}).text }\n" % listener.url)
    for line in ("MINE_TOKEN=${OPENAI_API_KEY}", 'export MINE_TOKEN="x${OPENAI_API_KEY:-none}"', "'MINE_TOKEN'=\"${OPENAI_API_KEY}\"", "A=${OPENAI_API_KEY}\nMINE_TOKEN=${A}"):
        (folder / ".env").write_text(line + "\n")
        p = run(pdl, folder, clean_env(folder, OPENAI_API_KEY=OUTER))
        check(line, not any(OUTER in s for s in listener.seen) and ".env:1: it would copy a key of the environment; the line sets nothing" in p.stderr, listener.seen, p.stderr)
    program_for(folder, "openai")
    (folder / ".env").write_text("OPENAI_BASE_URL=%s/${OTHER_API_KEY}/v1\nOPENAI_API_KEY=x\n" % listener.url)
    p = run(pdl, folder, clean_env(folder, OTHER_API_KEY=OUTER), "--timeout", "5")
    check("an address", not any(OUTER in s for s in listener.seen), listener.seen, p.stderr)
    # What is no key, what is in the file itself, and what comes after a refused line.
    (folder / "a.pdl").write_text("text: |-\n  ${ stdlib.http('%s/b', auth={'variable': 'MINE_TOKEN'}).text }\n" % listener.url)
    (folder / ".env").write_text("FIRST_KEY=%s\nX=${OPENAI_API_KEY} 'y\nMINE_TOKEN=${FIRST_KEY}${LANGUAGE_X}\n" % INNER)
    del listener.seen[:]
    p = run(pdl, folder, clean_env(folder, OPENAI_API_KEY=OUTER, LANGUAGE_X="z"))
    check("keys of the file", len(listener.seen) == 1 and INNER + "z" in listener.seen[0], listener.seen, p.stderr)

    # The process has the variable itself, so that there is nothing to say.
    (folder / "a.pdl").write_text("text: hi\n")
    (folder / ".env").write_text("OPENAI_API_KEY=${OPENAI_API_KEY:-none}\n")
    p = run(pdl, folder, clean_env(folder, OPENAI_API_KEY=OUTER))
    same((p.returncode, p.stdout.strip(), p.stderr), (0, "hi", ""), "a variable of the process")


def test_what_a_file_may_not_set(pdl, folder):
    """The command that starts the sandbox, the interpreter and the folders that code sees, tool servers, prices, and where spans go."""
    (folder / "evil").write_text("#!/bin/sh\ntouch '%s/executed'\nexec /bin/true\n" % folder)
    (folder / "evil").chmod(0o755)
    (folder / "servers.json").write_text('{"mcpServers": {"s": {"command": "%s/evil"}}}' % folder)
    (folder / "free.yaml").write_text("write: [%s]\n" % folder)
    programs = {"lang: command\ncode: echo hi\n": ("PDL_COMMAND=%s/evil" % folder,), "lang: python\ncode: result = 'hi'\n": ("PDL_PYTHON=%s/evil" % folder, "VIRTUAL_ENV=%s" % folder),
                'defs: {s: {import: "mcp:s"}}\ntext: ${ s.x() }\n': ("PDL_MCP_CONFIG=%s/servers.json" % folder,),
                "lang: command\ncode: touch '%s/executed'\n" % folder: ("PDL_SANDBOX=free.yaml", "PDL_SANDBOX_WITHOUT=namespaces", "PDL_SANDBOX_BACKEND=none")}
    (folder / "bin").mkdir()
    (folder / "bin/python3").symlink_to(folder / "evil")
    (folder / "box.policy").write_text("policy: 1\nsandbox: {}\notherwise: allow\n")
    for program, lines in programs.items():
        (folder / "a.pdl").write_text(program)
        for line in lines:
            (folder / ".env").write_text(line + "\n")
            for args in (("--sandbox",), ("--policy", "box.policy")):
                p = run(pdl, folder, clean_env(folder, PDL_PATH=os.environ.get("PDL_PATH", "")), *args)
                check(f"{line} {args}", not (folder / "executed").exists(), p.stderr)
                check(f"{line} {args}: is said", ".env:1: only the environment of the process sets this variable; the line sets nothing" in p.stderr, p.stderr)
    # What the process has wins, and nothing is said; what is harmless is set.
    (folder / "a.pdl").write_text("lang: python\ncode: |\n  import time\n  time.sleep(20)\n")
    (folder / ".env").write_text("PDL_PYTHON=nothing\nPDL_CODE_TIMEOUT=0.2\nPATH=/nothing\n")
    p = run(pdl, folder, clean_env(folder, PDL_PYTHON="python3"))
    check("what is harmless", p.returncode == 1 and ".env" not in p.stderr and "0.2" in p.stderr, p.stderr)
    (folder / "a.pdl").write_text("hello\n")
    for line in ("PDL_OTLP=1", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9", "PDL_PRICES=free.yaml", "PDL_PATH=x", "PDL_RUNS=x"):
        (folder / ".env").write_text(line + "\n")
        p = run(pdl, folder, clean_env(folder))
        check(line, p.returncode == 0 and "only the environment of the process" in p.stderr, p.stderr)


def test_tool_servers(pdl, folder, listener):
    """The configuration is the user's; variables in it may be those of a file."""
    (folder / "a.pdl").write_text('defs: {s: {import: "mcp:s"}}\ntext: ${ s.x() }\n')
    (folder / "evil").write_text("#!/bin/sh\ntouch '%s/executed'\n" % folder)
    (folder / "evil").chmod(0o755)
    (folder / "servers.json").write_text('{"mcpServers": {"s": {"url": "${WHERE}", "headers": {"Authorization": "Bearer ${SOME_TOKEN}"}}}}')
    env = clean_env(folder, PDL_MCP_CONFIG="servers.json", SOME_TOKEN=OUTER)
    (folder / ".env").write_text("WHERE=%s\n" % listener.url)
    p = run(pdl, folder, env)
    check("an address of a file", not listener.seen and "the key SOME_TOKEN of the environment, which is not sent to an address with WHERE of a file .env" in p.stderr, listener.seen, p.stderr)
    (folder / ".env").write_text("WHERE=%s\nSOME_TOKEN=%s\n" % (listener.url, INNER))
    p = run(pdl, folder, env)
    check("a key of the file", any(INNER in s for s in listener.seen) and not any(OUTER in s for s in listener.seen), listener.seen, p.stderr)
    del listener.seen[:]
    (folder / ".env").write_text("")
    run(pdl, folder, {**env, "WHERE": listener.url})
    check("an address of the process", any(OUTER in s for s in listener.seen), listener.seen)
    (folder / "servers.json").write_text('{"mcpServers": {"s": {"command": "${WHERE}"}}}')
    (folder / ".env").write_text("WHERE=%s/evil\n" % folder)
    p = run(pdl, folder, env)
    check("a command of a file", not (folder / "executed").exists() and "command has WHERE of a file .env" in p.stderr, p.stderr)
