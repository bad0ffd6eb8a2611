# SPDX-License-Identifier: Apache-2.0
"""The modules of prompt-declaration-language on top of libpdl."""
import os as _os
import sys as _sys

if any(entry.startswith("prompt_declaration_language-") and entry.endswith(".dist-info")  # importlib.metadata takes longer to load than this package
       for folder in _sys.path if _os.path.isdir(folder or ".") for entry in _os.listdir(folder or ".")):
    raise ImportError("prompt-declaration-language and libpdl-compat are both installed, and both are the package `pdl`: "
                      "`pip uninstall prompt-declaration-language` (or libpdl-compat), and install again the one that stays")

from libpdl import __version__  # noqa: E402, F401

_MODELS = "libpdl calls models itself; libpdl.Engine(models={...}) takes functions of yours"
_ABSENT = {"optimize.util": "pdl optimize evaluates itself; its result has what was found", "pdl_llms": _MODELS, "pdl_granite_io": _MODELS,
           "pdl_runner": "confine the command with --sandbox, or with libpdl.Engine(sandbox=True)", "pdl_stdlib": "programs have stdlib",
           "pdl_python_repl": "libpdl runs code blocks itself", "pdl_compilers": "programs are not compiled to Python",
           "pdl_schema_validator": "analyze_errors of pdl.pdl_schema_error_analyzer checks values", "_version": "`from pdl import __version__`"}


class _Absent(ModuleNotFoundError, NotImplementedError):  # programs that can work without the module catch it as an ImportError
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name.startswith("pdl.") and name[4:] in _ABSENT:
            raise _Absent("%s: %s" % (name, _ABSENT[name[4:]]), name=name)


_sys.meta_path.append(_Absent)  # type: ignore[arg-type]
