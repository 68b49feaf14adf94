#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_external.sh WHAT: a lab whose services work on another host. WHAT is one of
#   direct, switch   a firewall, which is reached by a direct link or by an Ethernet switch:
#                    programs of rdma_cm pass by its rules or are refused; it is killed, and comes
#                    back
#   cut              only the way to the firewall is cut, and comes back: a connection goes on
#   pair             of two firewalls the one that works is killed: a connection goes on
#   watched          a monitor that hides queue pairs, and a capture, whose file tshark reads,
#                    nothing encrypted
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need rping ib_send_bw ip unshare nsenter tshark
private_network "$0" "$@"
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

what=$1
db=127.253.0.2
host=''
new_namespace host || skip "network namespaces are not allowed here"
if [[ $what == switch ]]; then
  ip link add br0 type bridge forward_delay 0 2>/dev/null || skip "this kernel has no bridges"
  ip link del br0
  switch=''
  new_namespace switch
  in_namespace "$switch" ip link add br0 type bridge forward_delay 0
  in_namespace "$switch" ip link set br0 up
  join $$ eth0 '192.0.2.1/24 fd00::1/64' "$switch" port1 ''
  join "$host" eth0 '192.0.2.9/24 fd00::9/64' "$switch" port2 ''
  in_namespace "$switch" ip link set port1 master br0
  in_namespace "$switch" ip link set port2 master br0
  address='[fd00::9]:7481'
else
  join $$ eth0 '192.0.2.1/24 fd00::1/64' "$host" eth0 '192.0.2.9/24 fd00::9/64'
  address=192.0.2.9:7481
fi

for key in fabric server; do
  "$weft" extend keygen "$work/$key.key" >"$work/$key.pub"
done
keys=(--key "$work/server.key" --fingerprint "$work/fabric.pub")
rules=(--rules "$source_tree/examples/labs/firewall.rules")

# start_server NAME TYPE ADDRESS [ARGUMENT ...]: on the other host, which knows nothing of the lab.
start_server() {
  spawn "$1" nsenter "--net=/proc/$host/ns/net" -- "$weft" serve "$2" --json --listen "${@:3}"
  await "$1" "weft serve: $2 at "
}
# child NAME: the number of the server itself, for which another process waits.
child() { cat "/proc/${pid_of[$1]}/task/${pid_of[$1]}/children"; }
kill_server() { # NAME
  local child
  child=$(child "$1")
  # shellcheck disable=SC2086  # a number
  kill -KILL ${child:?}
  wait "${pid_of[$1]}" 2>/dev/null || :
  unset "pid_of[$1]"
}
# service EXPRESSION [NODE]: of what `weft status` says of the service, there.
service() {
  of_lab "str([($1) for s in lab[0]['services'] if s['node'] == '${2:-fw}'][0])"
}
await_service() { # EXPRESSION VALUE [NODE]
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    [[ $(service "$1" "${3:-fw}") != "$2" ]] || return 0
    sleep 0.1
  done
  fail "the service's $1 is $(service "$1" "${3:-fw}"), not $2: $(service 's' "${3:-fw}")"
}
await_count() { # EXPRESSION ATLEAST [NODE]
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    ! is_above "$(service "$1" "${3:-fw}")" "$2" || return 0
    sleep 0.1
  done
  fail "the service's $1 is $(service "$1" "${3:-fw}"), not above $2: $(service 's' "${3:-fw}")"
}
# send PORT ...: ib_send_bw between the two nodes, both of which must be content.
send() {
  spawn listener "$weft" run --node db -- ib_send_bw -R -p 5432 -F -s 4096 "$@"
  await_ids db 1
  spawn client "$weft" run --node app -- ib_send_bw -R -p 5432 -F -s 4096 "$@" "$db"
  finish client
  finish listener
  expect client '^ 4096 +[0-9]+ '
}

# refused PORT: nobody is told, and the client gives up.
refused() {
  local code=0
  spawn listener "$weft" run --node db -- rping -s -a "$db" -p "$1" -C 5
  await_ids db 1
  spawn client "$weft" run --node app -- timeout 10 rping -c -a "$db" -p "$1" -C 5
  wait "${pid_of[client]}" || code=$?
  unset "pid_of[client]"
  [[ $code -ne 0 ]] || fail "a connection to port $1 came about"
  stop listener INT
}
# Port 5432 is open, and memory may be read, as rping does.
open_rules() { rules=(--rules "$source_tree/examples/labs/two-subnets.rules"); }
# connect: one that stays. goes_on: it does.
connect() {
  spawn listener "$weft" run --node db -- rping -s -a "$db" -p 5432
  await_ids db 1
  spawn client "$weft" run --node app -- stdbuf -oL rping -c -v -a "$db" -p 5432
  goes_on
}
pings() { grep -c '^ping data' "$work/client.out" || :; }
goes_on() {
  local tries before
  before=$(pings)
  for ((tries = 0; tries < 600; tries++)); do
    kill -0 "${pid_of[client]}" 2>/dev/null || fail "the connection has ended"
    ! is_above "$(pings)" "$((before + 20))" || return 0
    sleep 0.1
  done
  fail "the connection does not go on"
}
disconnect() {
  stop client
  stop listener
}
# start_lab_of LAB LINKS: a file of a lab.
start_lab_of() {
  spawn lab "$weft" up "$1"
  await lab '^  subnet manager     its own \(minhop\)'
  await_states "{\"Active\":$2}"
}
# start_sealed: the lab of the examples, with keys, and its server's address.
start_sealed() {
  sed -e "s|^server = .*|server = \"$address\"|" \
    -e "s|^insecure = .*|key = \"fabric.key\"\nfingerprint = \"server.pub\"|" \
    "$source_tree/examples/labs/external.toml" >"$work/external.toml"
  start_lab_of "$work/external.toml" 3
}
start_firewall() { start_server server firewall "$address" "${rules[@]}" "${keys[@]}"; }

test_direct() {
  local why
  # The lab waits for its server, and says so.
  start_sealed
  await_service "s['well']" False
  why=$(service "s['why']")
  [[ $why == "the server at $address is not there"* ]] || fail "why it is not well: $why"
  start_firewall
  await_service "s['well']" True
  [[ $(service "s['server']['sealed']") == True ]] ||
    fail "what goes to the server is in the clear"
  await server "place1 is there, "

  # What is allowed passes, and each packet goes to the server and back.
  send -n 500
  await_count "s['counters'].get('forwarded', 0)" 500
  is_above "$(service "s['port_counters'].get('external_in', 0)")" 500 || fail "$(service s)"

  # Another port is closed. The server has counted it, and says so to the lab.
  refused 5433
  await_count "s['counters'].get('drop_by_service', 0)" 0
  kill -USR1 "$(child server)"
  await server '"drop_by_service":[1-9]'

  # A server that is killed: the place is not well, and nothing gets through.
  kill_server server
  await_service "s['well']" False
  refused 5432

  # And it comes back, with nothing of before.
  start_firewall
  await_service "s['well']" True
  send -n 200
  await_count "s['counters'].get('forwarded', 0)" 200
  stop server INT
}
test_switch() { test_direct; }

# The server notices as late as the place that nobody is there, and knows all that it knew.
test_cut() {
  open_rules
  start_sealed
  start_firewall
  await_service "s['well']" True
  connect
  in_namespace "$host" ip link set eth0 down
  await_service "s['well']" False
  # What comes meanwhile is dropped, and counted; the ends send it again.
  await_count "s['port_counters'].get('external_down', 0)" 0
  in_namespace "$host" ip link set eth0 up
  await_service "s['well']" True
  goes_on
  [[ $(service "s['drops']") == {} ]] || fail "the firewall has forgotten its connection"
  disconnect
  stop server INT
}

# lab_with NODE OTHER: the lab of the examples with these nodes in place of its service's.
lab_with() {
  sed -e '/^\[service/,/^insecure/d' -e "s/^fw = .*/$1 = {}\\n$2 = {}/" -e "s/\"fw\"/\"$1\"/" \
    "$source_tree/examples/labs/external.toml"
  printf '[[link]]\nends = ["%s", "s1"]\n' "$2"
}

test_pair() {
  local other=${address%:*}:7482 active standby
  open_rules
  {
    lab_with fw1 fw2
    cat <<LAB
[service.firewall]
type = "external"
at = [["fw1", "fw2"]]
server = ["$address", "$other"]
key = "fabric.key"
fingerprint = "server.pub"
LAB
  } >"$work/pair.toml"
  start_server fw1 firewall "$address" "${rules[@]}" "${keys[@]}"
  start_server fw2 firewall "$other" "${rules[@]}" "${keys[@]}"
  start_lab_of "$work/pair.toml" 4
  await_service "s['well']" True fw1
  await_service "s['well']" True fw2
  # Whose server was there first has the LIDs of both.
  active=fw1 standby=fw2
  [[ $(service "s['lids']" fw1) != '[]' ]] || active=fw2 standby=fw1
  connect
  await_count "s['counters'].get('forwarded', 0)" 20 "$active"
  [[ $(service "s['counters'].get('forwarded', 0)" "$standby") == 0 ]] || fail "both are at work"
  # The other place has them from now on, and its server was told of the connection.
  kill_server "$active"
  await_service "s['well']" False "$active"
  goes_on
  await_count "s['counters'].get('forwarded', 0)" 20 "$standby"
  [[ $(service "s['drops']" "$standby") == {} ]] ||
    fail "the standby did not know: $(service s "$standby")"
  # A new one is made there too.
  disconnect
  send -n 100
  stop "$standby" INT
}

# Files of captures are where the server is started; there is nobody who proves anything.
test_watched() {
  local second=${address%:*}:7482 records
  {
    lab_with eye keeper
    cat <<LAB
[service]
eye = { type = "external", at = "eye", server = "$address", insecure = true }
keeper = { type = "external", at = "keeper", server = "$second", insecure = true }
LAB
  } >"$work/watched.toml"
  cd "$work"
  start_server monitor monitor "$address" --insecure --set hide_queue_pairs=true
  start_server capture capture "$second" --insecure
  start_lab_of "$work/watched.toml" 4
  await_service "s['well']" True eye
  await_service "s['well']" True keeper
  [[ $(service "s['server']['sealed']" eye) == False ]] || fail "it is sealed without a key"
  send -n 300
  await_count "s['counters'].get('forwarded', 0)" 300 eye
  await_count "s['counters'].get('forwarded', 0)" 300 keeper
  # Neither end sees the other's queue pairs.
  await_count "s['counters'].get('icrc_corrected_headers', 0)" 300 eye
  # The monitor knows who has said how much to whom, and how long it took.
  kill -USR1 "$(child monitor)"
  await monitor '"places"'
  python3 - "$work/monitor.out" <<'PYTHON' || fail "the monitor has seen something else"
import json, sys
report = [json.loads(line) for line in open(sys.argv[1]) if line.startswith("{")][-1]
flow = report["places"][0]["details"]["flows"][0]
assert flow["bytes"] - flow["error_bytes"] > 300 * 4096, flow
assert flow["latency"]["samples"] > 0, flow
PYTHON
  # The capture has kept packets as they came, those of each message with all its bytes.
  stop capture INT
  tshark -r capture-place1-0.pcapng -Y 'infiniband.bth and frame.len > 4096' \
    >records 2>tshark.out || fail "tshark does not read what was captured"
  records=$(wc -l <records)
  is_above "$records" 299 || fail "only $records messages were captured"
  stop monitor INT
}

"test_$what"
stop lab INT
