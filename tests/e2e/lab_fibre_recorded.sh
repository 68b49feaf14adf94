#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_fibre_recorded.sh: two labs on a fibre, of FIFOs, without an encapsulation. What goes
# from west to east on it is recorded, beside the sites: packets of InfiniBand, which tshark
# dissects.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need ibv_rc_pingpong python3 ss tee tshark
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
# shellcheck source=tests/e2e/sites_lib.sh
source "$source_tree/tests/e2e/sites_lib.sh"

have_sites '' west east
mkfifo "$work/eastward" "$work/midway" "$work/westward"
tee "$work/octets" 0<>"$work/midway" 1<>"$work/eastward" &
pid_of[tee]=$!
on_fibre "file:$work/westward,$work/midway" "file:$work/eastward,$work/westward" 128KiB
across ibv_rc_pingpong -n 300 -c
stop_sites
stop tee

run decode "$weft" wan decode null "$work/octets" -o "$work/null.pcapng"
dissected() { tshark -r "$work/null.pcapng" -Y "$1" 2>/dev/null; }
# The ends of messages of one of the two, SEND Last or Only, and what agents say.
while read -r least what; do
  count=$(dissected "$what" | wc -l)
  ((count >= least)) || fail "tshark finds $count packets with $what on the fibre, not $least"
done <<END
300 infiniband.bth.opcode in {2, 4}
1 infiniband.mad.mgmtclass
END
[[ -z $(dissected _ws.malformed) ]] || fail "tshark takes packets on the fibre for malformed"
echo "lab_fibre_recorded: done"
