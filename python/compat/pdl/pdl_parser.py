# SPDX-License-Identifier: Apache-2.0
"""Makes programs from texts and dicts."""
from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Optional, Union

import libpdl

from . import _run
from .pdl_ast import BLOCKS_IN, OWN_KEYS, Block, PDLException, PdlLocationType, Program, empty_block_location, kind_of
from .pdl_location_utils import append, get_line_map, get_loc_string


class PDLParseError(PDLException):
    """`message` is a list of lines."""


def parse_file(pdl_file: Union[str, Path]) -> tuple[Program, PdlLocationType]:
    with open(pdl_file, "r", encoding="utf-8") as f:
        text = f.read()
    return parse_str(text, file_name=str(pdl_file))


@lru_cache(maxsize=128)
def parse_str(pdl_str: str, file_name: Optional[str] = None) -> tuple[Program, PdlLocationType]:
    file = file_name or ""
    loc = PdlLocationType(path=[], file=file, table=get_line_map(pdl_str))
    try:
        tree = _run.tree_of(_run.engine().loads(pdl_str, name=file_name))
    except libpdl.ProgramError as e:
        head = file + ":" if file else "line "
        lines = ["%s%d - %s" % (head, *p) for p in _run.problems_of(e)]
        raise PDLParseError(lines + (_functions(_run.yaml(pdl_str), loc) if e.kind == "schema" else [])) from e
    prog = Program(tree)
    prog._source = _run.Source(pdl_str, file, prog)
    return prog, loc


def parse_dict(pdl_dict: Any, loc: Optional[PdlLocationType] = None) -> Program:
    tree, found = _run.read(pdl_dict)
    if found:
        raise PDLParseError(analyze(found, pdl_dict, loc or empty_block_location))
    return Program(tree)


def analyze(messages: list[str], data: Any, loc: PdlLocationType) -> list[str]:
    """Returns the lines that report the problems of a program that is data."""
    return [get_loc_string(loc) + message for message in messages] + _functions(data, loc)


def _functions(data: Any, loc: PdlLocationType) -> list[str]:
    """Returns the errors that the reference reports in a wrong program. When a block's fields do not determine a kind, the
    reference treats the block as a function. So it lists the fields that a function would need."""
    if not isinstance(data, dict):
        return []
    kind, row = kind_of(data)
    is_any = row is None and not OWN_KEYS.intersection(data) and any(key in Block.by_key for key in data)
    lines = [] if not is_any else [get_loc_string(loc) + "Missing required field: " + key for key in ("function", "return")]
    for key, value in data.items():
        form = BLOCKS_IN.get((kind, key)) or BLOCKS_IN.get((None, key))
        if form == "CASES":
            value = [case.get("then") for case in value if isinstance(case, dict)] if isinstance(value, list) else None
        if form and isinstance(value, list):
            for i, part in enumerate(value):
                lines += _functions(part, append(append(loc, key), "[%d]" % i))
        elif form in ("DEFS", "FIELDS") and isinstance(value, dict):
            for name, part in value.items():
                lines += _functions(part, append(append(loc, key), str(name)))
        elif form:
            lines += _functions(value, append(loc, key))
    return lines
