#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: qp1_taps.sh [WIRE]: `weft run --capture` and `--fault` hold for queue pair 1 too, which the
# host agent has: a capture of rping shows how its connection is made and ended, and only that;
# under faults messages are lost, sent again, and the connection is made all the same.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need rping tshark
private_network "$0" "$@"
wire=${1:-udp}
ip link set lo up
begin
netns=$(stat -L -c %i /proc/self/ns/net)

# of_agent FIELD: of our agent's lines in `weft status`.
of_agent() {
  "$weft" status | awk -v netns="$netns" -v field="$1" '
    /^agent/ { ours = $NF == netns }
    /^[0-9]/ { ours = 0 }
    ours { for (i = 1; i < NF; i++) if ($i == field) print $(i + 1) }'
}

# rpings PORT "SERVER OPTIONS" "CLIENT OPTIONS"
rpings() {
  local server client
  read -r -a server <<<"$2"
  read -r -a client <<<"$3"
  spawn server "$weft" run --wire "$wire" "${server[@]}" -- rping -s -a 127.0.0.1 -p "$1" -C 3
  await_identifier "127.0.0.1:$1"
  spawn client "$weft" run --wire "$wire" "${client[@]}" -- rping -c -a 127.0.0.1 -p "$1" -C 3
  finish_rping client
  finish_rping server
}

# in_capture SIDE ATTRIBUTE: the transaction IDs of this kind of management datagram, as often as
# they are in its capture.
in_capture() {
  tshark -r "$work/$1.pcapng" "${decode[@]}" -Y "infiniband.mad.attributeid == $2" \
    -T fields -e infiniband.mad.transactionid 2>"$work/tshark.out"
}

# one SIDE ATTRIBUTE: those of one exchange are there, on a slow machine more than once.
one() {
  [[ $(in_capture "$1" "$2" | sort -u | wc -l) -eq 1 ]] ||
    fail "$1: not one transaction of attribute $2, but: $(in_capture "$1" "$2")"
}

rpings 7301 "--capture $work/server.pcapng" "--capture $work/client.pcapng"
read -r -a decode < <(sed -n 's/^weft run: capturing; .* tshark -r [^ ]* //p' "$work/client.out")
for side in client server; do
  one "$side" 0x0010  # REQ
  one "$side" 0x0013  # REP
  one "$side" 0x0014  # RTU
  one "$side" 0x0015  # DREQ
  run "$side-crc" /usr/bin/python3 "$source_tree/tests/tools/check_crc.py" \
    --port "$([[ $wire == udp ]] && echo 14791 || echo 4791)" "$work/$side.pcapng"
  tshark -r "$work/$side.pcapng" "${decode[@]}" -Y '_ws.malformed' >"$work/malformed" 2>/dev/null
  [[ ! -s $work/malformed ]] || fail "tshark, $side: $(head -n 3 "$work/malformed")"
done

# Another program's messages are not in it, nor are they lost: this seed has the first that comes to
# the client lost, the REP.
[[ -z $(of_agent fault_lost) ]] || fail "something was lost on purpose already"
rpings 7302 "--capture $work/second.pcapng" "--fault loss=10%,seed=26"
is_above "$(of_agent fault_lost)" 0 || fail "nothing was lost on purpose"
is_above "$(of_agent cm_tx_retries)" 0 || fail "nothing was sent again"
one client 0x0010
one second 0x0010
[[ $(in_capture second 0x0013 | wc -l) -ge 2 ]] || fail "the server's REP was not sent again"

# Everything comes late, twice or spoilt.
faults=loss=10%,duplicate=30%,reorder=30%,corrupt=10%,delay=5ms
rpings 7303 "--fault $faults,seed=1" "--fault $faults,seed=2"

kill "$("$weft" status | sed -n "s/^agent \([0-9]*\):.* netns $netns\$/\1/p")"
