"""What the synchronous and the asynchronous client share: requests, answers, errors and the decision to ask again."""

from __future__ import annotations

import email.utils
import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from http import HTTPStatus
from types import NoneType
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from . import errors, models

__all__ = ["AsyncCaller", "Caller", "File", "segment"]

T = TypeVar("T")

File = tuple[str, bytes]
"""A file to send: its name and its content."""

MAX_ANSWER = 64 << 20  # bytes: a server must not be able to fill the memory of its callers
MAX_EXPORT = 512 << 20
MAX_ATTEMPTS = 4
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 30.0  # seconds

CODES = {
    400: "invalid", 401: "unauthenticated", 403: "forbidden", 404: "not_found", 405: "invalid", 409: "conflict", 412: "precondition_failed",
    413: "too_large", 415: "invalid", 422: "invalid", 429: "rate_limited", 502: "unavailable", 503: "unavailable", 504: "unavailable",
}  # fmt: skip


class Caller(Protocol):
    """Carries out operations."""

    def call(
        self,
        method: str,
        path: str,
        answer: type[T],
        *,
        body: Any = None,
        form: Mapping[str, str | File | None] | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        again: bool = False,
    ) -> T: ...


class AsyncCaller(Protocol):
    """Carries out operations."""

    async def call(
        self,
        method: str,
        path: str,
        answer: type[T],
        *,
        body: Any = None,
        form: Mapping[str, str | File | None] | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        again: bool = False,
    ) -> T: ...


def segment(value: object) -> str:
    """Escapes a parameter as one segment of a path."""
    return quote(str(value), safe="")


@dataclass(frozen=True)
class Settings:
    """What all calls of a client have in common."""

    url: str
    key: str
    project: str
    timeout: float  # seconds for a whole call, repetitions included
    identity: Mapping[str, str] = field(default_factory=dict)  # fields of an evaluation that say who acts

    def check(self) -> Settings:
        parsed = httpx.URL(self.url)
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise ValueError(f"{self.url!r} is not the address of a server; use one such as http://127.0.0.1:8080")
        if not self.timeout > 0:
            raise ValueError("timeout must be more than 0 seconds")
        return self


@dataclass(frozen=True)
class Request:
    """One operation, ready to be sent."""

    method: str
    path: str
    params: list[tuple[str, str]]
    headers: dict[str, str]
    content: bytes | None
    data: dict[str, str] | None
    files: dict[str, File] | None
    again: bool
    limit: int

    def name(self) -> str:
        return f"{self.method} {self.path}"


def prepare(
    settings: Settings,
    method: str,
    path: str,
    answer: object,
    body: Any,
    form: Mapping[str, str | File | None] | None,
    query: Mapping[str, Any] | None,
    headers: Mapping[str, str | None] | None,
    again: bool,
) -> Request:
    """Makes the request of an operation."""
    params: list[tuple[str, str]] = []
    for name, value in (query or {}).items():
        if name == "project_id" and value is None:
            value = settings.project or None
        if value is None:
            continue
        values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        params.extend((name, _text(v)) for v in values)
    sent = {"User-Agent": "tenet-python", "Accept": "application/json, application/problem+json, */*;q=0.1", "Accept-Encoding": "identity"}
    if settings.key:
        sent["Authorization"] = "Bearer " + settings.key
    for name, text in (headers or {}).items():
        if text is not None:
            sent[name] = text
    content = None
    if body is not None:
        content = encode(body)
        sent["Content-Type"] = "application/json"
    data = {n: v for n, v in (form or {}).items() if isinstance(v, str)} if form else None
    files = {n: v for n, v in (form or {}).items() if isinstance(v, tuple)} if form else None
    limit = MAX_EXPORT if answer is bytes else MAX_ANSWER
    return Request(method, path, params, sent, content, data, files, again or "Idempotency-Key" in sent, limit)


def encode(body: Any) -> bytes:
    """Encodes a body. A number that JSON does not have is a ValueError: it would arrive as something else."""
    return json.dumps(msgspec.to_builtins(body), allow_nan=False, ensure_ascii=False).encode()


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("a time needs a time zone")
        return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    return str(value)


@dataclass
class Answer:
    """What the server has answered."""

    status: int
    headers: httpx.Headers
    body: bytearray = field(default_factory=bytearray)

    def success(self) -> bool:
        return 200 <= self.status < 300

    def add(self, request: Request, chunk: bytes) -> None:
        limit = request.limit if self.success() else 1 << 20
        if len(self.body) + len(chunk) > limit:
            raise errors.AnswerError(f"{request.name()}: the server's answer has more than {limit >> 20} MiB", "too_large")
        self.body += chunk

    def decode(self, request: Request, answer: type[T]) -> T:
        """Decodes the answer and refuses an evaluation that contradicts itself."""
        if answer is NoneType:
            return None  # type: ignore[return-value]
        if answer is bytes:
            return bytes(self.body)  # type: ignore[return-value]
        media = self.headers.get("Content-Type", "").lower().partition(";")[0].strip()
        if media not in ("", "text/plain", "application/json") and not media.endswith("+json"):
            raise errors.AnswerError(f"{request.name()}: the server's answer is {media!r} in place of JSON; is it a Tenet server?")
        return decode(request.name(), bytes(self.body), answer)

    def problem(self) -> errors.ProblemError:
        """The error of an answer that is not a success. It has a message for any body."""
        code, request_id, fields = CODES.get(self.status, "internal"), self.headers.get("X-Request-Id", ""), {}
        location = self.headers.get("Location", "")
        if 300 <= self.status < 400 and location:
            return errors.InvalidError(self.status, "invalid", f"the server redirects to {location}; use that address", request_id, {})
        try:
            message = f"the server answered {HTTPStatus(self.status).phrase}"
        except ValueError:
            message = "the server answered with an unknown status"
        try:
            body = json.loads(bytes(self.body))
        except ValueError:
            body = None
        if isinstance(body, dict):
            failure = body.get("error")
            if isinstance(failure, dict):  # the answer of an agent
                body = {"code": failure.get("code"), "detail": failure.get("message")}
            detail = body.get("detail") or body.get("title")
            if isinstance(detail, str) and detail:
                message = detail
                if isinstance(body.get("code"), str) and body["code"]:
                    code = body["code"]
                if isinstance(body.get("request_id"), str):
                    request_id = body["request_id"] or request_id
                listed = body.get("errors")
                for f in listed if isinstance(listed, list) else []:
                    if isinstance(f, dict):
                        name = f.get("field") or str(f.get("location", "")).removeprefix("body.")
                        fields[str(name)] = str(f.get("message", ""))
        return errors.PROBLEMS.get(code, errors.ProblemError)(self.status, code, message, request_id, fields)

    def pause(self, request: Request, attempt: int, deadline: float) -> float | None:
        """Seconds to wait before the request is sent again; None if it is not. 429 refuses before any work is done."""
        if attempt >= MAX_ATTEMPTS or not (self.status == 429 or (self.status == 503 and request.again)):
            return None
        seconds = _retry_after(self.headers.get("Retry-After", ""))
        if seconds is None:
            longest = FIRST_PAUSE * 2 ** (attempt - 1)
            seconds = random.uniform(longest / 2, longest)  # noqa: S311 # spreads callers
        if seconds > LONGEST_PAUSE or time.monotonic() + seconds >= deadline:
            return None
        return seconds


def decode(name: str, body: bytes, answer: type[T]) -> T:
    """Decodes JSON and refuses an evaluation that contradicts itself."""
    try:
        value = msgspec.json.decode(body, type=answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as e:
        raise errors.AnswerError(f"{name}: the server's answer is not understood: {e}") from e
    if isinstance(value, models.Evaluation | models.SubmissionAnswer) and (wrong := flaw(value)):
        raise errors.AnswerError(wrong)
    return value


def _retry_after(header: str) -> float | None:
    if header.isdecimal():
        return float(min(int(header[:9]), 3600))
    try:
        at = email.utils.parsedate_to_datetime(header)
    except (TypeError, ValueError):
        return None
    if at.tzinfo is None:
        return None
    return max((at - datetime.now(timezone.utc)).total_seconds(), 0.0)


def flaw(e: models.Evaluation | models.SubmissionAnswer) -> str:
    """What is wrong with an evaluation; empty if nothing is. Half an answer must not be taken for a pass."""
    overall = _overall(e)
    if not e.evaluation_id:
        return "the server's answer has no evaluation_id; is it a Tenet server?"
    if len(e.rule_verdicts) != e.rules_evaluated:
        return "the server's answer does not hold a verdict for each rule that it counts"
    if overall != e.overall_verdict and (overall != "ALLOW" or e.overall_verdict != "NEEDS_CONFIRMATION"):
        return "the overall verdict of the server's answer does not follow from its verdicts"
    return ""


def about(sent: Mapping[str, Any], a: models.SubmissionAnswer) -> models.SubmissionAnswer:
    """Refuses an answer about another submission than the one sent: a permission for something else is none."""
    kind = msgspec.to_builtins(sent["subject"]).get("kind")
    if a.subject_kind != kind or sent.get("submission_id") not in (None, "", a.submission_id):
        raise errors.AnswerError("the server's answer is about another submission than the one sent")
    return a


def _overall(e: models.Evaluation | models.SubmissionAnswer) -> str:
    """The verdict that follows from all that an evaluation holds."""
    counted = {v.verdict for v in e.rule_verdicts if v.enforcement != "shadow" and v.waiver is None}
    word, stale = e.coverage.uncovered or "", e.bundle_stale or ""
    if "DENY" in counted or word == "deny" or e.suspended or stale == "closed":
        return "DENY"
    uncovered = word not in ("", "allow") and not e.coverage.uncovered_approved
    below = any(n.floor for n in e.narrowed or [])
    if counted - {"ALLOW"} or uncovered or below or e.coverage.rules_not_asked > 0 or stale not in ("", "open"):
        return "NEEDS_CONFIRMATION"
    return "ALLOW"


def lost(request: Request, url: str, e: httpx.HTTPError, began: bool) -> errors.TenetError:
    """The error of a connection that failed, before or after the answer began."""
    if isinstance(e, httpx.TimeoutException):
        return errors.DeadlineError(f"{request.name()}: no answer from {url} in time")
    if began:
        return errors.AnswerError(f"{request.name()}: the server's answer broke off: {e}")
    return errors.UnreachableError(f"no answer from {url}: {e or type(e).__name__}; is `tenet serve` running there?")
