#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ibv_devinfo, unmodified, lists a device for each usable interface, the loopback's last, and tells
# what is true of the port.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ibv_devinfo ibv_devices
begin

run list "$weft" run -- ibv_devices
[[ $(tail -n 1 "$work/list.out") == *weft_lo* ]] || fail "weft_lo is not the last device"

run devinfo "$weft" run -- ibv_devinfo -v -d weft_lo
expect devinfo 'hca_id:[[:space:]]*weft_lo'
expect devinfo 'state:[[:space:]]*PORT_ACTIVE'
expect devinfo 'link_layer:[[:space:]]*Ethernet'
expect devinfo 'GID\[ *0\]:.*::ffff:127\.0\.0\.1' "the IPv4 address is the first GID"
expect devinfo 'active_mtu:[[:space:]]*4096'

run nothing timeout 10 "$weft" run --interface lo -- ibv_devices
[[ $(grep -c weft_ "$work/nothing.out") -eq 1 ]] || fail "--interface lo shows other devices too"
