# SPDX-License-Identifier: Apache-2.0
"""pdl-lint: checks the programs of a project. Settings: [tool.pdl-lint] of pyproject.toml, or the file .pdl-lint."""
from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import Any, Optional

from ._model import Field, Model, wrong
from .pdl_parser import PDLParseError
from .pdl_parser import parse_file as parse_pdl_file

logger = logging.getLogger(__name__)
LEVELS = ("CRITICAL", "FATAL", "ERROR", "WARNING", "WARN", "INFO", "DEBUG", "NOTSET")
ROOTS = (".git", ".hg")  # folders that only the root of a project has
HINTS = ("pyproject.toml", "requirements.txt", "setup.py")  # files that subfolders of a project may have as well


def _guess_project_root_dir(start_path: Optional[Path] = None) -> Optional[Path]:
    """Returns the folder of the project that contains a folder. Returns None for a folder outside of projects."""
    path, found = (start_path or Path.cwd()).absolute(), None
    for folder in (path, *path.parents[:-1]):
        if any((folder / name).is_dir() for name in ROOTS):
            return folder
        if any((folder / name).is_file() for name in HINTS):
            found = folder
    return found


def _level(value: Any) -> Any:
    if value not in LEVELS:
        raise wrong("LinterConfig", "a log level is one of %s, not %r" % (", ".join(LEVELS), value))
    return value


class LinterConfig(Model):
    """The settings. ignore: files and folders, relative to project_root."""

    EXTRA = True
    FIELDS = (Field("project_root", make=Path), Field("ignore", (), make=lambda v: set(map(Path, v))),
              Field("log_file", None, make=lambda v: v if v is None else Path(v)), Field("file_log_level", "DEBUG", make=_level),
              Field("file_log_format", "%(asctime)s %(name)s: %(message)s"), Field("console_log_enabled", True),
              Field("console_log_level", "INFO", make=_level), Field("console_log_format", "%(message)s"), Field("debug", False),
              Field("directories_to_ignore", (), make=lambda v: set(map(Path, v))))

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        kept = set()
        for path in self.ignore:
            if path.is_absolute():
                logger.warning("Ignoring path '%s' because it is an absolute path; paths begin in the root of the project.", path)
            elif not (self.project_root / path).exists():
                logger.warning("Ignoring path '%s' because it does not exist.", path)
            else:
                kept.add(path)
        self.ignore = kept
        self.directories_to_ignore = {p for p in kept if (self.project_root / p).is_dir()}

    def should_ignore(self, path: Path) -> bool:
        if not path.absolute().is_relative_to(self.project_root) or (path.is_file() and path.suffix != ".pdl"):
            return True
        return path in self.ignore or any(path.is_relative_to(d) for d in self.directories_to_ignore)

    @classmethod
    def load(cls) -> "LinterConfig":
        root = _guess_project_root_dir() or Path.cwd()
        data, source = _settings(root)
        if source is None:
            logger.warning("No settings of pdl-lint in %s: using the defaults.", root)
        config = cls(**{"project_root": root, **data})
        if config.model_extra and source:
            logger.warning("Unrecognized fields in %s, without effect:", source)
            for key, value in config.model_extra.items():
                logger.warning("  %s = %r", key, value)
        return config


def _settings(root: Path) -> tuple[dict[str, Any], Optional[Path]]:
    """Returns the settings, and the file from which they come."""
    project = _read_toml(root / "pyproject.toml").get("tool", {})
    if "pdl-lint" in project:
        return project["pdl-lint"], root / "pyproject.toml"
    own = _read_toml(root / ".pdl-lint")
    return own.get("pdl-lint", own), root / ".pdl-lint" if own else None


def _read_toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        import tomllib
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ImportError:
        logger.warning("%s is not read: Python has tomllib from 3.11 on.", path)
    except (OSError, ValueError) as e:
        logger.warning("%s is not read: %s", path, e)
    return {}


def _lint_pdl_file(file_path: Path, config: LinterConfig) -> bool:
    if config.should_ignore(file_path):
        logger.info(" - skipped: %s", file_path)
        return True
    try:
        parse_pdl_file(file_path)
    except Exception as e:
        logger.error(" - wrong: %s", file_path, exc_info=not isinstance(e, PDLParseError))
        for line in e.message if isinstance(e, PDLParseError) else []:
            logger.error("     %s", line)
        return False
    logger.info(" - good: %s", file_path)
    return True


def _lint_pdl_files_in_directory(directory: Path, recursive: bool, config: LinterConfig) -> list[Path]:
    """Checks the programs of a folder. Returns the files that have errors."""
    if not directory.is_dir():
        raise NotADirectoryError("'%s' is not a directory" % directory)
    relative = directory.absolute().relative_to(config.project_root)
    if config.should_ignore(relative):
        logger.info(" - skipped: all of %s", directory)
        return []
    files = [f for f in sorted(relative.rglob("*.pdl") if recursive else relative.glob("*.pdl")) if f.is_file()]
    if not files:
        logger.warning("No PDL files found in %s", directory.absolute())
    return [f for f in files if not _lint_pdl_file(f, config)]


def _arg_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pdl-lint", description="Check programs.")
    parser.add_argument("paths", type=Path, nargs="*", default=[Path.cwd()], help="files and folders; the current one when absent")
    parser.add_argument("-r", "--recursive", action="store_true", help="also folders inside of folders")
    parser.add_argument("--debug", action=argparse.BooleanOptionalAction, default=False, help="log more")
    parser.add_argument("-l", "--log-file", type=Path, help="write the log into this file as well")
    return parser


def _setup_logging(args: argparse.Namespace, config: LinterConfig) -> None:
    log_file = args.log_file or config.log_file
    to_file = [(logging.FileHandler(log_file, encoding="utf-8"), config.file_log_format, config.file_log_level)] if log_file else []
    to_console = [(logging.StreamHandler(sys.stdout), config.console_log_format, config.console_log_level)] if config.console_log_enabled else []
    for handler, form, level in to_file + to_console:
        handler.setFormatter(logging.Formatter(form))
        handler.setLevel(logging.DEBUG if args.debug else level)
        logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if args.debug or config.debug else logging.INFO)


def run_linter() -> int:
    config = LinterConfig.load()
    args = _arg_parser().parse_args()
    _setup_logging(args, config)
    failed: list[Path] = []
    for path in args.paths:
        if path.is_file():
            failed += [] if _lint_pdl_file(path, config) else [path]
        elif path.is_dir():
            failed += _lint_pdl_files_in_directory(path, args.recursive, config)
        else:
            logger.error("%s is not a PDL file or directory", path)
    if failed:
        logger.error("%d files are wrong: %s", len(failed), ", ".join(map(str, failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run_linter())
