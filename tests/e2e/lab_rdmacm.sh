#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_rdmacm.sh WHAT [weft]: programs over the distribution's own librdmacm on the nodes of a
# lab of two switches under OpenSM, or under the lab's own subnet manager, each node with the IP
# address that the lab gives it. WHAT is a case of the list below.
set -euo pipefail
time_limit=${time_limit:-150}
source "$(dirname "$0")/lib.sh"
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
what=$1 manager=${2:-opensm}
# With the lab's own, some cases have it beside.
[[ $manager == weft && $what != m* ]] || need opensm

# The lab's addresses are the host's own: perftest also opens a TCP connection to them.
lab_file=$work/lab.toml
{
  echo 'network = "127.254.0.0/16"'
  cat "$source_tree/examples/labs/two-switches.toml"
} >"$lab_file"
a=127.254.0.1 c=127.254.0.3  # of nodes a and c
# Both cables between the switches are slow then.
[[ $what != slow ]] || sed -i '/^name = "trunk"/a width = "1x"\nspeed = "sdr"' "$lab_file"

# node_counter NODE COUNTER: of its rdma_cm.
node_counter() {
  "$weft" status -d --json | python3 -c "
import json, sys
for node in json.load(sys.stdin)['labs'][0]['nodes']:
    if node['name'] == '$1':
        print(node.get('rdma_cm', {}).get('counters', {}).get('$2', 0))"
}

# both "SERVER COMMAND" "CLIENT COMMAND": on nodes c and a, one switch and another between them.
both() {
  local server client
  read -ra server <<<"$1"
  read -ra client <<<"$2"
  need "${server[0]}" "${client[0]}"
  spawn server "$weft" run --node c -- "${server[@]}"
  await_ids c 1
  spawn client "$weft" run --node a -- "${client[@]}"
  finish client
  finish server
}

# Another one, on node b, which takes over from the lab's own.
change_manager() {
  [[ -z ${pid_of[opensm]:-} ]] || stop opensm
  spawn opensm "$weft" run --node b -- opensm -p 10 -f "$work/second.log"
  await opensm 'Entering MASTER state'
}
# await_connection: from node a to the server on node c, once somebody knows a route.
await_connection() {
  local tries code
  for ((tries = 0; tries < 50; tries++)); do
    spawn client "$weft" run --node a -- ucmatose -s "$c" -C 1
    code=0
    wait "${pid_of[client]}" || code=$?
    unset "pid_of[client]"
    [[ $code -ne 0 ]] || break
    sleep 0.2
  done
  expect client 'return status 0'
}

start_lab "$lab_file" 7
case $what in
  rping)
    spawn server "$weft" run --node c -- rping -s -a "$c" -C 20 -S 4096 -V
    await_ids c 1
    spawn client "$weft" run --node a -- rping -c -a "$c" -C 20 -S 4096 -V -v
    finish_rping client
    expect client 'ping data: rdma-ping-19'
    finish_rping server
    ;;
  ports)
    # Node d has an address on each of its ports.
    for address in 127.254.0.4 127.254.0.5; do
      spawn server "$weft" run --node d -- rping -s -v -a "$address" -C 20
      await_ids d 1
      spawn client "$weft" run --node a -- rping -c -a "$address" -C 20 -v
      finish_rping client
      expect client 'ping data: rdma-ping-19'
      finish_rping server
      spawn server "$weft" run --node c -- udaddy -C 50
      await_ids c 1
      spawn client "$weft" run --node d -- udaddy -b "$address" -s "$c" -C 50
      finish client
      finish server
      expect client 'return status 0'
    done
    ;;
  ucmatose)
    both "ucmatose -C 200 -S 1000" "ucmatose -s $c -C 200 -S 1000"
    expect client 'test complete'
    expect client 'return status 0'
    ;;
  udaddy)
    both "udaddy -C 200" "udaddy -s $c -C 200"
    expect client 'return status 0'
    ;;
  perftest)
    for program in ib_send_bw ib_write_bw ib_read_lat; do
      need "$program"
      spawn server "$weft" run --node c -- "$program" -R -F -n 500
      await_ids c 1
      spawn client "$weft" run --node a -- "$program" -R -F -n 500 "$c"
      finish client
      finish server
      expect client '^ (65536|2) +500 '
    done
    ;;
  slow)
    # The path's rate is 2.5 Gb/s, the ports' 40: who sends holds to the path's (MiB/s).
    both "ib_write_bw -R -F -n 2000" "ib_write_bw -R -F -n 2000 $c"
    read -r -a cell <<<"$(perftest_row client)"
    is_above "${cell[3]}" 0 || fail "ib_write_bw measured nothing"
    ! is_above "${cell[3]}" 299 || fail "${cell[3]} MiB/s over a path of 2.5 Gb/s"
    echo "ib_write_bw over a path of 2.5 Gb/s: ${cell[3]} MiB/s"
    ;;
  mckey)
    need mckey dump_mfts
    # Somebody on the sender's node is in the group before it, so that what it sends at once finds
    # the way through both switches.
    for node in a c; do
      spawn "receiver-$node" "$weft" run --node "$node" -- stdbuf -oL mckey -m 239.1.2.3 -C 100 \
        -b "${!node}"
      await "receiver-$node" 'joined dgid: ff12:4001:'
    done
    await_tree receiver-c 2
    spawn sender "$weft" run --node a -- mckey -m 239.1.2.3 -b "$a" -C 100 -s
    finish sender
    for node in a c; do
      finish "receiver-$node"
      expect "receiver-$node" 'return status 0'
    done
    [[ $(node_counter c sa_groups_left) == 1 ]] || fail "node c is in the group for ever"
    # Another manager knows nothing of groups, and says so to all ports; programs are told.
    spawn receiver "$weft" run --node c -- stdbuf -oL mckey -m 239.1.2.3 -b "$c" -C 100
    await receiver 'joined dgid: ff12:4001:'
    change_manager
    await receiver 'RDMA_CM_EVENT_MULTICAST_ERROR, (error|status): -102'
    stop receiver
    exit 0
    ;;
  absent)
    # An address that nobody has, and a node on which nobody listens. Programs end with the error.
    spawn nobody "$weft" run --node a -- ucmatose -s 127.254.9.9
    finish nobody $((256 - 101))
    expect nobody 'ADDR_ERROR, error: -101'
    spawn unheard "$weft" run --node a -- ucmatose -s "$c"
    finish unheard 8
    expect unheard 'REJECTED, error: 8'
    ;;
  managers)
    spawn server "$weft" run --node c -- ucmatose -C 1
    await_ids c 1
    if [[ $manager == opensm ]]; then
      # The subnet manager goes: its node says that nobody is there who knows routes. Another one
      # comes, on another node, and what was listening all the while is found again.
      stop opensm
      spawn unanswered "$weft" run --node a -- ucmatose -s "$c" -C 1
      finish unanswered $((256 - 113))
      expect unanswered 'ROUTE_ERROR, error: -113'
    fi
    change_manager
    await_connection
    finish server
    if [[ $manager == weft ]]; then
      # The other one is killed, and the lab's own knows the routes again.
      spawn server "$weft" run --node c -- ucmatose -C 1
      await_ids c 1
      kill -KILL -- "-${pid_of[opensm]}"  # with its whole group: the program that limits its time
      wait "${pid_of[opensm]}" || :
      unset "pid_of[opensm]"
      await_connection
      finish server
    fi
    ;;
  killed)
    # A program dies without a word: its peer is told.
    spawn server "$weft" run --node c -- rping -s -v -a "$c"
    await_ids c 1
    spawn client "$weft" run --node a -- rping -c -v -a "$c" -C 1000000 -S 64
    await server 'ping data' || await client 'ping data'
    # With its whole group: what was started is the program that limits its time.
    kill -KILL -- "-${pid_of[client]}"
    wait "${pid_of[client]}" || :
    unset "pid_of[client]"
    finish_rping server
    ;;
  *)
    fail "there is no case $what"
    ;;
esac
[[ $(node_counter a sa_routes_found) -gt 0 ]] || fail "no path was asked for"
