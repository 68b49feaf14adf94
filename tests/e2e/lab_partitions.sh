#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_partitions.sh opensm|weft: a subnet manager with a file of partitions: each port has
# the keys that the file gives it, as member or as limited member, and a port that is out of the
# default partition can no longer be reached by general services.
set -euo pipefail
time_limit=240
source "$(dirname "$0")/lib.sh"
need opensm smpquery perfquery saquery ibstat python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"
who=$1
{
  echo 'sm = { partitions = "partitions.conf" }'
  cat "$source_tree/examples/labs/two-switches.toml"
} >"$work/lab.toml"
: >"$work/partitions.conf"

# manage: from now on the lab has the partitions of the file. OpenSM is begun anew, or the lab.
manage() {
  if [[ $who == opensm ]]; then
    [[ -z ${pid_of[opensm]:-} ]] || stop opensm
    start_opensm a -P "$work/partitions.conf"
    return
  fi
  run down "$weft" down
  finish lab
  spawn lab "$weft" up "$work/lab.toml"
  await_states '{"Active":7}'
}

if [[ $who == opensm ]]; then
  spawn lab "$weft" up --sm none "$work/lab.toml"
  await_states '{"Initializing":7}'
else
  spawn lab "$weft" up "$work/lab.toml"
  await_states '{"Active":7}'
fi
opensm_states='{"Active":7}'

guid_of() {  # NODE
  on "guid-$1" "$1" ibstat -p
  head -n 1 "$work/guid-$1.out"
}
b=$(guid_of b) c=$(guid_of c) d=$(guid_of d)
cat >"$work/partitions.conf" <<PARTITIONS
Default=0x7fff, ipoib: ALL=full;
blue=0x0011, ipoib, sl=3: $b=full, $c=limited;
PARTITIONS
manage

lid_of() {  # NODE
  on "lid-$1" "$1" ibstat
  awk '/Base lid/ { print $3; exit }' "$work/lid-$1.out"
}
# keys NODE: the partition table of its port.
keys() {
  on "keys-$1" a smpquery pkeys "$(lid_of "$1")" 1
  head -n 1 "$work/keys-$1.out"
}
[[ $(keys b) =~ 0x8011 ]] || fail "b is no full member of blue: $(keys b)"
[[ $(keys c) =~ 0x0011 ]] || fail "c is no limited member of blue: $(keys c)"
[[ ! $(keys d) =~ 0x[08]011 ]] || fail "d is in blue: $(keys d)"
for node in b c d; do
  [[ $(keys $node) =~ 0xffff ]] || fail "$node is not in the default partition"
done
# Of both partitions that b and c are in, a path is told by that with the lower number.
on lower b saquery PR --slid "$(lid_of b)" --dlid "$(lid_of c)"
expect lower '\spkey\.+0x8011$'
# Service levels of partitions count with quality of service only.
on path b saquery PR --slid "$(lid_of b)" --dlid "$(lid_of c)" --pkey 0x8011
expect path '\ssl\.+0x0$'
if [[ $who == weft ]]; then
  run history "$weft" sm history
  expect history 'partitions.conf:2: sl=3 of P_Key 0x0011 counts with quality of service only'
fi
# The group of the partition for IP, with its key.
on groups b saquery -g
expect groups '401b:8011'
on reached b perfquery "$(lid_of c)" 1

# The default partition becomes one that c is only a limited member of, as b is: they may no longer
# talk to each other, but both to the subnet manager; c and d have a partition of their own.
cat >"$work/partitions.conf" <<PARTITIONS
Default=0x7fff, ipoib: ALL=limited, SELF=full;
green=0x0012: $c=full, $d=full;
PARTITIONS
manage
for ((tries = 0; tries < 100; tries++)); do
  [[ ! $(keys c) =~ 0x7fff ]] || break
  sleep 0.1
done
[[ $(keys c) =~ 0x7fff ]] || fail "c is still a full member: $(keys c)"
[[ ! $(keys b) =~ 0x8011 ]] || fail "b is still in blue: $(keys b)"
# The manager's own node: OpenSM's, or the switch of the lab's.
manager=$([[ $who == opensm ]] && lid_of a || echo 1)
on managed c perfquery "$manager" "$([[ $who == opensm ]] && echo 1 || echo 255)"
spawn unreached "$weft" run --node b -- perfquery -t 200 "$(lid_of c)" 1
finish unreached 255
# c tells the manager of such a packet.
said() {
  if [[ $who == opensm ]]; then
    grep -qE 'num:257 .*P_Key' "$work/opensm.log"
  else
    "$weft" sm history | grep -E 'Bad P_Key \(trap 257\): P_Key 0x7fff .*\(c\) port 1' >/dev/null
  fi
}
for ((tries = 0; tries < 100; tries++)); do
  ! said || break
  sleep 0.1
done
((tries < 100)) || fail "the manager does not say that it was told of the P_Key"

# Connections are made in the partition that they are in: there is no other between c and d.
spawn server "$weft" run --node c -- rping -s -a 10.254.0.3 -C 5
await_ids c 1
on client d rping -c -a 10.254.0.3 -C 5 -v
expect client 'ping data: rdma-ping-4'
finish_rping server

# A file that cannot be understood is refused with its line.
printf 'Default=0x7fff: ALL=full;\nblue=0x11: nobody=full;\n' >"$work/partitions.conf"
run down "$weft" down
finish lab
spawn wrong "$weft" up --sm weft "$work/lab.toml"
finish wrong 2
expect wrong 'partitions.conf:2'
