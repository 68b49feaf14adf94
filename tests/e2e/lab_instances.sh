#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_instances.sh: services with several instances that are no pairs, one spread by hash,
# one by load, as the subnet administrator tells the ends; what it tells while none is there. Then a
# node that is source, destination and service at once, in the daemon and as a process, and a rule
# for one GID of a port that has two.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=120
source "$(dirname "$0")/lib.sh"
need saquery rping ib_send_bw python3
need_pyverbs
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

# path NODE FROM TO: the LIDs that the node is told.
path() {
  "$weft" run --node "$1" -- saquery PR --sgid "$2" --dgid "$3" 2>&1 |
    sed -nE 's/.*dlid\.+([0-9]+)$/\1/p' | xargs
}
lid_of() {  # NODE
  of_lab "[n['ports'][0]['lid'] for n in lab[0]['nodes'] if n['name'] == '$1'][0]"
}
# had SERVICE NODE: packets that came to it there.
had() {
  of_lab "str([s['counters'].get('packets', 0) for s in lab[0]['services']
               if s['name'] == '$1' and s['node'] == '$2'][0])"
}
await_path() {  # NODE FROM TO LIDS
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    [[ $(path "${@:1:3}") != "$4" ]] || return 0
    sleep 0.1
  done
  fail "$1 is told '$(path "${@:1:3}")' and not '$4'"
}
# ping FROM TO ADDRESS: a connection there, and data both ways.
ping() {
  spawn server "$weft" run --node "$2" -- rping -s -a "$3" -C 10
  await_ids "$2" 1
  spawn client "$weft" run --node "$1" -- rping -c -a "$3" -C 10
  finish_rping client
  finish_rping server
}

spawn lab "$weft" up "$source_tree/examples/labs/several-instances.toml"
await lab '^  subnet manager     its own \(minhop\)'
await_states '{"Active":13}'
db=127.245.0.1
real=$(lid_of db)

# By hash: both have some, each pair of ends the same one, there and back.
told=''
for i in 1 2 3 4; do
  lid=$(path "h$i" "fe80::5$i" fe80::db)
  [[ $lid == 113 || $lid == 114 ]] || fail "h$i is told '$lid'"
  [[ $(path db fe80::db "fe80::5$i") == "$lid" ]] || fail "what comes back comes not by $lid"
  told+=" $lid"
done
[[ $told == *113* && $told == *114* ]] || fail "one of two has all paths:$told"

# By load: p1's packets, and not the number of paths alone, decide who is told to who asks then. By
# that alone p3, who asks when each has one, would be told the first one.
[[ $(path p1 fe80::61 fe80::db) == 129 ]] || fail "the first path is not by the first of equals"
spawn server "$weft" run --node db -- rping -s -a "$db"
await_ids db 1
spawn client "$weft" run --node p1 -- rping -c -a "$db"
[[ $(path p2 fe80::62 fe80::db) == 130 ]] || fail "p2 is told the one that has a path already"
for ((tries = 0; tries < 100; tries++)); do
  ! is_above "$(had limiter l1)" 1000 || break
done
sleep 2.5  # it is told once a second how much each has to do
[[ $(path p3 fe80::63 fe80::db) == 130 ]] || fail "p3 is told the one that all packets come to"
is_above "$(had limiter l1)" 1000 || fail "p1's packets do not come by"
[[ $(had limiter l2) == 0 ]] || fail "packets come to an instance that nobody was told"
[[ $(path p1 fe80::61 fe80::db) == 129 ]] || fail "a path has become another one"
stop client
stop server

# Without any: one service is passed by, the other one's paths are none.
for node in l1 l2 m1 m2; do run cut "$weft" link "$node:1" down; done
await_states '{"Active":9,"Down":4}'
await_path p1 fe80::61 fe80::db "$real"
await_path h1 fe80::51 fe80::db ''
ping p2 db "$db"
run joined "$weft" link l1:1 up
await_path p1 fe80::61 fe80::db 129
run down "$weft" down
finish lab

spawn lab "$weft" up "$source_tree/examples/labs/own-service.toml"
await lab '^  subnet manager     its own \(minhop\)'
await_states '{"Active":3}'
real=$(lid_of db)
# Source: through its own service, and by another rule around it.
[[ $(path mid fe80::1d fe80::db) == 15 ]] || fail "mid goes around its own service"
# The messages that make a connection of rdma_cm too, whoever of both begins; what connects so has
# data in that firewall, which lets nothing else pass.
ping mid db 127.244.0.2
ping db mid 127.244.0.1
spawn server "$weft" run --node db -- ib_send_bw -R -F -n 500
await_ids db 1
spawn client "$weft" run --node mid -- ib_send_bw -R -F -n 500 127.244.0.2
finish client
finish server
expect client '^ 65536 +500 '
own=$(had firewall mid)
is_above "$own" 8000 || fail "of what mid sends and gets its service has had $own packets"
ping mid other 127.244.0.3
# Destination, of what is for itself.
ping other mid 127.244.0.1
ping other db 127.244.0.2
[[ $(had firewall mid) == "$own" ]] || fail "the service has had what no rule leads there"

# A second GID of db's port: the rule is for that alone.
on given db python3 "$source_tree/tests/e2e/remembered.py" set "$(lid_of s)" "$real" 0x77
expect given '^given 0'
await_path other fe80::7 fe80::77 15
[[ $(path other fe80::7 fe80::db) == "$real" ]] || fail "the rule is for db's first GID too"
[[ $(path db fe80::77 fe80::7) == 15 ]] || fail "what comes back from it goes directly"
spawn at-db "$weft" capture db:1 data -w "$work/db.pcapng"
await at-db '^weft capture: listening'
for ends in "fe80::77 15" "fe80::db $real"; do
  read -r gid lid <<<"$ends"
  on sent other /usr/bin/python3 "$source_tree/tests/e2e/routed_datagrams.py" "$gid" "$lid" 64 \
    --count 5
done
[[ $(had firewall mid) == $((own + 5)) ]] || fail "the service has had $(had firewall mid) packets"
stop at-db INT
run ways python3 "$source_tree/tests/e2e/packet_ways.py" "$work/db.pcapng"
expect ways "^[0-9]+ $real 5 fe80::77$"
expect ways "^[0-9]+ $real 5 fe80::db$"
stop lab INT

# The same where the service is a process of its own on the node.
sed 's|^at = "mid"|&\ntype = "process"|' "$source_tree/examples/labs/own-service.toml" \
  >"$work/process.toml"
spawn lab "$weft" up "$work/process.toml"
await_states '{"Active":3}'
spawn firewall "$weft" service run firewall --node mid
await firewall '^firewall serves on node mid'
await_path mid fe80::1d fe80::db 15
ping mid db 127.244.0.2
ping db mid 127.244.0.1
stop firewall
expect firewall '^ *forwarded +[1-9][0-9]'
stop lab INT
