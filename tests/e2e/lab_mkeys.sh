#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_mkeys.sh: ports with M_Keys: who has not the key sees and changes what the level of
# protection allows, the manager goes on after it was begun anew, and one that knows by OpenSM's
# guid2mkey what OpenSM has protected takes over from it.
set -euo pipefail
time_limit=240
source "$(dirname "$0")/lib.sh"
need opensm smpquery ibportstate ibstat python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"
lab_file=$source_tree/examples/labs/two-switches.toml
keys=$work/keys

lid_of() {  # NODE
  on "lid-$1" "$1" ibstat
  awk '/Base lid/ { print $3; exit }' "$work/lid-$1.out"
}
# refused NAME NODE PROGRAM ...: it gets no answer.
refused() {
  local name=$1 node=$2
  shift 2
  if "$weft" run --node "$node" -- "$@" >"$work/$name.out" 2>&1; then
    fail "$* was answered: $(cat "$work/$name.out")"
  fi
}
# key_of FILE: that all ports have there.
key_of() {
  local all
  all=$(awk 'NF { print $2 }' "$1" | sort -u)
  [[ $all =~ ^0x[0-9a-f]{16}$ ]] || fail "not one key in $1: $all"
  echo "$all"
}
# await_keys FILE: until it has those of all end ports; nobody else may read them.
await_keys() {
  local tries
  for ((tries = 0; tries < 100 && $(grep -c 0x "$1") < 7; tries++)); do sleep 0.05; done
  [[ $(grep -c 0x "$1") == 7 ]] || fail "not the keys of seven end ports: $(cat "$1")"
  [[ $(stat -c %a "$1") == 600 ]] || fail "others may read the keys"
}

# A level without a key is said to be nothing.
spawn bare "$weft" sm run --node b --mkey-protect 2
finish bare 2
expect bare '^weft sm: --mkey-protect is for ports that have keys'
printf '0x1 key\n' >"$work/wrong"
spawn lab "$weft" up --sm none "$lab_file"
await_states '{"Initializing":7}'
spawn wrong "$weft" sm run --node b --mkeys "$work/wrong"
finish wrong 2
expect wrong "^weft sm: $work/wrong:1: want a port GUID and its M_Key"

# Level 1: others may read, but see no key, and change nothing.
spawn first "$weft" sm run --node b --mkeys "$keys"
await first 'SUBNET UP'
await_states '{"Active":7}'
await_keys "$keys"
key=$(key_of "$keys")
d=$(lid_of d)
on veiled c smpquery -K portinfo "$d" 1
expect veiled 'Mkey:\.+0x0000000000000000$'
expect veiled 'ProtectBits:\.+1$'
on shown c smpquery -K -y "$key" portinfo "$d" 1
expect shown "Mkey:\.+$key\$"
refused unset c ibportstate -t 200 "$d" 1 width 1
await first 'Bad M_Key \(trap 256\): M_Key 0x0{16} in SubnSet of attribute 0x0015'
on set c ibportstate -y "$key" "$d" 1 width 3
kill -TERM "${pid_of[first]}"
finish first

# Begun anew with the same file, it has the same key, and level 2 by now: others are told nothing.
run second "$weft" sm run --node b --mkeys "$keys" --mkey-protect 2 --once
[[ $(key_of "$keys") == "$key" ]] || fail "another key: $(cat "$keys")"
await_states '{"Active":7}'
refused hidden c smpquery -t 200 portinfo "$d" 1
on known c smpquery -K -y "$key" portinfo "$d" 1
expect known 'ProtectBits:\.+2$'
# So does one at another node, as long as it has the file; without it, there is nothing to manage.
run third "$weft" sm run --node c --mkeys "$keys" --mkey-protect 2 --once
spawn stranger "$weft" sm run --node c
await stranger "the manager's own node does not answer: it cannot, or not to this manager's M_Key"
kill -TERM "${pid_of[stranger]}"
finish stranger
# One that is to do it once does not wait for what will never come.
spawn once "$weft" sm run --node c --once
finish once 1
expect once "^weft sm: the manager's own node does not answer: it cannot"
run down "$weft" down
finish lab

# The lab's own manager has the same in the lab file.
of_lab_file() {  # SM TABLE
  printf 'sm = { %s }\n' "$1"
  cat "$lab_file"
}
of_lab_file 'mkey_protect = 2' >"$work/lab.toml"
spawn bare "$weft" up "$work/lab.toml"
finish bare 2
expect bare 'lab.toml:1: sm.mkey_protect: is for ports that have keys'
of_lab_file 'mkeys = "wrong"' >"$work/lab.toml"
spawn wrong "$weft" up "$work/lab.toml"
finish wrong 2
expect wrong "^weft up: $work/wrong:1: want a port GUID and its M_Key"
of_lab_file 'mkeys = "lab.keys", mkey_protect = 2' >"$work/lab.toml"
for time in first again; do
  spawn lab "$weft" up "$work/lab.toml"
  await_states '{"Active":7}'
  await_keys "$work/lab.keys"
  [[ $time == first ]] || [[ $(key_of "$work/lab.keys") == "$key" ]] || fail "another key"
  key=$(key_of "$work/lab.keys")
  d=$(lid_of d)
  refused hidden c smpquery -t 200 portinfo "$d" 1
  on known c smpquery -K -y "$key" portinfo "$d" 1
  expect known "Mkey:\.+$key\$"
  expect known 'ProtectBits:\.+2$'
  run down "$weft" down
  finish lab
done

# Ports that OpenSM has protected, by the file that it has written.
printf 'm_key 0x1122334455667788\nm_key_protection_level 2\nm_key_lease_period 0\n' \
  >"$work/opensm.conf"
start_lab "$lab_file" 7 -F "$work/opensm.conf"
for ((tries = 0; tries < 100 && $(grep -c 1122334455667788 "$work/guid2mkey") < 7; tries++)); do
  sleep 0.05
done
stop opensm
d=$(lid_of d)
refused locked c smpquery -t 200 portinfo "$d" 1
cp "$work/guid2mkey" "$keys"
run fourth "$weft" sm run --node c --mkeys "$keys" --once
[[ $(key_of "$keys") == 0x1122334455667788 ]] || fail "another key: $(cat "$keys")"
# One that is not known to have a key of its own draws one, and gives it to all.
guid=$(on guid c ibstat -p; head -n 1 "$work/guid.out")
grep -v "^$guid" "$work/guid2mkey" >"$keys"
run fifth "$weft" sm run --node c --mkeys "$keys" --mkey-protect 2 --once
key=$(key_of "$keys")
[[ $key != 0x1122334455667788 ]] || fail "the key is OpenSM's still"
refused old c smpquery -t 200 -y 0x1122334455667788 portinfo "$d" 1
on new c smpquery -K -y "$key" portinfo "$d" 1
expect new "Mkey:\.+$key\$"
run down "$weft" down
finish lab
