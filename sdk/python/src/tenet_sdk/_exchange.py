"""An exchange with the server that ends by its deadline, whatever the server does.

httpx limits the time of each read, so a server that sends a byte now and then would hold its caller for hours. The asynchronous client cancels
such a read. A thread cannot be cancelled: the synchronous client reads in another one, and its caller waits for what that has read.
"""

from __future__ import annotations

import contextlib
import contextvars
import queue
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any, TypeVar

import anyio
import httpx

from . import errors
from ._call import Request, lost

T = TypeVar("T")


def late(request: Request, url: str) -> errors.DeadlineError:
    return errors.DeadlineError(f"{request.name()}: no answer from {url} in time")


class Exchange:
    """Sends a request from a thread of its own. The answer comes piece by piece until the deadline, on the clock of time.monotonic."""

    status: int
    headers: httpx.Headers

    def __init__(self, http: httpx.Client, arguments: dict[str, Any], request: Request, url: str, deadline: float) -> None:
        self._http, self._arguments, self._request, self._url, self._deadline = http, arguments, request, url, deadline
        self._read: queue.Queue[httpx.Response | bytes | BaseException | None] = queue.Queue(maxsize=8)
        self._connection: Any = None
        self._over = False  # nobody waits any more
        self._ended = False  # the other thread has sent its last item

    def __enter__(self) -> Exchange:
        thread = threading.Thread(target=contextvars.copy_context().run, args=(self._run,), name="tenet-call", daemon=True)
        try:
            thread.start()
        except RuntimeError as e:  # the interpreter is ending, or the system has no more threads
            self._ended = True
            raise errors.UnreachableError(f"{self._request.name()} cannot be sent: {e}") from e
        try:
            head = self._next(False)
        except BaseException:
            self._leave()
            raise
        assert isinstance(head, httpx.Response)
        self.status, self.headers = head.status_code, head.headers
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._leave()

    def pieces(self) -> Iterator[bytes]:
        """The pieces of the body."""
        while (piece := self._next(True)) is not None:
            assert isinstance(piece, bytes)
            yield piece

    def _next(self, began: bool) -> httpx.Response | bytes | None:
        try:
            item = self._read.get(timeout=max(self._deadline - time.monotonic(), 0))
        except queue.Empty:
            raise late(self._request, self._url) from None
        if item is None or isinstance(item, BaseException):
            self._ended = True
        if isinstance(item, httpx.HTTPError):
            raise lost(self._request, self._url, item, began) from item
        if isinstance(item, BaseException):
            raise item
        return item

    def _leave(self) -> None:
        """Has the other thread end: its connection is shut down, and what it has read is dropped."""
        self._over = True
        if self._ended:
            return
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(queue.Empty):
            while True:
                self._read.get_nowait()

    def _run(self) -> None:
        try:
            with self._http.stream(**self._arguments, extensions={"trace": self._trace}) as response:
                self._connection = response.extensions.get("network_stream", self._connection)
                self._read.put(response)
                for piece in response.iter_raw():
                    if self._over:
                        return
                    self._read.put(piece)
            self._read.put(None)
        except BaseException as e:  # noqa: BLE001 # the caller raises it
            self._read.put(e)

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        """Remembers a new connection, so that it can be shut down before the head of an answer is complete."""
        opened = info.get("return_value")
        if event.endswith(".complete") and hasattr(opened, "get_extra_info"):
            self._connection = opened


class AsyncExchange:
    """The same for asynchronous programs."""

    status: int
    headers: httpx.Headers

    def __init__(self, http: httpx.AsyncClient, arguments: dict[str, Any], request: Request, url: str, deadline: float) -> None:
        self._open, self._request, self._url, self._deadline = http.stream(**arguments), request, url, deadline
        self._response: httpx.Response | None = None

    @contextlib.contextmanager
    def _in_time(self) -> Iterator[None]:
        try:
            with anyio.fail_after(max(self._deadline - time.monotonic(), 0)):
                yield
        except TimeoutError as e:
            raise late(self._request, self._url) from e
        except httpx.HTTPError as e:
            raise lost(self._request, self._url, e, self._response is not None) from e

    async def __aenter__(self) -> AsyncExchange:
        with self._in_time():
            self._response = await self._open.__aenter__()
        self.status, self.headers = self._response.status_code, self._response.headers
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._open.__aexit__(kind, error, trace)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The pieces of the body."""
        assert self._response is not None
        pieces = self._response.aiter_raw()
        while True:
            with self._in_time():  # not around the yield: what the caller does is no part of the call
                try:
                    piece = await anext(pieces)
                except StopAsyncIteration:
                    return
            yield piece
