#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_sites.sh WHAT: two labs that range extenders make one subnet. WHAT is one of
#   programs  on one machine, under the manager of one of the two
#   opensm    the same under OpenSM
#   cut       on machines of their own, as far as they can tell: the WAN is cut and comes back, and
#             the other site's extender is killed and restarted
#   far       over an emulated WAN of 100 ms there and back, which loses packets
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need ibv_rc_pingpong ibv_ud_pingpong ib_write_bw ibnetdiscover ibtracert python3 ss tshark
what=$1
[[ $what != opensm ]] || need opensm
[[ $what != cut ]] || { need ip unshare nsenter; private_network "$0" "$@"; }
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

# Where a site runs: a command, and its own runtime directory.
declare -A at=([west]='' [east]='') home=([west]=$work [east]=$work)
there=127.0.0.1 # where the programs of site east are, on the network of the host
in_site() {     # SITE COMMAND ...: sets `words` to a command that runs it where the site is
  local site=$1
  shift
  words=(env "XDG_RUNTIME_DIR=${home[$site]}" "$@")
  [[ -z ${at[$site]} ]] || words=(nsenter "--net=/proc/${at[$site]}/ns/net" -- "${words[@]}")
}
start_site() {  # SITE [ARGUMENT ...]
  in_site "$1" "$weft" up "${@:2}" "$work/$1.toml"
  spawn "$1" "${words[@]}"
  await "$1" "^lab $1: 2 switches, 2 channel adapters, 3 links"
}
site_report() { # SITE EXPRESSION
  in_site "$1" "$weft" status -d --json
  "${words[@]}" | python3 -c "
import json, sys
for lab in json.load(sys.stdin)['labs']:
    if lab['name'] == '$1':
        extender = lab['extenders'][0]
        wan = [port for node in lab['nodes'] if node['name'] == extender['extender']
               for port in node['ports'] if port['port'] == 2][0]
        print($2)"
}
await_site() {  # SITE EXPRESSION VALUE
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    [[ $(site_report "$1" "$2") != "$3" ]] || return 0
    sleep 0.1
  done
  fail "of site $1, $2 is $(site_report "$1" "$2"), not $3"
}
await_active() {
  await_site west "wan['state']" Active
  await_site east "wan['state']" Active
  await_site east "lab['links']['states']" "{'Active': 3}"
}
node() {        # NAME NODE PROGRAM ...: starts it there
  local site=west
  [[ $2 != e* ]] || site=east
  in_site "$site" "$weft" run --lab "$site" --node "$2" -- "${@:3}"
  spawn "$1" "${words[@]}"
}
across() {      # PROGRAM ...: its server on node e1, its client on node w1
  local port
  port=$(free_port)
  node server e1 "$@" -p "$port"
  await_listener server "$port" "${at[east]}"
  node client w1 "$@" -p "$port" "$there"
  finish client
  finish server
}
stop_sites() {
  local site
  for site in east west; do
    in_site "$site" "$weft" down "$site"
    run "down-$site" "${words[@]}"
    finish "$site"
  done
}
cp "$source_tree/examples/labs/site-west.toml" "$work/west.toml"
cp "$source_tree/examples/labs/site-east.toml" "$work/east.toml"

# Real tools see one fabric, and real programs use it.
one_fabric() {
  local service
  node discover w2 ibnetdiscover
  finish discover
  [[ $(grep -c '^Switch' "$work/discover.out") == 4 ]] || fail "not four switches"
  [[ $(grep -c '^Ca' "$work/discover.out") == 4 ]] || fail "not four channel adapters"
  for service in rc uc ud srq; do
    across "ibv_${service}_pingpong" -n 500
    expect client '^500 iters in .* seconds'
  done
  across ib_write_bw -d weft0 -F -n 500
  [[ -n $(perftest_row client) ]] || fail "ib_write_bw printed no result"
  across ib_read_bw -d weft0 -F -n 500
  [[ -n $(perftest_row client) ]] || fail "ib_read_bw printed no result"
}
# Nothing was lost, mistaken or forged on the way.
clean() {
  local site
  for site in west east; do
    site_report "$site" "sorted(extender['remotes'][0]['counters'])" >"$work/counters-$site.out"
    expect "counters-$site" "tx_packets"
    refuse "counters-$site" 'forged|lost|overrun|malformed|late|no_lane|full'
  done
}

programs() {
  start_site west
  start_site east
  await_active
  one_fabric
  # The way of a packet, switch by switch.
  node tracing w1 ibtracert -G "$(site_report west "lab['nodes'][-1]['ports'][0]['guid']")" \
    "$(site_report east "lab['nodes'][-1]['ports'][0]['guid']")"
  finish tracing
  expect tracing 'edge-west'
  expect tracing 'edge-east'
  clean
  run status "$weft" status
  expect status '^  extender edge-west at 127.0.0.1:7471'
  expect status '^    port 2 to east \(127.0.0.1:7472\): up$'
  stop_sites
}

opensm() {
  start_site west --sm none
  start_site east
  in_site west "$weft" run --lab west --node w1 -- opensm -f "$work/opensm.log"
  spawn opensm "${words[@]}"
  await_active
  one_fabric
  clean
  stop opensm
  stop_sites
}

cut() {
  local west='' east=''
  new_namespace west
  new_namespace east
  join "$west" veth0 10.78.0.1/24 "$east" veth0 10.78.0.2/24
  at=([west]=$west [east]=$east)
  home=([west]=$work/west [east]=$work/east)
  mkdir -m 700 "$work/west" "$work/east"
  there=10.78.0.2
  sed -i -e 's/127.0.0.1:7471/10.78.0.1:7471/' -e 's/127.0.0.1:7472/10.78.0.2:7472/' \
    "$work/west.toml" "$work/east.toml"
  start_site west
  start_site east
  await_active
  across ibv_rc_pingpong -n 300
  nsenter "--net=/proc/$west/ns/net" -- ip link set veth0 down
  await_site west "wan['state']" Down
  await_site east "wan['state']" Down
  nsenter "--net=/proc/$west/ns/net" -- ip link set veth0 up
  await_active
  across ibv_rc_pingpong -n 300
  kill -KILL -- "-${pid_of[east]}" # with its whole group: the program that limits its time
  wait "${pid_of[east]}" || :
  unset "pid_of[east]"
  await_site west "wan['state']" Down
  start_site east
  await_active
  one_fabric
  stop_sites
}

far() {
  local relay
  relay=$(free_port)
  sed -i "s/127.0.0.1:7472/127.0.0.1:$relay/" "$work/west.toml"
  sed -i '/^address = /d' "$work/east.toml" # it comes from the emulator, from whichever port
  spawn wan "$weft" wan-emulator udp "127.0.0.1:$relay" 127.0.0.1:7472 \
    --path rate=1Gb/s,delay=50ms,loss=1%,reorder=1%,seed=7
  await wan '^weft wan-emulator: udp'
  start_site west
  start_site east
  await_active
  # Patience beyond the round trip, which the ping-pongs of libibverbs do not have.
  across ib_send_bw -d weft0 -F -n 500 -u 20
  [[ -n $(perftest_row client) ]] || fail "ib_send_bw printed no result"
  across ib_write_bw -d weft0 -F -n 500 -u 20
  [[ -n $(perftest_row client) ]] || fail "ib_write_bw printed no result"
  site_report west "extender['remotes'][0]['counters']" >"$work/counters.out"
  expect counters "tx_repeated': [1-9]"
  refuse counters 'rx_lost|forged|overrun'
  stop wan INT
  expect wan 'lost [1-9]'
  await_site west "wan['state']" Down
  stop_sites
}

$what
echo "$what: done"
