"""The thread that reads an answer ends with its call."""

from __future__ import annotations

import contextvars
import json
import threading
import time

import httpx
import pytest
from fake import BASE, Fake
from tenet_sdk import Client
from tenet_sdk.errors import DeadlineError, UnreachableError


def threads_end(seconds: float = 5.0) -> bool:
    """Whether no thread of a call is left, soon."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not any(t.name == "tenet-call" for t in threading.enumerate()):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("slow", [{"drip_ms": 100}, {"drip_body_ms": 100}])
def test_a_call_that_is_late_leaves_no_thread(slow: dict[str, int]) -> None:
    with Fake([{"evaluation": {}, **slow}]) as fake, Client(fake.url, timeout=0.5) as client:
        with pytest.raises(DeadlineError):
            client.evaluate(facts={"amount": 1})
        assert threads_end()


def test_a_stream_that_is_left_leaves_no_thread() -> None:
    rule = {"event": "verdict", "rule": {}}
    with Fake([{"events": [rule] * 3, "drip_body_ms": 1}]) as fake, Client(fake.url) as client:
        stream = client.stream(facts={"amount": 1})
        next(stream)
        stream.close()  # type: ignore[attr-defined]
        assert threads_end()


def test_the_transport_sees_the_context_of_the_caller() -> None:
    trace: contextvars.ContextVar[str] = contextvars.ContextVar("trace")
    seen = []

    def answer(_: httpx.Request) -> httpx.Response:
        seen.append(trace.get("none"))
        return httpx.Response(200, stream=httpx.ByteStream(json.dumps(BASE).encode()))

    with Client(http=httpx.Client(transport=httpx.MockTransport(answer))) as client:
        trace.set("of the caller")
        assert client.evaluate(facts={"amount": 1}).overall_verdict == "ALLOW"
    assert seen == ["of the caller"]


def test_without_threads_a_call_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with Fake([{"evaluation": {}}]) as fake, Client(fake.url) as client:
        monkeypatch.setattr(threading.Thread, "start", start)
        with pytest.raises(UnreachableError, match="can't start new thread"):
            client.evaluate(facts={"amount": 1})
