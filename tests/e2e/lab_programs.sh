#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_programs.sh WHAT [weft], WHAT a case of the list at the end: programs of verbs,
# unmodified, on the nodes of a lab of two switches under OpenSM, or under the lab's own subnet
# manager. They exchange their addresses by TCP over loopback, and all else through the switches.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ibv_rc_pingpong ib_send_bw ibv_devinfo python3 ss
what=$1
time_limit=120
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"

server_with=(--node a) client_with=(--node c) server_device=weft0 client_device=weft0
manager=${2:-opensm}
[[ $manager == weft ]] || need opensm
lab_file=$source_tree/examples/labs/two-switches.toml sm_options=()
if [[ $what == lids ]]; then
  { echo 'sm = { lmc = 2 }'; cat "$lab_file"; } >"$work/lab.toml"
  lab_file=$work/lab.toml sm_options=(--lmc 2)
fi
start_lab "$lab_file" 7 "${sm_options[@]}"

# between PROGRAM ...: from node c to node a, by LID unless it is told otherwise.
between() {
  pair 127.0.0.1 -- "$@"
  echo "$*: done"
}
# Its result, whatever it measures, is a row that begins with bytes and how often.
measured() {
  between "$@"
  [[ -n $(perftest_row client) ]] || fail "$1 printed no result"
}

pingpongs() {
  local service
  on devinfo c ibv_devinfo -v
  expect devinfo 'transport:.*InfiniBand'
  expect devinfo 'state:.*PORT_ACTIVE'
  expect devinfo 'link_layer:.*InfiniBand'
  expect devinfo 'sm_lid:\s+[1-9]'
  expect devinfo 'port_lid:\s+[1-9]'
  expect devinfo 'max_pkeys:\s+128'
  expect devinfo 'GID\[ *0\]:\s+fe80:0*:'
  expect devinfo 'active_mtu:\s+4096'
  for service in rc uc ud srq; do
    between "ibv_${service}_pingpong" -n 1000
    for side in client server; do expect "$side" '^1000 iters in .* seconds'; done
    expect client 'local address:  LID 0x000*[1-9a-f]'
  done
  between ibv_rc_pingpong -c -s 65536 -n 100 -m 2048
  between ibv_rc_pingpong -e -n 200
  between ibv_ud_pingpong -g 0 -n 1000
  between ibv_rc_pingpong -g 0 -n 1000
  # Two programs of one node meet in its adapter.
  client_with=(--node a)
  between ibv_rc_pingpong -n 1000
  between ibv_ud_pingpong -n 1000
}

perftests() {
  local tool service
  for tool in ib_send_bw ib_send_lat; do
    for service in RC UC UD; do measured "$tool" -c "$service" -n 1000 -F; done
  done
  for service in RC UC; do
    measured ib_write_bw -c "$service" -n 1000 -F
    # It looks at its memory and asks for nothing: both keep a processor each until the clock takes
    # it from them, and who carries the packets waits for that. Beside other work it takes minutes.
    time_limit=600 measured ib_write_lat -c "$service" -n 1000 -F
  done
  for tool in ib_read_bw ib_read_lat ib_atomic_bw ib_atomic_lat; do
    measured "$tool" -n 1000 -F
  done
  measured ib_write_bw -s 1048576 -n 100 -F
  measured ib_send_bw -q 8 -s 8192 -n 200 -F
  measured ib_send_bw -b -s 4096 -n 1000 -F
  measured ib_write_bw -x 0 -n 1000 -F
  measured ib_send_bw -e -n 1000 -F
}

# Node d has a port on either switch, and its queue pairs are on whichever they are told.
ports() {
  local port number service
  on devinfo d ibv_devinfo -v
  expect devinfo 'phys_port_cnt:\s+2'
  for number in 1 2; do
    run "port-$number" "$weft" run --node d -- ibv_devinfo -i "$number"
    expect "port-$number" "port:\s+$number"
    expect "port-$number" 'state:.*PORT_ACTIVE'
  done
  [[ $(lid_of port-1) != "$(lid_of port-2)" ]] || fail "both ports have one LID"
  for service in rc uc ud srq; do
    for number in 1 2; do
      port=$(free_port)
      spawn server "$weft" run --node a -- "ibv_${service}_pingpong" -p "$port" -n 500
      await_listener server "$port"
      spawn client "$weft" run --node d -- \
        "ibv_${service}_pingpong" -p "$port" -n 500 -i "$number" 127.0.0.1
      finish client
      finish server
      expect client '^500 iters in .* seconds'
      expect server "remote address: LID 0x0*$(lid_of "port-$number")"
    done
  done
  # From one port to the other, through both switches.
  port=$(free_port)
  spawn server "$weft" run --node d -- ib_write_bw -p "$port" -i 1 -n 500 -F
  await_listener server "$port"
  spawn client "$weft" run --node d -- ib_write_bw -p "$port" -i 2 -n 500 -F 127.0.0.1
  finish client
  finish server
  [[ -n $(perftest_row client) ]] || fail "ib_write_bw printed no result"
}
# In hexadecimal.
lid_of() {
  printf '%x' "$(sed -n 's/.*port_lid:\s*//p' "$work/$1.out")"
}

# stream OPTION ...: numbered messages from node c to node a, each byte of which is looked at;
# until stream_ends is called it goes on.
stream() {
  local port
  port=$(free_port)
  spawn receiver "$weft" run --node a -- /usr/bin/python3 "$source_tree/tests/e2e/rc_stream.py" \
    --listen "$port" "$@"
  await_listener receiver "$port"
  spawn sender "$weft" run --node c -- /usr/bin/python3 "$source_tree/tests/e2e/rc_stream.py" \
    --connect "127.0.0.1:$port" "$@"
  await sender '^LID '
}
stream_ends() {
  local sent
  finish sender
  finish receiver
  sent=$(sed -n 's/ messages sent$//p' "$work/sender.out")
  [[ $sent -gt 0 ]] || fail "nothing was sent"
  expect receiver "^$sent messages arrived, each once, in order and whole\$"
}

# Links between the switches go and come while messages flow: none is lost, and none comes twice.
flaps() {
  local cable
  need_pyverbs
  stream --seconds 16
  for cable in trunk spare trunk; do
    run pulled "$weft" link "$cable" down
    await_states '{"Active":6,"Down":1}'
    run plugged "$weft" link "$cable" up
    await_states "$opensm_states"
  done
  stream_ends
}

# Four LIDs for each port: a connection goes between any pair of them, as its path bits say.
lids() {
  local bits lid
  need_pyverbs
  on devinfo c ibv_devinfo -v
  expect devinfo 'port_lmc:\s+0x02'
  lid=$(sed -n 's/.*port_lid:\s*//p' "$work/devinfo.out")
  for bits in 0 1 3; do
    stream --seconds 1 --path-bits "$bits"
    expect sender "^LID $((lid + bits)) to LID "
    stream_ends
  done
  between ibv_rc_pingpong -n 500
  between ibv_ud_pingpong -n 500
  measured ib_write_bw -n 500 -F
}

groups() {
  measured ib_send_bw -c UD -g -s 2048 -n 1000 -F
  measured ib_send_lat -c UD -g -s 64 -n 1000 -F
}

# What one program loses on purpose it gets all the same, and its capture shows what was sent.
spoilt() {
  local side
  server_with+=(--stats --capture "$work/server.pcapng" --fault "loss=1%,corrupt=1%,seed=3")
  client_with+=(--stats --capture "$work/client.pcapng" --fault "duplicate=1%,reorder=1%,seed=4")
  between ibv_rc_pingpong -n 300
  expect server 'fault_lost +[1-9]'
  expect server 'ring_rx_(bad_icrc|malformed) +[1-9]'
  expect client 'fault_duplicated +[1-9]'
  expect client 'fault_reordered +[1-9]'
  for side in client server; do
    expect "$side" '^300 iters in .* seconds'
    run "$side-crc" /usr/bin/python3 "$source_tree/tests/tools/check_crc.py" "$work/$side.pcapng"
    expect "$side-crc" '[1-9][0-9]{3,} packets, ([0-9]+) good, 0 bad'
  done
}

# What happens to a port is told to programs, and so is the end of the lab.
events() {
  spawn watch stdbuf -oL "$weft" run --node c -- ibv_asyncwatch -d weft0
  await watch 'async event FD'
  run pulled "$weft" link c:1 down
  await watch 'IBV_EVENT_PORT_ERR'
  run plugged "$weft" link c:1 up
  await watch 'IBV_EVENT_PORT_ACTIVE'
  stop opensm
  start_opensm b
  await watch 'IBV_EVENT_SM_CHANGE'
  await watch 'IBV_EVENT_CLIENT_REREGISTER'
  run down "$weft" down
  await watch 'IBV_EVENT_DEVICE_FATAL'
  finish lab
  stop opensm
  stop watch
}

# Each link between the two switches fails while a connection uses them; its subnet manager goes
# and comes back; its program dies. Neither the fabric nor its other programs mind.
trouble() {
  local port cable
  port=$(free_port)
  local load=(ib_send_bw -d weft0 -p "$port" -D 12 -u 18 -s 65536 -F)
  spawn load_server "$weft" run --node a -- "${load[@]}"
  await_listener load_server "$port"
  spawn load_client stdbuf -oL "$weft" run --node c -- "${load[@]}" 127.0.0.1
  await load_client 'remote address'
  for cable in trunk spare; do  # one of them carries it, and the other one then
    run pulled "$weft" link "$cable" down
    await_states '{"Active":6,"Down":1}'
    run plugged "$weft" link "$cable" up
    await_states "$opensm_states"
  done
  finish load_client
  finish load_server
  [[ -n $(perftest_row load_client) ]] || fail "no result while a link flapped"

  stop opensm
  between ibv_rc_pingpong -n 1000
  start_opensm b
  between ibv_rc_pingpong -n 1000

  # The peer of a program that is killed hears nothing more; the others go on. It writes all the
  # time: who only waits for an answer, after its request was acknowledged, waits for ever.
  port=$(free_port)
  load=(ib_write_bw -d weft0 -p "$port" -D 60 -s 65536 -F)
  spawn victim "$weft" run --node a -- "${load[@]}"
  await_listener victim "$port"
  spawn mourner stdbuf -oL "$weft" run --node c -- "${load[@]}" 127.0.0.1
  await mourner '#bytes'
  sleep 0.5  # it shakes hands once more before it writes
  stop_at_once victim
  finish mourner 1
  expect mourner 'transport retry counter exceeded|Failed status|parse WC'
  between ibv_rc_pingpong -n 1000
}
# The program that `weft run` has become, not timeout, which leaves it alone.
stop_at_once() {
  pkill -KILL -P "${pid_of[$1]}"
  wait "${pid_of[$1]}" 2>/dev/null || :
  unset "pid_of[$1]"
}

case $what in
  pingpong) pingpongs ;;
  perftest) perftests ;;
  ports) ports ;;
  flaps) flaps ;;
  lids) lids ;;
  groups) groups ;;
  spoilt) spoilt ;;
  trouble) trouble ;;
  events)
    events
    exit 0
    ;;
  *) fail "no test $what" ;;
esac
end_lab
