#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: rdmacm.sh WHAT [WIRE [TIMES]]: programs over the distribution's own librdmacm, in a network
# namespace and with a host agent of their own. WHAT is a case of the list below. TIMES: how often
# in a row, with one agent.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
private_network "$0" "$@"
what=$1
wire=${2:-udp}
times=${3:-1}
ip link set lo up
ip link set lo multicast on
begin

# both "SERVER COMMAND" "CLIENT COMMAND"
both() {
  local server client
  read -ra server <<<"$1"
  read -ra client <<<"$2"
  need "${server[0]}" "${client[0]}"
  spawn server "$weft" run --wire "$wire" -- "${server[@]}"
  await_identifier
  spawn client "$weft" run --wire "$wire" -- "${client[@]}"
  finish_rping client
  finish_rping server
}

# over_sockets "SERVER COMMAND" "CLIENT COMMAND", for a shell: programs for TCP, over rsockets.
over_sockets() {
  local preloaded
  need "${1%% *}"
  preloaded=$(dpkg -L librdmacm1 2>/dev/null | grep -m 1 'librspreload.so$') ||
    skip "librspreload is missing: script/bootstrap"
  export work
  spawn server env LD_PRELOAD="$preloaded" "$weft" run --wire "$wire" -- sh -c "exec $1"
  await_identifier
  spawn client env LD_PRELOAD="$preloaded" "$weft" run --wire "$wire" -- sh -c "exec $2"
  finish client
  finish server
}

# perftest_over_cm PROGRAM OPTION ...: its server listens twice in a row, and a client that is
# refused crashes. None may be.
perftest_over_cm() {
  need "$1"
  spawn server "$weft" run --wire "$wire" -- "$@" -R
  await_identifier
  spawn client "$weft" run --wire "$wire" -- "$@" -R 127.0.0.1
  finish client
  finish server
  [[ -n $(perftest_row client) ]] || fail "$* measured nothing"
}

scenario() {
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
    spaces)  # rdma_getaddrinfo for the other port spaces, and by GID
      for name in "-P ib" "-f ip -P tcp" "-f gid -P ib"; do
        at=127.0.0.1
        [[ $name != *gid* ]] || at=::ffff:127.0.0.1
        both "ucmatose $name -b $at" "ucmatose $name -s $at"
        expect client 'return status 0'
      done
      both "udaddy -p 0x0002" "udaddy -p 0x0002 -s 127.0.0.1"  # RDMA_PS_IPOIB
      expect client 'return status 0'
      ;;
    udaddy)
      both "udaddy" "udaddy -s 127.0.0.1"
      expect client 'return status 0'
      expect server 'return status 0'
      ;;
    mckey)
      ip route replace 239.0.0.0/8 dev lo
      need mckey
      # What is sent before the receiver has joined is gone.
      spawn server "$weft" run --wire "$wire" -- stdbuf -oL mckey -m 239.1.2.3 -b 127.0.0.1
      await server 'joined dgid'
      run client "$weft" run --wire "$wire" -- mckey -m 239.1.2.3 -b 127.0.0.1 -s
      finish server
      expect client 'joined dgid: ::ffff:239.1.2.3'
      expect server 'return status 0'
      ;;
    client)
      both "rdma_server" "rdma_client -s 127.0.0.1"
      expect client 'end 0'
      expect server 'end 0'
      ;;
    xclient)
      both "rdma_xserver -c r" "rdma_xclient -s 127.0.0.1 -c r"
      expect client 'end 0'
      expect server 'end 0'
      ;;
    xclient-xrc)
      both "rdma_xserver -c x" "rdma_xclient -s 127.0.0.1 -c x"
      expect client 'end 0'
      expect server 'end 0'
      ;;
    cmtime)
      need cmtime
      spawn server "$weft" run --wire "$wire" -- cmtime  # for ever
      await_identifier
      run client "$weft" run --wire "$wire" -- cmtime -s 127.0.0.1 -c 50
      stop server
      expect client '^connect +: +[0-9.]+'
      ;;
    rstream)
      both "rstream -S 65536 -I 10 -C 20" "rstream -s 127.0.0.1 -S 65536 -I 10 -C 20"
      expect client '^custom +64k'
      ;;
    riostream)
      both "riostream -S 65536 -I 10 -C 20" "riostream -s 127.0.0.1 -S 65536 -I 10 -C 20"
      expect client '^custom +64k'
      ;;
    iperf3)
      over_sockets 'iperf3 -s -1 -B 127.0.0.1' 'iperf3 -c 127.0.0.1 -n 50M'
      # What is still on its way when the client says "done" on the control connection is not in the
      # server's sum, over TCP neither; socat below compares the bytes.
      expect client '50\.0 MBytes .*sender'
      expect client '(4[5-9]|50)\.[0-9] MBytes .*receiver'
      ;;
    socat)
      head -c 3000000 /dev/urandom >"$work/sent"
      over_sockets 'socat -u TCP4-LISTEN:7471,bind=127.0.0.1 STDOUT >"$work/received"' \
        'socat -u STDIN TCP4:127.0.0.1:7471 <"$work/sent"'
      cmp "$work/sent" "$work/received" || fail "something else came out than went in"
      ;;
    perftest)
      perftest_over_cm ib_write_bw -s 65536 -n 200
      perftest_over_cm ib_write_bw -s 4096 -q 4 -n 200
      perftest_over_cm ib_send_bw -s 4096 -n 200
      perftest_over_cm ib_read_bw -s 65536 -n 200
      perftest_over_cm ib_atomic_bw -n 200
      perftest_over_cm ib_write_lat -s 8 -n 200
      perftest_over_cm ib_send_lat -s 8 -n 200
      perftest_over_cm ib_send_bw -c UD -s 2048 -n 200
      perftest_over_cm ib_send_lat -c UD -s 64 -n 200
      ;;
    hints)
      run hints "$weft" run --wire "$wire" -- "$build_tree/tests/addrinfo_hints"
      expect hints '^240 combinations of hints, 20 connections, 0 complaints'
      ;;
    closed)
      run waiter "$weft" run -- python3 "$source_tree/tests/e2e/closed_channel.py"
      expect waiter 'no file was half closed'
      expect waiter 'every event came'
      ;;
    killed)
      need rping
      spawn server "$weft" run -- rping -s -v -a 127.0.0.1 -C 1000000
      await_identifier 127.0.0.1:7174
      # Without timeout in between: the signal must hit the program itself.
      "$weft" run -- rping -c -a 127.0.0.1 -C 1000000 </dev/null >"$work/client.out" 2>&1 &
      killed=$!
      await server 'server ping data'
      kill -KILL "$killed"
      await server 'DISCONNECT EVENT'
      stop server
      ;;
    *) fail "unknown: $what" ;;
  esac
}

for ((round = 1; round <= times; round++)); do
  [[ $times -eq 1 ]] || echo "round $round"
  scenario
done

# Nobody is left: the agent forgets them, and would end by itself.
pkill -TERM -x weftd --ns $$ --nslist net || :
