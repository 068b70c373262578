"""Runs the vectors that say how every client behaves, with both clients."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime, timezone
from typing import Any

import pytest
import yaml
from fake import VECTORS, Fake
from tenet_sdk import AsyncClient, Client, Evaluation, ProblemError, Refused, RuleVerdict, TenetError

CASES = [(path.stem, v) for path in sorted(VECTORS.glob("*.yaml")) for v in yaml.safe_load(path.read_text()) if "python" not in v.get("not", [])]


def test_all_vectors_are_there() -> None:
    assert len(CASES) > 70
    for _, v in CASES:
        assert set(v) <= {"name", "not", "client", "call", "idempotency_key", "input", "answers", "expect"}, v["name"]


class Outcome:
    """What came of a call."""

    def __init__(self) -> None:
        self.verdict, self.slug, self.ran, self.error = "", "", False, None
        self.events: list[str] = []

    def event(self, e: RuleVerdict | Evaluation) -> None:
        if isinstance(e, Evaluation):
            self.verdict = e.overall_verdict
            self.events.append("done")
        else:
            self.events.append(f"{e.rule_slug} {e.verdict}")


def options(v: dict[str, Any]) -> dict[str, Any]:
    c = v.get("client", {})
    who = {k: c[k] for k in ("agent", "session", "on_behalf_of") if k in c}
    return {"key": c.get("key", ""), "project": c.get("project", ""), "timeout": c.get("timeout_ms", 20_000) / 1000, **who}


def guard_options(i: dict[str, Any]) -> dict[str, Any]:
    return {k: i[k] for k in ("tool", "server", "scope", "wait", "reason") if k in i}


class Transfer:
    """An object with an attribute, as programs pass around."""

    amount = 200


def special(word: str) -> Any:
    """The value of Python that a vector names."""
    nested: list[Any] = []
    for _ in range(70):
        nested = [nested]
    return {
        "date": datetime(2026, 1, 2, tzinfo=timezone.utc),
        "bytes": b"200",
        "set": {200},
        "not a number": float("nan"),
        "infinity": float("inf"),
        "object": Transfer(),
        "nested": nested,
    }[word]


def arguments_of(i: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a guarded call."""
    return i["arguments"] | ({"amount": special(i["amount"])} if "amount" in i else {})


def run_sync(url: str, v: dict[str, Any]) -> Outcome:
    out, i = Outcome(), v["input"]
    named = {k: v[k] for k in ("idempotency_key",) if k in v}
    with Client(url, **options(v)) as c:
        try:
            match v["call"]:
                case "evaluate":
                    out.verdict = c.evaluate(i, **named).overall_verdict
                case "quick":
                    out.verdict = c.quick(**i, **named).overall_verdict
                case "submit":
                    out.verdict = c.submit(i.pop("subject"), **i, **named).overall_verdict
                case "rule":
                    out.slug = c.api.get_rule(i["id"]).slug or ""
                case "stream":
                    for e in c.stream(i):
                        out.event(e)
                case "guard":

                    @c.guard(**guard_options(i))
                    def transfer(account: str, amount: int) -> None:
                        out.ran = True

                    transfer(**arguments_of(i))
                case other:
                    raise AssertionError(other)
        except TenetError as e:
            out.error = e
    return out


async def run_async(url: str, v: dict[str, Any]) -> Outcome:
    out, i = Outcome(), v["input"]
    named = {k: v[k] for k in ("idempotency_key",) if k in v}
    async with AsyncClient(url, **options(v)) as c:
        try:
            match v["call"]:
                case "evaluate":
                    out.verdict = (await c.evaluate(i, **named)).overall_verdict
                case "quick":
                    out.verdict = (await c.quick(**i, **named)).overall_verdict
                case "submit":
                    out.verdict = (await c.submit(i.pop("subject"), **i, **named)).overall_verdict
                case "rule":
                    out.slug = (await c.api.get_rule(i["id"])).slug or ""
                case "stream":
                    async for e in c.stream(i):
                        out.event(e)
                case "guard":

                    @c.guard(**guard_options(i))
                    async def transfer(account: str, amount: int) -> None:
                        out.ran = True

                    await transfer(**arguments_of(i))
                case other:
                    raise AssertionError(other)
        except TenetError as e:
            out.error = e
    return out


@pytest.mark.parametrize("client", ["sync", "async"])
@pytest.mark.parametrize("v", [pytest.param(v, id=f"{file}: {v['name']}") for file, v in CASES])
def test_vector(v: dict[str, Any], client: str) -> None:
    v = {**v, "input": dict(v["input"])}
    started = time.monotonic()
    with Fake(v["answers"]) as fake:
        out = run_sync(fake.url, v) if client == "sync" else asyncio.run(run_async(fake.url, v))
        took = time.monotonic() - started
    want = v["expect"]
    assert out.verdict == want.get("verdict", ""), out.error
    assert out.slug == want.get("slug", "")
    assert out.ran == want.get("ran", False)
    if "events" in want:
        assert out.events == want["events"]
    code = want.get("error", want.get("refusal", ""))
    assert (out.error.code if out.error else "") == code, out.error
    assert isinstance(out.error, Refused) == ("refusal" in want)
    assert want.get("message", "") in str(out.error)
    if "status" in want:
        assert isinstance(out.error, ProblemError)
        assert out.error.status == want["status"]
    if "request_id" in want:
        assert out.error.request_id == want["request_id"]
    if "fields" in want:
        assert out.error.fields == want["fields"]
    assert took * 1000 < want.get("within_ms", 60_000)
    if "requests" in want:
        assert len(fake.received) == want["requests"]
    for sent, got in zip(want.get("sent", []), fake.received, strict=False):
        assert got.method == sent.get("method", got.method)
        assert got.path == sent.get("path", got.path)
        assert got.query == sent.get("query", got.query)
        for name, value in sent.get("headers", {}).items():
            assert got.headers.get(name.lower()) == value
        if "body" in sent:
            assert got.body == sent["body"]
    assert len(fake.received) >= len(want.get("sent", []))
    evaluations = [r for r in fake.received if r.path in ("/api/v1/evaluate", "/api/v1/evaluate/quick", "/api/v1/submissions")]
    for name in want.get("same", []) + want.get("different", []):
        values = [r.headers.get(name.lower()) for r in evaluations]
        assert all(values)
        assert len(set(values)) == (1 if name in want.get("same", []) else len(evaluations))
