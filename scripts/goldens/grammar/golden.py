"""Random schemas, values that were meant to conform to them, values that were spoilt, and what jsonschema says of each.

Values are written as the grammar writes them: compact, members in the schema's order, no members that the schema does not
name. For such texts conforming to the schema and being in the grammar are the same.
"""

import copy
import json
import random

import jsonschema

rng = random.Random(20)
SPECIMENS = [0, -7, 12, 1.5, True, False, None, "", "a", "ab", 'q"\\\n\u00e9\u65e5', [], [1], ["a", None], {}, {"x": [1]}]


def schema(depth):
    kinds = ["string", "integer", "number", "boolean", "null", "enum", "const", "list", "any"]
    if depth:
        kinds += ["object", "object", "object", "array", "array", "anyOf", "map", "ref"]
    kind = rng.choice(kinds)
    if kind == "enum":
        return {"enum": rng.sample(SPECIMENS[:11], 3)}
    if kind == "const":
        return {"const": rng.choice(SPECIMENS)}
    if kind == "list":
        return {"type": rng.sample(["string", "integer", "null", "boolean"], 2), "title": "t"}
    if kind == "any":
        return {}
    if kind == "array":
        low = rng.randrange(3)
        bounds = rng.choice([{}, {"minItems": low}, {"maxItems": low + 1}, {"minItems": low, "maxItems": low + 2}])
        return {"type": "array", "items": schema(depth - 1), **bounds}
    if kind == "anyOf":
        return {"anyOf": [schema(depth - 1) for _ in range(rng.randint(1, 3))]}
    if kind == "map":
        return {"type": "object", "additionalProperties": schema(depth - 1)}
    if kind == "ref":
        return {"$ref": rng.choice(["#/$defs/node", "#/$defs/leaf"])}
    if kind == "object":
        names = rng.sample(["a", "aa", "b\"", "\u00e9", "c d"], rng.randint(1, 4))
        return {
            "type": "object",
            "properties": {n: schema(depth - 1) for n in names},
            "required": [n for n in names if rng.random() < 0.5],
            "additionalProperties": False,
        }
    return {"type": kind}


DEFS = {
    "leaf": {"type": "string"},
    "node": {
        "type": "object",
        "properties": {"value": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
        "required": ["value"],
        "additionalProperties": False,
    },
}


def value(s, depth=0):
    if "$ref" in s:
        return value(DEFS[s["$ref"].rsplit("/", 1)[1]], depth + 1)
    if "anyOf" in s:
        return value(rng.choice(s["anyOf"]) if depth < 6 else s["anyOf"][-1], depth + 1)
    if "enum" in s:
        return rng.choice(s["enum"])
    if "const" in s:
        return s["const"]
    kind = s.get("type")
    if isinstance(kind, list):
        kind = rng.choice(kind)
    if kind == "array":
        low = s.get("minItems", 0)
        return [value(s["items"], depth + 1) for _ in range(rng.randint(low, min(s.get("maxItems", low + 2), low + 2)))]
    if kind == "object" and "properties" in s:
        return {n: value(p, depth + 1) for n, p in s["properties"].items() if n in s["required"] or rng.random() < 0.5}
    if kind == "object":
        return {n: value(s["additionalProperties"], depth + 1) for n in rng.sample(["k", "l", "m"], rng.randrange(3))}
    if kind == "string":
        return rng.choice(["", "a", 'q"\\\n\u00e9\u65e5'])
    if kind == "integer":
        return rng.randint(-1000, 1000)
    if kind == "number":
        return rng.choice([0, -3, 2.5, 1e-07, 1e16])
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "null":
        return None
    return rng.choice(SPECIMENS)


def spoil(v):
    """Changes one place of a value; no name is added, none changes its place."""
    if isinstance(v, list) and v and rng.random() < 0.7:
        v = copy.copy(v)
        i = rng.randrange(len(v))
        change = rng.randrange(3)
        if change == 0:
            del v[i]
        elif change == 1:
            v.append(copy.deepcopy(v[i]))
        else:
            v[i] = spoil(v[i])
        return v
    if isinstance(v, dict) and v and rng.random() < 0.8:
        v = copy.copy(v)
        name = rng.choice(list(v))
        if rng.random() < 0.5:
            del v[name]
        else:
            v[name] = spoil(v[name])
        return v
    return rng.choice([x for x in SPECIMENS if not isinstance(x, dict) or not x])


cases = []
while len(cases) < 400:
    s = schema(3)
    s["$defs"] = DEFS
    check = jsonschema.Draft202012Validator(s)
    values = [value(s) for _ in range(4)]
    values += [spoil(v) for v in values for _ in range(3)]
    texts = {json.dumps(v, ensure_ascii=False): check.is_valid(v) for v in values}
    cases.append({"schema": s, "conform": [t for t, ok in texts.items() if ok], "not": [t for t, ok in texts.items() if not ok]})
print(json.dumps(cases, ensure_ascii=False))
