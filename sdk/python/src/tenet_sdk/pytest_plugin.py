"""Rules as tests: pytest evaluates the cases of files that end in .tenet.yaml, each as a test of its own.

    - name: a large payment needs two people
      facts: {transaction_type: payment, amount: 42000, approvals: 1}
      expect: DENY
      rules: [PAY-100]

A case has what an evaluation takes (diff, files, facts, intent, scope, repository, ...), or action, or subject. files may be contents by path.
expect is the overall verdict, and rules those that must be violated, or to be confirmed. The server is that of TENET_URL and TENET_KEY.
Switch it on with `pytest -p tenet_sdk.pytest_plugin`, or in conftest.py with pytest_plugins.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from . import errors, models
from ._client import Client

__all__ = ["pytest_collect_file", "tenet"]


@pytest.fixture(scope="session")
def tenet() -> Iterator[Client]:
    """The client of the server that TENET_URL and TENET_KEY name."""
    with Client() as client:
        yield client


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collects files of cases."""
    if file_path.name.endswith(".tenet.yaml"):
        return CaseFile.from_parent(parent, path=file_path)
    return None


class CaseFile(pytest.File):
    """A file of cases."""

    def collect(self) -> Iterator[pytest.Item]:
        cases = yaml.safe_load(self.path.read_text("utf-8"))
        if not isinstance(cases, list) or not cases:
            raise self.CollectError(f"{self.path}: must be a list of cases")
        for number, case in enumerate(cases, 1):
            if not isinstance(case, dict) or case.get("expect") not in ("ALLOW", "DENY", "NEEDS_CONFIRMATION"):
                raise self.CollectError(f"{self.path}: case {number} needs expect: ALLOW, DENY or NEEDS_CONFIRMATION")
            name = str(case.get("name", f"case {number}"))
            yield Case.from_parent(self, name=name, case=case)


class Unexpected(Exception):
    """Another verdict than the case expects."""


class Case(pytest.Item):
    """One case."""

    def __init__(self, *, case: dict[str, Any], **more: Any) -> None:
        super().__init__(**more)
        self.case = case

    def runtest(self) -> None:
        request = {k: v for k, v in self.case.items() if k not in ("name", "expect", "rules")}
        with Client() as client:
            e: models.Evaluation | models.SubmissionAnswer
            if "action" in request:
                e = client.quick(**request)
            elif "subject" in request:
                e = client.submit(**request)
            else:
                if isinstance(request.get("files"), dict):
                    request["files"] = [{"path": path, "content": content} for path, content in request["files"].items()]
                e = client.evaluate(request)
        found = {name for v in e.violations + e.warnings for name in (v.rule_slug, v.rule_id)}
        missing = [rule for rule in self.case.get("rules", []) if rule not in found]
        if e.overall_verdict != self.case["expect"] or missing:
            lines = [f"the verdict is {e.overall_verdict}, not {self.case['expect']}"] if e.overall_verdict != self.case["expect"] else []
            lines += [f"{rule} has no objection" for rule in missing]
            lines += [f"{v.verdict} {v.rule_slug or v.rule_id}: {v.issue_description or v.reasoning}" for v in e.violations + e.warnings]
            raise Unexpected("\n".join([*lines, f"evaluation {e.evaluation_id}"]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Unexpected | errors.TenetError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.path.name}: {self.name}"
