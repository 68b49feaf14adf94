#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_three_sites.sh WHAT: three labs, each with ways over a WAN to both others. One of them
# is killed in the end, and the other two go on. WHAT is one of
#   bridge         one subnet, in which the ways are a ring, under the manager of one of them
#   router         each a subnet of its own, under its own manager
#   router-opensm  the same, one of them under OpenSM
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=270
source "$(dirname "$0")/lib.sh"
need rping mckey saquery python3
what=$1
[[ $what != *opensm ]] || need opensm
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
# shellcheck source=tests/e2e/sites_lib.sh
source "$source_tree/tests/e2e/sites_lib.sh"

declare -A number=([a]=1 [b]=2 [c]=3)
have_sites site- a b c

# Of node 1 of a site: its IP address; where sites are subnets, its GUID is part of its GID.
address() { echo "10.254.${number[$1]}.1"; }
guid() { echo "0x02000000000000${number[$1]}1"; }
gid() { echo "fd00:0:0:${number[$1]}:200::${number[$1]}1"; }

write_site() { # SITE
  local site=$1 other
  echo "name = \"site-$site\""
  echo "network = \"10.254.${number[$site]}.0/24\""
  if [[ $what == router* ]]; then
    echo "sm = { subnet_prefix = \"fd00:0:0:${number[$site]}::/64\" }"
  elif [[ $site != a ]]; then
    echo 'sm = "none"'
  fi
  echo "[switch.sw-$site]"
  echo "[node]"
  echo "${site}1 = { port_guids = [\"$(guid "$site")\"] }"
  echo "${site}2 = {}"
  echo "[extender.gate-$site]"
  [[ $what != router* ]] || echo 'mode = "router"'
  echo "listen = \"${listen[$site]}\""
  echo 'buffer = "16MiB"'
  echo 'insecure = true'
  for other in "${sites[@]}"; do
    [[ $other != "$site" ]] || continue
    echo "[extender.gate-$site.remote.$other]"
    echo "address = \"${listen[$other]}\""
    [[ $what != router* ]] || echo "prefixes = [\"fd00:0:0:${number[$other]}::/64\"]"
  done
  if [[ $what == router* ]]; then
    # Each other's administrators do not know of them.
    echo '[hosts]'
    for other in "${sites[@]}"; do
      [[ $other == "$site" ]] || echo "\"$(address "$other")\" = \"$(gid "$other")\""
    done
  fi
  for other in "${site}1" "${site}2" "gate-$site"; do
    printf '[[link]]\nends = ["%s", "sw-%s"]\n' "$other" "$site"
  done
}
await_sites() { # REMOTES SITE ...: so many remotes of each are there
  local expected=$1 site
  shift
  for site in "$@"; do
    await_site "$site" "sum(remote['active'] for remote in remotes)" "$expected"
    await_site "$site" states "{'Active'}"
  done
}
ping_between() { # SITE SITE: by IP address
  rping_across "${1}1" "${2}1" "$(address "$2")"
}
# in_group NAME NODE [ARGUMENT ...]: a program there that joins the group.
in_group() {
  # Across subnets it has to be one of a larger scope.
  local group=(-M ff15::1234)
  [[ $what != bridge ]] || group=(-m 239.1.2.3)
  group+=(-b "10.254.${number[${2:0:1}]}.${2:1}")
  node "$1" "$2" stdbuf -oL mckey "${group[@]}" -C 100 "${@:3}"
}
await_groups() { # SITE HERE ELSEWHERE: its router is in so many, and its sites want so many
  [[ $what == router* ]] || return 0
  await_site "$1" "router['groups']" "$2"
  await_site "$1" "sum(remote['groups'] for remote in remotes if remote['active'])" "$3"
}
# cast FROM TO ...: packets to a multicast group, which programs at several sites receive.
cast() {
  local from=$1 to receivers=("${1}2")
  shift
  for to in "$@"; do receivers+=("${to}1"); done
  for to in "${receivers[@]}"; do
    in_group "receiver-$to" "$to"
    await "receiver-$to" 'joined dgid'
  done
  # Packets to a group that no router is in, and that no other site wants, stay where they are.
  await_groups "$from" 1 $#
  for to in "$@"; do await_groups "$to" 1 $#; done
  in_group sender "${from}1" -s
  finish sender
  for to in "${receivers[@]}"; do
    finish "receiver-$to"
    expect "receiver-$to" 'return status 0'
  done
  for to in "$from" "$@"; do await_groups "$to" 0 0; done
}

for site in "${sites[@]}"; do
  write_site "$site" >"$work/$site.toml"
  if [[ $what == router-opensm && $site == b ]]; then
    start_site b --sm none
    manage b2 0xfd00000000000002
  else
    start_site "$site"
  fi
done
await_sites 2 a b c
for site in "${sites[@]}"; do
  [[ $what != bridge ]] || await_address a1 "$(address "$site")"
done
ping_between a b
ping_between b c
ping_between c a
cast a b c

# One goes without a word.
kill_site c
await_sites 1 a b
ping_between a b
ping_between b a
cast b a
if [[ $what == router* ]]; then
  for site in a b; do
    [[ $(site_report "$site" "router['told'] and router['reports'] > 0") == True ]] ||
      fail "the router of site $site is not told of groups"
  done
fi

for site in a b; do
  site_report "$site" "sorted({*(router or {}).get('counters', {}),
    *sum((list(remote['counters']) for remote in remotes), [])})" \
    >"$work/counters-$site.out"
  expect "counters-$site" tx_packets
  refuse "counters-$site" 'forged|malformed|overrun|no_lane|no_room|bad_interest|foreign'
done
[[ $what != *opensm ]] || stop opensm-b
stop_site a
stop_site b
echo "$what: done"
