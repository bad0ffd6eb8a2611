# SPDX-License-Identifier: Apache-2.0
"""Functions that walk through blocks."""
from __future__ import annotations

from typing import Any, Callable

from .pdl_ast import _TABLE, Block, MatchCase, PdlParser

_BLOCKS = {row["key"] for block in _TABLE["blocks"] for row in block["fields"] if row["type"] in ("BLOCK", "BLOCKS", "TEXTS", "FIELDS")}
_BLOCKS |= {row["key"] for row in _TABLE["common"] if row["type"] in ("BLOCK", "DEFS")} | {"pdl__trace"}
_EXPRESSIONS = {row["key"] for block in _TABLE["blocks"] for row in block["fields"]
                if row["type"] in ("EXPR", "XBOOL", "XNUM", "XSTR", "XDICT")}


class MappedFunctions:
    """The functions that map_block_children applies to the blocks and the expressions of a block."""

    def f_block(self, block: Any) -> Any:
        return block

    def f_expr(self, expr: Any) -> Any:
        return expr


def iter_block_children(f: Callable[[Any], None], block: Any) -> None:
    """Calls f for each block directly inside of this one."""
    if isinstance(block, Block):
        calls = MappedFunctions()
        calls.f_block = f  # type: ignore[method-assign]
        _mapped(calls, block, False)


def map_block_children(f: MappedFunctions, block: Any) -> Any:
    """Returns a copy of the block in which f was applied to its blocks and expressions."""
    return _mapped(f, block, True) if isinstance(block, Block) else block


def _mapped(f: MappedFunctions, block: Block, change: bool) -> Block:
    new: dict[str, Any] = {}
    for name, field in type(block).model_fields.items():
        value = getattr(block, name)
        if field.key in _BLOCKS and (value is not None or field.is_required()):
            new[name] = _each(f.f_block, value)
        elif field.key == "with" and isinstance(value, list):
            new[name] = [map_match_case(f, case) for case in value]
        elif field.key == "for" and isinstance(value, dict):
            new[name] = {k: f.f_expr(v) for k, v in value.items()}
        elif field.key in _EXPRESSIONS and value is not None:
            new[name] = f.f_expr(value)
        elif isinstance(value, PdlParser):
            new[name] = value.model_copy(update={"pdl": f.f_block(value.pdl)})
    return block.model_copy(update=new) if change else block


def _each(f: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, dict):
        return {k: f(v) for k, v in value.items()}
    return [f(v) for v in value] if isinstance(value, list) else f(value)


def map_match_case(f: MappedFunctions, match_case: MatchCase) -> MatchCase:
    return match_case.model_copy(update={"if_": f.f_expr(match_case.if_), "then": f.f_block(match_case.then)})  # type: ignore[no-any-return]
