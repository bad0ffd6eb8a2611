# SPDX-License-Identifier: Apache-2.0
"""Numbers in the answers of models."""
from __future__ import annotations

import re
from typing import Optional, Union

# One number with other text around it. A number separates all thousands or no thousands. The separator differs from the
# decimal point.
_NUMBER = re.compile(r"[^\d+,.-]*([+-])?(\d{1,3}([ ,.])\d{3}(?:\3\d{3})*|\d+)?((?(3)(?!\3))[.,]\d+)?[^\d]*$")
_SAID = re.compile(r"The answer is:? (.+)")


def parse_number(text: str) -> Union[int, float, None]:
    """Returns the number in a text that has no other digits. Returns None for any other text."""
    found = _NUMBER.match(text)
    if found is None or not (found[2] or found[4]):
        return None
    whole = (found[1] or "") + (found[2] or "").replace(found[3] or "", "")
    return float(whole + found[4].replace(",", ".")) if found[4] else int(whole)


def extract_math_answer(result: str) -> Union[int, float, None]:
    """Returns the number after "The answer is" in the last line, or else the last number."""
    said = _SAID.findall(result.splitlines()[-1])
    return parse_number(said[-1]) if said else old_extract(result)


def _float(text: str) -> Optional[float]:
    try:
        return float(text.replace("$", "").replace(",", ""))
    except ValueError:
        return None


def old_extract(result: str) -> float:
    """Returns the number after the last ####, or else the last word that is a number, or else 0."""
    words = [result.split("####")[-1].strip(), *(w.replace("$", "").replace(",", "").removesuffix(".") for w in reversed(result.split()))]
    return next((n for n in map(_float, words) if n is not None), 0.0)
