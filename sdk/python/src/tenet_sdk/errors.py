"""Errors. Each has a code; none of them is ever a permission."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .models import Evaluation, SubmissionAnswer

__all__ = [
    "AnswerError",
    "ConflictError",
    "DeadlineError",
    "Denied",
    "ForbiddenError",
    "InternalError",
    "InvalidError",
    "NotConfirmed",
    "NotEvaluated",
    "NotFoundError",
    "PreconditionError",
    "ProblemError",
    "RateLimitedError",
    "Refused",
    "TenetError",
    "TooLargeError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnreachableError",
]


class TenetError(Exception):
    """Any error of this package."""

    code = "internal"


class DeadlineError(TenetError):
    """The server has not answered in time."""

    code = "timeout"


class UnreachableError(TenetError):
    """No server answers at the address."""

    code = "unavailable"


class AnswerError(TenetError):
    """An answer that is not understood, is incomplete, or contradicts itself."""

    code = "answer"

    def __init__(self, message: str, code: str = "answer") -> None:
        super().__init__(message)
        self.code = code


class ProblemError(TenetError):
    """An answer of the server that is not a success (RFC 9457)."""

    def __init__(self, status: int, code: str, message: str, request_id: str, fields: Mapping[str, str]) -> None:
        super().__init__(message)
        self.status = status
        """Status of HTTP."""
        self.code = code
        self.request_id = request_id
        """Under this id the server has logged the request; may be empty."""
        self.fields = dict(fields)
        """What is wrong with each field of the request."""

    def __str__(self) -> str:
        text = super().__str__()
        for name, message in self.fields.items():
            text += f"; {name}: {message}"
        return text


class InvalidError(ProblemError):
    """The request is invalid."""


class NotFoundError(ProblemError):
    """There is no such thing."""


class ConflictError(ProblemError):
    """The request contradicts the present state."""


class PreconditionError(ProblemError):
    """It was changed in the meantime."""


class UnauthenticatedError(ProblemError):
    """The key is missing or not valid."""


class ForbiddenError(ProblemError):
    """The key may not do this."""


class UnavailableError(ProblemError):
    """The server cannot answer now."""


class TooLargeError(ProblemError):
    """The request is too large."""


class RateLimitedError(ProblemError):
    """Too many requests."""


class InternalError(ProblemError):
    """A fault of the server."""


PROBLEMS: dict[str, type[ProblemError]] = {
    "invalid": InvalidError,
    "not_found": NotFoundError,
    "conflict": ConflictError,
    "precondition_failed": PreconditionError,
    "unauthenticated": UnauthenticatedError,
    "forbidden": ForbiddenError,
    "unavailable": UnavailableError,
    "too_large": TooLargeError,
    "rate_limited": RateLimitedError,
    "internal": InternalError,
}


class Refused(TenetError):
    """A guarded function was not run."""

    code = "refused"

    def __init__(self, message: str, evaluation: Evaluation | SubmissionAnswer | None = None) -> None:
        super().__init__(message)
        self.evaluation = evaluation
        """The evaluation that refused; None if there is none."""


class Denied(Refused):
    """A rule denies the call."""

    code = "denied"


class NotConfirmed(Refused):
    """The call needs the confirmation of a person, and has none."""

    code = "unconfirmed"


class NotEvaluated(Refused):
    """The call could not be evaluated. Its cause is the reason."""

    code = "unevaluated"
