# SPDX-License-Identifier: Apache-2.0
"""Finds the browser for the tests: Chromium's build without windows, which takes half of the processor time, or else the ordinary Chromium."""
import shutil

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")


def browser():
    """-> (the path of a browser, None), or (None, why there is none)"""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return found, None if found else "there is no chromium"
