#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: status.sh [WIRE]: `weft status` while two programs talk over rdma_cm, and afterwards. It
# shows all of this user, other tests' programs too: ours are those of our namespace's agent.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need rping python3
private_network "$0" "$@"
wire=${1:-udp}
ip link set lo up
begin

netns=$(stat -L -c %i /proc/self/ns/net)
spawn server "$weft" run --wire "$wire" -- rping -s -a 127.0.0.1 -C 1000000
spawn client "$weft" run --wire "$wire" -- rping -c -a 127.0.0.1 -C 1000000
both_talk() {
  "$weft" status --json >"$work/status.json" 2>&1 || fail "$(cat "$work/status.json")"
  python3 - "$work/status.json" "$wire" "$netns" <<'END'
import json, sys
status, wire, netns = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3])
agents = [agent for agent in status["agents"] if agent["netns"] == netns]
pids = [program["pid"] for agent in agents for program in agent["programs"]]
programs = [program for program in status["programs"] if program["pid"] in pids]
rows = [row for program in programs for device in program["devices"]
        for row in device["queue_pairs"]]
ids = [cm_id for agent in agents for w in agent["wires"] if w["wire"] == wire
       for cm_id in w["cm_ids"]]
ok = (len(pids) == 2 and [(p["comm"], p["wire"]) for p in programs] == [("rping", wire)] * 2
      and sum(r["count"] for r in rows if (r["type"], r["state"]) == ("RC", "RTS")) == 2
      and [i["comm"] for i in ids if i["state"] == "LISTEN"] == ["rping"]
      and len([i for i in ids if i["state"] == "CONNECT"]) == 2)
sys.exit(0 if ok else 1)
END
}
for ((tries = 0; tries < 100; tries++)); do
  ! both_talk || break
  sleep 0.1
done
[[ $tries -lt 100 ]] || fail "never as it should be: $(cat "$work/status.json")"

run while "$weft" status -d
expect while "^agent [0-9]+: since 20.* clients 2 .* netns $netns"
expect while "wire $wire qp1 UDP port [0-9]+ cm_id [3-9] \\(.*1 LISTEN"
expect while "^[0-9]+: weft_lo: comm rping wire $wire qp 1 \\(1 RC RTS\\)"
expect while 'client pid [0-9]+ comm rping rdma_cm files [1-9]'
[[ $wire != roce ]] || expect while 'client pid .* slot [0-9]+'
run ids "$weft" resource show cm_id
expect ids "^wire $wire cm_idn [0-9]+ .*type RC state LISTEN ps TCP .*src_addr 127.0.0.1:7174"

stop client
stop server
for ((tries = 0; tries < 100; tries++)); do
  run after "$weft" status
  ! grep -q "^agent .* clients 0 .* netns $netns" "$work/after.out" || break
  sleep 0.1
done
expect after "^agent [0-9]+: .* clients 0 .* netns $netns"

pkill -TERM -x weftd --ns $$ --nslist net || :
