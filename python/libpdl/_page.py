# SPDX-License-Identifier: Apache-2.0
"""Makes the page of a run for a notebook. The page is a separate document, which cannot reach the notebook around it."""
from __future__ import annotations

import html
import json
from typing import Any

from . import _engine

HEIGHT = 420  # height in pixels, which the user can change with the mouse


def frame(trace: dict[str, Any], name: str = "run") -> str:
    """Returns the Live Document of a trace as HTML for the output of a cell."""
    page = _engine.default()._core().page(json.dumps(trace, ensure_ascii=False), name)
    return ('<iframe class="pdl-run" sandbox="allow-scripts" style="width:100%%;height:%dpx;border:1px solid #8886;resize:vertical" srcdoc="%s"></iframe>'
            % (HEIGHT, html.escape(page)))
