#!/usr/bin/env python3
"""Unpacks a container image from an OCI layout: unpack-image.py LAYOUT ARCHITECTURE FOLDER. Prints its configuration."""

import hashlib
import json
import pathlib
import sys
import tarfile

layout, architecture, folder = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]


def blob(descriptor: dict) -> pathlib.Path:
    """Return the file of a descriptor, whose digest and size must be right."""
    algorithm, digest = descriptor["digest"].split(":")
    path = layout / "blobs" / algorithm / digest
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest or len(content) != descriptor["size"]:
        sys.exit("unpack-image: %s is damaged" % path)
    return path


def read(descriptor: dict) -> dict:
    return json.loads(blob(descriptor).read_text())


index = read(json.loads((layout / "index.json").read_text())["manifests"][0])
image = next(m for m in index["manifests"] if m["platform"] == {"architecture": architecture, "os": "linux"})
manifest = read(image)
for layer in manifest["layers"]:
    with tarfile.open(blob(layer)) as tar:
        tar.extractall(folder, numeric_owner=True, filter="fully_trusted")
print(json.dumps(read(manifest["config"])["config"], indent=1))
