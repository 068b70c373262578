"""Server-sent events of an evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterator

from . import errors, models
from ._call import Answer, Request, decode


class Events:
    """Reads events from the pieces of a body. An evaluation ends the stream; a stream that ends without one is an error."""

    def __init__(self, request: Request, answer: Answer) -> None:
        media = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if media != "text/event-stream":
            raise errors.AnswerError(f"{request.name()}: the server's answer is {media!r} in place of events; is it a Tenet server?")
        self._request, self._headers, self._rest, self._size, self.done = request, answer.headers, b"", 0, False

    def feed(self, piece: bytes) -> Iterator[models.RuleVerdict | models.Evaluation]:
        self._size += len(piece)
        if self._size > self._request.limit:
            raise errors.AnswerError(f"{self._request.name()}: the server's answer has more than {self._request.limit >> 20} MiB", "too_large")
        *events, self._rest = (self._rest + piece).replace(b"\r\n", b"\n").split(b"\n\n")
        for event in events:
            kind, data = "", []
            for line in event.split(b"\n"):
                name, _, value = line.partition(b":")
                if name == b"event":
                    kind = value.strip().decode(errors="replace")
                elif name == b"data":
                    data.append(value.removeprefix(b" "))
            if self.done:
                raise errors.AnswerError(f"{self._request.name()}: the server goes on after the end of the stream")
            body = b"\n".join(data)
            if kind == "verdict":
                yield decode(self._request.name(), body, models.RuleVerdict)
            elif kind == "done":
                evaluation = decode(self._request.name(), body, models.Evaluation)
                self.done = True
                yield evaluation
            elif kind == "error":
                raise self._problem(body)

    def _problem(self, body: bytes) -> errors.ProblemError:
        status = 500
        try:
            given = json.loads(body)
            status = int(given["status"])
        except (ValueError, KeyError, TypeError):
            pass
        return Answer(status, self._headers, bytearray(body)).problem()

    def end(self) -> None:
        if not self.done:
            raise errors.AnswerError(f"{self._request.name()}: the stream ended before the evaluation")
