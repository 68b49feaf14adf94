# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=dash
# What the scripts share that in_guest.py runs in a guest: a lab whose nodes are in network
# namespaces. Sourced, never run. The shell is dash, and most programs are busybox's.
set -eu
PATH=$PATH:/weft/bin
work=/tmp/lan
mkdir -p "$work"

# fail MESSAGE: ends the script, and so the guest; in_guest.py shows what was said.
fail() {
  echo "FAILED: $*"
  weft lan || :
  for log in "$work"/*.out; do
    [ ! -f "$log" ] || { echo "--- ${log##*/}"; tail -n 30 "$log"; }
  done
  exit 1
}

# Seconds since the guest began to boot.
uptime_s() { cut -d. -f1 /proc/uptime; }
say() { echo "$(uptime_s) s: $*"; }

# await COMMAND ...: until it succeeds, for 60 s at most.
await() {
  late=$(($(uptime_s) + 60))
  until "$@"; do
    [ "$(uptime_s)" -lt $late ] || fail "this does not become so: $*"
    sleep 0.1
  done
}

# at NODE COMMAND ...: in its namespace.
at() {
  where=$1
  shift
  nsenter "--net=/run/netns/$where" -- "$@"
}

# start_lab FILE NAMESPACE ...: with empty namespaces of these names.
start_lab() {
  file=$1
  shift
  for name; do ip netns add "$name" && ip -n "$name" link set lo up; done
  weft up "$file" >"$work/lab.out" 2>&1 &
}

# all_up COUNT: so many interfaces of the LAN are up, and each knows all others.
all_up() {
  weft lan 2>/dev/null | awk -v count="$1" '
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
    $column["STATE"] == "up" && $column["PEERS"] == count - 1 { up++ }
    END { exit up != count }'
}

# pings NODE ADDRESS: one of a few is answered.
pings() { at "$1" ping -c1 -W1 "$2" >/dev/null 2>&1; }
