# SPDX-License-Identifier: Apache-2.0
"""The helpers of the modules of this folder."""
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
BOM = b"\xef\xbb\xbf"


def fmt(pdl, text, *options):
    """A text through standard input and output."""
    return subprocess.run([pdl, "fmt", *options, "-"], input=text, capture_output=True, check=False)
