"""Python's huggingface_hub on a cache that it shares with the Go program.

usage: check.py download|find URL CACHE
"""

import pathlib
import sys

from huggingface_hub import hf_hub_download, scan_cache_dir, snapshot_download, try_to_load_from_cache

what, url, cache = sys.argv[1:]
PATTERNS = ["*.json", "*.safetensors", "*.jinja", "README.md"]

if what == "download":
    print(snapshot_download("org/name", endpoint=url, cache_dir=cache, allow_patterns=PATTERNS))
    sys.exit()

offline = snapshot_download("org/name", cache_dir=cache, local_files_only=True)
online = snapshot_download("org/name", endpoint=url, cache_dir=cache, allow_patterns=PATTERNS)
assert offline == online, (offline, online)
files = [file for file in pathlib.Path(offline).rglob("*") if file.is_file()]
for file in files:
    name = str(file.relative_to(offline))
    assert hf_hub_download("org/name", name, cache_dir=cache, local_files_only=True) == str(file)
    assert hf_hub_download("org/name", name, cache_dir=cache, endpoint=url) == str(file)
    assert try_to_load_from_cache("org/name", name, cache_dir=cache) == str(file)
report = scan_cache_dir(cache)
assert not report.warnings, report.warnings
[repo] = report.repos
[revision] = repo.revisions
assert revision.refs == {"main"} and revision.nb_files == len(files), revision
print(offline)
