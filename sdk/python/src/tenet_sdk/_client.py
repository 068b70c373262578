"""Clients of a Tenet server."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

import anyio
import httpx
import msgspec

from . import errors, models
from ._call import Answer, File, Request, Settings, about, prepare
from ._exchange import AsyncExchange, Exchange
from ._operations import AsyncOperations, Operations
from ._stream import Events
from .guard import Guard, GuardOptions

__all__ = ["AsyncClient", "Client", "Subject"]

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

Files = Mapping[str, str] | Sequence[models.InputFile]
"""Files to evaluate: contents by path, or files."""

Subject = msgspec.Struct | Mapping[str, Any]
"""What a submission is about: one of the types that end in Subject, or the same as a mapping with its kind."""

Mode = Literal["preflight", "posthoc"]
Severity = Literal["LOW", "MEDIUM", "HIGH", "CRITICAL"]
Environment = Literal["production", "staging", "development"]

DEFAULT_URL = "http://127.0.0.1:8080"


def _settings(url: str | None, key: str | None, project: str | None, timeout: float, identity: Mapping[str, str]) -> Settings:
    return Settings(
        url=(url or os.environ.get("TENET_URL") or DEFAULT_URL).rstrip("/"),
        key=os.environ.get("TENET_KEY", "") if key is None else key,
        project=project or "",
        timeout=timeout,
        identity=identity,
    ).check()


def _identity(agent: str | None, session: str | None, on_behalf_of: str | None) -> dict[str, str]:
    return {name: value for name, value in (("agent", agent), ("session", session), ("on_behalf_of", on_behalf_of)) if value}


def _changed(
    settings: Settings, project: str | None, timeout: float | None, agent: str | None, session: str | None, on_behalf_of: str | None
) -> Settings:
    """The settings with those changed that are given."""
    return replace(
        settings,
        project=settings.project if project is None else project,
        timeout=settings.timeout if timeout is None else timeout,
        identity={**settings.identity, **_identity(agent, session, on_behalf_of)},
    ).check()


def _body(settings: Settings, body: models.EvaluateRequest | Mapping[str, Any] | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The body of an evaluation: the one given, with the fields that are given beside it, and who acts."""
    out: dict[str, Any] = {**settings.identity, **(msgspec.to_builtins(body) if body is not None else {})}
    for name, value in fields.items():
        if value is None:
            continue
        if name == "files" and isinstance(value, Mapping):
            value = [{"path": path, "content": content} for path, content in value.items()]
        out[name] = value
    return out


def _name(key: str | None, body: Mapping[str, Any]) -> dict[str, str | None]:
    """The name of a request, by which the server recognizes it when it is sent again."""
    if key is None and body.get("submission_id"):
        return {}
    return {"Idempotency-Key": key or str(uuid.uuid4())}


_EVALUATE, _QUICK, _SUBMIT = "/api/v1/evaluate", "/api/v1/evaluate/quick", "/api/v1/submissions"
_PROJECT: dict[str, Any] = {"project_id": None}


class Client:
    """A client of one server. It may be used by several threads.

    The address and the key are those of TENET_URL and TENET_KEY unless they are given. A call ends within timeout seconds, repetitions
    included. Evaluations name the agent, its session and the person for whom it acts where these are given.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        project: str | None = None,
        timeout: float = 60.0,
        agent: str | None = None,
        session: str | None = None,
        on_behalf_of: str | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        self._settings = _settings(url, key, project, timeout, _identity(agent, session, on_behalf_of))
        self._http = http or httpx.Client()
        self.api = Operations(self)
        """Every operation of the API."""

    def with_options(
        self,
        *,
        project: str | None = None,
        timeout: float | None = None,
        agent: str | None = None,
        session: str | None = None,
        on_behalf_of: str | None = None,
    ) -> Client:
        """A client that shares the connections of this one."""
        other = Client.__new__(Client)
        other._settings = _changed(self._settings, project, timeout, agent, session, on_behalf_of)
        other._http = self._http
        other.api = Operations(other)
        return other

    @property
    def timeout(self) -> float:
        """Seconds that a call may take."""
        return self._settings.timeout

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def evaluate(
        self,
        body: models.EvaluateRequest | Mapping[str, Any] | None = None,
        *,
        diff: str | None = None,
        files: Files | None = None,
        facts: Mapping[str, Any] | None = None,
        intent: str | None = None,
        scope: str | None = None,
        repository: str | None = None,
        mode: Mode | None = None,
        max_rules: int | None = None,
        severity_min: Severity | None = None,
        node_id: str | None = None,
        environment: Environment | None = None,
        idempotency_key: str | None = None,
    ) -> models.Evaluation:
        """Evaluates a diff, files or facts and records the evaluation. Only overall_verdict == "ALLOW" is a permission."""
        sent = _body(
            self._settings,
            body,
            {"diff": diff, "files": files, "facts": facts, "intent": intent, "scope": scope, "repository": repository, "mode": mode,
             "max_rules": max_rules, "severity_min": severity_min, "node_id": node_id, "environment": environment},
        )  # fmt: skip
        return self.call("POST", _EVALUATE, models.Evaluation, body=sent, query=_PROJECT, headers=_name(idempotency_key, sent), again=True)

    def quick(
        self,
        action: str,
        *,
        scope: str | None = None,
        node_id: str | None = None,
        environment: Environment | None = None,
        idempotency_key: str | None = None,
    ) -> models.Evaluation:
        """Evaluates an action in plain words."""
        sent = _body(self._settings, None, {"action": action, "scope": scope, "node_id": node_id, "environment": environment})
        return self.call("POST", _QUICK, models.Evaluation, body=sent, query=_PROJECT, headers=_name(idempotency_key, sent), again=True)

    def submit(
        self,
        subject: Subject,
        *,
        scope: str | None = None,
        mode: Mode | None = None,
        max_rules: int | None = None,
        severity_min: Severity | None = None,
        node_id: str | None = None,
        environment: Environment | None = None,
        submission_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.SubmissionAnswer:
        """Evaluates a subject of any kind."""
        sent = _body(
            self._settings,
            None,
            {"subject": subject, "scope": scope, "mode": mode, "max_rules": max_rules, "severity_min": severity_min, "node_id": node_id,
             "environment": environment, "submission_id": submission_id},
        )  # fmt: skip
        answer = self.call("POST", _SUBMIT, models.SubmissionAnswer, body=sent, query=_PROJECT, headers=_name(idempotency_key, sent), again=True)
        return about(sent, answer)

    def submit_later(
        self, subject: Subject, *, scope: str | None = None, submission_id: str | None = None, idempotency_key: str | None = None
    ) -> models.SubmissionState:
        """Has a subject evaluated in the background; ask for it with wait."""
        sent = _body(self._settings, None, {"subject": subject, "scope": scope, "submission_id": submission_id})
        headers = {**_name(idempotency_key, sent), "Prefer": "respond-async"}
        return self.call("POST", _SUBMIT, models.SubmissionState, body=sent, query=_PROJECT, headers=headers, again=True)

    def wait(self, submission_id: str, *, timeout: float | None = None) -> models.SubmissionState:
        """Waits until a submission is evaluated or has failed."""
        deadline = time.monotonic() + (self._settings.timeout if timeout is None else timeout)
        pause = 0.1
        while True:
            state = self.api.get_submission(submission_id)
            if state.status in ("completed", "failed"):
                return state
            if time.monotonic() + pause > deadline:
                raise errors.DeadlineError(f"the submission {submission_id} is still {state.status}")
            time.sleep(pause)
            pause = min(pause * 1.5, 2.0)

    def stream(
        self,
        body: models.EvaluateRequest | Mapping[str, Any] | None = None,
        *,
        diff: str | None = None,
        files: Files | None = None,
        facts: Mapping[str, Any] | None = None,
        intent: str | None = None,
        scope: str | None = None,
        repository: str | None = None,
    ) -> Iterator[models.RuleVerdict | models.Evaluation]:
        """Evaluates and gives each verdict once it is final, then the evaluation. A verdict alone is not a permission."""
        sent = _body(self._settings, body, {"diff": diff, "files": files, "facts": facts, "intent": intent, "scope": scope, "repository": repository})
        headers = {**_name(None, sent), "Accept": "text/event-stream"}
        request = self._prepare("POST", _EVALUATE, NoAnswer, body=sent, query=_PROJECT, headers=headers, again=True)
        deadline = time.monotonic() + self._settings.timeout
        attempt = 0
        while True:
            attempt += 1
            with self._open(request, deadline) as exchange:
                answer = Answer(exchange.status, exchange.headers)
                if answer.success():
                    events = Events(request, answer)
                    for piece in exchange.pieces():
                        yield from events.feed(piece)
                    events.end()
                    return
                for piece in exchange.pieces():
                    answer.add(request, piece)
            pause = answer.pause(request, attempt, deadline)
            if pause is None:
                raise answer.problem()
            time.sleep(pause)

    def guard(
        self,
        *,
        tool: str | None = None,
        server: str | None = None,
        scope: str | None = None,
        environment: Environment | None = None,
        arguments: Callable[..., Mapping[str, Any]] | None = None,
        wait: float | None = None,
        reason: str | None = None,
    ) -> Callable[[F], F]:
        """Decorates a function: each call is evaluated with its name and arguments before it runs.

        Only ALLOW lets it run. Otherwise, and whenever the evaluation fails, the call raises an error of the type Refused. With wait, a
        call that needs confirmation asks for approval and waits so many seconds for it.
        """
        options = GuardOptions(tool, server, scope, environment, arguments, wait, reason)
        return lambda function: Guard(options).sync(self, function)

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
    ) -> T:
        """Carries out any operation, also one that this version does not know."""
        request = self._prepare(method, path, answer, body=body, form=form, query=query, headers=headers, again=again)
        deadline = time.monotonic() + self._settings.timeout
        attempt = 0
        while True:
            attempt += 1
            got = self._once(request, deadline)
            if got.success():
                return got.decode(request, answer)
            pause = got.pause(request, attempt, deadline)
            if pause is None:
                raise got.problem()
            time.sleep(pause)

    def _prepare(
        self,
        method: str,
        path: str,
        answer: object,
        *,
        body: Any = None,
        form: Mapping[str, str | File | None] | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        again: bool = False,
    ) -> Request:
        return prepare(self._settings, method, path, answer, body, form, query, headers, again)

    def _open(self, request: Request, deadline: float) -> Exchange:
        return Exchange(self._http, _arguments(self._settings, request, deadline), request, self._settings.url, deadline)

    def _once(self, request: Request, deadline: float) -> Answer:
        with self._open(request, deadline) as exchange:
            answer = Answer(exchange.status, exchange.headers)
            for piece in exchange.pieces():
                answer.add(request, piece)
            return answer


NoAnswer = type(None)


def _arguments(settings: Settings, request: Request, deadline: float) -> dict[str, Any]:
    return {
        "method": request.method,
        "url": settings.url + request.path,
        "params": request.params or None,
        "headers": request.headers,
        "content": request.content,
        "data": request.data,
        "files": request.files,
        "timeout": max(deadline - time.monotonic(), 0.001),
        "follow_redirects": False,
    }


class AsyncClient:
    """The client for asynchronous programs. Its methods are those of Client."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        project: str | None = None,
        timeout: float = 60.0,
        agent: str | None = None,
        session: str | None = None,
        on_behalf_of: str | None = None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self._settings = _settings(url, key, project, timeout, _identity(agent, session, on_behalf_of))
        self._http = http or httpx.AsyncClient()
        self.api = AsyncOperations(self)
        """Every operation of the API."""

    def with_options(
        self,
        *,
        project: str | None = None,
        timeout: float | None = None,
        agent: str | None = None,
        session: str | None = None,
        on_behalf_of: str | None = None,
    ) -> AsyncClient:
        """A client that shares the connections of this one."""
        other = AsyncClient.__new__(AsyncClient)
        other._settings = _changed(self._settings, project, timeout, agent, session, on_behalf_of)
        other._http = self._http
        other.api = AsyncOperations(other)
        return other

    @property
    def timeout(self) -> float:
        """Seconds that a call may take."""
        return self._settings.timeout

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def evaluate(
        self,
        body: models.EvaluateRequest | Mapping[str, Any] | None = None,
        *,
        diff: str | None = None,
        files: Files | None = None,
        facts: Mapping[str, Any] | None = None,
        intent: str | None = None,
        scope: str | None = None,
        repository: str | None = None,
        mode: Mode | None = None,
        max_rules: int | None = None,
        severity_min: Severity | None = None,
        node_id: str | None = None,
        environment: Environment | None = None,
        idempotency_key: str | None = None,
    ) -> models.Evaluation:
        """Evaluates a diff, files or facts and records the evaluation. Only overall_verdict == "ALLOW" is a permission."""
        sent = _body(
            self._settings,
            body,
            {"diff": diff, "files": files, "facts": facts, "intent": intent, "scope": scope, "repository": repository, "mode": mode,
             "max_rules": max_rules, "severity_min": severity_min, "node_id": node_id, "environment": environment},
        )  # fmt: skip
        return await self.call("POST", _EVALUATE, models.Evaluation, body=sent, query=_PROJECT, headers=_name(idempotency_key, sent), again=True)

    async def quick(
        self,
        action: str,
        *,
        scope: str | None = None,
        node_id: str | None = None,
        environment: Environment | None = None,
        idempotency_key: str | None = None,
    ) -> models.Evaluation:
        """Evaluates an action in plain words."""
        sent = _body(self._settings, None, {"action": action, "scope": scope, "node_id": node_id, "environment": environment})
        return await self.call("POST", _QUICK, models.Evaluation, body=sent, query=_PROJECT, headers=_name(idempotency_key, sent), again=True)

    async def submit(
        self,
        subject: Subject,
        *,
        scope: str | None = None,
        mode: Mode | None = None,
        max_rules: int | None = None,
        severity_min: Severity | None = None,
        node_id: str | None = None,
        environment: Environment | None = None,
        submission_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.SubmissionAnswer:
        """Evaluates a subject of any kind."""
        sent = _body(
            self._settings,
            None,
            {"subject": subject, "scope": scope, "mode": mode, "max_rules": max_rules, "severity_min": severity_min, "node_id": node_id,
             "environment": environment, "submission_id": submission_id},
        )  # fmt: skip
        answer = await self.call("POST", _SUBMIT, models.SubmissionAnswer, body=sent, query=_PROJECT, headers=_name(idempotency_key, sent), again=True)
        return about(sent, answer)

    async def submit_later(
        self, subject: Subject, *, scope: str | None = None, submission_id: str | None = None, idempotency_key: str | None = None
    ) -> models.SubmissionState:
        """Has a subject evaluated in the background; ask for it with wait."""
        sent = _body(self._settings, None, {"subject": subject, "scope": scope, "submission_id": submission_id})
        headers = {**_name(idempotency_key, sent), "Prefer": "respond-async"}
        return await self.call("POST", _SUBMIT, models.SubmissionState, body=sent, query=_PROJECT, headers=headers, again=True)

    async def wait(self, submission_id: str, *, timeout: float | None = None) -> models.SubmissionState:
        """Waits until a submission is evaluated or has failed."""
        deadline = time.monotonic() + (self._settings.timeout if timeout is None else timeout)
        pause = 0.1
        while True:
            state = await self.api.get_submission(submission_id)
            if state.status in ("completed", "failed"):
                return state
            if time.monotonic() + pause > deadline:
                raise errors.DeadlineError(f"the submission {submission_id} is still {state.status}")
            await anyio.sleep(pause)
            pause = min(pause * 1.5, 2.0)

    async def stream(
        self,
        body: models.EvaluateRequest | Mapping[str, Any] | None = None,
        *,
        diff: str | None = None,
        files: Files | None = None,
        facts: Mapping[str, Any] | None = None,
        intent: str | None = None,
        scope: str | None = None,
        repository: str | None = None,
    ) -> AsyncIterator[models.RuleVerdict | models.Evaluation]:
        """Evaluates and gives each verdict once it is final, then the evaluation. A verdict alone is not a permission."""
        sent = _body(self._settings, body, {"diff": diff, "files": files, "facts": facts, "intent": intent, "scope": scope, "repository": repository})
        headers = {**_name(None, sent), "Accept": "text/event-stream"}
        request = prepare(self._settings, "POST", _EVALUATE, NoAnswer, sent, None, _PROJECT, headers, True)
        deadline = time.monotonic() + self._settings.timeout
        attempt = 0
        while True:
            attempt += 1
            async with self._open(request, deadline) as exchange:
                answer = Answer(exchange.status, exchange.headers)
                if answer.success():
                    events = Events(request, answer)
                    async for piece in exchange.pieces():
                        for event in events.feed(piece):
                            yield event
                    events.end()
                    return
                async for piece in exchange.pieces():
                    answer.add(request, piece)
            pause = answer.pause(request, attempt, deadline)
            if pause is None:
                raise answer.problem()
            await anyio.sleep(pause)

    def guard(
        self,
        *,
        tool: str | None = None,
        server: str | None = None,
        scope: str | None = None,
        environment: Environment | None = None,
        arguments: Callable[..., Mapping[str, Any]] | None = None,
        wait: float | None = None,
        reason: str | None = None,
    ) -> Callable[[F], F]:
        """Decorates an asynchronous function: each call is evaluated with its name and arguments before it runs. See Client.guard."""
        options = GuardOptions(tool, server, scope, environment, arguments, wait, reason)
        return lambda function: Guard(options).asynchronous(self, function)

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
    ) -> T:
        """Carries out any operation, also one that this version does not know."""
        request = prepare(self._settings, method, path, answer, body, form, query, headers, again)
        deadline = time.monotonic() + self._settings.timeout
        attempt = 0
        while True:
            attempt += 1
            got = await self._once(request, deadline)
            if got.success():
                return got.decode(request, answer)
            pause = got.pause(request, attempt, deadline)
            if pause is None:
                raise got.problem()
            await anyio.sleep(pause)

    def _open(self, request: Request, deadline: float) -> AsyncExchange:
        return AsyncExchange(self._http, _arguments(self._settings, request, deadline), request, self._settings.url, deadline)

    async def _once(self, request: Request, deadline: float) -> Answer:
        async with self._open(request, deadline) as exchange:
            answer = Answer(exchange.status, exchange.headers)
            async for piece in exchange.pieces():
                answer.add(request, piece)
            return answer
