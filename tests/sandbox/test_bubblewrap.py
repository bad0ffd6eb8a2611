# SPDX-License-Identifier: Apache-2.0
"""A bubblewrap that does not work is mounted over the real one. `--sandbox` then says why it fails, or uses another way."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ..checks import check, skip

REAL = Path("/usr/bin/bwrap")
# what may be there, and what is said of it
ROWS = [("fails", "#!/bin/sh\nexit 3\n", 0o755, "does not work here (exit status 3)"), ("does nothing", "#!/bin/sh\nexit 0\n", 0o755, "does not work here (exit status 0)"),
        ("cannot be executed", "#!/bin/sh\nexit 0\n", 0o644, "does not work here (exit status 127)"), ("is no program", "garbage", 0o755, "does not work here"),
        ("is old", '#!/bin/sh\nfor a in "$@"; do [ "$a" = --size ] && echo "bwrap: Unknown option --size" >&2 && exit 1; done\nexec {real} "$@"\n', 0o755,
         "(exit status 1): bwrap: Unknown option --size"),
        ("prints rubbish", "#!/bin/sh\nprintf '\\033[31mno\\377'>&2; head -c 3000000 /dev/zero\nexit 9\n", 0o755, "(exit status 9): ?[31mno?"),
        ("is setuid", None, 0o4755, "is setuid, which is not used")]
SLOW = [("never ends", "#!/bin/sh\nexec sleep 1000\n", 0o755, "does not answer here")]
INSIDE = 'mount --bind bwrap /usr/bin/bwrap && echo mounted && "$0" --sandbox a.pdl; echo "status $?"'


def made_up(pdl, folder, rows, backends):
    (folder / "a.pdl").write_text("text: {lang: command, args: [echo, ran]}")
    shutil.copy(REAL, folder / "real")
    for name, text, mode, want in rows:
        fake = folder / "bwrap"
        fake.unlink(missing_ok=True)
        fake.write_bytes(REAL.read_bytes() if text is None else text.replace("{real}", str(folder / "real")).encode())
        fake.chmod(mode)
        for backend in backends:
            r = subprocess.run(["unshare", "-rm", "sh", "-c", INSIDE, pdl], cwd=folder, env={**os.environ, "PDL_SANDBOX_BACKEND": backend}, capture_output=True, text=True,
                               timeout=120, check=False)
            if "mounted" not in r.stdout:
                skip("bubblewraps that fail", f"nothing can be mounted here: {r.stderr.strip()[-200:]}")
                return
            if backend:
                ok = "ran" not in r.stdout and "status 1" in r.stdout and want in r.stderr and ("without PDL_SANDBOX_BACKEND it can" in r.stderr or "--sandbox-min" in r.stderr)
            else:  # our own namespaces, where they can be made inside of those
                ok = "ran" in r.stdout or "namespaces of users cannot be made" in r.stderr
            check(f"bubblewrap that {name}, {backend or 'any'}", ok, r.stdout + r.stderr)


@pytest.mark.skipif(not REAL.exists(), reason="no bubblewrap")
def test_bubblewraps_that_fail(pdl, folder):
    made_up(pdl, folder, ROWS, ("bwrap", ""))


@pytest.mark.skipif(not REAL.exists(), reason="no bubblewrap")
def test_one_that_never_ends(pdl, folder):
    made_up(pdl, folder, SLOW, ("bwrap",))  # with any back end it would be as the others
