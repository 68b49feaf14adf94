#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_watched.sh: programs of rdma_cm between two nodes of a lab whose paths lead through a
# monitor, a capture and a limiter: the first says who talks and how long it takes, the files of the
# second are what tshark reads, the third lets no more through than its rate, and what it drops is
# kept. A tap sees what arrives, and nothing goes on from there.
set -euo pipefail
time_limit=150
source "$(dirname "$0")/lib.sh"
need ib_send_bw rping tshark
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

# Files of captures are where the lab is started.
cd "$work"
begun=$(date +%s%N)
spawn lab "$weft" up "$source_tree/examples/labs/watched.toml"
await lab '^  subnet manager     its own \(minhop\)'
await_states '{"Active":5}'
db=127.250.0.2

# service NAME EXPRESSION: of what `weft service` says of it.
service() {
  "$weft" service "$1" --json |
    python3 -c "import json, sys; s = json.load(sys.stdin)['services'][0]; print($2)"
}
# records FILE [FILTER]: how many packets tshark finds in it.
records() {
  tshark -r "$1" ${2:+-Y "$2"} >"$work/tshark.records" 2>"$work/tshark.out" ||
    fail "tshark does not read $1"
  wc -l <"$work/tshark.records"
}

run none "$weft" service
expect none '^monitor +monitor +eye +[0-9]+ +0 +0 +0 +0 +-$'
expect none '^tap +monitor +db +copies '
spawn refused "$weft" service camera
finish refused 2
expect refused 'has no service camera; there are monitor, capture, limiter, dropped, tap$'

# Reads and writes, whose packets stay whole on the way.
spawn server "$weft" run --node db -- rping -s -a "$db" -C 20 -v
await_ids db 1
spawn client "$weft" run --node app -- rping -c -a "$db" -C 20 -v
finish_rping client
finish_rping server

# A few times the burst: the limiter drops, and the connection makes up for it. A machine that is
# slow for the moment may send no faster than the limiter lets it, so more than once if need be.
for ((round = 0; round < 8; ++round)); do
  spawn server "$weft" run --node db -- ib_send_bw -R -F -n 200 -s 4096 -t 8 -u 12
  await_ids db 1
  spawn client "$weft" run --node app -- ib_send_bw -R -F -n 200 -s 4096 -t 8 -u 12 "$db"
  finish client
  finish server
  [[ $(service limiter "s['drops'].get('over_rate', 0)") == 0 ]] || break
done
expect client '^ 4096 +200 '

# The monitor has the flow, its sender first, and how long it took.
flow="[f for f in s['details']['flows'] if (f['from'], f['to']) == ('app', 'db')][0]"
bytes=$(service monitor "${flow}['bytes']")
is_above "$bytes" $((200 * 4096)) || fail "the monitor has seen $bytes bytes"
[[ $(service monitor "s['details']['senders'][0]['from']") == app ]] || fail "who sends most?"
samples=$(service monitor "${flow}['latency']['samples']")
is_above "$samples" 0 || fail "the monitor has no latency"
run monitor "$weft" service monitor
expect monitor '^app +db +0x[0-9a-f]+ +[0-9]{6,} +[0-9]+ +[0-9.]+us +'
expect monitor '^    forwarded [0-9]+$'
expect monitor '^    filter_by_lid [0-9]+$'

# The limiter let through no more than its rate and burst, since the lab began and at most until
# now, and has dropped and counted the rest.
passed=$(service limiter "sum(t['bytes'] for t in s['details']['tenants'])")
dropped=$(service limiter "s['drops'].get('over_rate', 0)")
most=$((65536 + 20 * ($(date +%s%N) - begun) / 1000))
is_above "$most" "$passed" || fail "the limiter let $passed bytes through, not $most at most"
is_above "$passed" $((200 * 4096)) || fail "the limiter let $passed bytes through"
is_above "$dropped" 0 || fail "the limiter dropped nothing"
[[ $(service limiter "sum(t['dropped'] for t in s['details']['tenants'])") == "$dropped" ]] ||
  fail "tenants and drops differ"
run table "$weft" service
expect table "^limiter +limiter +brake +[0-9]+ +[0-9]+ +[0-9]+ +$dropped +0 +over_rate $dropped$"

# All that it dropped is kept, among copies of what was for its port.
[[ $(service dropped "s['port_counters']['shown']") == "$dropped" ]] || fail "copies are missing"
[[ $(service limiter "s['port_counters'].get('mirror_lost', 0)") == 0 ]] || fail "copies are lost"
await_file() {  # FILE SERVICE: until all that the service kept is in its one file
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    [[ $(records "$1") != "$(service "$2" "s['service']['kept']")" ]] || return 0
    sleep 0.1
  done
  fail "$1 has $(records "$1") packets"
}
await_file dropped-0.pcapng dropped
is_above "$(records dropped-0.pcapng 'infiniband.bth')" "$((dropped - 1))" ||
  fail "what was dropped is not in the file"

# The ring: three files of no more than their size, the newest packets, all of which tshark reads.
files=$(service capture "s['service']['files']")
is_above "$files" 3 || fail "only $files files were begun"
[[ $(service capture "s['service'].get('lost', 0)") == 0 ]] || fail "the capture lost packets"
[[ $(echo capture-*.pcapng) == "capture-0.pcapng capture-1.pcapng capture-2.pcapng" ]] ||
  fail "files: $(echo capture-*.pcapng)"
for file in capture-*.pcapng; do
  is_above "$(records "$file" infiniband.bth)" 0 || fail "$file has no packets"
  [[ $(records "$file" '_ws.malformed') == 0 ]] || fail "$file has malformed packets"
  is_above 600000 "$(stat -c %s "$file")" || fail "$file is too large"
done

# The tap saw what arrived, and sent nothing on.
tapped=$(service tap "s['counters']['tapped']")
is_above "$tapped" 200 || fail "the tap has seen $tapped packets"
[[ $(service tap "s['counters'].get('forwarded', 0)") == 0 ]] || fail "the tap forwards"
watched=$(of_lab "[p['filter']['filter_watched'] for n in lab[0]['nodes'] for p in n['ports']
                   if n['name'] == 'db'][0]")
[[ $(service tap "s['filter']['filter_watched'] >= $watched") == True ]] ||
  fail "filters are not counted"
run status "$weft" status -d
expect status '^      filter_watched [0-9]+$'
expect status '^  service limiter at brake:1: packets [0-9]+ forwarded [0-9]+$'
stop lab INT

# What cannot be written is said before the lab runs, and which service it is.
sed 's|size = "256KiB"|file = "none/x.pcapng"|' "$source_tree/examples/labs/watched.toml" \
  >wrong.toml
spawn lab "$weft" up wrong.toml
finish lab 2
expect lab 'service capture at keeper:1: .*/none/x-0.pcapng'
