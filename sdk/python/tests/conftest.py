"""A real server: the program that TENET_PROGRAM names, or that of the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = Path(os.environ.get("TENET_PROGRAM") or Path(__file__).parents[3] / "bin" / "tenet")


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as data:
        command = [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--data", data, "--log-format", "json"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
            try:
                assert process.stderr is not None
                for line in process.stderr:
                    try:
                        entry = json.loads(line)
                    except ValueError:
                        continue
                    if entry.get("msg") == "serving":
                        break
                else:
                    raise RuntimeError(f"{PROGRAM} serve has ended with {process.wait()}")
                yield entry["url"].rstrip("/")
            finally:
                process.terminate()
