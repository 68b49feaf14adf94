# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154  # lib.sh has the names
# What tests of labs at several sites share; sourced after lab_lib.sh, never run. A site has a lab
# file, $work/SITE.toml, and an extender that listens at a port of its own; the names of its nodes
# begin with its first letter.

# Of each site: the keeper of its network, if it has one; its runtime directory; where its extender
# listens, and at which address its programs are on the network of the host.
declare -A at=() home=() listen=() host_of=()

# have_sites PREFIX SITE ...: their labs are called PREFIX and the site's name.
have_sites() {
  local site port
  labs=$1
  shift
  sites=("$@")
  for site in "${sites[@]}"; do
    at[$site]='' home[$site]=$work host_of[$site]=127.0.0.1
    port=$(free_port)
    while [[ " ${listen[*]} " == *":$port "* ]]; do port=$(free_port); done
    listen[$site]=127.0.0.1:$port
  done
}
# site_of NODE
site_of() {
  local site
  for site in "${sites[@]}"; do
    [[ $site != "${1:0:1}"* ]] || echo "$site"
  done
}
other_site() {   # SITE: of two
  if [[ $1 == "${sites[0]}" ]]; then echo "${sites[1]}"; else echo "${sites[0]}"; fi
}

# new_key SITE: it has no other one any more. The words on its standard output are the fingerprint.
new_key() {
  rm -f "$work/$1.key"
  "$weft" extend keygen "$work/$1.key" >"$work/$1.pub"
}
# example_site EXAMPLE SITE: its lab file is examples/labs/EXAMPLE-SITE.toml at the site's address.
example_site() {
  sed -e "s|^listen = .*|listen = \"${listen[$2]}\"|" \
    -e "s|^address = .*|address = \"${listen[$(other_site "$2")]}\"|" \
    "$source_tree/examples/labs/$1-$2.toml" >"$work/$2.toml"
}
# example_sites EXAMPLE: each site's lab file is that example, and it has a key.
example_sites() {
  local site
  for site in "${sites[@]}"; do
    example_site "$1" "$site"
    new_key "$site"
  done
}
# The extenders of two sites are sealed from now on, or in the clear, whatever the examples are.
seal_sites() {
  local site
  for site in "${sites[@]}"; do
    sed -i -e "s|^insecure = .*|key = \"$site.key\"|" \
      -e "s|^address = .*|&\nfingerprint = \"$(other_site "$site").pub\"|" "$work/$site.toml"
  done
}
in_the_clear() {
  local site
  for site in "${sites[@]}"; do
    sed -i -e 's/^key = .*/insecure = true/' -e '/^fingerprint = /d' "$work/$site.toml"
  done
}
# in_parts SITE: its extender is in part wan from now on, and all else of its lab in part core.
in_parts() {
  sed -i -e '0,/^\[/s/^\[/[part]\ncore = {}\nwan = {}\n\n[/' \
    -e "/^\[extender\.[a-z]*-$1\]\$/a part = \"wan\"" "$work/$1.toml"
}

# over_wan UDP_PATH TCP_PATH: what the first of two sites sends to the other goes over an emulated
# WAN from now on (wan, control), and what comes back; the other one has no address of it then, for
# it comes from the emulator, from whichever port.
over_wan() {
  local relay there=${listen[${sites[1]}]}
  relay=127.0.0.1:$(free_port)
  sed -i "s/^address = .*/address = \"$relay\"/" "$work/${sites[0]}.toml"
  sed -i '/^address = /d' "$work/${sites[1]}.toml"
  spawn wan "$weft" wan-emulator udp "$relay" "$there" --path "$1"
  await wan '^weft wan-emulator: udp'
  spawn control "$weft" wan-emulator stream "$relay" "$there" --path "$2"
  await control '^weft wan-emulator: stream'
}

# on_fibre WEST EAST BUFFER: the labs of these names run, on a fibre that each knows as it says.
on_fibre() {
  local site
  local -A to=([west]=$1 [east]=$2)
  for site in west east; do
    sed -e "s|^address = .*|encapsulation = \"null\"\nfibre = \"${to[$site]}\"|" \
      -e "s|^buffer = .*|buffer = \"$3\"|" -e '/^listen = /d; /^key = /d; /^fingerprint = /d' \
      "$source_tree/examples/labs/site-$site.toml" >"$work/$site.toml"
  done
  start_site west
  start_site east
  await_up
}

status_near() {  # NODE: as of lab_lib.sh
  in_site "$(site_of "$1")" "$weft" status -d --json
  "${words[@]}"
}
in_site() {      # SITE COMMAND ...: sets `words` to a command that runs it where the site is
  local site=$1
  shift
  words=(env "XDG_RUNTIME_DIR=${home[$site]}" "$@")
  [[ -z ${at[$site]} ]] || words=(nsenter "--net=/proc/${at[$site]}/ns/net" -- "${words[@]}")
}
at_site() {      # SITE COMMAND ...: in its network, as somebody there
  in_namespace "${at[$1]}" "${@:2}"
}
start_site() {   # SITE [ARGUMENT ...]: of `weft up`
  in_site "$1" "$weft" up "${@:2}" "$work/$1.toml"
  spawn "$1" "${words[@]}"
  await "$1" "^lab $labs$1(@[a-z]+)?: "
}
start_edge() {   # SITE [ARGUMENT ...]: of `weft extend`, for its part wan
  in_site "$1" "$weft" extend "${@:2}" "$work/$1.toml"
  spawn "edge-$1" "${words[@]}"
  await "edge-$1" "^lab $labs$1@wan: "
}
kill_site() {    # SITE: as by a crash, without a word
  kill -KILL -- "-${pid_of[$1]}" # with its whole group: the program that limits its time
  wait "${pid_of[$1]}" || :
  unset "pid_of[$1]"
}
stop_site() {    # SITE: which must end well
  in_site "$1" "$weft" down "$labs$1"
  run "down-$1" "${words[@]}"
  finish "$1"
}
stop_sites() {   # the last one first
  local i
  for ((i = ${#sites[@]} - 1; i >= 0; i--)); do stop_site "${sites[i]}"; done
}

# site_report SITE EXPRESSION: of the lab that its extender is in; of that extender, its remotes,
# the first of them, and its router; of the port to that remote, where it is a switch's; of the
# ports of all nodes of the site; and of whether all of it is up.
site_report() {
  in_site "$1" "$weft" status -d --json
  "${words[@]}" | python3 -c "
import json, sys
parts = [lab for lab in json.load(sys.stdin)['labs'] if lab['name'] == '$labs$1']
ports = {node['name']: node['ports'] for part in parts for node in part['nodes'] if node['ports']}
states = {state for part in parts for state in part['links']['states']}
for lab in parts:
    for extender in lab['extenders'][:1]:
        remotes = extender['remotes']
        remote = remotes[0]
        router = extender.get('router')
        own = ports.get(extender['extender'], [])
        wan = next((port for port in own if port['port'] == 2), None)
        up = (states <= {'Active'} and all(remote['active'] for remote in remotes)
              and (wan is None or wan['state'] == 'Active'))
        print($2)"
}
await_site() {   # SITE EXPRESSION VALUE
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    [[ $(site_report "$1" "$2") != "$3" ]] || return 0
    sleep 0.1
  done
  fail "of site $1, $2 is $(site_report "$1" "$2"), not $3"
}

await_up() {     # [SITE ...]: until all that is there is up
  local site
  [[ $# -gt 0 ]] || set -- "${sites[@]}"
  for site in "$@"; do await_site "$site" up True; done
}

node() {         # NAME NODE PROGRAM ...: starts it there
  local site
  site=$(site_of "$2")
  in_site "$site" "$weft" run --lab "$labs$site" --node "$2" -- "${@:3}"
  spawn "$1" "${words[@]}"
}
# across PROGRAM ...: of two sites, its client on the first node of the first one, its server on
# that of the other, each with its own further arguments.
client_more=() server_more=()
across() {
  local port here=${sites[0]} there=${sites[1]}
  port=$(free_port)
  node server "${there:0:1}1" "$@" "${server_more[@]}" -p "$port"
  await_listener server "$port" "${at[$there]}"
  node client "${here:0:1}1" "$@" "${client_more[@]}" -p "$port" "${host_of[$there]}"
  finish client
  finish server
}
# perftest_across PROGRAM ...: of perftest, which must have a result. It waits 4 s for an
# acknowledgement: what it has under way takes longer than its usual 67 ms on a slow path, and on a
# busy machine.
perftest_across() {
  across "$@" -d weft0 -F -u 20
  [[ -n $(perftest_row client) ]] || fail "$1 printed no result"
}
# rping_across CLIENT SERVER ADDRESS [COUNT]: between two nodes, at the address of the second.
rping_across() {
  local count=${4:-5}
  node server "$2" rping -s -v -C "$count" -a "$3"
  await_ids "$2" 1
  node client "$1" rping -c -v -C "$count" -a "$3"
  finish_rping client
  finish_rping server
  expect client "ping data: rdma-ping-$((count - 1))"
}
# await_address NODE ADDRESS: until the administrator of the node's subnet knows the IP address.
await_address() {
  local tries wanted octets
  IFS=. read -r -a octets <<<"$2"
  wanted=$(printf '0x%X' "${octets[@]}")
  for ((tries = 0; tries < 100; tries++)); do
    node records "$1" saquery SR
    finish records
    ! awk '/ServiceData8\.1[3-6]\./ { sub(/^.*\.\./, ""); all = all $1 }
      /ServiceData16\.1\./ { print all; all = "" }' "$work/records.out" | grep -qx "$wanted" ||
      return 0
    sleep 0.1
  done
  fail "nobody knows $2"
}

# manage NODE [PREFIX]: OpenSM manages the site's subnet from there, as opensm-SITE. In a subnet of
# that prefix, all others are behind any router.
manage() {
  local site directory options=()
  site=$(site_of "$1") directory=$work/opensm-$(site_of "$1")
  mkdir "$directory"
  if [[ -n ${2:-} ]]; then
    echo '* *' >"$directory/prefix-routes.conf"
    echo "prefix_routes_file $directory/prefix-routes.conf" >"$directory/opensm.conf"
    options=(-F "$directory/opensm.conf" --subnet_prefix "$2")
  fi
  OSM_TMP_DIR=$directory OSM_CACHE_DIR=$directory \
    node "opensm-$site" "$1" opensm -f "$directory/opensm.log" "${options[@]}"
}

# Nothing was lost, mistaken or forged on the way.
clean() {
  local site
  for site in west east; do
    site_report "$site" "sorted(remote['counters'])" >"$work/counters-$site.out"
    expect "counters-$site" "tx_packets"
    refuse "counters-$site" 'forged|lost|overrun|malformed|no_lane|full|replayed|no_keys'
  done
}
