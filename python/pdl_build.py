# SPDX-License-Identifier: Apache-2.0
"""Builds the package libpdl: for pip, which calls build_wheel (PEP 517), and for `make wheel`.

pip gets a wheel for this system, which uses the libraries of the system (docs/dependencies.md). packaging/wheel/make-wheel uses another compiler,
and other libraries, which become a part of the wheel.
"""
import base64
import hashlib
import io
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "packaging" / "parts"))
import kit  # noqa: E402

PACKAGE = ROOT / "python" / "libpdl"
OLDEST = "cp310"  # Py_LIMITED_API of _pdl.h
FLAGS = ("-std=c17 -O2 -g -fPIC -fvisibility=hidden -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes "
         "-Wno-missing-field-initializers").split()
LIBRARIES = ["libuv", "libpcre2-8", "libutf8proc", "gmp"]
LIBRARIES_OPENED = ["libpdl-http.so", "libpdl-sqlite.so"]
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the date of all files in the zip, so that the same input gives the same wheel

# The libraries that become a part of the command and of the extension on systems where the wheel has no shared libraries.
ARCHIVES = ["libcurl.a", "libnghttp2.a", "libssl.a", "libcrypto.a", "libz.a", "libsqlite3.a"]


# --- the extension -------------------------------------------------------------------------------------------------------------------


def folder():
    """Returns the folder of the build directory for this Python; a debug build of Python has a separate one."""
    return "python-debug" if hasattr(sys, "gettotalrefcount") else "python"


def sources(system=sys.platform):
    """Returns the files of the extension, without the files that are named after other systems."""
    others = {"linux", "darwin"} - {system}
    return sorted(p for p in PACKAGE.glob("_*.c") if p.stem.rpartition("_")[2] not in others)


def extension_command(cc, target, include, more, system=sys.platform):
    """Returns the command line that compiles the extension to the file `target`."""
    return [*shlex.split(cc), *FLAGS, "-I%s" % (ROOT / "include"), *(a for i in include for a in ("-isystem", str(i))), "-shared",
            "-o", str(target), *map(str, sources(system)), *more]


def python_headers(place):
    """Copies the headers of this Python. A compiler for another C library must see no headers of this system but these."""
    include = pathlib.Path(sysconfig.get_paths()["include"])
    if not (include / "Python.h").is_file():
        raise SystemExit("pdl_build: there is no Python.h (Debian: the package python3-dev)")
    shutil.copytree(include, place / include.name, dirs_exist_ok=True)
    multiarch = include.parent / (sysconfig.get_config_var("MULTIARCH") or "none") / include.name
    if multiarch.is_dir():
        shutil.copytree(multiarch, place / multiarch.parent.name / include.name, dirs_exist_ok=True)
    return [place / include.name, place]


def run(argv, **env):
    p = subprocess.run([str(a) for a in argv], cwd=ROOT, env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, check=False)
    if p.returncode != 0:
        raise SystemExit("pdl_build: %s: exit status %d\n%s" % (shlex.join(str(a) for a in argv)[:300], p.returncode, p.stdout[-4000:]))
    return p.stdout


def way_of(target):
    """Returns where a package for a target of the compiler finds libcurl and SQLite: "system", "beside" (in the wheel, opened), "inside"
    (linked into the extension, for musl), or "macos" (parts of that system)."""
    if target is None:
        return "system"
    return "macos" if kit.is_macos(target) else "inside" if target.endswith("-musl") else "beside"


def linked_with(way, third, place):
    """Returns the options with which the linker makes the extension. For "inside", they begin with the archives that become a part of the
    extension."""
    if way == "macos":  # Python's own functions are found when it loads the extension.
        return ["-Wl,-undefined,dynamic_lookup", "-Wl,-dead_strip", "-s"]
    options = ["-lpthread", "-ldl", "-lm", "-Wl,--gc-sections", "-Wl,-z,relro", "-Wl,-z,now"]
    if way == "inside":
        (place / "shown.map").write_text("{ global: PyInit__pdl; local: *; };\n", "utf-8")
        return [*(third / "lib" / name for name in ARCHIVES), *options, "-Wl,--version-script=%s" % (place / "shown.map"), "-s"]
    return options + (["-Wl,-rpath,$ORIGIN/_lib", "-s"] if way == "beside" else [])


def build_native(settings):
    """Returns {name in the package: file} for the extension, the command, and the files that they open. settings is {} when the libraries of the
    system are used. Otherwise, it has third-party (the folder that packaging/parts/third-party made), cc, and target (the target of cc). For a
    command that contains all its libraries, it also has command (the file) and objects (the folder in which it was built)."""
    third, target = settings.get("third-party"), settings.get("target")
    way = way_of(target)
    # The build folder is in the same place as the one of `make`: paths to the sources are then the same, and a compiler
    # cache can use its earlier results.
    objects = ROOT / ("build-wheel-" + target if third else "build-pip")
    place = objects.with_name(objects.name + "-made")
    place.mkdir(parents=True, exist_ok=True)
    cc, pkg_config, options = os.environ.get("CC", "cc"), {}, ["-Dtests=false"]
    if third:
        third, cc = pathlib.Path(third).resolve(), settings["cc"]
        pkg_config = {"PKG_CONFIG_LIBDIR": str(third / "lib" / "pkgconfig")}
        kit.cross_file(place / "cross.ini", third, target)
        options += ["--cross-file", str(place / "cross.ini"), "-Dwerror=false", "-Dprefix=/nonexistent"]
    if way == "beside":
        options += ["-Dbundled=true", "-Dc_link_args=-Wl,-rpath,$ORIGIN/../_lib -s"]
    if way == "macos":
        options += ["-Dc_link_args=-s"]
    command = settings.get("command")
    if command:
        objects = settings["objects"]
    else:
        run(["sh", "tools/setup", objects, *options])
        run(["ninja", "-j", os.environ.get("JOBS", "2"), "-C", objects, "libpdl.a", "pdl"])
    libraries = shlex.split(run(["pkg-config", "--libs", *LIBRARIES], **pkg_config))
    extension = place / "_pdl.abi3.so"
    run(extension_command(cc, extension, python_headers(place / "include"), [
        objects / "libpdl.a", *libraries, *linked_with(way, third, place)], "darwin" if way == "macos" else sys.platform))
    shutil.copy2(command or objects / "pdl", place / "pdl")
    if way == "system":
        run(["strip", "--strip-unneeded", extension, place / "pdl"])
    found = {"_pdl.abi3.so": extension, "bin/pdl": place / "pdl"}
    return {**found, **{"_lib/" + name: third / "lib" / name for name in (LIBRARIES_OPENED if way == "beside" else [])}}


# --- wheels --------------------------------------------------------------------------------------------------------------------------


def project(folder):
    """Returns the table [project] of pyproject.toml."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    with open(folder / "pyproject.toml", "rb") as f:
        return tomllib.load(f)["project"]


def metadata(table, readme):
    lines = ["Metadata-Version: 2.1", "Name: " + table["name"], "Version: " + table.get("version", kit.version()), "Summary: " + table["description"],
             "License: " + table["license"], "Requires-Python: " + table["requires-python"]]
    if table.get("keywords"):
        lines.append("Keywords: " + ",".join(table["keywords"]))
    lines += ["Classifier: " + c for c in table.get("classifiers", [])]
    lines += ["Requires-Dist: " + d for d in table.get("dependencies", [])]
    for extra, needs in table.get("optional-dependencies", {}).items():
        lines.append("Provides-Extra: " + extra)
        lines += ["Requires-Dist: %s; extra == '%s'" % (n, extra) for n in needs]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", readme])


def write_wheel(folder, table, tag, files, readme):
    """Writes a wheel and returns its name. files: {name in the wheel: path or bytes}."""
    name = "%s-%s" % (table["name"].replace("-", "_"), table.get("version", kit.version()))
    info = name + ".dist-info/"
    scripts = "".join("%s = %s\n" % pair for pair in table.get("scripts", {}).items())
    files = dict(files)
    files[info + "METADATA"] = metadata(table, readme).encode()
    files[info + "WHEEL"] = ("Wheel-Version: 1.0\nGenerator: pdl_build\nRoot-Is-Purelib: %s\nTag: %s\n" % (
        "true" if tag.endswith("-any") else "false", tag)).encode()
    if scripts:
        files[info + "entry_points.txt"] = ("[console_scripts]\n" + scripts).encode()
    record = io.StringIO()
    path = pathlib.Path(folder) / ("%s-%s.whl" % (name, tag))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for arcname, what in sorted(files.items()):
            data = what if isinstance(what, bytes) else pathlib.Path(what).read_bytes()
            is_program = data[:4] in (b"\x7fELF", b"\xcf\xfa\xed\xfe")
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.write("%s,sha256=%s,%d\n" % (arcname, digest, len(data)))
            put(z, arcname, data, 0o755 if is_program else 0o644)
        put(z, info + "RECORD", (record.getvalue() + info + "RECORD,,\n").encode(), 0o644)
    return path.name


def put(z, name, data, mode):
    entry = zipfile.ZipInfo(name, EARLIEST)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100000 | mode) << 16
    z.writestr(entry, data)


def licences(third, info):
    """Returns the licence of libpdl, and the licences of the libraries in the wheel."""
    files = {info + "licenses/LICENSE": ROOT / "LICENSE"}
    if third:
        for path in sorted((pathlib.Path(third) / "licences").rglob("*")):
            if path.is_file():
                files[info + "licenses/" + str(path.relative_to(pathlib.Path(third) / "licences"))] = path
    return files


def package_files():
    """Returns the files of Python, stubs, the modules of the language, and the files that JupyterLab loads."""
    files = {"libpdl/" + p.name: p for pattern in ("*.py", "*.pyi", "py.typed") for p in sorted(PACKAGE.glob(pattern))}
    files.update({"libpdl/lib/" + str(p.relative_to(ROOT / "lib")): p for end in ("*.pdl", "*.yaml")
                  for p in sorted((ROOT / "lib").rglob(end))})
    files.update({"libpdl/skill/" + p.name: p for p in (ROOT / "packaging/skill/SKILL.md", ROOT / "docs/language-card.md")})
    files.update({"libpdl-%s.data/data/share/jupyter/labextensions/libpdl/%s" % (kit.version(), k): v for k, v in lab_files().items()})
    return files


COMPAT = ROOT / "python" / "compat"
# Files of the package `pdl` that the command prints.
COMPAT_TABLES = {"_table.json": ["dump", "--table"], "pdl-schema.json": ["schema"]}


def compat_tables(command):
    return {name: subprocess.run([command, *words], stdout=subprocess.PIPE, check=True).stdout for name, words in COMPAT_TABLES.items()}


def write_compat(folder, command):
    """Makes the wheel of libpdl-compat, and returns its name."""
    table = {**project(COMPAT), "dependencies": ["libpdl==" + kit.version()]}
    files = {str(p.relative_to(COMPAT)): p for pattern in ("*.py", "*.pyi", "py.typed") for p in sorted((COMPAT / "pdl").rglob(pattern))}
    files.update({"pdl/" + name: made for name, made in compat_tables(command).items()})
    files["libpdl_compat-%s.dist-info/licenses/LICENSE" % kit.version()] = ROOT / "LICENSE"
    return write_wheel(folder, table, "py3-none-any", files, (COMPAT / table["readme"]).read_text("utf-8"))


def lab_files():
    """Returns the files of the JupyterLab extension: {name in its folder: path or bytes}."""
    about = {"name": "libpdl", "version": kit.version(), "description": "Highlighting of PDL in notebooks", "license": "Apache-2.0",
             "jupyterlab": {"extension": True, "_build": {"load": "static/remoteEntry.js", "extension": "./extension"}}}
    return {"package.json": json.dumps(about, indent=2).encode(), "static/remoteEntry.js": PACKAGE / "labextension" / "remoteEntry.js"}


# --- what pip calls ------------------------------------------------------------------------------------------------------------------


def write_libpdl(folder, native, third, platform):
    """Makes the wheel of these built files, and returns its name."""
    table = project(ROOT)
    files = {**package_files(), **{"libpdl/" + name: path for name, path in native.items()},
             **licences(third, "libpdl-%s.dist-info/" % kit.version())}
    return write_wheel(folder, table, "%s-abi3-%s" % (OLDEST, platform), files, (ROOT / table["readme"]).read_text("utf-8"))


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return write_libpdl(wheel_directory, build_native({}), None, platform)


def build_sdist(sdist_directory, config_settings=None):
    name = "libpdl-" + kit.version()
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    with tarfile.open(pathlib.Path(sdist_directory) / (name + ".tar.gz"), "w:gz") as tar:
        for path in filter(None, listed):
            tar.add(ROOT / path, arcname="%s/%s" % (name, path), recursive=False)
        head = metadata(project(ROOT), "").encode()
        entry = tarfile.TarInfo(name + "/PKG-INFO")
        entry.size = len(head)
        tar.addfile(entry, io.BytesIO(head))
    return name + ".tar.gz"
