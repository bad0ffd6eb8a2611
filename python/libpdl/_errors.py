# SPDX-License-Identifier: Apache-2.0
"""The exceptions that libpdl raises."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Error(Exception):
    """Something is wrong with a program, a run, or how libpdl was called.

    str(error) is the text that the command prints. __cause__ is the exception of a function of Python that failed. For
    a program that was made with from_dict, path is the part with the mistake ("text[1].model").
    """

    def __init__(self, message: str = "", *, kind: str = "runtime", file: str = "", line: int = 0, column: int = 0,
                 hint: str = "", text: str = "", exit_code: int = 1, status: int = 0, path: str = "") -> None:
        super().__init__((text or message).rstrip("\n"))
        self.message = message
        self.kind = kind
        self.file = file
        self.line = line
        self.column = column
        self.hint = hint
        self.exit_code = exit_code
        self.status = status
        self.path = path
        self.trace: Any = None


class ProgramError(Error):
    """The program cannot be read; nothing has run."""


class RunError(Error):
    """A run failed."""


class ModelError(RunError):
    """A call of a model failed."""


class BudgetError(RunError):
    """A run needs more than its budget allows."""


class PolicyError(RunError):
    """A run tried something that the policy forbids."""


class UsageError(Error):
    """A call of libpdl makes no sense."""

    def __init__(self, message: str = "", **fields: Any) -> None:
        fields.setdefault("kind", "usage")
        super().__init__(message, **fields)


MODEL_KINDS = frozenset((
    "context_window content_policy quota rate_limit auth permission not_found timeout bad_request unavailable server "
    "connection protocol stream unsupported_params unknown_provider config").split())
OTHER_CLASSES: dict[str, type[Error]] = {"budget": BudgetError, "policy": PolicyError, "usage": UsageError}


def class_of(kind: str) -> type[Error]:
    return ModelError if kind in MODEL_KINDS else OTHER_CLASSES.get(kind, RunError)


def as_program_error(error: Error) -> Error:
    """Returns the error in the class for errors of loading a program."""
    if isinstance(error, UsageError):
        return error
    other = ProgramError(error.message)
    other.__dict__.update(error.__dict__)
    other.args = error.args
    return other
