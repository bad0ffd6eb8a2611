# SPDX-License-Identifier: Apache-2.0
"""The helpers of the tests of editors: an editor is driven once, and its output is then judged row by row."""
import json

from ..checks import check


def judge(editor, rows):
    """rows: (name, what the editor said, a function of that which is true where it is right)"""
    for name, said, is_right in rows:
        try:
            ok = bool(is_right(said))
        except (KeyError, IndexError, TypeError, AttributeError):  # it said something else, or nothing
            ok = False
        check("%s %s" % (editor, name), ok, json.dumps(said)[:3000])
