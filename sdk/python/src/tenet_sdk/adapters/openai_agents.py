"""OpenAI Agents SDK: a guardrail that evaluates each call of a tool before it runs.

    @function_tool(tool_input_guardrails=[tenet_guardrail(client)])
    def transfer(account: str, amount: int) -> str: ...
"""

from __future__ import annotations

from typing import Any

from agents import ToolGuardrailFunctionOutput, ToolInputGuardrail, ToolInputGuardrailData

from .. import errors
from .._client import AsyncClient
from ..guard import Call, GuardOptions, check_async, parse_arguments

__all__ = ["tenet_guardrail"]


def tenet_guardrail(client: AsyncClient, options: GuardOptions | None = None, *, stop: bool = False) -> ToolInputGuardrail[Any]:
    """A guardrail of a tool. A refusal is told to the model in place of the result; with stop it ends the run."""

    async def evaluate(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        name = data.context.tool_name
        try:
            answer = await check_async(client, Call.of(name, parse_arguments(name, data.context.tool_arguments), options))
        except errors.Refused as e:
            info = {"code": e.code, "evaluation_id": e.evaluation.evaluation_id if e.evaluation else None}
            if stop:
                return ToolGuardrailFunctionOutput.raise_exception(info)
            return ToolGuardrailFunctionOutput.reject_content(str(e), info)
        return ToolGuardrailFunctionOutput.allow({"evaluation_id": answer.evaluation_id})

    return ToolInputGuardrail(guardrail_function=evaluate, name="tenet")
