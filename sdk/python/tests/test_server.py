"""The clients against a real server with the starter rules."""

from __future__ import annotations

import asyncio
import functools
import json
import uuid
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any, NamedTuple

import pytest
from tenet_sdk import AsyncClient, Client, Denied, NotConfirmed, NotEvaluated, errors, models
from tenet_sdk.guard import Guard, GuardOptions

SETTINGS = 'import os\n\nAWS_KEY = "AKIAIOSFODNN7EXAMPLE"\n'


@pytest.fixture
def client(server: str) -> Client:
    with Client(server, "") as c:
        yield c


@pytest.fixture(scope="module")
def limit(server: str) -> str:
    """A rule on calls of the tool transfer."""
    with Client(server, "") as c:
        rule = c.api.create_rule(
            models.CreateRule(
                slug="SDK-1",
                statement="Transfers above 1,000 are not made by programs.",
                severity="CRITICAL",
                status="EFFECTIVE",
                applies_to=models.AppliesTo(kinds=["tool_call"]),
                check=models.Check(when="facts.tool == 'transfer'", cel="facts.arguments.amount <= 1000", message="too large for a program"),
            )
        )
    return rule.id


def test_a_file_that_breaks_a_rule(client: Client) -> None:
    e = client.evaluate(files={"settings.py": SETTINGS})
    assert e.overall_verdict == "DENY"
    assert any(v.locations and v.locations[0].file_path == "settings.py" and v.locations[0].start_line == 3 for v in e.violations)
    assert isinstance(e.timestamp, datetime)
    assert client.api.get_evaluation(e.evaluation_id).evaluation.overall_verdict == "DENY"


def test_a_stream_ends_with_the_evaluation(client: Client) -> None:
    *verdicts, last = client.stream(files={"settings.py": SETTINGS})
    assert isinstance(last, models.Evaluation)
    assert last.overall_verdict == "DENY"
    assert {v.rule_id for v in last.rule_verdicts} <= {v.rule_id for v in verdicts if isinstance(v, models.RuleVerdict)}


def test_submissions_have_a_name(client: Client) -> None:
    name = f"PMT-{uuid.uuid4()}"
    subject = models.TransactionSubject(transaction_type="payment", amount=42000, currency="EUR", facts={"requester": "a", "approver": "a"})
    first = client.submit(subject, submission_id=name)
    assert (first.submission_id, first.subject_kind, first.overall_verdict) == (name, "transaction", "DENY")
    assert client.submit(subject, submission_id=name).evaluation_id == first.evaluation_id
    with pytest.raises(errors.ConflictError) as e:
        client.submit({"kind": "transaction", "amount": 1}, submission_id=name)
    assert e.value.status == 409


def test_work_in_the_background(client: Client) -> None:
    state = client.submit_later({"kind": "communication", "channel": "email", "content": "Hello"})
    assert client.wait(state.submission_id, timeout=30).status == "completed"


def test_rules_and_lists(client: Client, limit: str) -> None:
    assert client.api.get_rule("SDK-1").id == limit
    page = client.api.list_rules(severity="CRITICAL", page_size=5)
    assert len(page.items) == 5
    assert page.total > 5
    changed = client.api.revise_rule(limit, models.ReviseRule(rationale="Programs make mistakes at speed."))
    assert changed.version == 2
    assert client.api.revise_rule(limit, {"rationale": ""}, if_match='"2"').version == 3
    with pytest.raises(errors.PreconditionError):
        client.api.revise_rule(limit, {"rationale": "late"}, if_match='"1"')
    since = datetime(2026, 1, 1, tzinfo=timezone.utc)
    assert client.api.list_evaluations(since=since, verdict="DENY").items


def test_problems_name_their_fields(client: Client) -> None:
    with pytest.raises(errors.InvalidError) as e:
        client.evaluate(facts={}, max_rules=0)
    assert list(e.value.fields) == ["max_rules"]
    assert e.value.request_id
    with pytest.raises(errors.NotFoundError):
        client.api.get_rule("NO-1")


def test_a_document(client: Client) -> None:
    name = f"policy-{uuid.uuid4()}.md"
    made = client.api.upload_document(file=(name, b"# Payments\n\nPayments above 10,000 must be approved by two people.\n"), title="Payments")
    assert made.title == "Payments"
    client.api.delete_document(made.document_id)


def test_a_guarded_function(client: Client, limit: str) -> None:
    runs = []

    class Bank:
        @client.guard(server="bank")
        def transfer(self, account: str, amount: int = 500) -> str:
            runs.append(amount)
            return f"{amount} to {account}"

    with pytest.raises(Denied, match="too large for a program") as e:
        Bank().transfer("NL01", amount=5000)
    assert e.value.evaluation is not None
    assert runs == []
    assert Bank().transfer("NL01") == "500 to NL01"


def test_a_refusal_says_that_no_rule_covers_a_call(client: Client, limit: str) -> None:
    @client.guard(server="bank")
    def close_account(account: str) -> None:
        raise AssertionError("must not run")

    with pytest.raises(NotConfirmed, match="No rule covers this"):
        close_account("NL01")


def test_a_guarded_coroutine(server: str, limit: str) -> None:
    async def main() -> None:
        async with AsyncClient(server, "") as client:

            @client.guard()
            async def transfer(account: str, amount: int) -> str:
                return account

            with pytest.raises(Denied):
                await transfer("NL01", 5000)
            assert await transfer("NL01", 5) == "NL01"

    asyncio.run(main())


def test_arguments_that_cannot_be_shown_are_not_run(client: Client) -> None:
    @client.guard()
    def send(to: object) -> None:
        raise AssertionError("must not run")

    with pytest.raises(NotEvaluated, match="arguments are not JSON"):
        send(object())
    with pytest.raises(NotEvaluated, match="arguments are not JSON"):
        send(float("nan"))

    # What a function can read although no rule would see it.
    class Other(dict[str, int]):
        def __getitem__(self, name: str) -> int:
            return 5000

    class Items(list[int]):
        def __iter__(self) -> Iterator[int]:
            return iter([1])

    class Item(list[int]):
        def __getitem__(self, at: Any) -> Any:
            return 5000

    class Get(OrderedDict[str, int]):
        def get(self, name: str, other: Any = None) -> Any:
            return 5000

    for value in (defaultdict(lambda: 5000), Other(amount=1), Items([5000]), Item([1]), Get(amount=1)):
        with pytest.raises(NotEvaluated, match="arguments are not JSON"):
            send(value)

    class Attributes(dict[str, int]):
        def __getattr__(self, name: str) -> int:
            return self[name]

    class Pair(NamedTuple):
        first: int
        second: int

    for plain, seen in ((OrderedDict(amount=5), {"amount": 5}), (Attributes(amount=5), {"amount": 5}), (Pair(1, 2), [1, 2])):
        shown = Guard(GuardOptions())._call(lambda to: None, (plain,), {})
        assert json.loads(shown.arguments) == {"to": seen}


def test_no_argument_hides_another(client: Client, limit: str) -> None:
    @client.guard()
    def transfer(amount: int, /, **more: object) -> None:
        raise AssertionError("must not run")

    with pytest.raises(NotEvaluated, match="two of its arguments have the name amount"):
        transfer(5000, amount=1)

    def local(self: int, amount: int) -> None:
        raise AssertionError("must not run")

    seen: list[dict[str, object]] = []

    class Seeing(Client):
        def submit(self, subject: object, **kwargs: object) -> models.SubmissionAnswer:  # type: ignore[override]
            seen.append(subject["arguments"])  # type: ignore[index]
            return super().submit(subject, **kwargs)  # type: ignore[arg-type]

    with pytest.raises(Denied):
        Seeing(client._settings.url, "").guard(tool="transfer")(local)(1, 5000)
    assert seen == [{"self": 1, "amount": 5000}]


def test_what_is_bound_beforehand_is_shown(client: Client, limit: str) -> None:
    class Bank:
        def pay(self, cls: dict[str, int], to: str = "bob") -> str:
            return to

        def send(self, amount: int) -> int:
            return amount

    def transfer(amount: int, to: str = "bob") -> str:
        return to

    for blocked in (
        functools.partial(transfer, 5000),
        functools.partial(transfer, to="eve", amount=5000),
        functools.partial(functools.partial(transfer, to="eve"), 5000),
    ):
        with pytest.raises(Denied):
            client.guard(tool="transfer")(blocked)()
    assert client.guard(tool="transfer")(functools.partial(transfer, 5))(to="ann") == "ann"
    with pytest.raises(Denied):
        client.guard(tool="transfer")(Bank().send)(5000)
    assert client.guard(tool="transfer")(Bank().send)(5) == 5
    guard = Guard(GuardOptions())
    shown = guard._call(Bank().pay, ({"amount": 5000},), {})
    assert json.loads(shown.arguments) == {"cls": {"amount": 5000}, "to": "bob"}
    assert json.loads(guard._call(Bank.send, (Bank(), 7), {}).arguments) == {"amount": 7}


def test_arguments_that_change_meanwhile_are_not_run(server: str) -> None:
    class Changing(Client):
        def submit(self, *args: object, **kwargs: object) -> models.SubmissionAnswer:
            amounts.append(5000)
            return super().submit({"kind": "tool_call", "tool": "transfer", "arguments": {"amount": 1}})

    amounts = [1]
    client = Changing(server, "")

    @client.guard(tool="transfer")
    def transfer(amounts: list[int]) -> None:
        raise AssertionError("must not run")

    with pytest.raises(NotEvaluated, match="changed"):
        transfer(amounts)


def test_a_guard_does_not_mix_kinds_of_functions(server: str) -> None:
    async def coroutine() -> None: ...

    with pytest.raises(TypeError, match="AsyncClient"):
        Client(server).guard()(coroutine)
    with pytest.raises(TypeError, match="Client"):
        AsyncClient(server).guard()(lambda: None)


def test_addresses_and_times_are_checked() -> None:
    for url in ("localhost:8080", "ftp://x", "http://"):
        with pytest.raises(ValueError, match="not the address"):
            Client(url)
    with pytest.raises(ValueError, match="timeout"):
        Client("http://127.0.0.1:1", timeout=0)
    with pytest.raises(errors.UnreachableError, match="tenet serve"):
        Client("http://127.0.0.1:1", timeout=5).evaluate(facts={})
