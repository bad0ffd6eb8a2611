# SPDX-License-Identifier: Apache-2.0
"""counting.py -- what the tests of the editors share: an editor is driven once, and what it said is judged row by row."""
import json


def count(editor, rows, skipped=0):
    """rows: (name, what the editor said, a function of that which is true where it is right). -> exit status"""
    passed = failed = 0
    for name, said, is_right in rows:
        try:
            ok = bool(is_right(said))
        except (KeyError, IndexError, TypeError, AttributeError):  # it said something else, or nothing
            ok = False
        passed, failed = passed + ok, failed + (not ok)
        if not ok:
            print("FAIL %s %s: %s" % (editor, name, json.dumps(said)[:3000]))
    print("%d passed, %d failed%s" % (passed, failed, ", %d skipped" % skipped if skipped else ""))
    return 1 if failed else 0
