#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: uc_credits.sh PROGRAM [ARGUMENT ...]: one of perftest's over an unreliable connection, with
# the socket buffers of a stock system: all that was sent arrives. Without credits a hundredth does.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
tool=$1
shift
need "$tool" ss
begin

# What a stock Linux grants at most, net.core.rmem_max of 208 KiB, as getsockopt tells it.
# shellcheck disable=SC2034  # lib.sh reads them
server_with=(--stats --socket-buffer 425984) client_with=(--stats --socket-buffer 425984)
pair 127.0.0.1 -- "$tool" -x 0 -F -c UC "$@"
read -r -a cell <<<"$(perftest_row client)"
perftest_measured client 3 || fail "no bandwidth"

counted() {
  awk -v counter="$2" '$1 == counter { sum += $2 } END { print sum + 0 }' "$work/$1.out"
}

for counter in udp_rx_overflow rx_lost rx_out_of_order rx_no_receive rx_messages_abandoned; do
  [[ $(counted server "$counter") -eq 0 ]] ||
    fail "$counter is $(counted server "$counter") at the receiver"
done
# A packet that was sent is a request or, the other way, a credit.
sent=$(counted client tx_packets) arrived=$(counted server rx_packets)
[[ $sent -eq $arrived ]] || fail "of $sent packets $arrived arrived"
credits=$(counted server tx_credits)
is_above "$credits" 0 || fail "the receiver gave no credits"
echo "$tool -c UC $*: ${cell[3]} MB/s, $arrived packets and none lost, $credits credits," \
  "$(counted client tx_window_stalls) waits"
