"""Tools of the Anthropic SDK are functions: guard goes below beta_tool."""

from __future__ import annotations

import json

from typing import Any

import httpx2 as http
import pytest
from anthropic import Anthropic, beta_tool
from tenet_sdk import Client

GONE = "http://127.0.0.1:1"  # no server: nothing may run


def run(url: str, amount: int, amounts: list[int]) -> dict[str, object]:
    """The result that the model was told."""
    told: list[dict[str, object]] = []

    def model(request: Any) -> Any:
        body = json.loads(request.content)
        last = body["messages"][-1]["content"]
        content: object = [{"type": "tool_use", "id": "t-1", "name": "transfer", "input": {"account": "NL01", "amount": amount}}]
        if not isinstance(last, str) and any(c["type"] == "tool_result" for c in last):
            told.extend(last)
            content = [{"type": "text", "text": "done"}]
        stop = "end_turn" if told else "tool_use"
        message = {"id": "m-1", "type": "message", "role": "assistant", "model": "fake", "content": content, "stop_reason": stop, "stop_sequence": None}
        return http.Response(200, json={**message, "usage": {"input_tokens": 1, "output_tokens": 1}})

    with Client(url, "", timeout=20) as tenet:

        @beta_tool
        @tenet.guard()
        def transfer(account: str, amount: int) -> str:
            """Transfers money."""
            amounts.append(amount)
            return f"{amount} to {account}"

        anthropic = Anthropic(api_key="none", base_url="http://model.invalid", http_client=http.Client(transport=http.MockTransport(model)))
        messages = [{"role": "user", "content": "Pay"}]
        anthropic.beta.messages.tool_runner(model="fake", max_tokens=100, tools=[transfer], messages=messages).until_done()  # type: ignore[list-item]
    return told[0]


def test_allowed(limited: str) -> None:
    amounts: list[int] = []
    assert "5 to NL01" in json.dumps(run(limited, 5, amounts)["content"])
    assert amounts == [5]


@pytest.mark.parametrize(("gone", "amount", "text"), [(False, 5000, "SDK-1: too large for a program"), (True, 5, "could not be evaluated")])
def test_refused(limited: str, gone: bool, amount: int, text: str) -> None:
    amounts: list[int] = []
    told = run(GONE if gone else limited, amount, amounts)
    assert told["is_error"]
    assert text in json.dumps(told["content"])
    assert amounts == []
