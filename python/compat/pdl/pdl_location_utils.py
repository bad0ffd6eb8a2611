# SPDX-License-Identifier: Apache-2.0
"""Lines of fields. A table has the line of each field, under the text of its path: "['text', '[0]', 'data']"."""
from __future__ import annotations

from .pdl_ast import PdlLocationType


def append(loc: PdlLocationType, seg: str) -> PdlLocationType:
    return PdlLocationType(file=loc.file, path=loc.path + [seg], table=loc.table)


def get_line_map(prog: str) -> dict[str, int]:
    """Returns the lines of the fields of a program in block style, which are found by its indentation alone."""
    lines = prog.split("\n")
    widths = [len(line) - len(line.lstrip(" ")) for line in lines]
    ranks = {width: rank for rank, width in enumerate(sorted(set(widths)))}
    table: dict[str, int] = {}
    paths: dict[int, list[str]] = {0: ["root"]}
    counts: dict[int, int] = {0: -1}
    current = 0
    for number, line in enumerate(lines, 1):
        is_item = line.strip().startswith("-")
        name = line.strip().partition(":")[0].replace("-", "").strip() if ":" in line else ""
        level = ranks[widths[number - 1]] + is_item
        paths.setdefault(level, paths[current] + [""])
        counts.setdefault(level, -1)
        if level < current:
            paths = {k: v for k, v in paths.items() if k <= level}
            counts = {k: v for k, v in counts.items() if k <= level}
        current, path = level, paths[level]
        if is_item:
            path.pop()
            if path and path[-1].startswith("["):
                path.pop()
            counts[level] += 1
            path.append("[%d]" % counts[level])
            table[str(path)] = number
            path += [name] if name else []
        elif name:
            path[-1:] = [name]
        if name:
            table[str(path)] = number
    return table


def get_line(table: dict[str, int], path: list[str]) -> int:
    """Returns the line of a field, or of the nearest field around it; 0 when it is unknown."""
    for n in range(len(path), 0, -1):
        if str(path[:n]) in table:
            return table[str(path[:n])]
    return 0


def get_loc_string(loc: PdlLocationType) -> str:
    return "%s%d - " % (loc.file + ":" if loc.file else "line ", get_line(loc.table, loc.path))
