"""Writes what the servers of serve.py say: `record.py CACHE FOLDER` makes FOLDER/echo.jsonl and FOLDER/tools.jsonl, whose first
line is the schema and whose others are [what was sent, what was answered]."""

import asyncio
import json
import os
import subprocess
import sys
import urllib.request

import websockets

CALLS = {
    "echo": [
        {"type": "reset", "data": {"seed": 7}},
        {"type": "step", "data": {"message": "hi"}},
        {"type": "step", "data": {"massage": "hi"}},
        {"type": "step", "data": {"message": "hello, you there"}},
        {"type": "fly"},
    ],
    "tools": [
        {"type": "reset", "data": {"sum": "5", "seed": 7}},
        {"type": "step", "data": {"type": "list_tools"}},
        {"type": "step", "data": {"type": "call_tool", "tool_name": "add", "arguments": {"a": 2, "b": 3}}},
        {"type": "step", "data": {"type": "call_tool", "tool_name": "divide", "arguments": {}}},
        {"type": "step", "data": {"type": "call_tool", "tool_name": "add", "arguments": {"a": "two"}}},
        {"type": "step", "data": {"type": "say", "text": "five"}},
        {"type": "step", "data": {"type": "call_tool", "tool_name": "answer", "arguments": {"value": 5}}},
    ],
}


async def talk(address: str, calls: list):
    async with websockets.connect(address.replace("http", "ws") + "/ws") as ws:
        for call in calls:
            await ws.send(json.dumps(call))
            yield [call, json.loads(await ws.recv())]
    crowd = [await websockets.connect(address.replace("http", "ws") + "/ws") for _ in range(3)]  # one more than there is room for
    await crowd[0].send('{"type": "reset", "data": {}}')
    await crowd[0].recv()
    yield [None, json.loads(await crowd[2].recv())]
    for ws in crowd:
        await ws.close()


async def record(cache: str, kind: str, path: str):
    served = subprocess.Popen([sys.executable, os.path.join(os.path.dirname(__file__), "serve.py"), cache, kind], stdout=subprocess.PIPE, text=True)
    try:
        address = served.stdout.readline().strip()
        with urllib.request.urlopen(address + "/schema") as answer:
            lines = [json.load(answer)]
        lines += [line async for line in talk(address, CALLS[kind])]
    finally:
        served.kill()
    with open(path, "w") as out:
        out.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


for kind in CALLS:
    asyncio.run(record(sys.argv[1], kind, os.path.join(sys.argv[2], kind + ".jsonl")))
