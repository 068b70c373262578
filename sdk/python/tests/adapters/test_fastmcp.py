from __future__ import annotations

import asyncio

import pytest
from fastmcp import Client as MCPClient
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from tenet_sdk import AsyncClient
from tenet_sdk.adapters.fastmcp import TenetMiddleware

GONE = "http://127.0.0.1:1"  # no server: nothing may run


def call(url: str, amount: int, amounts: list[int]) -> str:
    async def main() -> str:
        async with AsyncClient(url, "", timeout=20) as client:
            server: FastMCP = FastMCP("bank", middleware=[TenetMiddleware(client)])

            @server.tool
            def transfer(account: str, amount: int) -> str:
                amounts.append(amount)
                return f"{amount} to {account}"

            async with MCPClient(server) as mcp:
                return str((await mcp.call_tool("transfer", {"account": "NL01", "amount": amount})).data)

    return asyncio.run(main())


def test_allowed(limited: str) -> None:
    amounts: list[int] = []
    assert call(limited, 5, amounts) == "5 to NL01"
    assert amounts == [5]


def test_denied_and_not_evaluated(limited: str) -> None:
    amounts: list[int] = []
    with pytest.raises(ToolError, match="SDK-1: too large for a program"):
        call(limited, 5000, amounts)
    with pytest.raises(ToolError, match="could not be evaluated"):
        call(GONE, 5, amounts)
    assert amounts == []
