#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lan.sh WHAT: Ethernet over the fabric, between nodes of a lab that are in network
# namespaces of their own, by programs that know nothing of it. WHAT is one of
#   ping      ping, arping, over IPv4 and IPv6; what weft lan says
#   example   examples/labs/lan.toml
#   streams   TCP and UDP of iperf3, and 100 MB whose checksum is right
#   gigabyte  1 GB by a connection of TCP each way, of socat and of nc, whose checksum is right
#   capture   captures of the interfaces and of the fabric agree, frame for frame
#   groups    multicast of socat to who has joined
#   services  DHCP, router advertisements
#   frames    tagged frames and frames of 802.3, as they were sent
#   mtu       an MTU of 65,521, by channels and by datagrams alone
#   eight     eight nodes, and how soon they are up
#   trouble   a cable that is pulled and put back; an interface that somebody deletes
#   asked     up and down at a running lab
#   lacking   without namespaces or capabilities the lab runs, and says what the LAN lacks
set -euo pipefail
source "$(dirname "$0")/lan_lib.sh"

ping_each_way() {
  run_at ping a ping -c3 -i0.1 -W2 192.0.2.2
  run_at ping6 b ping -c3 -i0.1 -W2 2001:db8::1
  expect ping ' 0% packet loss'
  expect ping6 ' 0% packet loss'
}

test_ping() {
  need busybox
  start_lan a b
  ping_each_way
  run_at arping a busybox arping -c2 -I lan1 192.0.2.2
  mac=$(lan_is "interfaces[1]['mac']")
  [[ $mac =~ ^02:57:4c:00:..:..$ ]] || fail "b has the address $mac"
  expect arping "^Unicast reply from 192.0.2.2 \[$mac\]"
  run neigh nsenter "--net=/proc/${keeper_of[a]}/ns/net" ip neigh show 192.0.2.2
  expect neigh "lladdr $mac"
  run show "$weft" lan show a:1
  expect show '^a:1 +lan1 +.*/net/a +up +02:57:4c:.* 1500 +1 +1 +no +[0-9]+$'
  run arp "$weft" lan arp a
  expect arp \
    "^a:1 +lan1 +$mac +[0-9]+ +b:1 +0x[0-9a-f]{16} +4096 +[12] +channel +(all|-|[0-9]+) +-$"
  run status "$weft" status --json
  expect status '"up": 2'
}

test_example() {
  make_nodes a b
  sed "s|netns = \"{node}\"|netns = \"$work/net/{node}\"|" \
    "$source_tree/examples/labs/lan.toml" >"$work/lan.toml"
  spawn lab "$weft" up "$work/lan.toml"
  await_peers 2
  give_addresses
  ping_each_way
}

test_streams() {
  local port
  need iperf3 socat cmp
  start_lan a b
  port=$(free_port)
  spawn_at server b iperf3 -s -p "$port"
  await_listener server "$port" "${keeper_of[b]}"
  run_at tcp a iperf3 -c 192.0.2.2 -p "$port" -t2
  expect tcp 'receiver'
  run_at back a iperf3 -c 192.0.2.2 -p "$port" -n 200M -R
  expect back 'receiver'
  run_at tcp6 a iperf3 -c 2001:db8::2 -p "$port" -n 100M
  expect tcp6 'receiver'
  run_at udp a iperf3 -c 192.0.2.2 -p "$port" -t1 -u -b 100M
  expect udp ' \([0-9.e-]+%\) +receiver'
  stop server
  head -c 100000000 /dev/urandom >"$work/sent"
  port=$(free_port)
  spawn_at sink b socat -u "TCP-LISTEN:$port,reuseaddr" "CREATE:$work/come"
  await_listener sink "$port" "${keeper_of[b]}"
  run_at source a socat -u "OPEN:$work/sent" "TCP:192.0.2.2:$port"
  finish sink
  cmp "$work/sent" "$work/come" || fail "what came is not what was sent"
}

# What no other stream could be taken for: 1 GB that takes less time to make than to send.
# gigabyte FROM TO SINK SOURCE: shell commands; one writes what it is sent to its standard output,
# the other one sends its standard input. There are no two parts of it that are alike.
gigabyte() {
  local bytes=1000000000 began took
  rm -f "$work"/{bytes,sent,come}
  spawn_at sink "$2" bash -c "$3 | tee >(wc -c >$work/bytes) | sha256sum >$work/come"
  await_listener sink "$port" "${keeper_of[$2]}"
  began=$EPOCHREALTIME
  run_at source "$1" bash -c "openssl enc -aes-128-ctr -nosalt -K 00 -iv 00 -in /dev/zero \
    2>/dev/null | head -c $bytes | tee >(sha256sum >$work/sent) | $4"
  finish sink
  took=$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
  echo "1 GB from $1 to $2 by ${4%% *} took $took s"
  [[ $(cat "$work/bytes") == "$bytes" ]] || fail "$(cat "$work/bytes") bytes have come, not $bytes"
  cmp "$work/sent" "$work/come" || fail "what came is not what was sent"
}
test_gigabyte() {
  local port
  need openssl socat nc sha256sum
  start_lan a b
  port=$(free_port)
  gigabyte a b "socat -u -b 1000000 TCP-LISTEN:$port,reuseaddr STDOUT" \
    "socat -u -b 1000000 STDIN TCP:192.0.2.2:$port"
  gigabyte b a "nc -d -l $port" "nc -N 192.0.2.1 $port"
}

# until_marked FILE COUNT: until a capture has so many marks.
until_marked() {
  local tries
  for ((tries = 0; tries < 200; tries++)); do
    [[ $(grep -caE "$2" "$1") == 0 ]] || return 0
    sleep 0.05
  done
  fail "$1 has no mark $2"
}

test_capture() {
  local node port lids what check=$source_tree/tests/tools
  need dumpcap iperf3 socat
  make_nodes a b
  sed -i 's/lan = {/lan = { mtu = 9000,/' "$work/lan.toml"
  spawn lab "$weft" up "$work/lan.toml"
  await_peers 2
  give_addresses
  spawn fabric "$weft" capture a:1 data -w "$work/fabric.pcapng"
  await fabric '^weft capture: listening'
  for node in a b; do
    spawn_at "ethernet-$node" "$node" dumpcap -q -i lan1 -B 64 -w "$work/$node.pcapng"
    await "ethernet-$node" '^File: '
  done
  at_node a python3 "$source_tree/tests/e2e/lan_frames.py" mark lan1 begin
  # Before there is a channel, and by it.
  head -c 8500 /dev/urandom |
    at_node a socat -u -b 9000 STDIN UDP4-DATAGRAM:192.0.2.255:7000,broadcast
  run_at ping a ping -c3 -i0.1 -W2 -s 8972 -M "do" 192.0.2.2
  run_at ping6 b ping -c3 -i0.1 -W2 -s 100 2001:db8::1
  # So fast that who captures keeps up.
  port=$(free_port)
  spawn_at server b iperf3 -s -1 -p "$port"
  await_listener server "$port" "${keeper_of[b]}"
  run_at tcp a iperf3 -c 192.0.2.2 -p "$port" -b 10M -l 64K -n 2M
  finish server
  run_at frames a python3 "$source_tree/tests/e2e/lan_frames.py" "/proc/${keeper_of[b]}/ns/net" lan1
  at_node a python3 "$source_tree/tests/e2e/lan_frames.py" mark lan1 end
  for node in fabric a b; do
    until_marked "$work/$node.pcapng" $'\x88\xb6end'
  done
  for node in a b; do
    stop "ethernet-$node" INT
    expect "ethernet-$node" "^Packets received/dropped on interface 'lan1': [0-9]+/0 "
  done
  stop fabric INT
  expect fabric '^weft capture: [0-9]+ packets'
  refuse fabric 'missed'
  run crc python3 "$check/check_crc.py" "$work/fabric.pcapng"
  lids=$(lan_is "' '.join(str(each['lid']) for each in interfaces)")
  run agree python3 "$check/check_lan.py" "$work/fabric.pcapng" \
    "${lids% *}=$work/a.pcapng" "${lids#* }=$work/b.pcapng"
  cat "$work/agree.out"
  for what in by.connections in.datagrams in.several.parts with.a.checksum.left.to.do \
    with.segments.left.to.cut; do
    expect agree "[^0-9][1-9][0-9]* $what"
  done
}

test_groups() {
  local node
  need socat
  start_lan a b c
  for node in a b; do
    at_node "$node" ip route add 224.0.0.0/4 dev lan1
  done
  spawn_at member b socat -u UDP4-RECV:7000,ip-add-membership=239.1.2.3:lan1 STDOUT
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    echo "to the group" | at_node a socat -u STDIN UDP4-DATAGRAM:239.1.2.3:7000,ip-multicast-ttl=1
    ! grep -q "to the group" "$work/member.out" || break
    sleep 0.05
  done
  expect member '^to the group$'
  # It goes to nobody else, once c has said which groups it wants.
  await_lan "all(type(peer['groups']) == list for peer in interfaces[0]['peers'])"
  await_lan "['01:00:5e:01:02:03' in each['groups']
    for each in interfaces[0]['peers']] == [True, False]"
  spawn_at others c python3 "$source_tree/tests/e2e/lan_frames.py" hear lan1 01:00:5e:01:02:03
  await others '^hears$'
  for ((tries = 0; tries < 20; tries++)); do
    echo "once more" | at_node a socat -u STDIN UDP4-DATAGRAM:239.1.2.3:7000,ip-multicast-ttl=1
  done
  await member '^once more$'
  stop others TERM
  refuse others 'came'
  stop member
}

test_services() {
  need busybox dnsmasq
  start_lan a b
  serve_addresses a
  take_addresses b
  run_at ping b ping -c2 -i0.2 -W2 192.0.2.1
}

test_mtu() {
  local port size
  need iperf3
  make_nodes a b
  sed -i 's/lan = {/lan = { mtu = 65521,/; s/^\[node.b\]$/&\nlan = { channels = 0 }/' \
    "$work/lan.toml"
  spawn lab "$weft" up "$work/lan.toml"
  await_peers 2
  give_addresses
  for size in 56 1472 1473 8972 65493; do
    run_at "ping-$size" a ping -c2 -i0.1 -W2 -M "do" -s "$size" 192.0.2.2
    run_at "back-$size" b ping -c2 -i0.1 -W2 -M "do" -s "$size" 192.0.2.1
  done
  [[ $(lan_is "[each['channel_count'] for each in interfaces]") == '[0, 0]' ]] ||
    fail "b wants no channels"
}

test_frames() {
  start_lan a b
  run_at frames a python3 "$source_tree/tests/e2e/lan_frames.py" "/proc/${keeper_of[b]}/ns/net" lan1
  expect frames '^all came$'
}

test_eight() {
  local begun took
  make_nodes a b c d e f g h
  begun=$(date +%s%N)
  spawn lab "$weft" up "$work/lan.toml"
  await_peers 8
  took=$((($(date +%s%N) - begun) / 1000000))
  echo "eight nodes were up after $took ms"
  give_addresses
  for n in 2 5 8; do
    run_at "ping-$n" a ping -c2 -i0.1 -W2 "192.0.2.$n"
  done
}

carrier() { [[ $(at_node "$1" ip link show dev lan1) != *NO-CARRIER* ]] && echo 1 || echo 0; }
await_carrier() { # NODE 0|1
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    [[ $(carrier "$1") != "$2" ]] || return 0
    sleep 0.05
  done
  fail "the carrier of $1 is $(carrier "$1"), not $2"
}

test_trouble() {
  start_lan a b c
  ping_each_way
  run unplug "$weft" link b:1 down
  await_carrier b 0
  await_lan "all(peer['node'] != 'b' for peer in interfaces[0]['peers'])"
  run_at lost a ping -c1 -W1 192.0.2.3
  [[ $(at_node b ip -4 address show dev lan1) == *192.0.2.2* ]] || fail "b has lost its address"
  run plug "$weft" link b:1 up
  await_carrier b 1
  await_peers 3
  ping_each_way
  at_node c ip link del lan1
  await_lan "interfaces[2]['state'] == 'failed'"
  run again "$weft" lan up c
  await_peers 3
}

test_asked() {
  start_lan a b
  run down "$weft" lan down b
  [[ -z $(at_node b ip link show dev lan1 2>/dev/null) ]] || fail "b has its interface still"
  spawn refused "$weft" lan down b
  finish refused 2
  expect refused '^weft lan: b is not on the LAN$'
  run up "$weft" lan up b --mtu 9000 --name eth7
  await_peers 2
  expect up '^b:1 +eth7 +'
  [[ $(at_node b ip link show dev eth7) == *' mtu 9000 '* ]] || fail "the MTU is another one"
  run same "$weft" lan up b
  spawn other "$weft" lan up b --mtu 1500
  finish other 2
  expect other 'b:1 has an interface with other options'
  spawn switch "$weft" lan up s
  finish switch 2
  expect switch 's is a switch'
  spawn port "$weft" lan up b:2
  finish port 2
  expect port 'b has ports 1 to 1'
}

test_lacking() {
  make_nodes a b
  rm "$work/net/b"
  spawn lab "$weft" up "$work/lan.toml"
  await lab "namespaces that are not there: $work/net/b; make them with ip netns add"
  await_states '{"Active":2}'
  await_lan "[each['state'] for each in interfaces] == ['up', 'failed']"
  run show "$weft" lan
  expect show '^b:1: .*/net/b: No such file or directory'
  ln -s "/proc/${keeper_of[b]}/ns/net" "$work/net/b"
  run up "$weft" lan up b
  await_peers 2
  run end "$weft" down
  finish lab
  need setpriv
  spawn lab setpriv --bounding-set=-net_admin --inh-caps=-net_admin "$weft" up "$work/lan.toml"
  await lab 'needs the capability CAP_NET_ADMIN; the rest of the lab runs'
  await_states '{"Active":2}'
  await_lan "[each['state'] for each in interfaces] == ['failed', 'failed']"
}

"test_$what"
run end "$weft" down
finish lab
