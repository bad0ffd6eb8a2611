#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_doctor.py -- pdl doctor --net asks the services side by side.

    test_doctor.py BUILD_DIR

Two services answer only when both have been asked, so one that is asked after the other's answer would never get its own. Last line: `N passed, N failed`.
"""
import http.server
import os
import pathlib
import subprocess
import sys
import threading


def main():
    pdl = str(pathlib.Path(sys.argv[1]).resolve() / "pdl")
    both = threading.Barrier(2)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            try:
                both.wait(60)
            except threading.BrokenBarrierError:
                return
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
    for s in servers:
        s.daemon_threads = True
        threading.Thread(target=s.serve_forever, daemon=True).start()
    a, b = ("http://127.0.0.1:%d" % s.server_address[1] for s in servers)
    keep = {k: os.environ[k] for k in ("PATH", "HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "PDL_PYTHON") if k in os.environ}
    env = {**keep, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": a + "/v1", "OLLAMA_API_BASE": b}
    r = subprocess.run([pdl, "doctor", "--net"], env=env, capture_output=True, text=True, timeout=120, check=False)
    ok = r.stdout.count("; answers (status 200)") == 2
    if not ok:
        print("FAIL", r.stdout, r.stderr)
    print("%d passed, %d failed" % (ok, not ok))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
