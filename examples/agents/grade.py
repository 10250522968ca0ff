"""The grader: the last number that the agent printed must be the label. It prints its verdict, as graders should."""

import json
import os
import re

work = json.load(open(os.environ["MOLT_GRADE_FILE"]))
numbers = re.findall(r"-?\d+(?:\.\d+)?", work["output"].replace(",", ""))
print(json.dumps({"reward": float(bool(numbers) and float(numbers[-1]) == float(work["task"]["label"]))}))
