# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests with guests that run the Linux kernel's rdma_rxe share; sourced, never run.
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

# with_guests SCRIPT TEST [ARGUMENT ...]: runs rxe/TEST, which boots guests, in a network of
# its own. The caller, SCRIPT, is started once more there; the guests' image is made before, out
# here, where Debian's archive can be reached.
with_guests() {
  local script=$1 test=$2
  shift 2
  need python3 ss
  if ! ${WEFT_RXE_IMAGE_READY:-false}; then
    python3 "$source_tree/tests/interop/rxe/image.py" || exit $?
    export WEFT_RXE_IMAGE_READY=true
  fi
  private_network "$script" "$@"
  [[ -c /dev/net/tun ]] || skip "/dev/net/tun is missing"
  unset WEFT_RXE_IMAGE_READY
  begin
  WEFT_BUILD=$build_tree python3 "$source_tree/tests/interop/rxe/$test" "$@"
}
