"""Passes when scratch is empty and the other files are still there."""

import sys
from pathlib import Path

folder, nonce = Path(sys.argv[1]), sys.argv[2]
left = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
print(nonce, 1.0 if left == ["notes.txt", "out/left.txt", "src/main.c"] else 0.0)
