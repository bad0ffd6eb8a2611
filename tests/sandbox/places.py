# SPDX-License-Identifier: Apache-2.0
"""The targets of attempts to escape: a home folder, files, sockets, and the processes and memory of others. All belong to one test."""
import ctypes
import os
import socket
import subprocess
import threading
from pathlib import Path

FILES = ("home/notes.txt", "home/.ssh/id_rsa", "home/.netrc", "home/.bashrc", "prog/.env", "prog/sub/.env.local", "prog/server.pem", "prog/id_ed25519",
         "prog/.git/config", "prog/run.journal", "prog/sub/data.txt", "out/other.txt", "out/removable", "out/movable", "out/first", "out/second", "out/cut", "out/inherited")
FOLDERS = ("home/.ssh", "home/.local/bin", "home/.config/autostart", "out/climb", "prog/sub", "prog/.git")


class Place:
    """A home folder, a program's folder and things outside, all in one folder of the test."""

    def __init__(self, root):
        self.root = root
        self.home, self.dir, self.out = root / "home", root / "prog", root / "out"
        for name in FOLDERS:
            (root / name).mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (root / name).write_text("text\n")
        (self.dir / "link.txt").symlink_to(self.home / "notes.txt")
        self.listen()
        self.shared = Path(f"/dev/shm/pdl-test-{os.getpid()}")
        self.shared.write_text("text")
        self.victim = subprocess.Popen(["sleep", "1000"])
        self.key = 0x50440000 | (os.getpid() & 0xffff)
        self.libc = ctypes.CDLL(None)
        self.shm = self.libc.shmget(self.key, 64, 0o1600)
        self.messages, self.semaphores = self.libc.msgget(self.key, 0o1600), self.libc.semget(self.key, 1, 0o1600)
        self.queue = b"/pdl-test-%d" % os.getpid()
        self.libc.mq_open(self.queue, os.O_CREAT | os.O_RDWR, 0o600, None)

    def listen(self):
        self.listeners = []
        for path in (self.out / "sock", self.dir / "sock", f"\0pdl-test-{os.getpid()}"):
            s = socket.socket(socket.AF_UNIX)
            s.bind(str(path))
            s.listen(64)
            self.listeners.append(s)
        datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        datagrams.bind(str(self.out / "datagrams"))
        tcp = socket.create_server(("127.0.0.1", 0), backlog=64)
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        self.listeners += [datagrams, tcp, udp]
        self.port, self.udp = tcp.getsockname()[1], udp.getsockname()[1]
        threading.Thread(target=self.answer, args=(udp,), daemon=True).start()

    @staticmethod
    def answer(udp):
        try:
            while True:
                udp.sendto(b"heard", udp.recvfrom(64)[1])
        except OSError:
            pass

    def text(self, attempt):
        places = {"HOME": self.home, "DIR": self.dir, "OUT": self.out, "TMP": "/tmp", "PID": os.getpid(), "VICTIM": self.victim.pid,
                  "PORT": self.port, "UDP": self.udp, "SHMKEY": self.key}
        for k, v in places.items():
            attempt = attempt.replace("{" + k + "}", str(v))
        return attempt.replace("{{", "{").replace("}}", "}")

    def close(self):
        self.victim.kill()
        self.victim.wait()
        for s in self.listeners:
            s.close()
        self.libc.shmctl(self.shm, 0, None)
        self.libc.msgctl(self.messages, 0, None)
        self.libc.semctl(self.semaphores, 0, 0)
        self.libc.mq_unlink(self.queue)
        Path("/tmp/large").unlink(missing_ok=True)
        self.shared.unlink(missing_ok=True)
