from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from tenet_sdk import AsyncClient, Client
from tenet_sdk.adapters.langchain import TenetMiddleware

GONE = "http://127.0.0.1:1"  # no server: nothing may run


class Fake(FakeMessagesListChatModel):
    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self


def agent(middleware: TenetMiddleware, amount: int, amounts: list[int]) -> Any:
    @tool
    def transfer(account: str, amount: int) -> str:
        """Transfers money."""
        amounts.append(amount)
        return f"{amount} to {account}"

    call = {"name": "transfer", "args": {"account": "NL01", "amount": amount}, "id": "c-1"}
    return create_agent(Fake(responses=[AIMessage("", tool_calls=[call]), AIMessage("done")]), [transfer], middleware=[middleware])


def result(state: dict[str, Any]) -> ToolMessage:
    return next(m for m in state["messages"] if isinstance(m, ToolMessage))


INPUT = {"messages": [("user", "Pay")]}


@pytest.mark.parametrize(("amount", "status", "text"), [(5, "success", "5 to NL01"), (5000, "error", "SDK-1: too large for a program")])
def test_invoke(limited: str, amount: int, status: str, text: str) -> None:
    amounts: list[int] = []
    with Client(limited, "") as client:
        m = result(agent(TenetMiddleware(client), amount, amounts).invoke(INPUT))
    assert m.status == status
    assert text in m.content
    assert amounts == ([amount] if status == "success" else [])


@pytest.mark.parametrize(("amount", "status"), [(5, "success"), (5000, "error")])
def test_ainvoke(limited: str, amount: int, status: str) -> None:
    amounts: list[int] = []

    async def main() -> ToolMessage:
        async with AsyncClient(limited, "") as client:
            return result(await agent(TenetMiddleware(client), amount, amounts).ainvoke(INPUT))

    assert asyncio.run(main()).status == status
    assert amounts == ([amount] if status == "success" else [])


def test_without_a_server_or_the_right_client(limited: str) -> None:
    amounts: list[int] = []
    with Client(GONE, "") as client:
        assert "could not be evaluated" in result(agent(TenetMiddleware(client), 5, amounts).invoke(INPUT)).content
    assert "no Client" in result(agent(TenetMiddleware(AsyncClient(limited, "")), 5, amounts).invoke(INPUT)).content
    assert amounts == []
    with pytest.raises(TypeError):
        TenetMiddleware()
