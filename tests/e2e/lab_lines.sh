#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_lines.sh STACK [sealed | EQUIPMENT]: two labs whose extenders are at the ends of a
# line, on which STACK is what is between a frame and the octets of the line. They are one fabric,
# on which real programs run; the line is cut and comes back, and the ports that lead there follow.
# With EQUIPMENT, that stands in the line, and has understood it. sealed: keys come by TCP, beside.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=280
source "$(dirname "$0")/lib.sh"
need ib_write_bw ibnetdiscover ibv_uc_pingpong python3 rping ss
stack=$1 equipment=${2:-} sealed=False
if [[ $equipment == sealed ]]; then
  equipment='' sealed=True
fi
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
# shellcheck source=tests/e2e/sites_lib.sh
source "$source_tree/tests/e2e/sites_lib.sh"

have_sites 'line-' west east
declare -A line=([west]=unix:$work/line [east]=unix:$work/line)
if [[ -n $equipment ]]; then
  line=([west]=tcp:${listen[west]} [east]=tcp:${listen[east]})
fi
more=
[[ $stack != *mpls* ]] || more='\nlabels = [100016]'
for site in "${sites[@]}"; do
  sed -e "s|^encapsulation = .*|encapsulation = \"$stack\"|" \
    -e "s|^line = .*|line = \"${line[$site]}\"\nline_rate = \"155.52Mb/s\"$more|" \
    "$source_tree/examples/labs/line-$site.toml" >"$work/$site.toml"
  [[ $stack != *ipv4* ]] || sed -i 's/\[2001:db8::\([12]\)\]/192.0.2.\1/' "$work/$site.toml"
done

if [[ $sealed == True ]]; then
  for site in "${sites[@]}"; do
    new_key "$site"
    sed -i -e "s|^listen = .*|listen = \"${listen[$site]}\"|" \
      -e "s|^address = .*|address = \"${listen[$(other_site "$site")]}\"|" "$work/$site.toml"
  done
  seal_sites
fi

start_site west
if [[ -n $equipment ]]; then
  spawn wan "$weft" wan-emulator stream "${listen[east]}" "${listen[west]}" --path delay=5ms \
    --equipment "$equipment"
  await wan '^weft wan-emulator: stream'
fi
start_site east
await_up
node discover w1 ibnetdiscover
finish discover
[[ $(grep -c '^Switch' "$work/discover.out") == 4 ]] || fail "not four switches"
# On a busy machine an answer may come later than a connection usually waits for it: one has a
# longer timeout, the other has none, and ends only if nothing at all is lost.
across ibv_uc_pingpong -n 50
perftest_across ib_write_bw -n 100 -s 65536
rping_across w1 e1 10.254.128.1 5
clean
[[ $(site_report west "remote['sealed']") == "$sealed" ]] || fail "it is not as sealed as asked for"

# The other site is gone, and comes back.
kill_site east
await_site west "wan['state']" Down
start_site east
await_up
across ibv_uc_pingpong -n 50
stop_sites
if [[ -n $equipment ]]; then
  stop wan INT
  expect wan '^equipment: '
  expect wan 'frames_out [1-9]'
fi
echo "$stack: done"
