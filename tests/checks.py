# SPDX-License-Identifier: Apache-2.0
"""What tests say: `check` counts one question and goes on after a wrong answer, so that one run shows everything that is wrong; `skip`
counts what this machine cannot do. An item with a failed check fails. Each item has a process of its own, so the counts are the item's."""
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


# For scripts that are not yet functions of pytest.
class Checks:
    passed = failed = skipped = 0

    def check(self, title, ok, *told):
        self.passed, self.failed = self.passed + bool(ok), self.failed + (not ok)
        if not ok:
            text = " ".join(map(str, told))
            print("FAIL %s: %s" % (title, text if len(text) <= SHOWN else text[:SHOWN // 2] + "\n ...\n" + text[-SHOWN // 2:]), flush=True)
        return bool(ok)

    def skip(self, what, why, n=1):
        self.skipped += n
        print("skipped: %s: %s" % (what, why))

    def finish(self):
        print("%d passed, %d failed%s" % (self.passed, self.failed, ", %d skipped" % self.skipped if self.skipped else ""))
        return 1 if self.failed else 0


def finish():
    print("%d passed, %d failed%s" % (Counts.passed, Counts.failed, ", %d skipped" % Counts.skipped if Counts.skipped else ""))
    return 1 if Counts.failed else 0
