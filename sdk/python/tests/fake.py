"""A server that answers as a vector says."""

from __future__ import annotations

import io
import json
import threading
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, urlsplit

VECTORS = Path(__file__).parents[2] / "vectors"
BASE = json.loads((VECTORS / "evaluation.json").read_text())


def evaluation(changes: dict[str, Any], rules: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    out = {**BASE, **changes, "coverage": {**BASE["coverage"], **changes.get("coverage", {})}}
    if rules:
        out["rule_verdicts"] = [{**BASE["rule_verdicts"][0], **r} for r in rules]
    return out


def content(answer: dict[str, Any]) -> tuple[bytes, str]:
    """The body of an answer and its media type."""
    if "evaluation" in answer:
        return json.dumps(evaluation(answer["evaluation"], answer.get("rules"))).encode(), "application/json"
    if "json" in answer:
        return json.dumps(answer["json"]).encode(), "application/json"
    if "events" in answer:
        text = ""
        for e in answer["events"]:
            if "comment" in e:
                text += f": {e['comment']}\n\n"
                continue
            if "rule" in e:
                value = {**BASE["rule_verdicts"][0], **e["rule"]}
            elif "evaluation" in e:
                value = evaluation(e["evaluation"], e.get("rules"))
            else:
                value = e["json"]
            text += f"event: {e['event']}\ndata: {json.dumps(value)}\n\n"
        return text.encode(), "text/event-stream"
    return answer.get("body", "").encode(), ""


@dataclass
class Received:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


class Drip(io.BufferedIOBase):
    """Writes a byte at a time, with a pause before each."""

    def __init__(self, to: io.BufferedIOBase, pause_ms: int) -> None:
        self._to, self._pause = to, pause_ms / 1000

    def write(self, data: Any) -> int:
        for i in range(len(data)):
            time.sleep(self._pause)
            self._to.write(data[i : i + 1])
            self._to.flush()
        return len(data)


@dataclass
class Fake:
    answers: list[dict[str, Any]]
    received: list[Received] = field(default_factory=list)

    def __enter__(self) -> Fake:
        fake, lock = self, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                url = urlsplit(self.path)
                sent = Received(self.command, url.path, dict(parse_qsl(url.query)), {k.lower(): v for k, v in self.headers.items()}, json.loads(body or b"null"))
                with lock:
                    fake.received.append(sent)
                    answer = fake.answers[min(len(fake.received), len(fake.answers)) - 1]
                try:
                    self.answer(answer)
                except OSError:
                    pass  # the client takes no more

            do_GET = do_POST = handle_any

            def answer(self, answer: dict[str, Any]) -> None:
                self.close_connection = True
                if answer.get("drop"):
                    return
                time.sleep(answer.get("delay_ms", 0) / 1000)
                data, media = content(answer)
                headers = {"Content-Type": media, **answer.get("headers", {})} if media else answer.get("headers", {})
                if "retry_after_date" in answer:
                    headers = {**headers, "Retry-After": formatdate(time.time() + answer["retry_after_date"], usegmt=True)}
                whole, body_only = answer.get("drip_ms", 0), answer.get("drip_body_ms", 0)
                if whole:
                    self.wfile = Drip(self.wfile, whole)
                self.send_response(answer.get("status", 200))
                for name, value in headers.items():
                    self.send_header(name, value)
                fill, cut = answer.get("fill", 0), answer.get("cut", 0)
                self.send_header("Content-Length", str(100_000 if cut else fill + len(data)))
                self.send_header("Connection", "close")
                self.end_headers()
                if body_only:
                    self.wfile = Drip(self.wfile, body_only)
                for _ in range(fill >> 16):
                    self.wfile.write(b" " * (1 << 16))
                self.wfile.write(data[: cut or None])

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
