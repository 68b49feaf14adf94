#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: openmpi.sh SOURCE WHAT RANKS [WIRE]: an MPI program in C, with the argument WHAT, under
# Open MPI over UCX's verbs transports on loopback. Neither shared memory nor TCP is among the
# transports, so what arrived came through Weft, and the counters say so.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need mpirun mpicc
private_network "$0" "$@"
source=$1 what=$2 ranks=$3 wire=${4:-udp}
begin

mpicc -O1 -Wall -Wextra -Werror -o "$work/program" "$source" || fail "$source does not compile"

# No rank may go around UCX. As root and with more ranks than processors only if asked.
choose=(--mca pml ucx --mca osc ucx --mca btl '^openib,tcp,vader,sm,ofi'
  --mca pml_ucx_tls any --mca pml_ucx_devices any)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export UCX_TLS=rc_verbs,ud_verbs,self UCX_NET_DEVICES=weft_lo:1
run job "$weft" run --wire "$wire" --stats -- mpirun --oversubscribe -n "$ranks" "${choose[@]}" \
  "$work/program" "$what"
expect job ': right$'
# Each rank must have sent by way of Weft what no handshake adds up to.
sending=$(awk '$1 == "tx_bytes" && $2 > 30000' "$work/job.out" | wc -l)
[[ $sending -eq $ranks ]] || fail "$sending of $ranks ranks sent anything by way of Weft"
grep ': right$' "$work/job.out"
