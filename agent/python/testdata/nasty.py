"""Every way to be a bad guest: the label says which."""

import os
import subprocess
import sys
import threading
import time

from molt.agents import Env, Result, StepEnvRunner


def forever():
    while True:
        time.sleep(3600)


class Guest(Env):
    async def reset(self, state):
        self.label = state["label"]
        if self.label == "never returns from reset":
            forever()
        return state

    async def step(self, state):
        return getattr(self, "do_" + self.label.replace(" ", "_"))() or Result(reward=1.0)

    def do_behaves(self):
        pass

    def do_never_returns_from_reset(self):
        pass

    def do_leaves_a_thread(self):
        threading.Thread(target=forever).start()

    def do_raises_in_a_thread(self):
        threading.Thread(target=lambda: 1 / 0).start()

    def do_writes_where_answers_go(self):
        for fd in range(1, 64):
            if fd != 2:
                try:
                    os.write(fd, b'{"id": 1, "ok": {}}\nnoise\n' if os.fstat(fd) else b"")
                except OSError:
                    pass

    def do_prints(self):
        print("to sys.stdout")
        os.write(1, b"to fd 1\n")
        sys.__stdout__.write("to sys.__stdout__\n")
        sys.__stdout__.flush()
        subprocess.run(["echo", "from a child"])

    def do_reads(self):
        assert sys.stdin.read() == "" and os.read(0, 10) == b""

    def do_forks(self):
        if os.fork() == 0:
            return Result(reward=5.0)  # the child goes on as if it were the worker
        time.sleep(0.3)

    def do_forks_and_stays(self):
        if os.fork() == 0:
            forever()

    def do_exits(self):
        sys.exit(3)

    def do_exits_at_once(self):
        os._exit(3)

    def do_is_killed(self):
        os.kill(os.getpid(), 9)

    def do_leaves_children(self):
        for _ in range(20):
            subprocess.Popen(["sleep", "3600"], start_new_session=True)

    def do_floods(self):
        line = b"x" * 1023 + b"\n"
        for _ in range(100 << 10):
            os.write(2, line)

    def do_floods_without_end(self):
        while True:
            os.write(2, b"x" * 65536)

    def do_answers_at_length(self):
        return Result(reward=1.0, observation="x" * (65 << 20), terminated=False)

    def do_recurses(self):
        return self.do_recurses()

    def do_closes_everything(self):
        os.closerange(0, 1024)

    def do_exhausts_memory(self):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, resource.RLIM_INFINITY))
        try:
            return Result(reward=float(len(bytes(4 << 30))))
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class AgentRunner(StepEnvRunner):
    def __init__(self):
        super().__init__(Guest)
