"""A real server: the program that TENET_PROGRAM names, or that of the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PROGRAM = Path(os.environ.get("TENET_PROGRAM") or Path(__file__).parents[3] / "bin" / "tenet")


@contextmanager
def serve() -> Iterator[str]:
    """Runs a server with the starter rules, and gives its address."""
    with tempfile.TemporaryDirectory() as data:
        command = [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--data", data, "--log-format", "json"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
            assert process.stderr is not None
            log = process.stderr
            try:
                for line in log:
                    try:
                        entry = json.loads(line)
                    except ValueError:
                        continue
                    if entry.get("msg") == "serving":
                        break
                else:
                    raise RuntimeError(f"{PROGRAM} serve has ended with {process.wait()}")
                reader = threading.Thread(target=lambda: [None for _ in log], daemon=True)
                reader.start()  # a full pipe would block the server
                yield entry["url"].rstrip("/")
                process.terminate()
                reader.join()
            finally:
                process.terminate()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with serve() as url:
        yield url


@pytest.fixture
def guarded_server() -> Iterator[str]:
    """A server of one test, which may make keys."""
    with serve() as url:
        yield url
