#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_line_equipment.sh svc | STACK LIST: two labs whose extenders are at the ends of a line
# in which equipment stands that others use as well. Real programs run between the labs, and what
# the others send over the same line comes whole. The equipment goes and comes back, and the ports
# that lead there follow.
#   svc  ATM: the sites set their connection up through a switch of cells, and release it.
#   STACK LIST  what is between a frame and the octets of the line, and what stands in it.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need ib_write_bw ibv_uc_pingpong python3 rping ss
what=$1
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
# shellcheck source=tests/e2e/sites_lib.sh
source "$source_tree/tests/e2e/sites_lib.sh"

have_sites 'line-' west east
stack=$what
declare -A keys=([west]='rate = "100Mb/s"' [east]='rate = "100Mb/s"')
if [[ $what == svc ]]; then
  stack=ipv6/aal5/stm1
  equipment="cell-mux:stm1:channel=1/100:foreign=10Mb/s,regenerator:stm1"
  equipment+=",cell-switch:stm1:connect=1/100-2/200"
  equipment+=",cell-mux:stm1:channel=2/200:foreign=10Mb/s"
  declare -A atm=([west]=47.000580ffe1000000f21a26d8.0020ea000ee0.00
    [east]=47.000580ffe1000000f21a26d8.0020ea000ee1.00)
  for site in west east; do
    keys[$site]+="\nsvc = [\"${atm[$site]}\", \"${atm[$(other_site "$site")]}\"]"
  done
else
  equipment=$2
fi
# The equipment is at listen[east], and connects to west.
declare -A line=([west]=tcp:${listen[west]} [east]=tcp-to:${listen[east]})
for site in west east; do
  sed -e "s|^encapsulation = .*|encapsulation = \"$stack\"|" \
    -e "s|^line = .*|line = \"${line[$site]}\"\nline_rate = \"155.52Mb/s\"\n${keys[$site]}|" \
    "$source_tree/examples/labs/line-$site.toml" >"$work/$site.toml"
done

start_equipment() {
  spawn wan "$weft" wan-emulator stream "${listen[east]}" "${listen[west]}" --path delay=5ms \
    --equipment "$equipment"
  await wan '^weft wan-emulator: stream'
}
# What others sent has come whole, and all of it.
others_undisturbed() {
  stop wan INT
  expect wan '^equipment: '
  expect wan 'foreign_whole [1-9][0-9][0-9]'
  refuse wan '(foreign_(spoilt|lost|out_of_order)|dropped_full) [1-9]'
}

start_site west
start_equipment
start_site east
await_up
perftest_across ib_write_bw -n 200 -s 65536
rping_across w1 e1 10.254.128.1 20
clean
others_undisturbed

# There is nothing between the sites, and then there is again.
await_site west "wan['state']" Down
await_site east "wan['state']" Down
start_equipment
await_up
# Which waits for ever for a packet that is lost.
across ibv_uc_pingpong -n 50
perftest_across ib_write_bw -n 100 -s 4096

stop_site east
await_site west "wan['state']" Down
stop_site west
others_undisturbed
if [[ $what == svc ]]; then
  # At its two ports: none of the calls was still there when the lines were gone.
  expect wan 'calls_connected 2'
  counted() { sed -nE "s/^ *calls_$1 +([0-9]+).*/\\1/p" "$work/wan.out"; }
  [[ $(counted released) == $(($(counted placed) + $(counted came))) ]] || fail "a call was left"
fi
echo "$what: done"
