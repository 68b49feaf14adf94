#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Wrong input gets one line that names it and the choices, and exit code 2; a program that cannot be
# run under Weft is told why.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ibv_devices
begin

# wrong NAME PATTERN COMMAND ...
wrong() {
  local name=$1 pattern=$2
  shift 2
  spawn "$name" "$@"
  finish "$name" 2
  expect "$name" "$pattern"
  [[ $(grep -c . "$work/$name.out") -eq 1 ]] || fail "$name: more than one line"
}

wrong wire "carrier-pigeon.*udp.*bare" "$weft" run --wire carrier-pigeon -- ibv_devices
wrong interface 'nonesuch0.*lo' "$weft" run --interface nonesuch0 -- ibv_devices
wrong option '--nonesuch' "$weft" run --nonesuch -- ibv_devices
wrong command 'nonesuch' "$weft" nonesuch
wrong variable 'WEFT_WIRE.*carrier-pigeon.*udp' env WEFT_WIRE=carrier-pigeon "$weft" run -- \
  ibv_devices
wrong unknown 'WEFT_NONESUCH' env WEFT_NONESUCH=1 "$weft" run -- ibv_devices
wrong ports 'WEFT_PORTS.*backwards' env WEFT_PORTS=backwards "$weft" run -- ibv_devices
wrong fault '--fault.*loss=2.*percentage' "$weft" run --fault loss=2 -- ibv_devices
wrong fault-name 'WEFT_FAULT.*los.*there are loss' env WEFT_FAULT=los=2% "$weft" run -- ibv_devices

spawn missing "$weft" run -- /no/such/program
finish missing 2
expect missing '/no/such/program'
