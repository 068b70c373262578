"""Client of Tenet: asks before an action whether the rules of an organisation allow it.

    from tenet_sdk import Client

    client = Client()
    evaluation = client.evaluate(files={"settings.py": source})
    if evaluation.overall_verdict != "ALLOW":
        ...  # not allowed; an error is never a permission either
"""

from . import errors, models
from ._client import AsyncClient, Client
from ._operations import AsyncOperations, Operations
from .errors import Denied, NotConfirmed, NotEvaluated, ProblemError, Refused, TenetError
from .guard import Call, GuardOptions, check, check_async
from .models import Evaluation, RuleVerdict

__all__ = [
    "AsyncClient",
    "AsyncOperations",
    "Call",
    "Client",
    "Denied",
    "Evaluation",
    "GuardOptions",
    "NotConfirmed",
    "NotEvaluated",
    "Operations",
    "ProblemError",
    "Refused",
    "RuleVerdict",
    "TenetError",
    "check",
    "check_async",
    "errors",
    "models",
]
