#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: rxe_sites.sh: two machines with rdma_rxe, in guests, at two sites that extenders join.
# The image is made first, out here, where Debian's archive can be reached.
set -euo pipefail
source "$(dirname "$0")/../e2e/lib.sh"
need python3 ss
if ! ${WEFT_RXE_IMAGE_READY:-false}; then
  python3 "$source_tree/tests/interop/rxe/image.py" || exit $?
  export WEFT_RXE_IMAGE_READY=true
fi
private_network "$0" "$@"
[[ -c /dev/net/tun ]] || skip "/dev/net/tun is missing"
unset WEFT_RXE_IMAGE_READY
begin
WEFT_BUILD=$build_tree python3 "$source_tree/tests/interop/rxe/sites_test.py"
