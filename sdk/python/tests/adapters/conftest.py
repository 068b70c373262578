"""A rule on calls of the tool transfer, for all adapters."""

from __future__ import annotations

import pytest
from tenet_sdk import Client, models


@pytest.fixture(scope="session")
def limited(server: str) -> str:
    """The address of a server whose rules deny large transfers."""
    with Client(server, "") as c:
        c.api.create_rule(
            models.CreateRule(
                slug="SDK-1",
                statement="Transfers above 1,000 are not made by programs.",
                severity="CRITICAL",
                status="EFFECTIVE",
                applies_to=models.AppliesTo(kinds=["tool_call"]),
                check=models.Check(when="facts.tool == 'transfer'", cel="facts.arguments.amount <= 1000", message="too large for a program"),
            )
        )
    return server

