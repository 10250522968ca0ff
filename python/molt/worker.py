"""The process in which agents run: `python -m molt.worker FILE.py`.

It reads one JSON request a line from what was standard input, and writes one JSON answer a line to what was standard
output. What the agent itself prints goes to standard error. Requests run side by side on one event loop:

    {"id": 1, "do": "hello"}                                    → {"id": 1, "ok": {"kind": "env" | "chat", …}}
    {"id": 2, "do": "reset", "rollout": "a", "state": {…}}      → {"id": 2, "ok": {"observation": …, "images": […]}}
    {"id": 3, "do": "step", "rollout": "a", "state": {…}}       → {"id": 3, "ok": {"reward": …}}
    {"id": 4, "do": "close", "rollout": "a"}                    → {"id": 4, "ok": {}}
    {"id": 5, "do": "run", "rollout": "b", "context": {…}}      → {"id": 5, "ok": {"reward": …}}
    {"do": "cancel", "call": 5}                                   the call ends, with an error
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
import os
import sys
import threading
import traceback

from molt import agents

LINE = 64 << 20  # bytes of one request


def load(path: str) -> agents.Runner:
    """The AgentRunner of a file."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("agent_file", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["agent_file"] = module
    spec.loader.exec_module(module)
    cls = getattr(module, "AgentRunner", None)
    if cls is None:
        raise ImportError(f"{path} has no class AgentRunner")
    if not (isinstance(cls, type) and issubclass(cls, agents.Runner)):
        raise TypeError(f"AgentRunner of {path} is not derived from molt.agents.StepEnvRunner or ChatAgentRunner")
    runner = cls()
    if not isinstance(runner, (agents.StepEnvRunner, agents.ChatAgentRunner)):
        raise TypeError(f"AgentRunner of {path} has its own way to run rollouts; derive it from StepEnvRunner or ChatAgentRunner")
    return runner


HERE = os.path.dirname(os.path.abspath(__file__))
TRACE = 16 << 10  # characters of a traceback


def failure(e: BaseException, path: str) -> dict:
    """What went wrong: in a line, where in the user's files, and as Python prints it without the frames of this module."""
    told = traceback.TracebackException.from_exception(e)
    whole = told
    folder, at = os.path.dirname(os.path.abspath(path)) + os.sep, ""
    for frame in told.stack:
        if os.path.abspath(frame.filename).startswith(folder) and not ours(frame):
            at = f"{os.path.basename(frame.filename)}:{frame.lineno} in {frame.name}"
    while told is not None:
        told.stack = traceback.StackSummary.from_list([frame for frame in told.stack if not ours(frame)])
        told = told.__cause__ or told.__context__
    return {"error": list(whole.format_exception_only())[-1].strip(), "at": at, "trace": "".join(whole.format())[-TRACE:]}


def ours(frame) -> bool:
    return os.path.dirname(os.path.abspath(frame.filename)) == HERE or frame.filename.startswith("<frozen ")


class Worker:
    def __init__(self, path: str, out):
        self.path, self.out, self.lock = path, out, threading.Lock()
        self.pid = os.getpid()
        self.runner = None
        self.envs: dict[str, agents.Env] = {}
        self.labels: dict[str, object] = {}
        self.calls: dict[int, asyncio.Task] = {}

    def answer(self, message: dict):
        if os.getpid() != self.pid:  # an agent forked, and its child came back here: the answer is the parent's
            os._exit(0)
        line = json.dumps(message, ensure_ascii=True).encode() + b"\n"
        with self.lock:
            self.out.write(line)
            self.out.flush()

    async def call(self, request: dict):
        try:
            do = getattr(self, "do_" + request["do"])
            done = await do(request)
            self.answer({"id": request["id"], "ok": done})
        except (Exception, SystemExit, asyncio.CancelledError) as e:  # an agent's failure is an answer
            self.answer({"id": request["id"], **failure(e, self.path)})
        finally:
            self.calls.pop(request["id"], None)

    async def do_hello(self, _):
        self.runner = load(self.path)
        kind = "env" if isinstance(self.runner, agents.StepEnvRunner) else "chat"
        return {"kind": kind, "python": sys.version.split()[0], "pid": os.getpid()}

    async def do_reset(self, request):
        name, state = request["rollout"], request["state"]
        env = self.envs[name] = self.runner.env_class()
        self.labels[name] = state.get("label")
        begun = await settle(env.reset(dict(state)))
        if not isinstance(begun, dict) or not isinstance(begun.get("observation"), str):
            raise TypeError('reset must return a dict with the text "observation"')
        self.labels[name] = begun.get("label", self.labels[name])
        return {"observation": begun["observation"], "images": agents.pictures(begun.get("images", state.get("images")), "reset")}

    async def do_step(self, request):
        name, state = request["rollout"], dict(request["state"])
        state["label"] = self.labels[name]
        state["sampling_params"] = agents.SamplingParams(state["sampling_params"])
        return agents.checked(await settle(self.envs[name].step(state)), "step")

    async def do_close(self, request):
        self.labels.pop(request["rollout"], None)
        env = self.envs.pop(request["rollout"], None)
        if env is not None:
            await settle(env.close())
        return {}

    async def do_run(self, request):
        context = dict(request["context"])
        context["sampling_params"] = agents.SamplingParams(context["sampling_params"])
        agent = self.runner.agent_class()
        return agents.checked(await settle(agent.run(agents.ChatContext(**context))), "run")

    async def serve(self, lines: asyncio.Queue):
        while (line := await lines.get()) is not None:
            request = json.loads(line)
            if request["do"] == "cancel":
                task = self.calls.get(request["call"])
                if task is not None:
                    task.cancel()
                continue
            self.calls[request["id"]] = asyncio.ensure_future(self.call(request))
        waiting = list(self.calls.values())
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for name in list(self.envs):
            try:
                await self.do_close({"rollout": name})
            except Exception:
                traceback.print_exc()


async def settle(value):
    """The value of a method that may have been written without async."""
    return await value if inspect.isawaitable(value) else value


def main():
    # The agent may print, and start programs that read: neither may touch the protocol.
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)

    async def run():
        lines: asyncio.Queue = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def read():
            while line := source.readline(LINE):
                loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, None)

        threading.Thread(target=read, daemon=True).start()
        await Worker(sys.argv[1], sink).serve(lines)

    asyncio.run(run())


if __name__ == "__main__":
    main()
