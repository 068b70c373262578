"""FastMCP: a middleware of a server that evaluates each call of a tool before it runs.

    server = FastMCP("bank", middleware=[TenetMiddleware(client)])
"""

from __future__ import annotations

from typing import Any

from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

from .. import errors
from .._client import AsyncClient
from ..guard import Call, GuardOptions, check_async

__all__ = ["TenetMiddleware"]


class TenetMiddleware(Middleware):
    """Evaluates each call of a tool. A refusal is an error of the tool that says which rule, and what to do."""

    def __init__(self, client: AsyncClient, options: GuardOptions | None = None) -> None:
        self._client, self._options = client, options

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """Evaluates a call, and carries it out on ALLOW only."""
        try:
            await check_async(self._client, Call.of(context.message.name, context.message.arguments or {}, self._options))
        except errors.Refused as e:
            raise ToolError(str(e)) from e
        return await call_next(context)
