# SPDX-License-Identifier: Apache-2.0
"""Texts and dicts to programs."""
from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Optional, Union

import libpdl

from . import _run
from .pdl_ast import PDLException, PdlLocationType, Program, empty_block_location
from .pdl_location_utils import get_line_map, get_loc_string


class PDLParseError(PDLException):
    """`message` is a list of lines."""


def parse_file(pdl_file: Union[str, Path]) -> tuple[Program, PdlLocationType]:
    with open(pdl_file, "r", encoding="utf-8") as f:
        text = f.read()
    return parse_str(text, file_name=str(pdl_file))


@lru_cache(maxsize=128)
def parse_str(pdl_str: str, file_name: Optional[str] = None) -> tuple[Program, PdlLocationType]:
    file = file_name or ""
    try:
        tree = _run.tree_of(libpdl.loads(pdl_str, name=file_name))
    except libpdl.ProgramError as e:
        head = file + ":" if file else "line "
        raise PDLParseError(["%s%d - %s" % (head, p.line, p.message) for p in _run.problems_of(e)]) from e
    prog = Program(tree)
    prog._source = _run.Source(pdl_str, file, tree)
    return prog, PdlLocationType(path=[], file=file, table=get_line_map(pdl_str))


def parse_dict(pdl_dict: Any, loc: Optional[PdlLocationType] = None) -> Program:
    found = _run.problems(pdl_dict)
    if found:
        head = get_loc_string(loc or empty_block_location)
        raise PDLParseError([head + message for message in found])
    return Program(pdl_dict)
