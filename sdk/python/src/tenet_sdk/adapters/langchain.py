"""LangChain and LangGraph: a middleware that evaluates each call of a tool before it runs.

    agent = create_agent(model, tools, middleware=[TenetMiddleware(client)])
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from .. import errors
from .._client import AsyncClient, Client
from ..guard import Call, GuardOptions, check, check_async

__all__ = ["TenetMiddleware"]


class TenetMiddleware(AgentMiddleware):
    """Evaluates each call of a tool. A refusal is told to the model in place of the result.

    invoke needs a Client, ainvoke an AsyncClient; give both to an agent that is used both ways.
    """

    def __init__(self, *clients: Client | AsyncClient, options: GuardOptions | None = None) -> None:
        super().__init__()
        self._client = next((c for c in clients if isinstance(c, Client)), None)
        self._async_client = next((c for c in clients if isinstance(c, AsyncClient)), None)
        if self._client is None and self._async_client is None:
            raise TypeError("TenetMiddleware needs a Client, an AsyncClient, or both")
        self._options = options

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]) -> ToolMessage | Command[Any]:
        """Evaluates a call, and carries it out on ALLOW only."""
        if self._client is None:
            return _refused(request, errors.NotEvaluated("not run: the middleware has no Client for invoke; give TenetMiddleware one"))
        try:
            check(self._client, self._call(request))
        except errors.Refused as e:
            return _refused(request, e)
        return handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Evaluates a call, and carries it out on ALLOW only."""
        if self._async_client is None:
            return _refused(request, errors.NotEvaluated("not run: the middleware has no AsyncClient for ainvoke; give TenetMiddleware one"))
        try:
            await check_async(self._async_client, self._call(request))
        except errors.Refused as e:
            return _refused(request, e)
        return await handler(request)

    def _call(self, request: ToolCallRequest) -> Call:
        return Call.of(request.tool_call["name"], request.tool_call["args"], self._options)


def _refused(request: ToolCallRequest, e: errors.Refused) -> ToolMessage:
    return ToolMessage(content=str(e), tool_call_id=request.tool_call["id"] or "", name=request.tool_call["name"], status="error")
