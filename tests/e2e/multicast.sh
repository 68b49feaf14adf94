#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: multicast.sh lo|veth GROUP [OTHER-GROUP]: three processes talk in a multicast group, each
# hears the two others; over loopback, or with two of them in another network namespace. Who is in
# OTHER-GROUP hears nothing of it. The program is examples/mcast_chat.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
if [[ $1 == veth ]]; then
  need ip unshare nsenter
  private_network "$0" "$@"
fi
begin
example=$build_tree/examples/mcast_chat
[[ -x $example ]] || fail "$example is missing: script/build"

group=$2
device=weft_lo
declare -A at=([alice]='' [bob]='' [carol]='' [stranger]='')
if [[ $1 == veth ]]; then
  left='' right=''
  new_namespace left
  new_namespace right
  # The program takes the first GID, which must be of the group's family.
  if [[ $group == *:* ]]; then
    join "$left" veth0 fd80::1/64 "$right" veth0 fd80::2/64
  else
    join "$left" veth0 10.80.0.1/24 "$right" veth0 10.80.0.2/24
  fi
  device=weft_veth0
  at=([alice]=$left [bob]=$right [carol]=$right [stranger]=$right)
fi

# chat NAME GROUP LINES: speaks when everybody is there.
chat() {
  local place=()
  [[ -z ${at[$1]} ]] || place=(nsenter "--net=/proc/${at[$1]}/ns/net" --)
  spawn "$1" bash -c '
    flag=$0/go name=$1
    shift
    { until [[ -e $flag ]]; do sleep 0.02; done; echo "I am $name"; } | "$@"' \
    "$work" "$1" "${place[@]}" "$weft" run --stats -- "$example" "$device" "$2" "$1" "$3"
}

people=(alice bob carol)
for name in "${people[@]}"; do chat "$name" "$group" 2; done
if [[ -n ${3:-} ]]; then chat stranger "$3" 0; fi
for name in "${!pid_of[@]}"; do await "$name" '^joined'; done
: >"$work/go"
for name in "${!pid_of[@]}"; do finish "$name"; done
for name in "${people[@]}"; do
  for other in "${people[@]}"; do
    if [[ $other == "$name" ]]; then
      refuse "$name" "^$other: I am" "what it said itself"
    else
      expect "$name" "^$other: I am $other\$"
    fi
  done
  refuse "$name" '^stranger:'
done
[[ -z ${3:-} ]] || refuse stranger '^(alice|bob|carol):'
