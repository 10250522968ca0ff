"""What the hubs share: prompts go out as JSON lines, one task a line."""

from __future__ import annotations

import argparse
import json
import sys


def row(messages: list, label: dict, source: str) -> str:
    """A line of a prompt set. The label is JSON text that only the hub's own agent reads."""
    return json.dumps({"messages": messages, "label": json.dumps(label, ensure_ascii=False), "source": source}, ensure_ascii=False)


def write(lines, path: str | None) -> None:
    out = sys.stdout if path in (None, "-") else open(path, "w", encoding="utf-8")
    count = 0
    try:
        for count, line in enumerate(lines, 1):
            out.write(line + "\n")
    finally:
        if out is not sys.stdout:
            out.close()
            print(f"wrote {count} prompts to {path}", file=sys.stderr)


def parser(description: str) -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--size", type=int, default=100, help="how many tasks")
    p.add_argument("--seed", type=int, default=0, help="which tasks")
    p.add_argument("--config", type=json.loads, default={}, help="settings of the environment, as a JSON object")
    p.add_argument("--out", help="file; standard output without")
    return p
