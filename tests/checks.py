# SPDX-License-Identifier: Apache-2.0
"""checks.py -- what tests share: they count what they find, say what is wrong, and end with the line that tools/run-tests reads. A test with
a state of its own is a class that derives from Checks; one that is a script uses the functions."""
SHOWN = 3000  # characters of what a failed check was told; of longer ones both ends


class Checks:
    passed = failed = skipped = 0

    def check(self, title, ok, *told):
        self.passed, self.failed = self.passed + bool(ok), self.failed + (not ok)
        if not ok:
            text = " ".join(map(str, told))
            if len(text) > SHOWN:
                text = text[:SHOWN // 2] + "\n ...\n" + text[-SHOWN // 2:]
            print("FAIL %s: %s" % (title, text), flush=True)
        return bool(ok)

    def skip(self, what, why, n=1):
        """n checks that this machine cannot make."""
        self.skipped += n
        print("skipped: %s: %s" % (what, why))

    def finish(self):
        """Prints the last line; returns the exit status."""
        print("%d passed, %d failed%s" % (self.passed, self.failed, ", %d skipped" % self.skipped if self.skipped else ""))
        return 1 if self.failed else 0


_of_the_script = Checks()
check, skip, finish = _of_the_script.check, _of_the_script.skip, _of_the_script.finish
