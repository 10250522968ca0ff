# An Env that shows pictures in every form there is; its label says which.
import base64
import os
import pathlib

from molt.agents import Env, Result, StepEnvRunner

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")
FILE = pathlib.Path(os.environ["PAINT_FOLDER"]) / "a.png"
FILE.write_bytes(PNG)


class Picture:  # what PIL.Image.Image has of what is used
    mode = "P"

    def convert(self, mode):
        rgb = Picture()
        rgb.mode = mode
        return rgb

    def save(self, file, format):
        assert (self.mode, format) == ("RGB", "PNG")
        file.write(PNG)


FORMS = {
    "bytes": PNG,
    "view": memoryview(PNG),
    "path": FILE,
    "uri": "data:image/png;base64," + base64.b64encode(PNG).decode(),
    "pil": Picture(),
    "url": "http://169.254.169.254/a.png",
    "name": str(FILE),
    "text": b"no image",
    "number": 5,
}


class Paint(Env):
    async def reset(self, state):
        if state["label"] == "row":
            assert state["images"][0].startswith("data:image/png;base64,"), state
            return {"observation": state["observation"], "label": "row"}
        return {**state, "images": [PNG]} if state["label"] == "first" else state

    async def step(self, state):
        if state["label"] in FORMS:
            if state["action_text"] == "a":
                return Result(observation="see>", images=[FORMS[state["label"]]] * 2, terminated=False)
        return Result(reward=1)


class AgentRunner(StepEnvRunner):
    def __init__(self):
        super().__init__(Paint)
