#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_qos.sh opensm|weft: a subnet manager with quality of service: lanes, service levels and
# arbitration of every port are as its file says, and packets go through them.
set -euo pipefail
time_limit=240
source "$(dirname "$0")/lib.sh"
need opensm smpquery perfquery saquery ibstat python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"
who=$1
{
  echo 'sm = { qos = "qos.conf", partitions = "partitions.conf" }'
  cat "$source_tree/examples/labs/two-switches.toml"
} >"$work/lab.toml"
cat >"$work/qos.conf" <<'QOS'
max_op_vls 3
qos TRUE
qos_max_vls 4
qos_high_limit 3
qos_vlarb_high 1:64,2:128
qos_vlarb_low 0:16,3:32
qos_sl2vl 0,1,2,3,3,2,1,0,0,0,0,0,0,0,0,15
QOS
cat >"$work/partitions.conf" <<'PARTITIONS'
Default=0x7fff, ipoib: ALL=full;
blue=0x0011, ipoib, sl=2: ALL=full;
red=0x0012, sl=15: ALL=full;
PARTITIONS
if [[ $who == opensm ]]; then
  start_lab "$work/lab.toml" 7 -F "$work/qos.conf" -P "$work/partitions.conf"
else
  spawn lab "$weft" up "$work/lab.toml"
  await_states '{"Active":7}'
fi

lid_of() {  # NODE
  on "lid-$1" "$1" ibstat
  awk '/Base lid/ { print $3; exit }' "$work/lid-$1.out"
}
on switches a saquery SWIR
switch=$(awk '/LID\./ { sub(/.*\./, ""); print; exit }' "$work/switches.out")
[[ -n $switch ]] || fail "no LID of a switch"

# holds PATTERN SMPQUERY_ARGUMENT ...: until the subnet manager has set it.
holds() {
  local pattern=$1 tries
  shift
  for ((tries = 0; tries < 100; tries++)); do
    on holds c smpquery "$@"
    ! grep -qE -- "$pattern" "$work/holds.out" || return 0
    sleep 0.1
  done
  fail "smpquery $* says nothing like /$pattern/"
}
for place in "$(lid_of b) 1" "$switch 1" "$switch 7"; do
  read -r lid port <<<"$place"
  holds 'OperVLs:\.+VL0-3' portinfo "$lid" "$port"
  holds 'VLHighLimit:\.+3$' portinfo "$lid" "$port"
  holds '\| 0\| 1\| 2\| 3\| 3\| 2\| 1\| 0\| 0\|' sl2vl "$lid" "$port"
  holds '^VL    : \|0x1 \|0x2 \|' vlarb "$lid" "$port"
  holds '^WEIGHT: \|0x40\|0x80\|' vlarb "$lid" "$port"
  holds '^VL    : \|0x0 \|0x3 \|' vlarb "$lid" "$port"
  holds '^WEIGHT: \|0x10\|0x20\|' vlarb "$lid" "$port"
done

# path NAME ARGUMENT ...: from b to c.
path() {
  local name=$1
  shift
  on "$name" b saquery PR --slid "$(lid_of b)" --dlid "$(lid_of c)" "$@"
}
# Paths are on the level of their partition; one that has no lane is no path.
path default --pkey 0xffff
expect default '\ssl\.+0x0$'
path blue --pkey 0x8011
expect blue '\ssl\.+0x2$'
path asked --pkey 0x8011 --sl 5
expect asked '\ssl\.+0x5$'
path red --pkey 0x8012
! grep -q 'PathRecord dump' "$work/red.out" || fail "a path to nowhere: $(cat "$work/red.out")"
on groups c saquery MCMR
level=$(awk '/MGID/ { blue = /401b:8011/ } blue && /SL\./' "$work/groups.out")
[[ $level =~ 0x2$ ]] || fail "the group of blue is on another level: $(cat "$work/groups.out")"
for node in b c d; do on "reached-$node" a perfquery "$(lid_of "$node")" 1; done
[[ $who == weft ]] || exit 0

# What the manager does not read of the file it says; what it cannot understand it refuses.
run history "$weft" sm history
expect history "problem +$work/qos.conf: 1 other options are not read"
run down "$weft" down
finish lab
printf 'qos TRUE\nqos_sl2vl 0,1,16\n' >"$work/qos.conf"
spawn wrong "$weft" up "$work/lab.toml"
finish wrong 2
expect wrong "^weft up: $work/qos.conf:2: 'qos_sl2vl': '16': want up to 16 VLs"
