# SPDX-License-Identifier: Apache-2.0
"""The proxy of `net:` with a resolver whose names change their addresses, and with requests that try to reach another host than the one that was
examined. Runs in namespaces of the test, with a separate /etc/resolv.conf and with public addresses."""
import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import threading

import pytest

from ..checks import check
from .kit import PYTHON, run

PUBLIC, PRIVATE = "93.184.216.34", "10.9.8.7"
NO, YES, BAD, LOST = "403 Not in net", "200 OK", "400 Not a request", "502 The host"
A, AAAA = 1, 28
# What the resolver says; a list that has a second one gives them in turn.
NAMES = {"good": {A: [[PUBLIC]]}, "bad": {A: [[PRIVATE]]}, "both": {A: [[PRIVATE, PUBLIC]]}, "flip": {A: [[PUBLIC], [PRIVATE]]}, "mapped": {AAAA: [["::ffff:10.9.8.7"]]},
         "six": {AAAA: [["::1"]]}, "local": {AAAA: [["fe80::1"]]}, "unique": {AAAA: [["fd00::1"]]}, "nat": {AAAA: [["64:ff9b::10.9.8.7"]]}, "zero": {A: [["0.0.0.0"]]},
         "meta": {A: [["169.254.169.254"]]}, "x.bad": {A: [[PRIVATE]]}, "compatible": {AAAA: [["::10.9.8.7"]]}, "to4": {AAAA: [["2002:0a09:0807::1"]]}, "many": {A: [["224.0.0.1"]]},
         "carrier": {A: [["100.64.0.1"]]}, "port": {A: [[PUBLIC]]}, "own": {A: [[PRIVATE]]}}
NET = ["good.test", "bad.test", "both.test", "flip.test", "mapped.test", "six.test", "local.test", "unique.test", "nat.test", "zero.test", "meta.test", "*.bad.test",
       "compatible.test", "to4.test", "many.test", "carrier.test", "port.test:80", "hosts.test", "localhost", "absent.test", "own.test", "10.9.8.7:8080"]
# [what the client does, what it gets]
ROWS = [
    ("get(b'good.test')", YES),
    ("get(b'bad.test')", NO),
    ("get(b'mapped.test')", NO),
    ("get(b'six.test')", NO),
    ("get(b'local.test')", NO),
    ("get(b'unique.test')", NO),
    ("get(b'nat.test')", NO),
    ("get(b'zero.test')", NO),
    ("get(b'meta.test')", NO),
    ("get(b'compatible.test')", NO),
    ("get(b'to4.test')", NO),
    ("get(b'many.test')", NO),
    ("get(b'carrier.test')", NO),
    ("get(b'hosts.test')", NO),
    ("get(b'x.bad.test')", NO),
    ("get(b'own.test')", NO),
    ("get(b'localhost')", NO),
    ("get(b'both.test')", YES),
    ("get(b'absent.test')", LOST),
    ("get(b'flip.test')", YES),
    ("get(b'flip.test')", NO),
    ("get(b'flip.test')", YES),
    ("get(b'flip.test')", NO),
    ("get(b'own.test:8080')", YES),
    ("get(b'good.test.')", YES),
    ("get(b'GOOD.test')", YES),
    ("get(b'good.test:8080')", YES),
    ("get(b'port.test:8080')", NO),
    ("get(b'port.test:81')", NO),
    ("get(b'10.9.8.7')", NO),
    ("get(b'10.9.8.7:81')", NO),
    ("get(b'168364039')", NO),
    ("get(b'0xa.9.8.7')", NO),
    ("get(b'012.011.010.07')", NO),
    ("get(b'[::1]')", NO),
    ("get(b'[::ffff:10.9.8.7]')", NO),
    ("get(b'127.1')", NO),
    ("get(b'0')", NO),
    ("get(b'good.test@10.9.8.7')", NO),
    ("get(b'10.9.8.7#@good.test')", NO),
    ("get(b'other.test')", NO),
    ("get(b'good.test\\\\@10.9.8.7')", NO),
    ("get(b'10.9.8.7:8080')", YES),
    ("connect(b'port.test:22')", NO),
    ("connect(b'port.test:80')", YES),
    ("connect(b'good.test:22')", YES),
    ("connect(b'10.9.8.7:80')", NO),
    ("connect(b'good.test:80/x')", NO),
    ("connect(b'good.test:99999')", NO),
    ("connect(b'good.test:80:22')", NO),
    ("connect(b'x@good.test:80')", NO),
    ("socks(b'good.test', 80, 3)", '0'),
    ("socks(b'bad.test', 80, 3)", '2'),
    ("socks('10.9.8.7', 80, 1)", '2'),
    ("socks('::ffff:10.9.8.7', 80, 4)", '2'),
    ("socks(b'10.9.8.7', 80, 3)", '2'),
    ("socks(b'10.9.8.7', 8080, 3)", '0'),
    ("socks(b'port.test', 22, 3)", '2'),
    ("socks(b'good.test\\0.x', 80, 3)", 'closed'),
    ("raw(b'GET http://good.test/ HTTP/1.1\\r\\nHost: inner.bad.test\\r\\n\\r\\n')", YES),
    ("raw(b'GET http://good.test/a HTTP/1.1\\r\\nHost: good.test\\r\\nConnection: keep-alive\\r\\nProxy-Authorization: Basic eA==\\r\\n\\r\\nGET http://10.9.8.7/ HTTP/1.1\\r\\nHost: 10.9.8.7\\r\\n\\r\\n')", YES),
    ("raw(b'GET http://good.test/b HTTP/1.1\\nHost: good.test\\n\\n', 1)", 'closed'),
    ("raw(b'GET http://good.test/c HTTP/1.1\\r\\nX: 1\\nHost: evil\\r\\n\\r\\n')", BAD),
    ("raw(b'GET http://good.test/d HTTP/1.1\\r\\nHost : evil\\r\\n\\r\\n')", BAD),
    ("raw(b'GET http://good.test/e HTTP/1.1\\r\\nX: 1\\r\\n Host: evil\\r\\n\\r\\n')", BAD),
    ("raw(b'GET http://good.test/f\\x0bHTTP/1.1 x HTTP/1.1\\r\\n\\r\\n')", BAD),
    ("raw(b'GET /g HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n')", NO),
    ("raw(b'GET https://good.test/h HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n')", NO),
    ("raw(b'GET http://good.test/' + b'x' * 6000 + b' HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n')", YES),
    ("raw(b'GET http://good.test?q=1 HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n')", YES),
    ("raw(b'GET http://good.test/n\\0 HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n')", BAD),
    ("raw(b'GET http://good.test HTTP/1.1\\0\\r\\n\\r\\n')", BAD),
    ("raw(b'POST http://good.test/p HTTP/1.0\\r\\nHost: good.test\\r\\nContent-Length: 3\\r\\n\\r\\nabc')", YES),
    ("raw(b'GET http://good.test/u HTTP/1.1\\r\\nHost: good.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n')", YES),
    ("raw(b'OPTIONS * HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n')", NO),
    ("raw(b'\\4\\1\\0\\x50\\x0a\\x09\\x08\\x07\\0', 1)", 'closed'),
]
CLIENT = r"""
import os, socket, sys
port = int(os.environ['HTTP_PROXY'].rsplit(':', 1)[1])
def raw(sent, wait=20):
    c = socket.create_connection(('127.0.0.1', port))
    c.settimeout(wait)
    got = b''
    try:
        c.sendall(sent)
        while not (b'Content-Length' in got and b'\r\n\r\n' in got.split(b'Content-Length', 1)[1]):
            x = c.recv(9999)
            if not x: break
            got += x
    except OSError: pass
    return got.split(b'\r\n')[0].decode('latin-1') or 'closed'
def get(host): return raw(b'GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n' % (host, host))
def connect(host): return raw(b'CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\nGET /inner HTTP/1.1\r\nHost: y\r\n\r\n' % host)
def socks(host, p, kind):
    c = socket.create_connection(('127.0.0.1', port))
    c.settimeout(20)
    try:
        c.sendall(b'\5\1\0')
        c.recv(2)
        a = bytes([3, len(host)]) + host if kind == 3 else b'\1' + socket.inet_aton(host) if kind == 1 else b'\4' + socket.inet_pton(socket.AF_INET6, host)
        c.sendall(b'\5\1\0' + a + p.to_bytes(2, 'big'))
        r = c.recv(99)
    except OSError: r = b''
    return str(r[1]) if len(r) > 1 else 'closed'
for line in sys.stdin.read().split('\n'):
    if line: print(eval(line), flush=True)
"""


def raise_addresses():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for name, address in (("lo", None), ("lo:1", PUBLIC), ("lo:2", PRIVATE)):
            if address:
                fcntl.ioctl(s, 0x8916, struct.pack("16sH2x4s8x", name.encode(), socket.AF_INET, socket.inet_aton(address)))
            fcntl.ioctl(s, 0x8914, struct.pack("16sh", name.encode(), 0x41))


def resolve(server):
    turns = {}
    while True:
        question, who = server.recvfrom(999)
        at, labels = 12, []
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += 1 + question[at]
        kind, name = struct.unpack(">H", question[at + 1:at + 3])[0], ".".join(labels).lower().removesuffix(".test")
        lists = NAMES.get(name, {}).get(kind, [[]])
        turns[name, kind] = turns.get((name, kind), -1) + 1
        found = lists[turns[name, kind] % len(lists)]
        data = [socket.inet_pton(socket.AF_INET if kind == A else socket.AF_INET6, x) for x in found]
        server.sendto(question[:2] + (b"\x81\x80" if name in NAMES else b"\x81\x83") + struct.pack(">HHHH", 1, len(data), 0, 0) + question[12:at + 5] +
                      b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(x)) + x for x in data), who)


def serve(family, address, port, got):
    server = socket.socket(family)
    if family == socket.AF_INET6:
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    server.bind((address, port))
    server.listen(64)

    def one(c):
        try:
            got.append([address, port, c.recv(70000).decode("latin-1")])
            c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            c.close()
        except OSError:
            pass

    def loop():
        while True:
            threading.Thread(target=one, args=(server.accept()[0],), daemon=True).start()
    threading.Thread(target=loop, daemon=True).start()


def enter_namespaces():
    """The process gets users, mounts and a network of its own. -> None, or why that is not possible."""
    users, mounts, network, private = 0x10000000, 0x20000, 0x40000000, 0x44000
    libc, ids = ctypes.CDLL(None, use_errno=True), (os.geteuid(), os.getegid())
    if libc.unshare(users | mounts | network) != 0:
        return os.strerror(ctypes.get_errno())
    try:
        for name, text in (("setgroups", "deny"), ("uid_map", "0 %d 1" % ids[0]), ("gid_map", "0 %d 1" % ids[1])):
            with open("/proc/self/" + name, "w", encoding="ascii") as f:
                f.write(text)
    except OSError as e:
        return str(e)
    return None if libc.mount(b"none", b"/", None, private, None) == 0 else os.strerror(ctypes.get_errno())


def own_resolver(folder):
    texts = {"resolv.conf": "nameserver 127.0.0.1\noptions timeout:2 attempts:2\n", "nsswitch.conf": "hosts: files dns\n",
             "hosts": f"127.0.0.1 localhost\n{PRIVATE} hosts.test\n"}
    for name, text in texts.items():
        (folder / name).write_text(text)
        subprocess.run(["mount", "--bind", str(folder / name), os.path.realpath("/etc/" + name)], check=True)
    dns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    dns.bind(("127.0.0.1", 53))
    threading.Thread(target=resolve, args=(dns,), daemon=True).start()


@pytest.mark.parametrize("backend", ["native", "bwrap"])
def test_proxy(pdl, folder, backend):
    why = enter_namespaces()
    if why:
        pytest.skip("no namespaces here: " + why)
    raise_addresses()
    own_resolver(folder)
    reached = []
    for address, port in ((PUBLIC, 80), (PUBLIC, 8080), (PUBLIC, 22), (PRIVATE, 80), (PRIVATE, 8080), ("127.0.0.1", 80)):
        serve(socket.AF_INET, address, port, reached)
    if os.path.exists("/proc/net/if_inet6"):
        serve(socket.AF_INET6, "::1", 80, reached)
    (folder / "s.yaml").write_text(json.dumps({"net": NET}))
    r = run([pdl, "sandbox", "--sandbox=s.yaml", "--", *PYTHON, "-c", CLIENT], folder, {"PDL_SANDBOX_BACKEND": backend}, timeout=200, input="\n".join(r[0] for r in ROWS))
    said = r.stdout.split("\n")[:-1]
    if not said:
        pytest.skip("no namespaces inside of namespaces here: " + r.stderr.strip()[-200:])
    check("all was tried", len(said) == len(ROWS), r.stderr)
    for (what, want), line in zip(ROWS, said):
        check(what[:90], want in line if len(want) > 1 else want == line, line)
    nothing_else_is_reached(reached)


def nothing_else_is_reached(reached):
    known = ("good", "both", "flip", "port", "own", PRIVATE)
    check("nothing private is reached", all(a == PUBLIC or (a, p) == (PRIVATE, 8080) for a, p, _ in reached), reached)
    named = [line for _, _, text in reached for line in text.split("\r\n\r\n")[0].lower().split("\r\n") if line.startswith("host") and " y" not in line]
    check("no request names another host", named and all(n.split(":")[1].strip().removesuffix(".").removesuffix(".test") in known for n in named), named)
    check("no password for the proxy leaves", not any("basic" in text.lower() for _, _, text in reached))
    check("a long address is whole", any("x" * 6000 in text for _, _, text in reached))
    check("a change of protocol is asked for", any("Connection: Upgrade\r\nUpgrade: websocket" in text for _, _, text in reached))
