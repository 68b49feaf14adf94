#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_raw.sh: whole packets by verbs, in a lab with a data service that is a process of its
# own: who may have them, what they are like, and unmodified programs between two nodes whose
# packets examples/raw_forwarder.c forwards, in one process, in two, and in the one that is left.
set -euo pipefail
time_limit=120
source "$(dirname "$0")/lib.sh"
need rping ib_send_bw ibv_devinfo
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
forwarder=$build_tree/examples/raw_forwarder

spawn lab "$weft" up "$source_tree/examples/labs/forwarder.toml"
await lab '^  subnet manager     its own \(minhop\)'
await_states '{"Active":3}'
db=127.252.0.2

# Only where a service is, as a kernel refuses it to who has not CAP_NET_RAW.
code=0
WEFT_LOG=info timeout 20 "$weft" run --node app -- "$forwarder" >"$work/refused.out" 2>&1 || code=$?
[[ $code -eq 1 ]] || fail "a node without a service has raw queue pairs"
expect refused 'ibv_create_qp: Operation not permitted'
expect refused 'the lab file has no \[service\.NAME\] with at = "app"'

on packets fw "$build_tree/tests/e2e_raw_packets"
expect packets '^all good$'

# port_of NODE: its GID and LID, as the forwarder wants them.
port_of() {
  "$weft" run --node "$1" -- ibv_devinfo -v | python3 -c "
import re, sys
text = sys.stdin.read()
print(re.search(r'GID\[ *0\]:\s*([0-9a-f:]+)', text)[1] + '=' +
      re.search(r'port_lid:\s*(\d+)', text)[1])"
}
app=$(port_of app)
there=$(port_of db)
spawn fw "$weft" run --node fw -- "$forwarder" "$app" "$there"
await fw '^forwarding'

spawn server "$weft" run --node db -- ib_send_bw -R -p 5432 -F -n 500 -s 4096
await_ids db 1
spawn client "$weft" run --node app -- ib_send_bw -R -p 5432 -F -n 500 -s 4096 "$db"
finish client
finish server
expect client '^ 4096 +500 '
spawn server "$weft" run --node db -- rping -s -a "$db" -C 20 -S 4096 -V
await_ids db 1
spawn client "$weft" run --node app -- rping -c -a "$db" -C 20 -S 4096 -V
finish_rping client
finish_rping server

# taken: how many packets the forwarder's node has taken from its link.
taken() {
  "$weft" status -d --json | python3 -c "
import json, sys
nodes = json.load(sys.stdin)['labs'][0]['nodes']
print([node['ports'][0]['counters']['rx_packets'] for node in nodes if node['name'] == 'fw'][0])"
}

# A second process takes its share, and then all: a connection goes on.
spawn second "$weft" run --node fw -- "$forwarder" "$app" "$there"
await second '^forwarding'
spawn server "$weft" run --node db -- ib_send_bw -R -p 5432 -F -D 4 -s 4096
await_ids db 1
spawn client "$weft" run --node app -- ib_send_bw -R -p 5432 -F -D 4 -s 4096 "$db"
before=$(taken)
until is_above "$(taken)" "$((before + 1000))"; do
  kill -0 "${pid_of[client]}" || fail "nothing was sent"
done
stop fw INT
finish client
finish server
expect client '^ 4096 +[0-9]+ '
stop second INT

# All but the requests for connections have the ICRC of their senders.
counts() {
  sed -nE 's/^forwarded ([0-9]+) packets, ([0-9]+) .* senders; ([0-9]+) to .*$/\1 \2 \3/p' "$1"
}
read -r all kept unknown <<<"$(counts "$work/fw.out")"
is_above "$kept" 500 || fail "only $kept packets were forwarded"
is_above "$((all - kept))" 1 || fail "no request for a connection went through the service"
is_above 20 "$((all - kept))" || fail "$((all - kept)) packets had a new ICRC"
[[ $unknown == 0 ]] || fail "$unknown packets were for nobody"
read -r more _ _ <<<"$(counts "$work/second.out")"
is_above "$more" 500 || fail "the second process forwarded $more packets alone"
stop lab INT
