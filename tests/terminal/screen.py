# SPDX-License-Identifier: Apache-2.0
"""A terminal for tests: runs a command on a pty, types, and reports what a person would see on the screen."""
import os
import pty
import re
import select
import signal
import struct
import fcntl
import termios
import time

from .. import checks

PATIENCE = 60  # seconds; other work may load the machine


def check(title, ok, *told):
    """What was found is shown with its control characters written out."""
    return checks.check(title, ok, *map(repr, told))


class Terminal:
    """A command with its own terminal as input, output and error output."""

    def __init__(self, argv, cwd, env=None, columns=80):
        self.bytes = b""
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.environ.update({"TERM": "xterm", **(env or {})})
            for name in [n for n in (env or {}) if env[n] is None]:
                del os.environ[name]
            os.execv(argv[0], argv)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def type(self, text):
        os.write(self.fd, text.encode())

    def _read(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                data = os.read(self.fd, 1 << 16)
            except OSError:
                return False
            self.bytes += data
            return bool(data)
        return True

    def wait_for(self, pattern, seconds=PATIENCE):
        """Reads until the bytes so far match. -> the match, None when the command ended or the time is over"""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.search(pattern.encode(), self.bytes)
            if found:
                return found
            if not self._read(0.1):
                return re.search(pattern.encode(), self.bytes)
        return None

    def wait_for_editing(self, seconds=PATIENCE):
        """Waits until the command reads keys, not lines: what is typed before is echoed and cut into lines by the system."""
        end = time.monotonic() + seconds
        while termios.tcgetattr(self.fd)[3] & termios.ICANON and time.monotonic() < end:
            self._read(0.02)

    def end(self, seconds=PATIENCE):
        """Waits for the end of the command. -> its exit status; -N for a signal"""
        limit = time.monotonic() + seconds
        while self._read(0.1):
            if time.monotonic() > limit:
                os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        self.status = os.waitstatus_to_exitcode(status)
        return self.status

    def screen(self):
        """What is seen: lines after carriage returns and the removal of lines, without colours."""
        lines, column = [""], 0
        text = self.bytes.decode("utf-8", "replace")
        for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|\b|[^\x1b\r\n\b]+|\x1b", text):
            if part == "\n":
                lines.append("")
                column = 0
            elif part == "\r":
                column = 0
            elif part == "\b":
                column = max(0, column - 1)
            elif part.endswith("K") and part.startswith("\x1b["):
                lines[-1] = lines[-1][:column]
            elif part.endswith("G") and part.startswith("\x1b["):
                column = int(part[2:-1] or 1) - 1
            elif part.startswith("\x1b"):
                continue
            else:
                lines[-1] = lines[-1][:column].ljust(column) + part + lines[-1][column + len(part):]
                column += len(part)
        return "\n".join(lines)
