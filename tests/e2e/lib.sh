# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the end-to-end tests share; sourced, never run. A test runs programs under `weft run`, each
# with a time limit and its output in a file, and says what that output must hold. Whatever a test
# started is ended by its number when the test ends.

test_name=$(basename "$0" .sh)
source_tree=${WEFT_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
build_tree=${WEFT_BUILD:-$source_tree/build/release}
weft=$build_tree/bin/weft
# shellcheck source=script/namespaces.sh
source "$source_tree/script/namespaces.sh"

# Tests ask Python often. A script that looks for it first, as pyenv's, takes several times as long.
python=$(command -v python3) || python=/dev/null
if [[ $(head -c 2 "$python") == '#!' ]]; then
  PATH=$(dirname "$(python3 -c 'import sys; print(sys.executable)')"):$PATH
fi

# The products refuse environment variables of their family that they do not know.
without_weft_variables() {
  local name
  for name in "${!WEFT_@}"; do unset "$name"; done
}

skip() { echo "skipped: $*"; exit 77; }

# private_network "$0" "$@": the rest of the test runs in a network namespace of its own.
private_network() {
  export WEFT_SOURCE=$source_tree WEFT_BUILD=$build_tree
  enter_private_network "$@" || skip "network namespaces are not allowed here"
  in_private_network=true
}
in_private_network=false

need() {
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null || skip "$program is missing: script/bootstrap"
  done
}

# The distribution's Python has pyverbs; another one that comes first on the path has not.
need_pyverbs() {
  [[ -f /usr/lib/python3/dist-packages/pyverbs/__init__.py ]] ||
    skip "python3-pyverbs is missing: script/bootstrap"
}

# begin: after the test's own arguments and its namespace are settled.
begin() {
  without_weft_variables
  [[ -x $weft ]] || fail "$weft is missing: script/build"
  work=$(mktemp -d "${TMPDIR:-/tmp}/weft-$test_name.XXXXXX")
  # Anybody is user 0 in a namespace of his own, and the real one's directory is not his.
  ! $in_private_network || export XDG_RUNTIME_DIR=$work
  trap end EXIT
  trap 'exit 130' INT TERM
}

declare -A pid_of=()
detached=()  # numbers of processes that run on their own
end() {
  local code=$? pid
  # What timeout started is in a process group with it, and would outlive it alone.
  for pid in "${pid_of[@]}"; do
    kill -KILL -- "-$pid" 2>/dev/null || kill -KILL "$pid" 2>/dev/null || :
  done
  for pid in "${detached[@]}"; do kill -KILL "$pid" 2>/dev/null || :; done
  release_namespaces
  wait 2>/dev/null || :
  [[ -z ${work:-} ]] || rm -rf "$work"
  exit "$code"
}

# fail MESSAGE: ends the test, showing what the programs said.
fail() {
  local log
  echo "FAILED: $*"
  for log in "${work:-/nonexistent}"/*.out; do
    [[ -f $log ]] || continue
    echo "--- ${log##*/}"
    tail -n 40 "$log"
  done
  exit 1
}

time_limit=${time_limit:-60}

# spawn NAME COMMAND ...: starts it; its output goes to $work/NAME.out.
spawn() {
  local name=$1
  shift
  : >"$work/$name.out"
  timeout --kill-after=5 "$time_limit" "$@" </dev/null >"$work/$name.out" 2>&1 &
  pid_of[$name]=$!
}

# finish NAME [CODE]: waits for it; its exit code must be CODE (0).
finish() {
  local code=0
  wait "${pid_of[$1]}" || code=$?
  unset "pid_of[$1]"
  [[ $code -ne 124 && $code -ne 137 ]] || fail "$1 had not ended after $time_limit s"
  [[ $code -eq ${2:-0} ]] || fail "$1 ended with exit code $code, not ${2:-0}"
}

# finish_rping NAME: as finish, but rping may trip over its own end, when all is done: it
# closes a channel while a thread of its own is on the way to ask that for the next event. That one
# finds the descriptor gone, as it would on a kernel, and ends the program with -1.
finish_rping() {
  local code=0
  wait "${pid_of[$1]}" || code=$?
  unset "pid_of[$1]"
  [[ $code -ne 0 ]] || return 0
  if [[ $code -ne 255 ]] || ! grep -q 'DISCONNECT EVENT' "$work/$1.out" ||
    ! grep -q '^rdma_get_cm_event: Bad file descriptor' "$work/$1.out"; then
    fail "$1 ended with exit code $code"
  fi
}

# stop NAME [SIGNAL]: ends what runs on its own; no exit code is asked for.
stop() {
  # The process is timeout, which hands the signal on.
  kill "-${2:-TERM}" "${pid_of[$1]}" 2>/dev/null || :
  wait "${pid_of[$1]}" 2>/dev/null || :
  unset "pid_of[$1]"
}

# run NAME COMMAND ...: spawn and finish.
run() { spawn "$@"; finish "$1"; }

output() { cat "$work/$1.out"; }

# expect NAME PATTERN [WHY]: its output must have a line that matches the extended expression.
expect() {
  grep -qE -- "$2" "$work/$1.out" || fail "$1 says nothing like /$2/${3:+: $3}"
}

refuse() {
  ! grep -qE -- "$2" "$work/$1.out" || fail "$1 says something like /$2/${3:+: $3}"
}

# await NAME PATTERN: until its output has such a line.
await() {
  local tries ended=false
  for ((tries = 0; tries < time_limit * 50; tries++)); do
    # In this order: what it says last, it says before it ends.
    kill -0 "${pid_of[$1]}" 2>/dev/null || ended=true
    ! grep -qE -- "$2" "$work/$1.out" || return 0
    ! $ended || fail "$1 ended before it said /$2/"
    sleep 0.02
  done
  fail "$1 never said /$2/"
}

# is_above A B: for decimal numbers.
is_above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a + 0 > b + 0) }'; }

# A port nobody has, of TCP for the programs' own exchange of addresses and of UDP. Below the range
# that the kernel gives to clients, and another one for every test that runs at the same time.
free_port() {
  local port tries
  for ((tries = 0; tries < 200; tries++)); do
    port=$((20000 + (BASHPID * 7 + tries * 131 + RANDOM) % 10000))
    [[ -n $(ss -Htuln "sport = :$port") ]] || { echo "$port"; return; }
  done
  fail "no free port"
}

# await_identifier [ADDRESS:PORT [KEEPER]]: until an identifier of rdma_cm listens there, or
# anywhere, in the namespace.
await_identifier() {
  local tries look=() at=${1:-[^ ]+}
  [[ -z ${2:-} ]] || look=(in_namespace "$2")
  for ((tries = 0; tries < 500; tries++)); do
    [[ -z $("${look[@]}" "$weft" resource show cm_id |
      grep -E "state LISTEN.* pid .*src_addr $at ") ]] || return 0
    sleep 0.05
  done
  fail "no identifier of rdma_cm ever listened${1:+ at $1}"
}

# await_listener NAME PORT [KEEPER]: until somebody listens on the TCP port, in the namespace.
await_listener() {
  local tries look=()
  [[ -z ${3:-} ]] || look=(in_namespace "$3")
  for ((tries = 0; tries < time_limit * 50; tries++)); do
    [[ -z $("${look[@]}" ss -Htln "sport = :$2") ]] || return 0
    kill -0 "${pid_of[$1]}" 2>/dev/null || fail "$1 ended before it listened"
    sleep 0.02
  done
  fail "$1 never listened on TCP port $2"
}

# pair SERVER_ADDRESS -- PROGRAM ARGUMENT ...: a program that is server without an address and
# client with one, as ibv_*_pingpong and perftest are; both must end well. Set before, as wanted:
#   server_at, client_at   the namespaces; default: here
#   server_with, client_with   options of `weft run`, arrays
#   server_device, client_device   default: weft_lo
server_at='' client_at='' server_with=() client_with=()
server_device=weft_lo client_device=weft_lo
pair() {
  local address=$1 port program=()
  shift 2
  port=$(free_port)
  program=("$@" -p "$port")
  [[ -z $server_at ]] || program_at_server=(nsenter "--net=/proc/$server_at/ns/net" --)
  [[ -z $client_at ]] || program_at_client=(nsenter "--net=/proc/$client_at/ns/net" --)
  spawn server "${program_at_server[@]}" "$weft" run "${server_with[@]}" -- \
    "${program[@]}" -d "$server_device"
  await_listener server "$port" "$server_at"
  spawn client "${program_at_client[@]}" "$weft" run "${client_with[@]}" -- \
    "${program[@]}" -d "$client_device" "$address"
  finish client
  finish server
}
program_at_server=() program_at_client=()

# What perftest measured: the last line of numbers of its output, which has no end of its own when
# the counters of --stats follow.
perftest_row() {
  grep -E '^ *[0-9]+ +[0-9]+ +[0-9.]+' "$work/$1.out" | tail -n 1 | sed 's/weft:.*//'
}

# perftest_measured NAME COLUMN: what its last row has there, from 0, is above zero. Where others
# want the processor just then, perftest cannot make out its clock, says so, and prints zero.
perftest_measured() {
  local cell
  read -r -a cell <<<"$(perftest_row "$1")"
  is_above "${cell[$2]:-0}" 0 || grep -q '^Correlation coefficient' "$work/$1.out"
}
