# SPDX-License-Identifier: Apache-2.0
"""The browser of the tests: Chromium as a program without windows where there is one, which takes half of the processor time, else the whole one."""
import shutil

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")


def browser():
    """-> (the path of a browser, None), or (None, why there is none)"""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return found, None if found else "there is no chromium"
