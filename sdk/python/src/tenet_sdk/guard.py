"""Functions that run only if the rules allow it."""

from __future__ import annotations

import functools
import inspect
import json
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio
import anyio.lowlevel
import msgspec

from . import errors, models
from ._call import segment

if TYPE_CHECKING:
    from ._client import AsyncClient, Client

__all__ = ["Approval", "Call", "Guard", "GuardOptions"]

F = TypeVar("F", bound=Callable[..., Any])

LONGEST_POLL = 30.0  # seconds that one request waits for a decision


class Approval(msgspec.Struct, kw_only=True):
    """The part of an approval that a caller who waits needs."""

    id: str
    state: str
    url: str = ""


@dataclass(frozen=True)
class GuardOptions:
    """How calls are evaluated."""

    tool: str | None = None
    """Name of the tool; that of the function, if absent."""
    server: str | None = None
    """Name of the server or program that the tool belongs to."""
    scope: str | None = None
    environment: str | None = None
    arguments: Callable[..., Mapping[str, Any]] | None = None
    """Makes the arguments to evaluate from those of the call, where they are not JSON."""
    wait: float | None = None
    """Seconds to wait for an approval of a call that needs confirmation; None refuses it at once."""
    reason: str | None = None
    """Why the caller asks, for the people who decide."""


@dataclass(frozen=True)
class Call:
    """One call of a tool."""

    tool: str
    arguments: str
    """The complete arguments in JSON."""
    options: GuardOptions

    @classmethod
    def of(cls, tool: str, arguments: Mapping[str, Any], options: GuardOptions | None = None) -> Call:
        """Makes a call. Arguments that cannot be shown as they are cannot be evaluated."""
        try:
            text = json.dumps(_plain(dict(arguments), 0), allow_nan=False, sort_keys=True)
        except (TypeError, ValueError, RecursionError, OverflowError) as e:
            raise errors.NotEvaluated(f"{tool} was not run: its arguments are not JSON ({e}); give guard arguments=, which makes them so") from e
        return cls(tool, text, options or GuardOptions())

    def request(self) -> dict[str, Any]:
        """The submission that evaluates it."""
        subject: dict[str, Any] = {"kind": "tool_call", "tool": self.tool, "arguments": json.loads(self.arguments)}
        if self.options.server:
            subject["server"] = self.options.server
        out: dict[str, Any] = {"subject": subject}
        if self.options.scope:
            out["scope"] = self.options.scope
        if self.options.environment:
            out["environment"] = self.options.environment
        return out

    def wants_approval(self, e: models.SubmissionAnswer) -> bool:
        """Passes on ALLOW. Reports whether to ask people, or raises the refusal."""
        if e.overall_verdict == "ALLOW":
            return False
        if e.overall_verdict == "NEEDS_CONFIRMATION" and self.options.wait is not None:
            return True
        raise self.refusal(e)

    def refusal(self, e: models.SubmissionAnswer, why: str = "") -> errors.Refused:
        """The error for a verdict that is not ALLOW."""
        denied = e.overall_verdict == "DENY"
        parts = [f"{self.tool} was not run: " + ("the rules deny it" if denied else "it needs the confirmation of a person") + (f" ({why})" if why else "")]
        listed = (e.violations if denied else e.warnings)[:3]
        for v in listed:
            parts.append(f"{v.rule_slug or v.rule_id}: {v.issue_description or v.reasoning or v.rule_statement}")
            if v.fix_suggestion:
                parts.append(v.fix_suggestion)
        if not listed:  # such as a call that no rule covers
            parts.extend(e.notices[:3])
        parts.append(f"evaluation {e.evaluation_id}")
        return (errors.Denied if denied else errors.NotConfirmed)("; ".join(parts), e)

    def failed(self, e: BaseException) -> errors.NotEvaluated:
        return errors.NotEvaluated(f"{self.tool} was not run, because it could not be evaluated: {e}")

    def asks(self, e: models.SubmissionAnswer) -> dict[str, Any]:
        """The request for an approval."""
        wait = max(int(self.options.wait or 0), 1)
        body: dict[str, Any] = {"evaluation_id": e.evaluation_id, "expires_in": f"{min(max(wait, 60), 3600)}s"}
        if self.options.reason:
            body["reason"] = self.options.reason
        return body

    def poll(self, e: models.SubmissionAnswer, approval: Approval, deadline: float, timeout: float) -> float:
        """Seconds for the next request that waits for a decision; 0 once it is approved."""
        if approval.state == "approved":
            return 0
        if approval.state != "pending":
            raise self.refusal(e, f"the approval {approval.id} is {approval.state}")
        left = deadline - time.monotonic()
        if left <= 0:
            raise self.refusal(e, f"nobody has decided on the approval {approval.id} in time: {approval.url}")
        return max(min(left, LONGEST_POLL, timeout * 0.8), 0.1)


MAX_DEPTH = 64  # of arguments: objects and lists within one another


def _plain(value: Any, depth: int) -> Any:
    """Copies a value that is JSON. What is none, such as a date, bytes or a set, can be shown in several ways, so a rule could read another value than
    the function gets; it is refused."""
    if depth > MAX_DEPTH:
        raise TypeError("an object that is too deep")
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise ValueError(str(value))
    if isinstance(value, (list, tuple)):
        if not _reads_as(type(value), list if isinstance(value, list) else tuple):
            raise TypeError(type(value).__name__)
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, dict):
        if not _reads_as(type(value), OrderedDict if isinstance(value, OrderedDict) else dict):
            raise TypeError(type(value).__name__)
        if not all(isinstance(name, str) for name in dict.keys(value)):
            raise TypeError("a name that is no text")
        return {name: _plain(item, depth + 1) for name, item in dict.items(value)}
    raise TypeError(type(value).__name__)


_READING = ("__getitem__", "__iter__", "__len__", "__contains__", "__reversed__", "get", "items", "keys", "values", "pop", "count", "index")


def _reads_as(own: type, known: type) -> bool:
    """Reports whether a type reads its items like the one that it is derived from, so that a function gets what a rule has seen."""
    return not hasattr(own, "__missing__") and all(getattr(own, name, None) == getattr(known, name, None) for name in _READING)


def parse_arguments(tool: str, text: str) -> dict[str, Any]:
    """Reads the arguments that a model wrote. Names given twice are refused: readers differ in which one they take."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) != len(pairs):
            raise ValueError("a name is given twice")
        return out

    try:
        arguments = json.loads(text or "{}", object_pairs_hook=once)
        if not isinstance(arguments, dict):
            raise ValueError("they are no object")
    except (ValueError, RecursionError) as e:
        raise errors.NotEvaluated(f"{tool} was not run: its arguments are not JSON ({e})") from e
    return arguments


def _poll_path(approval: Approval) -> str:
    return "/api/v1/approvals/" + segment(approval.id)


def check(client: Client, call: Call) -> models.SubmissionAnswer:
    """Evaluates a call and returns only if it may run; raises Refused otherwise."""
    try:
        answer = _submit(client, call)
        if not call.wants_approval(answer):
            return answer
        deadline = time.monotonic() + (call.options.wait or 0)
        approval = client.call("POST", "/api/v1/approvals", Approval, body=call.asks(answer), query={"project_id": None})
        while seconds := call.poll(answer, approval, deadline, client.timeout):
            approval = client.call("GET", _poll_path(approval), Approval, query={"project_id": None, "wait": f"{seconds:.1f}s"}, again=True)
        answer = _submit(client, call)
        if answer.overall_verdict != "ALLOW":
            raise call.refusal(answer, f"although {approval.id} is approved")
        return answer
    except errors.Refused:
        raise
    except Exception as e:
        raise call.failed(e) from e


def _submit(client: Client, call: Call) -> models.SubmissionAnswer:
    request = call.request()
    return client.submit(request["subject"], scope=request.get("scope"), environment=request.get("environment"))


async def check_async(client: AsyncClient, call: Call) -> models.SubmissionAnswer:
    """Evaluates a call and returns only if it may run; raises Refused otherwise."""
    try:
        answer = await _submit_async(client, call)
        if not call.wants_approval(answer):
            return answer
        deadline = time.monotonic() + (call.options.wait or 0)
        approval = await client.call("POST", "/api/v1/approvals", Approval, body=call.asks(answer), query={"project_id": None})
        while seconds := call.poll(answer, approval, deadline, client.timeout):
            approval = await client.call("GET", _poll_path(approval), Approval, query={"project_id": None, "wait": f"{seconds:.1f}s"}, again=True)
            await anyio.lowlevel.checkpoint()
        answer = await _submit_async(client, call)
        if answer.overall_verdict != "ALLOW":
            raise call.refusal(answer, f"although {approval.id} is approved")
        return answer
    except errors.Refused:
        raise
    except Exception as e:
        raise call.failed(e) from e


async def _submit_async(client: AsyncClient, call: Call) -> models.SubmissionAnswer:
    request = call.request()
    return await client.submit(request["subject"], scope=request.get("scope"), environment=request.get("environment"))


class Guard:
    """Wraps functions."""

    def __init__(self, options: GuardOptions) -> None:
        self._options = options

    def _call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """The call with all of its arguments, defaults included. The object of a method is not an argument."""
        if isinstance(function, functools.partial):  # what it fixes are arguments too
            return self._call(function.func, (*function.args, *args), {**function.keywords, **kwargs})
        name = self._options.tool or function.__name__
        if self._options.arguments is not None:
            try:
                return Call.of(name, self._options.arguments(*args, **kwargs), self._options)
            except errors.Refused:
                raise
            except Exception as e:
                raise errors.NotEvaluated(f"{name} was not run: its arguments could not be read: {e}") from e
        signature = inspect.signature(function)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        first = next(iter(signature.parameters), "")
        owner = "" if inspect.ismethod(function) else function.__qualname__.rpartition(".")[0]  # a bound method has no object among its parameters
        if first in ("self", "cls") and owner and not owner.endswith("<locals>"):
            del arguments[first]
        for p in signature.parameters.values():
            if p.kind is p.VAR_KEYWORD:
                more = arguments.pop(p.name)
                if same := arguments.keys() & more.keys():  # def f(a, /, **more) takes f(1, a=2): one of both would be hidden
                    raise errors.NotEvaluated(f"{name} was not run: two of its arguments have the name {min(same)}")
                arguments.update(more)
        return Call.of(name, arguments, self._options)

    def _unchanged(self, call: Call, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Refuses a call whose arguments have changed since they were evaluated."""
        if self._call(function, args, kwargs).arguments != call.arguments:
            raise errors.NotEvaluated(f"{call.tool} was not run: its arguments changed while they were evaluated")

    def sync(self, client: Client, function: F) -> F:
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{function.__name__} is asynchronous; guard it with an AsyncClient")

        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            call = self._call(function, args, kwargs)
            check(client, call)
            self._unchanged(call, function, args, kwargs)
            return function(*args, **kwargs)

        return cast(F, guarded)

    def asynchronous(self, client: AsyncClient, function: F) -> F:
        if not inspect.iscoroutinefunction(function):
            raise TypeError(f"{function.__name__} is not an asynchronous function; guard it with a Client")

        @functools.wraps(function)
        async def guarded(*args: Any, **kwargs: Any) -> Any:
            call = self._call(function, args, kwargs)
            await check_async(client, call)
            self._unchanged(call, function, args, kwargs)
            return await function(*args, **kwargs)

        return cast(F, guarded)
