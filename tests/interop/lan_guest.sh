#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lan_guest.sh SCRIPT [SECONDS]: runs lan/SCRIPT in a guest with Weft and Debian's kernel.
set -euo pipefail
source "$(dirname "$0")/../e2e/lib.sh"
need python3
begin
python3 "$source_tree/tests/interop/lan/in_guest.py" "$build_tree" "$@"
