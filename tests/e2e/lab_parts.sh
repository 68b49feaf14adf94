#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_parts.sh WHAT [opensm]: a lab in two parts, each run by a process of its own, under the
# lab's own subnet manager or under OpenSM. WHAT is one of
#   rings   both on one machine, joined by rings in memory
#   udp     each on a machine of its own, as far as it can tell, joined by UDP
#   killed  one part is killed and comes again, and the other one after it
#   lossy   the links between the parts lose packets of both kinds
#   wrong   what is asked of the wrong part, or of a part that is not there
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=120
source "$(dirname "$0")/lib.sh"
need ibv_rc_pingpong ibv_ud_pingpong ib_write_bw ibnetdiscover rping ucmatose python3 ss tshark
what=$1
[[ ${2:-weft} == weft ]] || need opensm
[[ $what != udp ]] || { need ip unshare nsenter; private_network "$0" "$@"; }
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
manager=${2:-weft}
lab_file=$source_tree/examples/labs/in-parts.toml
c=10.254.0.3 # node c's address

# Where a part runs: a command, and its own runtime directory.
declare -A at=([left]='' [right]='') home=([left]=$work [right]=$work)
# in_part PART COMMAND ...: sets `words` to a command that runs it where the part does.
in_part() {
  local part=$1
  shift
  words=(env "XDG_RUNTIME_DIR=${home[$part]}" "$@")
  [[ -z ${at[$part]} ]] || words=(nsenter "--net=/proc/${at[$part]}/ns/net" -- "${words[@]}")
}
start_part() {
  in_part "$1" "$weft" up --sm "$manager" --part "$1" "$lab_file"
  spawn "$1" "${words[@]}"
  await "$1" "^lab in-parts@$1: 1 switches, 2 channel adapters, 4 links, 2 of them to other parts"
}
# states_of PART: of its links, halves among them.
states_of() {
  in_part "$1" "$weft" status --json
  "${words[@]}" | python3 -c "
import json, sys
for lab in json.load(sys.stdin)['labs']:
    if lab['part'] == '$1':
        print(json.dumps(lab['links']['states'], separators=(',', ':')))"
}
await_states_of() { # PART JSON
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    [[ $(states_of "$1") != "$2" ]] || return 0
    sleep 0.1
  done
  fail "links of part $1 are in states $(states_of "$1"), not $2"
}
await_active() {
  await_states_of left '{"Active":4}'
  await_states_of right '{"Active":4}'
}
# node NAME NODE PROGRAM ...: starts it there; a and b are in part left.
node() {
  local part=right
  [[ $2 == [cd] ]] && part=right || part=left
  in_part "$part" "$weft" run --node "$2" -- "${@:3}"
  spawn "$1" "${words[@]}"
}
# across PROGRAM ...: its server on node c, its client on node a.
across() {
  local port
  port=$(free_port)
  node server c "$@" -p "$port"
  await_listener server "$port" "${at[right]}"
  node client a "$@" -p "$port" "$there"
  finish client
  finish server
}
there=127.0.0.1 # where the programs of part right are, on the network of the host
# As await_ids, of a node in part right.
await_identifier_of_c() {
  local tries
  in_part right "$weft" status -d --json
  for ((tries = 0; tries < 300; tries++)); do
    [[ $("${words[@]}" | python3 -c "
import json, sys
print(sum(node.get('rdma_cm', {}).get('ids', 0) for lab in json.load(sys.stdin)['labs']
          for node in lab['nodes'] if node['name'] == 'c'))") != 1 ]] || return 0
    sleep 0.05
  done
  fail "nobody listens on node c"
}
stop_part() {
  in_part "$1" "$weft" down "in-parts@$1"
  run "down-$1" "${words[@]}"
  finish "$1"
}

# Real tools see one fabric, and real programs use it.
one_fabric() {
  local service
  node discover a ibnetdiscover
  finish discover
  [[ $(grep -c '^Switch' "$work/discover.out") == 2 ]] || fail "not two switches"
  [[ $(grep -c '^Ca' "$work/discover.out") == 4 ]] || fail "not four channel adapters"
  in_part left "$weft" lab import "$work/discover.out"
  run imported "${words[@]}"
  [[ $(grep -c 'ends = ' "$work/imported.out") == 6 ]] || fail "not six links in the listing"
  for service in rc uc ud srq; do
    across "ibv_${service}_pingpong" -n 500
    expect client '^500 iters in .* seconds'
  done
  across ib_write_bw -d weft0 -F -n 500
  [[ -n $(perftest_row client) ]] || fail "ib_write_bw printed no result"
}
# By the lab's IP addresses, with what they need of the subnet administrator.
connections() {
  node server c rping -s -a "$c" -C 20 -S 4096 -V
  await_identifier_of_c
  node client a rping -c -a "$c" -C 20 -S 4096 -V -v
  finish_rping client
  expect client 'ping data: rdma-ping-19'
  finish_rping server
  # Nobody listens there, and node c's communication manager says so.
  node unheard a ucmatose -s "$c"
  finish unheard 8
  expect unheard 'REJECTED, error: 8'
}
# good_crcs PART: of what the trunks carry meanwhile, seen from that part.
good_crcs() {
  local link
  for link in trunk spare; do
    in_part "$1" "$weft" capture --lab "in-parts@$1" "$link" -w "$work/$link.pcapng"
    spawn "capture-$link" "${words[@]}"
    await "capture-$link" '^weft capture: listening'
  done
  across ibv_rc_pingpong -n 300
  for link in trunk spare; do
    stop "capture-$link" INT
    # One of the two may have carried nothing, which the checker does not like.
    /usr/bin/python3 "$source_tree/tests/tools/check_crc.py" "$work/$link.pcapng" || :
  done >"$work/crcs.out"
  expect crcs '[1-9][0-9]{2,} packets, [0-9]+ good, 0 bad'
  refuse crcs '[1-9][0-9]* bad'
}

rings() {
  start_part right
  await_states_of right '{"Down":2,"Initializing":2}'
  start_part left
  await_active
  one_fabric
  connections
  good_crcs left
  good_crcs right
  run status "$weft" status
  expect status '^lab in-parts@left: .* links 4 \(4 Active\)'
  expect status '^  part right rings links 2 connected 2'
  expect status '^lab in-parts@right: '
  # Whichever part is asked, a link is one link.
  run pulled "$weft" link trunk down
  await_states_of left '{"Active":3,"Down":1}'
  await_states_of right '{"Active":3,"Down":1}'
  across ibv_rc_pingpong -n 100
  run plugged "$weft" link trunk up
  await_active
  run degraded "$weft" link s2:7 degrade delay=1ms --json
  expect degraded '"emulation": "delay=1ms'
  run shown "$weft" link trunk
  expect shown '^  to part right by rings'
  expect shown 's1:7 state Active'
  expect shown 's2:7 state Active'
  run down "$weft" down
  finish left
  finish right
}

udp() {
  local left='' right=''
  new_namespace left
  new_namespace right
  join "$left" veth0 10.78.0.1/24 "$right" veth0 10.78.0.2/24
  at=([left]=$left [right]=$right)
  home=([left]=$work/left [right]=$work/right)
  mkdir -m 700 "$work/left" "$work/right"
  there=10.78.0.2
  sed -e 's/^left = {}/left = { address = "10.78.0.1:18515" }/' \
    -e 's/^right = {}/right = { address = "10.78.0.2:18515" }/' "$lab_file" >"$work/lab.toml"
  lab_file=$work/lab.toml
  start_part left
  start_part right
  await_active
  one_fabric
  connections
  good_crcs left
  in_part left "$weft" status
  run status "${words[@]}"
  expect status '^  part right udp links 2 connected 2'
  in_part left "$weft" link trunk degrade delay=1ms
  run degraded "${words[@]}"
  expect degraded 'what part right sends on this link stays as it is'
  # One machine restarts without a goodbye: the other one notices by itself.
  kill -KILL -- "-${pid_of[right]}"
  wait "${pid_of[right]}" || :
  unset "pid_of[right]"
  await_states_of left '{"Active":2,"Down":2}'
  start_part right
  await_active
  across ibv_rc_pingpong -n 300
  stop_part right
  await_states_of left '{"Active":2,"Down":2}'
  stop_part left
}

killed() {
  local part other
  start_part left
  start_part right
  await_active
  for part in right left; do
    [[ $part == left ]] && other=right || other=left
    kill -KILL -- "-${pid_of[$part]}" # with its whole group: the program that limits its time
    wait "${pid_of[$part]}" || :
    unset "pid_of[$part]"
    # Without its subnet manager part right has no one to bring its links to Active, nor away from.
    await_states_of "$other" '{"Active":2,"Down":2}'
    start_part "$part"
    await_active
    across ibv_rc_pingpong -n 300
  done
  connections
  stop_part left
  stop_part right
}

lossy() {
  sed '/^name = "\(trunk\|spare\)"/a loss = "2%"\ncredit_loss = "2%"\ndelay = "100us"' \
    "$lab_file" >"$work/lab.toml"
  lab_file=$work/lab.toml
  start_part left
  start_part right
  await_active
  # Programs that end together: where the last acknowledgement is lost, nobody is left to say it
  # again, and the other end of a ping-pong fails as it would anywhere.
  across ib_send_lat -d weft0 -F -n 500
  across ib_write_bw -d weft0 -F -n 200
  run trunk "$weft" link trunk
  run spare "$weft" link spare
  cat "$work/trunk.out" "$work/spare.out" >"$work/links.out"
  expect links '^ +lost [1-9]'
  stop_part left
  stop_part right
}

wrong() {
  spawn nowhere "$weft" up "$lab_file"
  finish nowhere 2
  expect nowhere 'lab in-parts is in parts: say with --part which to run \(left, right\)'
  spawn nobody "$weft" up --part middle "$lab_file"
  finish nobody 2
  expect nobody '--part middle: lab in-parts has the parts left, right'
  start_part left
  spawn again "$weft" up --part left "$lab_file"
  finish again 2
  expect again 'part left of lab in-parts runs already'
  spawn elsewhere "$weft" run --node c -- ibv_devinfo
  finish elsewhere 2
  expect elsewhere 'c is in part right of the lab, not in part left'
  spawn link "$weft" link c:1
  finish link 2
  expect link 'c:1 is in part right of lab in-parts, not in part left'
  sed 's/"in-parts"/"other"/' "$lab_file" >"$work/lab.toml"
  spawn other "$weft" up --part right "$work/lab.toml"
  await other '^lab other@right'
  run status "$weft" status
  expect status '^  part right rings links 2 connected 0'
  run down "$weft" down other
  finish other
  stop_part left
}

$what
echo "$what: done"
