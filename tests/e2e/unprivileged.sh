#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: unprivileged.sh TEST [ARGUMENT ...]: runs a test of this folder as a user without rights,
# with a limit of 64 KiB on locked memory.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need setpriv

test=$1
shift
ulimit -l 64
if [[ $(id -u) -ne 0 ]]; then
  exec bash "$source_tree/tests/e2e/$test" "$@"
fi

# The user may have no way into the checkout: what runs is a copy, which the tree is made for.
place=$(mktemp -d /tmp/weft-unprivileged.XXXXXX)
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/build/lib" "$place/source/tests" "$place/source/docs"
cp -r "$build_tree/bin" "$place/build/"
cp -r "$build_tree/lib/weft" "$place/build/lib/"
[[ ! -d $build_tree/examples ]] || cp -r "$build_tree/examples" "$place/build/"
cp -r "$source_tree/tests/e2e" "$source_tree/tests/tools" "$place/source/tests/"
cp "$source_tree/docs/wire-udp.md" "$place/source/docs/"
cp -r "$source_tree/script" "$place/source/"
chmod -R u=rwX,go=rX "$place"

WEFT_SOURCE=$place/source WEFT_BUILD=$place/build HOME=/tmp TMPDIR=/tmp XDG_RUNTIME_DIR='' \
  setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all \
  bash -c '
    [[ $(id -u) -eq 65534 && $(ulimit -l) -eq 64 ]] || exit 99
    cd /
    exec bash "$@"' as-nobody "$place/source/tests/e2e/$test" "$@"
