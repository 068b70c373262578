"""Calls that wait for a person, against a real server with keys."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from tenet_sdk import Client, NotConfirmed


def decide(client: Client, verb: str) -> None:
    """Decides on the first approval that is pending."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        page: dict[str, Any] = client.call("GET", "/api/v1/approvals", dict, query={"project_id": "default", "state": "pending"})
        if page["items"]:
            path = f"/api/v1/approvals/{page['items'][0]['id']}/{verb}"
            client.call("POST", path, dict, body={"reason": "as agreed"}, query={"project_id": "default"})
            return
        time.sleep(0.05)


def test_a_call_waits_for_a_person(guarded_server: str) -> None:
    local = Client(guarded_server, "")
    if "/api/v1/approvals" not in local.call("GET", "/openapi.json", dict)["paths"]:
        pytest.skip("this server has no approvals")
    local.api.create_rule(
        {
            "slug": "SDK-2", "statement": "A person sees transfers above 1,000.", "severity": "HIGH", "status": "EFFECTIVE", "enforcement": "warn",
            "applies_to": {"kinds": ["tool_call"]},
            "check": {"when": "facts.tool == 'transfer'", "cel": "facts.arguments.amount <= 1000", "message": "a person has to see this"},
        }
    )  # fmt: skip
    boss = Client(guarded_server, local.api.create_key({"name": "boss", "role": "admin", "project_id": "*"}).secret)
    bot = Client(guarded_server, boss.api.create_key({"name": "bot", "role": "evaluator", "project_id": "default"}).secret)
    ran = []

    def transfer(amount: int) -> int:
        ran.append(amount)
        return amount

    patient = bot.guard(wait=30, reason="the invoice is due")(transfer)
    for verb in ("approve", "reject"):
        thread = threading.Thread(target=decide, args=(boss, verb))
        thread.start()
        if verb == "approve":
            assert patient(5000) == 5000
        else:  # the approval of before is used up
            with pytest.raises(NotConfirmed, match="is rejected"):
                patient(5000)
        thread.join()
    with pytest.raises(NotConfirmed, match="a person has to see this"):
        bot.guard()(transfer)(5000)
    with pytest.raises(NotConfirmed, match="nobody has decided"):
        bot.guard(wait=0.5)(transfer)(6000)
    assert ran == [5000]
