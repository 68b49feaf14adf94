#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: rxe.sh [ARGUMENT OF rxe/rxe_test.py ...]: against the Linux kernel's rdma_rxe in a guest.
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
WEFT_BUILD=$build_tree python3 "$source_tree/tests/interop/rxe/rxe_test.py" "$@"
