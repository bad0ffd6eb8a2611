# SPDX-License-Identifier: Apache-2.0
"""The names that annotations use. Modules import them only for type checkers, and `_hints` imports them when types are
needed."""
from __future__ import annotations

import asyncio as asyncio
import os
from contextvars import Context as Context
from typing import (Any as Any, AsyncIterator as AsyncIterator, Awaitable as Awaitable, Callable as Callable, Iterable as Iterable, Iterator as Iterator,
                    Mapping as Mapping, Optional as Optional, Sequence as Sequence, Tuple as Tuple, TypeVar, Union as Union)

from ._driver import Driver as Driver
from ._engine import ApprovalRequest, Engine as Engine, ModelRequest
from ._later import AsyncStream as AsyncStream, Map as Map
from ._pieces import Pump as Pump
from ._program import Program as Program, Result as Result
from ._tool import Tool as Tool

T = TypeVar("T")
Scope = Optional[Mapping[str, Any]]
Approve = Callable[[ApprovalRequest], Union[bool, Awaitable[bool]]]
Model = Callable[[ModelRequest], Any]
Path = Union[str, os.PathLike[str]]
