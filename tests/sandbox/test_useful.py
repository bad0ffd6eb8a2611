# SPDX-License-Identifier: Apache-2.0
"""Ordinary work inside of the default profile: each script does what it does without a sandbox. A script that cannot work in a strength is in the
table with its reason."""
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..checks import check, skip
from ..venv_of import python as packages_of
from .kit import STRENGTHS, environment, in_turn, why_not

NO_SHM = "semaphores are files of /dev/shm, where those of other programs are"
NO_MODES = "modes and times of files cannot be changed where no mount says which"
NO_NET = "there are no sockets without a network of its own"
# [name, what it needs (modules and programs), text, why not at the strength process]. Text that begins with "#!" is of a shell.
ROWS = [
    ("a temporary file", "", "import tempfile\nwith tempfile.NamedTemporaryFile('w+') as f:\n    f.write('x'); f.flush(); print(open(f.name).read())"),
    ("a temporary folder", "", "import os, tempfile\nwith tempfile.TemporaryDirectory() as d:\n    os.makedirs(d + '/a/b'); open(d + '/a/b/c', 'w').write('x'); print(len(list(os.walk(d))))"),
    ("a spooled file", "", "import tempfile\nwith tempfile.SpooledTemporaryFile(10) as f:\n    f.write(b'x' * 100); f.seek(0); print(len(f.read()))"),
    ("files beside the program", "", "print(open('data.csv').read())"),
    ("walk the folder", "", "import os\nprint(sorted(os.listdir('.'))[:3], os.path.exists('sub/deep/x.txt'))"),
    ("pathlib and glob", "", "import glob, pathlib\nprint(sorted(glob.glob('**/*.txt', recursive=True)), pathlib.Path('data.csv').stat().st_size)"),
    ("HOME can be written", "", "import os\np = os.path.expanduser('~/.cache/x')\nos.makedirs(p)\nopen(p + '/y', 'w').write('1')\nprint(os.path.exists(p + '/y'))"),
    ("links, renames, modes", "", "import os, tempfile\nos.chdir(tempfile.mkdtemp())\nopen('a', 'w').close()\nos.symlink('a', 'b'); os.link('a', 'c'); os.rename('c', 'd'); os.chmod('d', 0o640); os.utime('d', (1, 1))\nprint(sorted(os.listdir('.')), oct(os.stat('d').st_mode & 0o777))", NO_MODES),
    ("memory maps", "", "import mmap, tempfile\nwith tempfile.TemporaryFile() as f:\n    f.truncate(9999)\n    m = mmap.mmap(f.fileno(), 0); m[:3] = b'abc'; print(m[:3])"),
    ("locks of files", "", "import fcntl, tempfile\nwith tempfile.TemporaryFile() as f:\n    fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX); print('locked')"),
    ("FIFOs", "", "import os, subprocess, tempfile\np = tempfile.mkdtemp() + '/f'\nos.mkfifo(p)\nsubprocess.Popen(['sh', '-c', f'echo hi > {p}'])\nprint(open(p).read())"),
    ("copy a tree", "", "import shutil, tempfile\nd = tempfile.mkdtemp()\nshutil.copytree('sub', d + '/s')\nshutil.copy2('data.csv', d)\nprint(shutil.disk_usage(d).total > 0, shutil.rmtree(d))", NO_MODES),
    ("zip, tar, gzip, bz2, lzma", "", "import io, tarfile, zipfile, gzip, bz2, lzma, tempfile, os\nd = tempfile.mkdtemp()\nwith zipfile.ZipFile(d + '/a.zip', 'w') as z: z.write('data.csv')\nwith tarfile.open(d + '/a.tgz', 'w:gz') as t: t.add('sub')\n"
     "with tarfile.open(d + '/a.tgz') as t: t.extractall(d)\nprint(zipfile.ZipFile(d + '/a.zip').namelist(), os.path.exists(d + '/sub/deep/x.txt'), len(gzip.decompress(gzip.compress(b'x')) + bz2.decompress(bz2.compress(b'x')) + lzma.decompress(lzma.compress(b'x'))))"),
    ("SQLite in a file", "", "import sqlite3\nwith sqlite3.connect('/tmp/t.db' if __import__('os').access('/tmp', 2) and __import__('os').environ.get('TMPDIR', '/tmp') == '/tmp' else __import__('os').environ['TMPDIR'] + '/t.db') as c:\n"
     "    c.execute('pragma journal_mode=wal'); c.execute('create table if not exists t (a)'); c.execute('insert into t values (1)'); print(c.execute('select 1 from t').fetchone())"),
    ("SQLite in memory, sorted with files", "", "import sqlite3\nc = sqlite3.connect(':memory:')\nc.execute('pragma temp_store=file')\nc.execute('create table t (a)')\nc.executemany('insert into t values (?)', ((i * 7919 % 100003,) for i in range(20000)))\nprint(c.execute('select a from t order by a desc limit 3').fetchall())"),
    ("dbm", "", "import dbm, tempfile\nwith dbm.open(tempfile.mkdtemp() + '/d', 'c') as d:\n    d['a'] = 'b'; print(d['a'])"),
    ("shelve and pickle", "", "import pickle, shelve, tempfile\nwith shelve.open(tempfile.mkdtemp() + '/s') as s:\n    s['a'] = [1]; print(s['a'], pickle.loads(pickle.dumps({1: 2})))"),
    ("subprocess with pipes", "", "import subprocess\nprint(subprocess.run('tr a-z A-Z | rev', shell=True, input='abc', capture_output=True, text=True).stdout)"),
    ("subprocess with a time limit", "", "import subprocess\ntry: subprocess.run(['sleep', '9'], timeout=0.2)\nexcept subprocess.TimeoutExpired: print('late')"),
    ("a group of processes is killed", "", "import os, signal, subprocess\np = subprocess.Popen(['sleep', '30'], start_new_session=True)\nos.killpg(p.pid, signal.SIGTERM)\nprint(p.wait())"),
    ("signals and alarms", "", "import signal, time\nsignal.signal(signal.SIGALRM, lambda *a: print('alarm'))\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\nsignal.pause()"),
    ("fork and wait", "", "import os\np = os.fork()\nif p == 0: os._exit(3)\nprint(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))"),
    ("posix_spawn", "", "import os\np = os.posix_spawn('/bin/sh', ['sh', '-c', 'exit 4'], {})\nprint(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))"),
    ("threads and queues", "", "import queue, threading\nq = queue.Queue()\nts = [threading.Thread(target=q.put, args=(i,)) for i in range(50)]\n[t.start() for t in ts]\n[t.join() for t in ts]\nprint(sum(q.get() for _ in ts))"),
    ("a pool of threads", "", "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(8) as e: print(sum(e.map(lambda x: x * x, range(100))))"),
    ("multiprocessing: fork", "", "import multiprocessing as m\nwith m.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, 2]))", NO_SHM),
    ("multiprocessing: spawn", "", "import multiprocessing as m\nif __name__ == '__main__':\n    with m.get_context('spawn').Pool(2) as p: print(p.map(abs, [-1, 2]))", NO_SHM),
    ("multiprocessing: forkserver", "", "import multiprocessing as m\nif __name__ == '__main__':\n    with m.get_context('forkserver').Pool(2) as p: print(p.map(abs, [-1, 2]))", NO_SHM),
    ("multiprocessing: manager", "", "import multiprocessing as m\nif __name__ == '__main__':\n    with m.Manager() as s:\n        d = s.dict(); d['a'] = 1; print(dict(d))", NO_NET),
    ("multiprocessing: process and pipe", "", "import multiprocessing as m\nc = m.get_context('fork')\na, b = c.Pipe()\np = c.Process(target=b.send, args=('hi',))\np.start(); print(a.recv()); p.join()"),
    ("multiprocessing: queue, lock, value", "", "import multiprocessing as m\nc = m.get_context('fork')\nq, v = c.Queue(), c.Value('i', 1)\ndef f():\n    with v.get_lock(): v.value += 1\n    q.put(v.value)\np = c.Process(target=f); p.start(); print(q.get()); p.join()", NO_SHM),
    ("shared memory", "", "from multiprocessing import shared_memory as s\nm = s.SharedMemory(create=True, size=99)\nm.buf[0] = 7; print(m.buf[0]); m.close(); m.unlink()", NO_SHM),
    ("a pool of processes", "", "import multiprocessing as m\nfrom concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor(2, mp_context=m.get_context('fork')) as e: print(list(e.map(abs, [-1])))", NO_SHM),
    ("System V shared memory of its own", "", "import ctypes\nl = ctypes.CDLL(None)\ni = l.shmget(0, 99, 0o1600)\nl.shmctl(i, 0, None)\nprint(i >= 0)"),
    ("asyncio", "", "import asyncio\nasync def f(i):\n    await asyncio.sleep(0.01); return i\nasync def main(): print(await asyncio.gather(*(f(i) for i in range(5))))\nasyncio.run(main())"),
    ("asyncio with processes", "", "import asyncio\nasync def main():\n    p = await asyncio.create_subprocess_shell('echo hi', stdout=-1)\n    print((await p.communicate())[0], p.returncode)\nasyncio.run(main())"),
    ("asyncio over unix sockets", "", "import asyncio, tempfile\nasync def main():\n    p = tempfile.mkdtemp() + '/s'\n    await asyncio.start_unix_server(lambda r, w: (w.write(b'hi'), w.close()), p)\n    r, w = await asyncio.open_unix_connection(p)\n    print(await r.read())\nasyncio.run(main())", NO_NET),
    ("a server of HTTP and its client", "", "import http.server, threading, urllib.request\ns = http.server.HTTPServer(('127.0.0.1', 0), type('H', (http.server.BaseHTTPRequestHandler,), {'do_GET': lambda h: (h.send_response(204), h.end_headers()), 'log_message': lambda *a: None}))\n"
     "threading.Thread(target=s.serve_forever, daemon=True).start()\nprint(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f'http://127.0.0.1:{s.server_port}/').status)", NO_NET),
    ("select, poll, epoll, eventfd", "", "import os, select\nr, w = os.pipe()\ne = select.epoll()\ne.register(r)\nos.write(w, b'x')\nprint(len(e.poll(1)), select.select([r], [], [], 1)[0] == [r], os.eventfd(1) > 0)"),
    ("watch a folder", "", "import ctypes, os, tempfile\nl = ctypes.CDLL(None)\nd = tempfile.mkdtemp()\nn = l.inotify_init()\nl.inotify_add_watch(n, d.encode(), 0x100)\nopen(d + '/x', 'w').close()\nprint(len(os.read(n, 99)) > 15)"),
    ("random numbers", "", "import os, random, secrets, uuid\nprint(len(os.urandom(8)), len(secrets.token_hex(4)), len(str(uuid.uuid4())), random.Random(1).random(), len(os.getrandom(4)), len(open('/dev/urandom', 'rb').read(3)))"),
    ("locale and text", "", "import locale, unicodedata\nlocale.setlocale(locale.LC_ALL, '')\nprint('ä'.encode(), unicodedata.normalize('NFD', 'ä').encode(), locale.localeconv()['decimal_point'])"),
    ("time zones", "", "import datetime, zoneinfo\nprint(datetime.datetime(2026, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).isoformat())" if Path("/usr/share/zoneinfo/Europe/Berlin").exists() else "print(1)"),
    ("time", "", "import time\nt = time.monotonic()\ntime.sleep(0.01)\nprint(time.monotonic() > t, time.clock_gettime(time.CLOCK_REALTIME) > 0, len(time.tzname))"),
    ("users and machines", "", "import getpass, os, platform, pwd, socket\nprint(pwd.getpwuid(os.getuid()).pw_name, platform.system(), len(os.uname()), os.cpu_count() > 0, len(os.sched_getaffinity(0)) > 0)"),
    ("limits and use", "", "import resource\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0, resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 10)"),
    ("/proc of itself", "", "import os\nprint(open('/proc/self/comm').read()[:3], os.readlink('/proc/self/exe')[:1], 'MemTotal' in open('/proc/meminfo').read() if os.path.exists('/proc/meminfo') else True)", "of /proc only the own process is shown"),
    ("hashes and ciphers", "", "import hashlib, hmac, ssl\nprint(hashlib.sha256(b'x').hexdigest()[:8], hmac.new(b'a', b'b', 'sha1').hexdigest()[:8], ssl.create_default_context().verify_mode)"),
    ("csv, json, xml, html", "", "import csv, json, xml.etree.ElementTree as e, html\nprint(list(csv.reader(open('data.csv'))), json.loads('[1]'), e.fromstring('<a b=\"1\"/>').get('b'), html.escape('<'))"),
    ("ctypes", "", "import ctypes\nprint(ctypes.CDLL(None).abs(-3), ctypes.util.find_library('c') if hasattr(ctypes, 'util') else 'libc.so.6')"),
    ("a virtual environment", "", "import os, subprocess, sys, tempfile\nd = tempfile.mkdtemp()\nsubprocess.run([sys.executable, '-m', 'venv', '--without-pip', d], check=True)\nprint(subprocess.run([d + '/bin/python', '-c', 'print(1 + 1)'], capture_output=True, text=True).stdout)", NO_MODES),
    ("pip without a network", "pip", "import os, subprocess, sys, tempfile\nd = tempfile.mkdtemp()\nos.makedirs(d + '/p/thing')\nopen(d + '/p/thing/__init__.py', 'w').write('x = 5')\nr = subprocess.run([sys.executable, '-m', 'pip', 'list', '--disable-pip-version-check'], capture_output=True, text=True)\nprint(r.returncode, 'pip' in r.stdout)"),
    ("unittest", "", "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 1)\nprint(unittest.main(exit=False, verbosity=0).result.wasSuccessful())"),
    ("doctest, timeit, trace", "", "import timeit\nprint(timeit.timeit('1', number=9) >= 0)"),
    ("compile files of Python", "", "import compileall, tempfile\nd = tempfile.mkdtemp()\nopen(d + '/m.py', 'w').write('x = 1')\nprint(compileall.compile_dir(d, quiet=1))"),
    ("import from the program's folder", "", "import sys\nsys.path.insert(0, '.')\nimport beside\nprint(beside.x)"),
    ("recursion and large numbers", "", "import sys\nsys.setrecursionlimit(5000)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(3000), len(str(2 ** 9000)))"),
    ("sh: pipes and here documents", "", "#!\ncat <<X | sort -r | head -1 | tr a-z A-Z\na\nb\nX"),
    ("sh: redirections", "", "#!\nf=$(mktemp); echo 1 > $f; echo 2 >> $f; wc -l < $f; cat < $f 2>&1 >/dev/null; test -e /dev/null && cat $f > /dev/null && echo ok"),
    ("sh: background jobs", "", "#!\n(sleep 0.05; echo a) & wait; echo b"),
    ("bash: process substitution", "bash", "#!\nbash -c 'diff <(echo a) <(echo a) && echo same; cat <<< there; printf \"%s\\n\" {1..3}'"),
    ("sed, awk, grep, find, xargs", "", "#!\nfind . -name '*.txt' | sort | xargs -n1 basename | sed s/x/y/ ; awk -F, '{s += $2} END {print s}' data.csv; grep -c 1 data.csv"),
    ("tar and gzip", "", "#!\ncd $(mktemp -d); mkdir a; echo x > a/b; tar czf t.tgz a; rm -r a; tar xzf t.tgz; cat a/b; gzip -c a/b | gunzip"),
    ("sort with files", "", "#!\nseq 50000 | sort -S 100k -r -n | head -2"),
    ("date with a zone", "", "#!\nTZ=UTC0 date -d @0 +%Y"),
    ("git", "git", "#!\ncd $(mktemp -d) && export HOME=$PWD GIT_CONFIG_NOSYSTEM=1; git init -q r && cd r && git config user.email a@b && git config user.name n && echo x > f && git add f && git commit -qm one && git branch b && git clone -q . ../c && cd ../c && git log --format=%s && git diff --stat && git gc -q && git fsck 2>/dev/null; git worktree add -q ../w b; ls ../w", NO_MODES),
    ("git of the program's folder", "git", "#!\nexport GIT_CONFIG_NOSYSTEM=1; git hash-object data.csv; git diff --no-index --stat data.csv sub/deep/x.txt | tail -1"),
    ("C is compiled", "cc", "#!\ncd $(mktemp -d); printf '#include <stdio.h>\\nint main(void) { puts(\"hi\"); return 0; }' > a.c; cc -O1 -o a a.c && ./a", NO_MODES),
    ("make", "make", "#!\ncd $(mktemp -d); printf 'a:\\n\\t@echo made > a\\n' > Makefile; make -s && cat a"),
    ("perl", "perl", "#!\nperl -MFile::Temp -e 'my $f = File::Temp->new; print $f \"x\"; print -e $f->filename ? 1 : 0'"),
    ("sqlite3", "sqlite3", "#!\nsqlite3 $(mktemp) 'create table t (a); insert into t values (1), (2); select sum(a) from t'"),
    ("node", "node", "#!\nnode -e 'const fs = require(\"fs\"), os = require(\"os\"); const d = fs.mkdtempSync(os.tmpdir() + \"/n\"); fs.writeFileSync(d + \"/a\", \"x\"); console.log(fs.readFileSync(d + \"/a\", \"utf8\"), require(\"child_process\").execSync(\"echo hi\").toString())'"),
    ("node with threads and a server", "node", "#!\nnode -e 'const w = require(\"worker_threads\"); new w.Worker(\"require(\\\"worker_threads\\\").parentPort.postMessage(7)\", {eval: true}).on(\"message\", m => console.log(m))'"),
    ("jq", "jq", "#!\necho '{\"a\": [1, 2]}' | jq -c .a"),
]
# The same with packages of others.
PACKAGES = [
    ("NumPy", "numpy", "import numpy as n\na = n.arange(1e5).reshape(100, -1)\nprint((a @ a.T).sum() > 0, n.linalg.svd(n.eye(50))[1].sum(), n.fft.fft(n.ones(8))[0].real)"),
    ("NumPy: files", "numpy", "import numpy as n, tempfile\np = tempfile.mkdtemp() + '/a.npy'\nn.save(p, n.ones(9))\nprint(n.load(p, mmap_mode='r').sum())"),
    ("pandas", "pandas", "import pandas as p\nd = p.read_csv('data.csv', names=['a', 'b'])\nprint(d.groupby('a').b.sum().to_dict(), d.describe().shape)"),
    ("pandas: times and files", "pandas", "import pandas as p, tempfile\nf = tempfile.mkdtemp() + '/x'\nd = p.DataFrame({'t': p.date_range('2026-01-01', periods=3, tz='Europe/Berlin')})\nd.to_json(f); d.to_pickle(f + 'p'); print(len(p.read_pickle(f + 'p')), len(p.read_json(f)))"),
    ("matplotlib", "matplotlib", "import matplotlib, os, tempfile\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as p\np.plot([1, 2]); p.title('x')\nf = tempfile.mkdtemp() + '/x.png'\np.savefig(f); p.savefig(f + '.pdf'); p.savefig(f + '.svg')\nprint(os.path.getsize(f) > 999)"),
    ("requests says that there is no network", "requests", "import requests\ntry: requests.get('http://192.0.2.1/', timeout=0.2)\nexcept requests.exceptions.RequestException: print('none')"),
]


RUNNER = """
import json, subprocess, sys
found = []
for text, options in json.load(open("scripts.json")):
    argv = ["sh", "-c", text[2:]] if text.startswith("#!") else [sys.executable, *options, "-c", text]
    if "__main__" in text:
        import os, tempfile
        p = tempfile.mkdtemp() + "/main.py"
        open(p, "w").write(text)
        argv = [sys.executable, *options, p]
    try:
        r = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        found.append([r.returncode, r.stdout, r.stderr[-300:]])
    except subprocess.TimeoutExpired:
        found.append([-1, "", "it does not end"])
print(json.dumps(found))
"""


def is_there(need):
    return not need or (importlib.util.find_spec("pip") if need == "pip" else shutil.which(need))


def lay_out(root, rows):
    (root / "prog/sub/deep").mkdir(parents=True)
    (root / "home").mkdir()
    (root / "tmp").mkdir()
    (root / "prog/sub/deep/x.txt").write_text("x\n")
    (root / "prog/data.csv").write_text("a,1\nb,2\na,3\n")
    (root / "prog/beside.py").write_text("x = 'beside'\n")
    (root / "prog/runner.py").write_text(RUNNER)
    # who needs no packages needs no folders of packages, which take long to find
    (root / "prog/scripts.json").write_text(json.dumps([[text, [] if need else ["-I", "-S", "-B"]] for _, need, text, *_ in rows]))


def made(folder, how, python, env):
    """[status, output, errors] of each script."""
    # the folders of PDL_PYTHON are shown; no bytecode, for it would be one more file beside the scripts
    env = environment({"PDL_PYTHON": python, "PYTHONDONTWRITEBYTECODE": "1", **env})
    r = subprocess.run([*how, python, "-I", "-S", "-B", "runner.py"], cwd=folder, env=env, capture_output=True, text=True, timeout=500, check=False, stdin=subprocess.DEVNULL)
    try:
        return json.loads(r.stdout)
    except ValueError:
        check("the scripts were run", False, how, r.stdout[-500:] + r.stderr[-500:])
        return []


def as_without(pdl, root, strength, rows, python):
    lay_out(root, rows)
    want = made(root / "prog", [], python, {"HOME": str(root / "home"), "TMPDIR": str(root / "tmp")})
    found = made(root / "prog", [pdl, "sandbox", *strength.more, "--"], python, strength.env)
    for (name, *_), (status, out, errors), (well, wanted, wrong) in zip(rows, found, want):
        check(f"without: {name}", well == 0, wrong)
        check(name, status == 0 and out == wanted, status, out, errors)


def can(row, strength):
    return strength.name != "process" or len(row) == 3


@pytest.mark.draws
def test_useful(pdl, folder, strength):
    rows = in_turn(ROWS, strength, name=lambda row: row[0], applies=can)
    for row in rows:
        if not is_there(row[1]):
            skip(row[0], f"{row[1]} is not there")
    as_without(pdl, folder.resolve(), strength, [row for row in rows if is_there(row[1])], sys.executable)


@pytest.mark.tier("all")
@pytest.mark.builds
@pytest.mark.seconds(900)
def test_packages(pdl, build, folder):
    python, why = packages_of(build, *sorted({row[1] for row in PACKAGES}), name="test-useful", seconds=600)
    if why:
        pytest.skip(why)
    for strength in STRENGTHS:
        root = folder.resolve() / strength.name
        root.mkdir()
        why = why_not(pdl, strength, root)
        if why:
            skip("packages, " + strength.name, why, len(PACKAGES))
        else:
            as_without(pdl, root, strength, PACKAGES, python)
