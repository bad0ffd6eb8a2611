# SPDX-License-Identifier: Apache-2.0
"""A program that never waits ends when a signal handler raises an exception, even in the middle of a callback."""
import contextlib
import io
import signal
import time
import unittest

import libpdl


class Enough(BaseException):
    pass


def raise_enough(*unused):
    raise Enough


@unittest.skipUnless(hasattr(signal, "setitimer"), "there are no timers")
class Endless(unittest.TestCase):
    def test_ends(self):
        before = signal.signal(signal.SIGALRM, raise_enough)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        for text in ("text: [{data: '${ x }'}]\nretry: -1", "text: [{lang: python, code: raise ValueError(1)}]\nretry: -1",
                     "while: true\nrepeat: {lang: python, code: result = 1}", "while: true\nrepeat: {data: 1, contribute: [stdout]}"):
            begin = time.process_time()
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with self.assertRaises(Enough), contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                libpdl.run(text)
            self.assertLess(time.process_time() - begin, 3)
        self.assertEqual(libpdl.run("a").value, "a")


if __name__ == "__main__":
    unittest.main()
