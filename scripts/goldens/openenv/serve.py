"""Serves an environment on a free port of the loopback and prints its address: `serve.py CACHE echo|tools [SESSIONS]`.

echo is the package's own example, as `openenv init` writes it; tools is an MCP environment whose episode ends with the right
sum."""

import socket
import sys

import uvicorn


def echo():
    from server.echo_world_environment import EchoWorldEnvironment
    from models import EchoWorldAction, EchoWorldObservation

    return EchoWorldEnvironment, EchoWorldAction, EchoWorldObservation


def tools():
    from fastmcp import FastMCP
    from openenv.core.env_server.mcp_environment import MCPEnvironment
    from openenv.core.env_server.types import Action, Observation, State

    class Sums(MCPEnvironment):
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self):
            mcp = FastMCP("sums")

            @mcp.tool()
            def add(a: int, b: int) -> int:
                """Adds two numbers."""
                return a + b

            @mcp.tool()
            def answer(value: int) -> str:
                """Says the sum."""
                self.answered = value
                return "noted"

            super().__init__(mcp)
            self.answered = self.sum = None

        def reset(self, seed=None, episode_id=None, sum=None, **kwargs):
            self.answered, self.sum = None, sum
            return Observation()

        def _step_impl(self, action, timeout_s=None, **kwargs):
            raise ValueError("only tools")

        async def step_async(self, action, timeout_s=None, **kwargs):
            seen = await super().step_async(action, timeout_s=timeout_s, **kwargs)
            if self.answered is not None:
                seen.done, seen.reward = True, float(str(self.answered) == self.sum)
            return seen

        @property
        def state(self):
            return State()

    return Sums, Action, Observation


if __name__ == "__main__":
    from openenv.core.env_server import create_fastapi_app

    sys.path.insert(0, sys.argv[1] + "/echo_world")
    app = create_fastapi_app(*{"echo": echo, "tools": tools}[sys.argv[2]](), max_concurrent_envs=int((sys.argv[3:] or [2])[0]))
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
