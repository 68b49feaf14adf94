#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: roce_extensions.sh weft|standard: who is sent what the InfiniBand architecture does not
# have, on wire roce: Weft peers that have agreed, and nobody else. Two hosts that a link joins.
#   weft      rping under loss from Weft to Weft: Weft's acknowledgements (opcode 0xC2) both ways,
#             and no other bit of its own
#   standard  rdma_client and rdma_server with a peer that knows the standard only, and loses
#             packets
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need rping rdma_client rdma_server unshare nsenter
private_network "$0" "$@"
begin

left='' right=''
new_namespace left
new_namespace right
join "$left" veth0 10.79.0.1/24 "$right" veth0 10.79.0.2/24

# at KEEPER OPTION ... -- PROGRAM: the words of a command that runs there under weft.
at() {
  local keeper=$1
  shift
  words=(nsenter "--net=/proc/$keeper/ns/net" -- "$weft" run --wire roce "$@")
}

case $1 in
  weft)
    # Messages of 64 KB are runs of packets: some are lost, and what comes after them is kept.
    at "$right" --capture "$work/right.pcapng" --fault loss=3%,seed=5 -- \
      rping -s -a 10.79.0.2 -C 40 -S 65000
    spawn right "${words[@]}"
    await_identifier '' "$right"
    at "$left" --capture "$work/left.pcapng" --fault loss=3%,seed=6 --stats -- \
      rping -c -a 10.79.0.2 -C 40 -S 65000
    spawn left "${words[@]}"
    finish_rping left
    finish_rping right
    for side in 1:left 2:right; do
      run "${side#*:}-bits" /usr/bin/python3 "$source_tree/tests/tools/check_standard.py" \
        --from "10.79.0.${side%:*}" --agreed --find-opcode 0xC2 --find-opcode 0xC7 \
        --find-opcode 0xC8 --find-opcode 0xC9 --find-opcode 0xCA "$work/${side#*:}.pcapng"
      expect "${side#*:}-bits" '^[1-9][0-9]* with opcode 0xc2' "the ends have agreed"
      tail -n 5 "$work/${side#*:}-bits.out"
    done
    ;;
  standard)
    puppet() {
      spawn "$1" nsenter "--net=/proc/$left/ns/net" -- \
        /usr/bin/python3 "$source_tree/tests/e2e/standard_peer.py" "${@:2}"
      await "$1" '^ready'
    }
    puppet as-server client 10.79.0.1 10.79.0.2
    at "$right" -- rdma_client -s 10.79.0.1
    spawn client "${words[@]}"
    finish as-server
    finish client
    expect client 'end 0'
    expect as-server 'message came again, 16 bytes'
    at "$right" -- rdma_server
    spawn server "${words[@]}"
    await_identifier '' "$right"
    puppet as-client server 10.79.0.1 10.79.0.2
    finish as-client
    finish server
    expect server 'end 0'
    for side in as-server as-client; do
      expect "$side" '^NAK came' "a gap is nothing that a standard peer's responder keeps"
      expect "$side" '^done, 0 packets'
    done
    ;;
  *) fail "unknown: $1" ;;
esac

pkill -TERM -x weftd --ns "$left" --nslist net || :
pkill -TERM -x weftd --ns "$right" --nslist net || :
