#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# wan_emulator.sh faults|ways|change|streams: real traffic through `weft wan-emulator`.
# shellcheck source=tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
need python3
begin
run traffic python3 "$(dirname "$0")/wan_traffic.py" "$weft" "$1"
