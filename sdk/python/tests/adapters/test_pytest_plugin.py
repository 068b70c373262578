from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

CASES = """
- name: a small transfer
  subject: {kind: tool_call, tool: transfer, arguments: {amount: 5}}
  expect: ALLOW
- name: a key in a file
  files: {settings.py: 'AWS_KEY = "AKIAIOSFODNN7EXAMPLE"'}
  expect: DENY
  rules: [SEC-001]
- name: a large transfer
  subject: {kind: tool_call, tool: transfer, arguments: {amount: 5000}}
  expect: ALLOW
- name: the wrong rule
  subject: {kind: tool_call, tool: transfer, arguments: {amount: 5000}}
  expect: DENY
  rules: [SDK-2]
"""


def test_cases_are_tests(pytester: pytest.Pytester, limited: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENET_URL", limited)
    pytester.makefile(".tenet.yaml", payments=CASES)
    run = pytester.runpytest_subprocess("-p", "tenet_sdk.pytest_plugin", "-rA")
    run.assert_outcomes(passed=2, failed=2)
    run.stdout.fnmatch_lines(["*the verdict is DENY, not ALLOW*", "*SDK-1: too large for a program*", "*SDK-2 has no objection*"])


def test_files_that_are_no_cases(pytester: pytest.Pytester) -> None:
    pytester.makefile(".tenet.yaml", a="{}", b="[]", c="- name: x", d="- {expect: PROBABLY}")
    run = pytester.runpytest_subprocess("-p", "tenet_sdk.pytest_plugin")
    run.assert_outcomes(errors=4)
    run.stdout.fnmatch_lines(["*must be a list of cases*", "*needs expect: ALLOW*"])


def test_no_server(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENET_URL", "http://127.0.0.1:1")
    pytester.makefile(".tenet.yaml", payments="- {action: Send a letter, expect: ALLOW}")
    pytester.runpytest_subprocess("-p", "tenet_sdk.pytest_plugin").assert_outcomes(failed=1)
