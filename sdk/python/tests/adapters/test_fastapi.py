from __future__ import annotations

from fastapi import FastAPI
from fastapi.testclient import TestClient
from tenet_sdk import Client
from tenet_sdk.adapters.starlette import refusals

GONE = "http://127.0.0.1:1"  # no server: nothing may run


def app(url: str, amounts: list[int]) -> TestClient:
    tenet = Client(url, "", timeout=20)
    app = FastAPI(exception_handlers=refusals)

    @app.post("/transfers")
    @tenet.guard(server="bank")
    def transfer(account: str, amount: int) -> dict[str, int]:
        amounts.append(amount)
        return {"amount": amount}

    return TestClient(app)


def test_routes_are_guarded(limited: str) -> None:
    amounts: list[int] = []
    client = app(limited, amounts)
    assert client.post("/transfers?account=NL01&amount=5").json() == {"amount": 5}
    refused = client.post("/transfers?account=NL01&amount=5000")
    assert refused.status_code == 403
    assert refused.headers["content-type"] == "application/problem+json"
    assert "SDK-1: too large for a program" in refused.json()["detail"]
    gone = app(GONE, amounts).post("/transfers?account=NL01&amount=5")
    assert gone.status_code == 503
    assert "127.0.0.1" not in gone.text
    assert amounts == [5]
