#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_bird.sh: three sites on machines of their own, as far as they can tell, each a subnet.
# No lab file says where the others' subnets are: BIRD, a routing daemon, runs at each site and
# tells the others by BGP; extenders take what it puts into the kernel's table. One ends and comes
# back.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=100
source "$(dirname "$0")/lib.sh"
need bird birdc rping ip unshare nsenter python3
private_network "$0" "$@"
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
# shellcheck source=tests/e2e/sites_lib.sh
source "$source_tree/tests/e2e/sites_lib.sh"

declare -A number=([a]=1 [b]=2 [c]=3)
have_sites mesh- a b c

# A network of all three; each site's routing is its own.
ip link add br0 type bridge
ip link set br0 up
for site in "${sites[@]}"; do
  place=''
  new_namespace place
  at[$site]=$place
  ip link add "to-$site" type veth peer name veth0 netns "$place"
  ip link set "to-$site" master br0 up
  at_site "$site" ip address add "fd78::${number[$site]}/64" dev veth0 nodad
  at_site "$site" ip link set veth0 up
  listen[$site]="[fd78::${number[$site]}]:7471"
done

address() { echo "10.254.${number[$1]}.1"; }
write_lab() { # SITE
  local site=$1 other
  echo "name = \"mesh-$site\""
  echo "network = \"10.254.${number[$site]}.0/24\""
  echo "sm = { subnet_prefix = \"fd00:0:0:${number[$site]}::/64\" }"
  echo "[switch.sw-$site]"
  echo "[extender.gate-$site]"
  echo 'mode = "router"'
  echo 'route_table = 100'
  echo "listen = \"${listen[$site]}\""
  echo 'insecure = true'
  for other in "${sites[@]}"; do
    [[ $other != "$site" ]] || continue
    echo "[extender.gate-$site.remote.$other]"
    echo "address = \"${listen[$other]}\""
  done
  echo "[node.${site}1]"
  echo "port_guids = [\"0x02000000000000${number[$site]}1\"]"
  echo '[hosts]'
  for other in "${sites[@]}"; do
    [[ $other == "$site" ]] ||
      echo "\"$(address "$other")\" = \"fd00:0:0:${number[$other]}:200::${number[$other]}1\""
  done
  for other in "${site}1" "gate-$site"; do
    printf '[[link]]\nends = ["%s", "sw-%s"]\n' "$other" "$site"
  done
}
# As docs/range-extension.md shows it; impatient, so that the test is short.
write_bird() { # SITE
  local site=$1 other
  echo "router id 10.0.0.${number[$site]};"
  echo 'ipv6 table mesh;'
  echo 'protocol device {}'
  echo 'protocol static {'
  echo '  ipv6 { table mesh; };'
  echo "  route fd00:0:0:${number[$site]}::/64 unreachable;"
  echo '}'
  echo 'protocol kernel {'
  echo '  ipv6 { table mesh; export where source = RTS_BGP; };'
  echo '  kernel table 100;'
  echo '}'
  for other in "${sites[@]}"; do
    [[ $other != "$site" ]] || continue
    echo "protocol bgp $other {"
    echo "  local fd78::${number[$site]} as $((65000 + number[$site]));"
    echo "  neighbor fd78::${number[$other]} as $((65000 + number[$other]));"
    echo '  connect delay time 1;'
    echo '  connect retry time 2;'
    echo '  error wait time 1, 2;'
    echo '  ipv6 { table mesh; import all; export where source = RTS_STATIC; };'
    echo '}'
  done
}
start_bird() { # SITE
  in_site "$1" bird -f -c "$work/$1.conf" -s "$work/$1.ctl" -P "$work/$1.pid"
  spawn "bird-$1" "${words[@]}"
}
stop_bird() { # SITE: it tells the others, and takes its routes out of the kernel
  run "down-$1" birdc -s "$work/$1.ctl" down
  finish "bird-$1"
}
await_learned() { # NUMBER SITE ...: so many prefixes of other sites are known there
  local wanted=$1 site
  shift
  for site in "$@"; do
    await_site "$site" "sum(remote.get('learned', 0) for remote in remotes)" "$wanted"
  done
}
ping_between() { rping_across "${1}1" "${2}1" "$(address "$2")"; }

for site in "${sites[@]}"; do
  write_lab "$site" >"$work/$site.toml"
  write_bird "$site" >"$work/$site.conf"
  start_site "$site"
done
await_up
await_learned 0 a b c
for site in "${sites[@]}"; do start_bird "$site"; done
await_learned 2 a b c
ping_between a b
ping_between b c
ping_between c a

# Whoever ends is forgotten, and the others go on; it comes back.
stop_bird c
await_learned 1 a b
await_learned 0 c
ping_between b a
start_bird c
await_learned 2 a b c
ping_between a c
for site in "${sites[@]}"; do stop_bird "$site"; done
stop_sites
