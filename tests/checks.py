# SPDX-License-Identifier: Apache-2.0
"""The functions with which tests check. `check` counts one question and continues after a wrong answer, so that one run shows everything that is
wrong. `skip` counts checks that this machine cannot do. An item with a failed check fails. Each item has a separate process, so the counts belong to
the item."""
SHOWN = 3000  # characters of what a failed check was told; of longer ones both ends


class Counts:
    passed = failed = skipped = 0
    reasons = []  # of what was skipped


def check(title, ok, *told):
    Counts.passed, Counts.failed = Counts.passed + bool(ok), Counts.failed + (not ok)
    if not ok:
        text = " ".join(map(str, told))
        if len(text) > SHOWN:
            text = text[:SHOWN // 2] + "\n ...\n" + text[-SHOWN // 2:]
        print("FAIL %s: %s" % (title, text), flush=True)
    return bool(ok)


def same(got, want, what=""):
    """One check that two values are equal."""
    return check(what or "equal", got == want, "\n  got  %r\n  want %r" % (got, want))


def skip(what, why, n=1):
    """n checks that this machine cannot make."""
    Counts.skipped += n
    Counts.reasons.append("%s: %s" % (what, why))
    print("skipped: %s: %s" % (what, why))


def add(passed=0, failed=0, skipped=0):
    """Counts of a program that reports its own."""
    Counts.passed, Counts.failed, Counts.skipped = Counts.passed + passed, Counts.failed + failed, Counts.skipped + skipped
