#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_tools.sh: every tool of infiniband-diags on a lab under OpenSM: each attribute that
# smpquery knows and a node has, each record that saquery asks for, counters read and reset, routes,
# ports disabled and enabled, and the servers of ibping and ibsysstat.
set -euo pipefail
time_limit=240
source "$(dirname "$0")/lib.sh"
need opensm ibnetdiscover iblinkinfo ibstat ibstatus smpquery smpdump sminfo saquery ibtracert \
  ibroute perfquery ibportstate ibping ibqueryerrors ibsysstat ibaddr python3
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

# Counters: read, extended, reset, of all ports.
says b 'PortXmitPkts:\.+[1-9]' perfquery "$left" 1
says b 'PortUnicastXmitPkts:\.+[1-9]' perfquery -x "$left" 1
on reset b perfquery -R "$left" 2
says b 'PortXmitPkts:\.+[0-9]$' perfquery "$left" 2
says b 'PortSelect:\.+255' perfquery -a "$left"
says b 'ports checked, 0 ports have errors' ibqueryerrors

# Ports.
says b 'LinkState:\.+Active' ibportstate "$left" 7 query
on disable b ibportstate "$left" 7 disable
says b 'PhysLinkState:\.+Disabled' ibportstate "$left" 7 query
on enable b ibportstate "$left" 7 enable
await_states '{"Active":7}'

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
