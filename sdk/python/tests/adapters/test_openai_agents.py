from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, ToolInputGuardrailTripwireTriggered, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from tenet_sdk import AsyncClient
from tenet_sdk.adapters.openai_agents import tenet_guardrail

GONE = "http://127.0.0.1:1"  # no server: nothing may run


class Fake(Model):
    """A model that calls transfer once, and then ends."""

    def __init__(self, arguments: str) -> None:
        self.arguments, self.inputs = arguments, []

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        self.inputs.append(input)
        if len(self.inputs) == 1:
            output: Any = ResponseFunctionToolCall(type="function_call", name="transfer", call_id="c-1", arguments=self.arguments, id="f-1")
        else:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            output = ResponseOutputMessage(type="message", id="m-1", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    async def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError
        yield


def run(url: str, arguments: str, *, stop: bool = False) -> tuple[list[int], str]:
    """The amounts that were transferred, and what the model was told."""
    amounts: list[int] = []
    model = Fake(arguments)

    async def main() -> None:
        async with AsyncClient(url, "", timeout=20) as client:

            @function_tool(tool_input_guardrails=[tenet_guardrail(client, stop=stop)])
            def transfer(account: str, amount: int) -> str:
                amounts.append(amount)
                return f"{amount} to {account}"

            await Runner.run(Agent(name="bank", tools=[transfer], model=model), "Pay", run_config=RunConfig(tracing_disabled=True))

    asyncio.run(main())
    return amounts, str(next(i["output"] for i in model.inputs[-1] if i.get("type") == "function_call_output"))


def test_allowed(limited: str) -> None:
    assert run(limited, json.dumps({"account": "NL01", "amount": 5})) == ([5], "5 to NL01")


def test_denied(limited: str) -> None:
    amounts, told = run(limited, json.dumps({"account": "NL01", "amount": 5000}))
    assert amounts == []
    assert "SDK-1: too large for a program" in told


def test_stopped(limited: str) -> None:
    with pytest.raises(ToolInputGuardrailTripwireTriggered):
        run(limited, json.dumps({"account": "NL01", "amount": 5000}), stop=True)


def test_without_a_server() -> None:
    amounts, told = run(GONE, json.dumps({"account": "NL01", "amount": 5}))
    assert amounts == []
    assert "could not be evaluated" in told


def test_a_name_given_twice(limited: str) -> None:
    amounts, told = run(limited, '{"account": "NL01", "amount": 5000, "amount": 5}')
    assert amounts == []
    assert "given twice" in told
