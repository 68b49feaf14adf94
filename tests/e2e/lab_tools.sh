#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_tools.sh: every tool of infiniband-diags on a lab under OpenSM: each attribute that
# smpquery knows and a node has, each record that saquery asks for, counters read and reset, routes,
# ports disabled and enabled, and the servers of ibping and ibsysstat.
set -euo pipefail
time_limit=240
source "$(dirname "$0")/lib.sh"
need opensm ibnetdiscover iblinkinfo ibstat ibstatus smpquery smpdump sminfo saquery ibtracert \
  ibroute perfquery ibportstate ibping ibqueryerrors ibsysstat ibaddr ibhosts ibswitches \
  ibidsverify dump_lfts dump_mfts vendstat mckey python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"
start_lab "$source_tree/examples/labs/two-switches.toml" 7

# says NODE PATTERN PROGRAM ...: it ends well, and its output has such a line.
says() {
  local node=$1 pattern=$2
  shift 2
  on says "$node" "$@"
  expect says "$pattern" "$*"
}
# becomes NODE PATTERN PROGRAM ...: whether it says so within a few seconds.
becomes() {
  local tries
  for ((tries = 0; tries < 30; tries++)); do
    on says "$1" "${@:3}"
    ! grep -qE -- "$2" "$work/says.out" || return 0
    sleep 0.1
  done
  return 1
}
# refused NODE PATTERN PROGRAM ...: it fails, and says so in such a line.
refused() {
  local node=$1 pattern=$2
  shift 2
  spawn refused "$weft" run --node "$node" -- "$@"
  finish refused 255
  expect refused "$pattern" "$*"
}
lid_of() {  # NODE
  on "lid-$1" "$1" ibstat
  awk '/Base lid/ { print $3; exit }' "$work/lid-$1.out"
}
b=$(lid_of b) c=$(lid_of c) d=$(lid_of d)

# What a node knows of itself.
says b "State: Active" ibstat
says b "^.*Link layer: InfiniBand" ibstat
says b "^weft0$" ibstat -l
says b "state:.*4: ACTIVE" ibstatus
says b "link_layer:.*InfiniBand" ibstatus
says b "^GID fe80::.* LID start 0x$(printf %x "$b")" ibaddr

# The subnet.
says c "^Switch.*\"left\"|\"left\".*" ibnetdiscover
says c '==\( 4X +10\.0 Gbps Active/ +LinkUp\)==> .*"right"' iblinkinfo
says c '==\( 1X +2\.5 Gbps Active/ +LinkUp\)==> .*"right"' iblinkinfo
says c 'SMINFO_MASTER' sminfo
left=$(awk '/"left"/ && /^Switch/ { for (i = 1; i < NF; i++) if ($i == "lid") print $(i + 1) }' \
  <("$weft" run --node c -- ibnetdiscover))
[[ -n $left ]] || fail "no LID of the switch left"

says c '^Ca.*ports 2 "d"' ibhosts
says c '^Switch.*ports 8 "right"' ibswitches
on verify c ibidsverify

# Subnet management, by LID and by a directed route.
says b 'NodeType:\.+Switch' smpquery nodeinfo "$left"
says b 'NodeType:\.+Channel Adapter' smpquery nodeinfo "$d"
says b 'Description:\.+left' smpquery nodedesc "$left"
says b 'LinkState:\.+Active' smpquery portinfo "$left" 1
says b 'MtuCap:\.+4096' smpquery portinfo "$b" 1
says b 'LinearFdbCap:\.+49152' smpquery switchinfo "$left"
says b '0: 0xffff' smpquery pkeys "$b" 1
says b '^ports: in  1, out  2: ' smpquery sl2vl "$left" 2
says b 'LowCap 64 HighCap 64' smpquery vlarb "$left" 1
says b '^ *0: 0x' smpquery guidinfo "$b"
says b 'NodeType:\.+Switch' smpquery -D nodeinfo 0,1
says b 'LocalPort:\.+2' smpquery -D nodeinfo 0,1
says b '^0000 0000 0000 0000 fe80' smpdump "$b" 0x15 1
says b '^0101 02' smpdump -D 0,1 0x11
# What only some devices have, as these have not.
refused b 'port info extended not supported' smpquery pie "$left" 1
refused b 'Mellanox ext port info query failed' smpquery mepi "$left" 1
refused b 'classportinfo query' vendstat -N "$left"

# Subnet administration.
for record in NR PIR LFTR VLAR GIR LR PR MCMR SWIR SMIR SL2VL; do
  says c '[Rr]ecord dump|dump:' saquery "$record"
done
# OpenSM tells partitions only to programs that know its key.
says c '0xffff' saquery --smkey 1 PKTR
for record in IIR SR MFTR; do on "saquery-$record" c saquery "$record"; done
says c 'Capability mask' saquery -c
says c 'IsSM ports' saquery -s
says c 'ff12:401b' saquery -g
says c 'ff12:401b' saquery -m
says c "^.*slid\.+$b" saquery -p --src-to-dst "$b:$d"
says c '^ *c$|c' saquery -O "$c"
says c "$c" saquery -L c

# Routes.
says b '^To ca .*"d"|^\[.*-> ca port.*"d"' ibtracert "$b" "$d"
says b "Unicast lids .*\(left\)" ibroute "$left"
says b 'Multicast mlids' ibroute -M "$left"
says b "^0x$(printf %04x "$d") .*Channel Adapter.*'d'" dump_lfts

# A group of two: its tree is in the tables, and in the administrator's record of them.
ip_of() {  # NODE
  of_lab "[node['ports'][0]['ip'] for node in lab[0]['nodes'] if node['name'] == '$1'][0]"
}
for node in b d; do
  spawn "member-$node" "$weft" run --node "$node" -- stdbuf -oL mckey -m 239.1.2.3 -C 100 \
    -b "$(ip_of "$node")"
  await "member-$node" 'joined dgid: ff12:4001:'
done
# The group of all IP nodes is OpenSM's first, this one its second.
until "$weft" run --node c -- saquery MFTR | grep -qE '0xc001\s0x0*[1-9a-f]'; do
  kill -0 "${pid_of[member-d]}" || fail "the group is in no table"
done
says c '^0xc001 .*x' dump_mfts
for node in b d; do stop "member-$node"; done

# Counters: read, extended, reset, of all ports.
says b 'PortXmitPkts:\.+[1-9]' perfquery "$left" 1
says b 'PortUnicastXmitPkts:\.+[1-9]' perfquery -x "$left" 1
on reset b perfquery -R "$left" 2
says b 'PortXmitPkts:\.+[0-9]$' perfquery "$left" 2
says b "^# Port counters: Lid $b port 1 " perfquery
says b 'ports checked' ibqueryerrors --details
says b 'PortSelect:\.+255' perfquery -a "$left"
says b 'ports checked, 0 ports have errors' ibqueryerrors

# Ports.
says b 'LinkState:\.+Active' ibportstate "$left" 7 query
on disable b ibportstate "$left" 7 disable
says b 'PhysLinkState:\.+Disabled' ibportstate "$left" 7 query
on enable b ibportstate "$left" 7 enable
await_states '{"Active":7}'
# A link that is told to be slow and narrow is so once it has trained anew. OpenSM, which lets ports
# be as fast as they can, may be at a sweep still, and put back what it was told.
for ((tries = 0; tries < 5; tries++)); do
  on speed b ibportstate "$left" 7 speed 1
  on width b ibportstate "$left" 7 width 1
  on reset-port b ibportstate "$left" 7 reset
  ! becomes b 'LinkSpeedActive:\.+2\.5 Gbps' ibportstate "$left" 7 || break
done
[[ $tries -lt 5 ]] || fail "the link does not become slow"
await_states '{"Active":7}'
says b 'LinkWidthActive:\.+1X' ibportstate "$left" 7
on speed b ibportstate "$left" 7 speed 7
on width b ibportstate "$left" 7 width 3
on down b ibportstate "$left" 7 down
becomes b 'LinkSpeedActive:\.+10\.0 Gbps' ibportstate "$left" 7 || fail "the link stays slow"
await_states '{"Active":7}'
says b 'LinkWidthActive:\.+4X' ibportstate "$left" 7

# Programs that answer on other nodes.
spawn ibping-server "$weft" run --node c -- ibping -S
spawn ibsysstat-server "$weft" run --node d -- ibsysstat -S
until "$weft" run --node b -- ibping -c 1 "$c" | grep -q '^Pong'; do
  kill -0 "${pid_of[ibping-server]}" || fail "no server of ibping"
done
says b '3 received, 0% packet loss' ibping -c 3 "$c"
until "$weft" run --node b -- ibsysstat "$d" ping | grep -q succeeded; do
  kill -0 "${pid_of[ibsysstat-server]}" || fail "no server of ibsysstat"
done
says b "$(hostname)" ibsysstat "$d" host
says b 'cpu 0' ibsysstat "$d" cpu
