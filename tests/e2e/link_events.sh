#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What happens to an interface reaches programs as asynchronous events of its device.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ibv_asyncwatch
private_network "$0" "$@"
begin

ip link add weft0 type veth peer name weft1
ip address add 10.9.8.7/24 dev weft0
ip link set weft1 up
ip link set weft0 up

# Its output goes to a file, so that it must not wait in a buffer.
spawn watch stdbuf -oL "$weft" run --interface weft0 -- ibv_asyncwatch -d weft_weft0
await watch 'async event FD'
ip link set weft1 down
await watch PORT_ERR
ip link set weft1 up
await watch PORT_ACTIVE
# IPv6 brings addresses of its own now and then: one more than before.
before=$(grep -c GID_CHANGE "$work/watch.out" || :)
ip address add 10.9.8.8/24 dev weft0
for ((tries = 0; tries < 500; tries++)); do
  [[ $(grep -c GID_CHANGE "$work/watch.out" || :) -le $before ]] || break
  sleep 0.02
done
[[ $tries -lt 500 ]] || fail "a new address was no event"
stop watch
echo "ibv_asyncwatch was told: $(grep -c 'event_type' "$work/watch.out") events"
