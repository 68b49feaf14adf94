#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_ip_router.sh LAYERS: two sites on machines of their own, as far as they can tell, with
# an IPv6 router between them, one of whose links takes shorter packets, and still shorter ones
# while the tunnel is in use; what others send through the same interfaces is not disturbed. LAYERS
# are udp/ipv6 or ipv6.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need dumpcap ib_write_bw ibv_rc_pingpong ip nsenter ping python3 socat ss tshark unshare
layers=$1
private_network "$0" "$@"
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
# shellcheck source=tests/e2e/sites_lib.sh
source "$source_tree/tests/e2e/sites_lib.sh"

have_sites '' west east
port=7471
west='' router='' east=''
for space in west router east; do new_namespace "$space"; done
# What the programs of a test tell each other is IPv4's.
join "$west" veth0 '10.78.1.1/24 fd78:1::1/64' "$router" west0 '10.78.1.9/24 fd78:1::9/64'
join "$east" veth0 '10.78.2.1/24 fd78:2::1/64' "$router" east0 '10.78.2.9/24 fd78:2::9/64' 1400
at=([west]=$west [east]=$east) home=([west]=$work/west [east]=$work/east)
host_of=([west]=10.78.1.1 [east]=10.78.2.1)
listen=([west]="[fd78:1::1]:$port" [east]="[fd78:2::1]:$port")
for site in west east; do
  mkdir -m 700 "${home[$site]}"
  at_site "$site" ip route add default via "${host_of[$site]%.1}.9"
done
at_site west ip -6 route add default via fd78:1::9
at_site east ip -6 route add default via fd78:2::9
in_namespace "$router" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward &&
  echo 1 >/proc/sys/net/ipv6/conf/all/forwarding' || skip "routing cannot be switched on here"
example_sites site
for site in west east; do
  sed -i "s|^listen = .*|&\nencapsulation = \"$layers\"|" "$work/$site.toml"
done

start_site west
start_site east
await_up
: >"$work/capture.out"
in_namespace "$router" timeout "$time_limit" dumpcap -q -i west0 -i east0 -w "$work/wire.pcapng" \
  -f "icmp6 or udp port $port or ip6 proto 253" >"$work/capture.out" 2>&1 &
pid_of[capture]=$!
await capture '^File:'

# Others: packets as long as the narrow link takes, and a TCP connection.
at_site west timeout "$time_limit" ping -q -c 100 -i 0.02 -s 1352 fd78:2::1 >"$work/ping.out" 2>&1 &
pid_of[ping]=$!
head -c 20000000 /dev/urandom >"$work/sent"
tcp=$(free_port)
in_site east socat -u "TCP6-LISTEN:$tcp" "CREATE:$work/came"
spawn listener "${words[@]}"
await_listener listener "$tcp" "$east"
in_site west socat -u "OPEN:$work/sent" "TCP6:[fd78:2::1]:$tcp"
spawn flow "${words[@]}"
across ibv_rc_pingpong -n 500 -c
expect client '^500 iters in .* seconds'
# With patience for what else the machine does.
perftest_across ib_write_bw -n 500
finish flow
finish listener
cmp "$work/sent" "$work/came" || fail "what others sent over TCP came otherwise"
finish ping
expect ping ' 0% packet loss'
# From now on.
narrow=1300
in_namespace "$router" ip link set east0 mtu "$narrow"
at_site east ip link set veth0 mtu "$narrow"
across ibv_rc_pingpong -n 500 -c
expect client '^500 iters in .* seconds'
perftest_across ib_write_bw -n 500
stop capture

for site in west east; do
  site_report "$site" "sorted(remote['counters'])" >"$work/counters-$site.out"
  expect "counters-$site" tx_packets
  refuse "counters-$site" 'forged|lost|overrun|malformed|no_lane|full|replayed|no_keys'
  [[ $(site_report "$site" "remote['counters']['sessions']") == 1 ]] ||
    fail "the session of site $site has begun anew"
done
# dissected FILTER: what tshark shows of the capture where that holds.
dissected() {
  tshark -r "$work/wire.pcapng" -o udp.check_checksum:TRUE -d "udp.port==$port,data" -Y "$1" \
    2>/dev/null
}
frames="udp.port == $port"
[[ $layers != ipv6 ]] || frames='ipv6.nxt == 253'
for from in 1 2; do
  # Behind the router, with a hop less to go.
  passed="ipv6.src == fd78:$from::1 && ipv6.hlim == 63 && $frames"
  count=$(dissected "$passed" | wc -l)
  ((count >= 100)) || fail "there are $count packets with $passed"
done
for length in 1400 "$narrow"; do
  [[ -n $(dissected "icmpv6.type == 2 && icmpv6.mtu == $length && ipv6.dst == fd78:1::1") ]] ||
    fail "the router never had to say that a packet is longer than $length"
done
[[ -z $(dissected 'icmpv6.type == 1 || icmpv6.type == 3 || icmpv6.type == 4') ]] ||
  fail "somebody refuses packets"
[[ -z $(dissected '_ws.malformed || ipv6.fraghdr') ]] || fail "packets are malformed, or fragments"
stop_sites
echo "lab_ip_router: done"
