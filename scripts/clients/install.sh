#!/usr/bin/env bash
# Installs the client libraries that the gateway is tried with, at the versions of the lock files in gateway/serve/testdata/clients,
# below a cache folder, and prints the variables that tell the tests where they are. Install scripts of packages do not run.
# What cannot be installed because a program or a registry is not there is skipped, and said so; any other failure ends it.
set -euo pipefail
cd "$(dirname "$0")/../.."
locks="$PWD/gateway/serve/testdata/clients"
cache="${MOLT_CLIENTS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/molt-clients}"
mkdir -p "$cache"

skip() { echo "SKIPPED: client libraries for $1: $2" >&2; }

# What clients print when a registry does not answer, or answers that it cannot serve now.
away='ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_SOCKET_TIMEOUT|network request to|E429|E50[0-9]'
away="$away|NewConnectionError|ConnectTimeoutError|ReadTimeoutError|ConnectionResetError|Failed to establish a new connection|too many 50[0-9]"
away="$away|dial tcp|no such host|i/o timeout|connection re(fused|set)|TLS handshake timeout|50[0-9] (Bad|Service|Gateway)"

# attempt runs a command up to three times. 0: it worked; 1: it failed; 2: the registry was away each time.
attempt() {
  local log="$cache/install.log" try
  for try in 1 2 3; do
    if timeout 300 "$@" >"$log" 2>&1; then return 0; fi
    echo "try $try of 3: $* failed" >&2
    [ "$try" = 3 ] || sleep $((try * ${MOLT_CLIENTS_PAUSE:-5}))
  done
  tail -n 20 "$log" >&2
  if grep -qE "$away" "$log"; then return 2; fi
  return 1
}

# install NAME COMMAND…: whether it worked; ends the script when it failed for another reason than the registry.
install() {
  local name="$1" status=0
  shift
  attempt "$@" || status=$?
  case "$status" in
    0) return 0 ;;
    2) skip "$name" "their registry cannot be reached"; return 1 ;;
    *) exit 1 ;;
  esac
}

# locked LOCK FOLDER: FOLDER holds what LOCK says. lock notes that it does.
locked() { cmp -s "$1" "$2/.lock"; }
lock() { cp "$1" "$2/.lock"; }

node_at_least() { node -e "process.exit(Number(process.versions.node.split('.')[0]) >= $1 ? 0 : 1)"; }
from_npm() {
  rm -rf "$cache/node" && mkdir "$cache/node" && cp "$locks/package.json" "$locks/package-lock.json" "$cache/node/"
  npm ci --no-audit --no-fund --ignore-scripts --prefix "$cache/node"
}
from_pypi() {
  python3 -m venv --clear "$cache/python"
  "$cache/python/bin/pip" install --disable-pip-version-check --no-input -r "$locks/requirements.txt"
}
from_proxy() { cd "$locks/gosdk" && go build -o "$cache/gosdk" .; }
export -f from_npm from_pypi from_proxy
export locks cache

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  skip JavaScript "node and npm are not installed"
elif ! node_at_least 20; then
  skip JavaScript "node $(node --version) is older than 20"
elif locked "$locks/package-lock.json" "$cache/node" || { install JavaScript bash -ec from_npm && lock "$locks/package-lock.json" "$cache/node"; }; then
  echo "MOLT_CLIENTS_NODE=$cache/node"
fi

if ! python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
  skip Python "python3 is not installed with venv, or older than 3.10"
elif locked "$locks/requirements.txt" "$cache/python" || { install Python bash -ec from_pypi && lock "$locks/requirements.txt" "$cache/python"; }; then
  echo "MOLT_CLIENTS_PYTHON=$cache/python/bin/python"
fi

if install Go bash -ec from_proxy; then
  echo "MOLT_CLIENTS_GO=$cache/gosdk"
fi
