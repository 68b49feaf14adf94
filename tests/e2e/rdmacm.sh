#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: rdmacm.sh WHAT [WIRE]: programs over the distribution's own librdmacm, in a network
# namespace and with a host agent of their own. WHAT is rping, rping6, ucmatose, udaddy, mckey,
# client, rstream, perftest, killed: a peer that dies by SIGKILL, or closed: a channel closed under
# a thread that waits.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
private_network "$0" "$@"
what=$1
wire=${2:-udp}
ip link set lo up
ip link set lo multicast on
begin


# both "SERVER COMMAND" "CLIENT COMMAND": the client begins when the server listens.
both() {
  local server client
  read -ra server <<<"$1"
  read -ra client <<<"$2"
  need "${server[0]}" "${client[0]}"
  spawn server "$weft" run --wire "$wire" -- "${server[@]}"
  await_agent
  # Nothing shows from outside that the server listens by now: a client that finds nobody tries
  # again.
  local tries
  for tries in 1 2 3 4 5; do
    spawn client "$weft" run --wire "$wire" -- "${client[@]}"
    wait "${pid_of[client]}" || nobody_listens || fail "${client[0]} did not end well"
    unset "pid_of[client]"
    nobody_listens || break
    [[ $tries -lt 5 ]] || fail "${server[0]} never listened"
    sleep 2
  done
  finish server
}

nobody_listens() { grep -qE 'UNREACHABLE|REJECTED' "$work/client.out"; }

# Until the server's file is open and a moment more: it binds and listens right after.
await_agent() {
  local tries
  for ((tries = 0; tries < 500; tries++)); do
    compgen -G "$XDG_RUNTIME_DIR/weft/agent-*.sock" >/dev/null && { sleep 1; return; }
    sleep 0.02
  done
  fail "no host agent was started"
}

case $what in
  rping)
    both "rping -s -a 127.0.0.1 -C 10 -v" "rping -c -a 127.0.0.1 -C 10 -v -V"
    expect client 'ping data: rdma-ping-9:'
    ;;
  rping6)
    both "rping -s -a ::1 -C 10 -v" "rping -c -a ::1 -C 10 -v -V"
    expect client 'ping data: rdma-ping-9:'
    ;;
  ucmatose)
    both "ucmatose" "ucmatose -s 127.0.0.1"
    expect client 'return status 0'
    expect server 'return status 0'
    ;;
  udaddy)
    both "udaddy" "udaddy -s 127.0.0.1"
    expect client 'return status 0'
    expect server 'return status 0'
    ;;
  mckey)
    ip route add 239.0.0.0/8 dev lo
    both "mckey -m 239.1.2.3 -b 127.0.0.1" "mckey -m 239.1.2.3 -b 127.0.0.1 -s"
    expect client 'joined dgid: ::ffff:239.1.2.3'
    expect server 'return status 0'
    ;;
  client)
    both "rdma_server" "rdma_client -s 127.0.0.1"
    expect client 'end 0'
    expect server 'end 0'
    ;;
  rstream)
    both "rstream -S 65536 -I 10 -C 20" "rstream -s 127.0.0.1 -S 65536 -I 10 -C 20"
    expect client '^custom +64k'
    ;;
  perftest)
    both "ib_write_bw -R -s 65536 -n 200" "ib_write_bw -R -s 65536 -n 200 127.0.0.1"
    expect client '^ 65536 +200'
    both "ib_send_bw -R -c UD -s 2048 -n 200" "ib_send_bw -R -c UD -s 2048 -n 200 127.0.0.1"
    expect client '^ 2048 +200'
    ;;
  closed)
    run waiter "$weft" run -- python3 "$source_tree/tests/e2e/closed_channel.py"
    expect waiter 'every event came'
    ;;
  killed)
    need rping
    spawn server "$weft" run -- rping -s -a 127.0.0.1 -C 1000000
    await_agent
    # Without timeout in between: the signal must hit the program itself.
    "$weft" run -- rping -c -a 127.0.0.1 -C 1000000 </dev/null >"$work/client.out" 2>&1 &
    killed=$!
    sleep 1
    kill -KILL "$killed"
    await server 'DISCONNECT EVENT'
    stop server
    ;;
  *) fail "unknown: $what" ;;
esac

# Nobody is left: the agent forgets them, and would end by itself.
pkill -TERM -x weftd --ns $$ --nslist net || :
