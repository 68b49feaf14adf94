#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_sites.sh WHAT [LAYERS]: two labs that range extenders make one subnet. WHAT is one of
#   programs  on one machine, under the manager of one of the two
#   opensm    the same under OpenSM, with what crosses the WAN in the clear
#   cut       on machines of their own, as far as they can tell: the WAN is cut and comes back, and
#             the other site's extender is killed and restarted; what the agents of both
#             extenders say of their ports meanwhile
#   minute    the same WAN is cut for a minute, while numbered messages flow between two programs:
#             none of them is lost or comes twice, and they flow on; what the tunnel carried has
#             come or is counted
#   egress    what leaves one site on a lane takes another one at the other site, as its file says
#   far       over an emulated WAN of 100 ms there and back, which loses packets
#   auto      over an emulated WAN that is slower than the machines, whose rate both find out: its
#             queue drops nothing
#   fec       over an emulated WAN of 100 ms there and back, which loses packets, most of which are
#             made again; a site that does not have the same is refused
#   paths     over two emulated WANs at once, of which one is cut while a program runs
#   listens   on machines of their own, over IPv4 and IPv6 at once, of which one is cut
#   sealed    on machines of their own: what crosses the WAN shows nothing of what is carried, while
#             keys change; the same in the clear does
#   wire      on machines of their own, with these layers around what crosses the WAN, sealed where
#             that can be: what a capture shows of it, marked by service level where there is IP,
#             and other traffic on the same interfaces. LAYERS may be tap/..., of a TAP interface on
#             a bridge
#   unsealable  an extender is refused whose layers cannot be, or cannot be sealed, and why
#   fibre     on a fibre, without an encapsulation and with little memory: a Unix socket, a TCP
#             connection, FIFOs, files that grow; the other site is killed and restarted
#   stranger  a site with another key than the one that is expected is refused, and both say so
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need ibv_rc_pingpong ibv_ud_pingpong ib_write_bw ibnetdiscover ibtracert rping saquery python3 ss \
  tshark
what=$1 layers=${2:-}
[[ $what != opensm ]] || need opensm
case $what in
  cut | minute | listens | sealed | wire) need ip unshare nsenter; private_network "$0" "$@" ;;
esac
[[ $what != wire ]] || need dumpcap ping
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
# shellcheck source=tests/e2e/sites_lib.sh
source "$source_tree/tests/e2e/sites_lib.sh"

have_sites '' west east
example=site
case $layers in
  dccp/ipv6) example=dccp ;;
  ipv6/mpls/ethernet) example=mpls ;;
esac
example_sites "$example"

# two_machines: from now on, each site is in a network of its own.
two_machines() {
  local west='' east='' site
  new_namespace west
  new_namespace east
  join "$west" veth0 '10.78.0.1/24 fd78::1/64' "$east" veth0 '10.78.0.2/24 fd78::2/64'
  at=([west]=$west [east]=$east)
  home=([west]=$work/west [east]=$work/east)
  host_of=([west]=10.78.0.1 [east]=10.78.0.2)
  mkdir -m 700 "$work/west" "$work/east"
  for site in "${sites[@]}"; do
    listen[$site]=${host_of[$site]}:${listen[$site]##*:}
  done
  example_sites "$example"
}

# Real tools see one fabric, and real programs use it.
one_fabric() {
  local service
  node discover w2 ibnetdiscover
  finish discover
  [[ $(grep -c '^Switch' "$work/discover.out") == 4 ]] || fail "not four switches"
  [[ $(grep -c '^Ca' "$work/discover.out") == 4 ]] || fail "not four channel adapters"
  for service in rc uc ud srq; do
    across "ibv_${service}_pingpong" -n 500
    expect client '^500 iters in .* seconds'
  done
  perftest_across ib_write_bw -n 500
  perftest_across ib_read_bw -n 500
}
# Programs that know each other by IP address, which only the subnet administrator can tell them.
by_address() {
  node unknown w1 rping -c -a 10.254.200.1 -C 1
  finish unknown 255
  expect unknown 'ADDR_ERROR, error -113'
  rping_across w1 e1 10.254.128.1 20
  node records w2 saquery SR
  finish records
  expect records 'ServiceName.*DAPL Address Translation Service'
}

programs() {
  start_site west
  expect west '^lab west: 2 switches, 2 channel adapters, 3 links'
  start_site east
  await_up
  one_fabric
  by_address
  # The way of a packet, switch by switch.
  node tracing w1 ibtracert -G "$(site_report west "lab['nodes'][-1]['ports'][0]['guid']")" \
    "$(site_report east "lab['nodes'][-1]['ports'][0]['guid']")"
  finish tracing
  expect tracing 'edge-west'
  expect tracing 'edge-east'
  clean
  run status "$weft" status
  expect status "^  extender edge-west at ${listen[west]}"
  expect status "^    port 2 to east \\(${listen[east]}\\): up, sealed with (aes|chacha)"
  run details "$weft" status -d
  expect details '^      wan_opened [1-9]'
  stop_sites
}

opensm() {
  in_the_clear
  start_site west --sm none
  start_site east
  manage w1
  await_up
  one_fabric
  by_address
  clean
  run status "$weft" status
  expect status "^    port 2 to east \\(${listen[east]}\\): up, insecure\$"
  stop opensm-west
  stop_sites
}

# told SITE STATE PHYSICAL_STATE: what the agent of its extender answers of the port to the other
# site, to a program on a node of this one.
told() {
  local lid
  lid=$(site_report "$1" "own[0]['lid']")
  node told "${1:0:1}2" smpquery portinfo "$lid" 2
  finish told
  expect told "^LinkState:\\.+$2\$"
  expect told "^PhysLinkState:\\.+$3\$"
}

cut() {
  need smpquery
  two_machines
  start_site west
  start_site east
  await_up
  across ibv_rc_pingpong -n 300
  told west Active LinkUp
  told east Active LinkUp
  at_site west ip link set veth0 down
  await_site west "wan['state']" Down
  await_site east "wan['state']" Down
  told west Down Polling
  told east Down Polling
  at_site west ip link set veth0 up
  await_up
  told west Active LinkUp
  told east Active LinkUp
  across ibv_rc_pingpong -n 300
  kill_site east
  await_site west "wan['state']" Down
  start_site east
  await_up
  one_fabric
  stop_sites
}

# counted SITE NAME ...: in sum.
counted() { site_report "$1" "sum(remote['counters'].get(name, 0) for name in '${*:2}'.split())"; }
# accounts FROM: what its tunnel has taken from the fabric has come at the other site, or is counted
# at one of the two. Something is always under way.
accounts() {
  local to tries sent came unconfirmed
  to=$(other_site "$1")
  for ((tries = 0; tries < 50; tries++)); do
    came=$(counted "$to" rx_packets rx_lost rx_session_lost)
    sent=$(counted "$1" tx_packets)
    unconfirmed=$(counted "$1" tx_unconfirmed)
    ((came > sent || came + unconfirmed < sent)) || break
    sleep 0.1
  done
  ((tries < 50)) ||
    fail "$1 sent $sent packets, $unconfirmed of them unconfirmed; $to has or counts $came"
  site_report "$to" "sorted(remote['counters'])" >"$work/counters-$to.out"
  refuse "counters-$to" 'forged|overrun|malformed|no_lane|no_memory|replayed'
}

minute() {
  local port sent before program=(/usr/bin/python3 "$source_tree/tests/e2e/rc_stream.py")
  # Patience for the cut, the manager and the way back: 17 s, eight times.
  program+=(--ack-timeout 22)
  need_pyverbs
  two_machines
  start_site west
  start_site east
  await_up
  port=$(free_port)
  node receiver e1 "${program[@]}" --listen "$port" --host "${host_of[east]}"
  await_listener receiver "$port" "${at[east]}"
  node sender w1 "${program[@]}" --connect "${host_of[east]}:$port" --seconds 75
  await_site west "remote['counters'].get('tx_packets', 0) > 1000" True
  at_site west ip link set veth0 down
  await_site west "wan['state']" Down
  await_site east "wan['state']" Down
  sleep 60 # what is tested: that it is so long
  at_site west ip link set veth0 up
  before=$(site_report west "remote['counters']['tx_packets']")
  await_up
  await_site west "remote['counters']['tx_packets'] > $before + 1000" True
  finish sender
  finish receiver
  sent=$(sed -n 's/ messages sent$//p' "$work/sender.out")
  expect receiver "^$sent messages arrived, each once, in order and whole\$"
  [[ $(site_report west "remote['counters']['sessions']") == 2 ]] || fail "the WAN was not cut"
  accounts west
  accounts east
  stop_sites
}

# Of the lanes that were used: which, and whether this site sent on it.
lanes() { site_report "$1" "[(lane['vl'], lane['sent_bytes'] > 0) for lane in remote['lanes']]"; }

egress() {
  sed -i 's/^listen = .*/&\negress = { 0 = 6 }/' "$work/west.toml"
  start_site west
  start_site east
  await_up
  across ibv_rc_pingpong -n 300
  [[ $(lanes west) == '[(0, False), (6, True)]' ]] || fail "west has lanes $(lanes west)"
  [[ $(lanes east) == '[(0, True), (6, False)]' ]] || fail "east has lanes $(lanes east)"
  clean
  run details "$weft" status -d
  expect details '^      lane 6: [1-9][0-9]* B sent, [1-9][0-9]* B more may be, 0 B wait here'
  # One that the other site does not have.
  stop_site east
  sed -i 's/^listen = .*/&\nvls = 4/' "$work/east.toml"
  start_site east
  await_up
  await_site west "remote['counters'].get('tx_no_lane', 0) > 0" True # the administrator's answers
  stop_sites
}

far() {
  over_wan rate=1Gb/s,delay=50ms,loss=1%,reorder=1%,seed=7 delay=50ms
  start_site west
  start_site east
  await_up
  # Patience beyond the round trip, which the ping-pongs of libibverbs do not have.
  perftest_across ib_send_bw -n 500
  perftest_across ib_write_bw -n 500
  site_report west "remote['counters']" >"$work/counters.out"
  expect counters "tx_repeated': [1-9]"
  refuse counters 'rx_lost|forged|overrun'
  stop wan INT
  expect wan 'lost [1-9]'
  await_site west "wan['state']" Down
  stop_sites
}

# works SITE WORDS: until so many ways to the other one are there, of which those work.
works() { await_site "$1" "[path['works'] for path in remote.get('paths', [])]" "$2"; }

# await_status PATTERN: whether a way works comes and goes where others have the processors for a
# quarter of a second, so that one look may find it the other way.
await_status() {
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    run status "$weft" status
    ! grep -qE -- "$1" "$work/status.out" || return 0
    sleep 0.1
  done
  expect status "$1"
}

auto() {
  over_wan rate=400Mb/s,delay=10ms,queue=5MB delay=1ms
  sed -i 's|^fingerprint = .*|&\nrate = "auto"|' "$work/west.toml" "$work/east.toml"
  start_site west
  start_site east
  await_up
  perftest_across ib_write_bw -D 4
  works west '[True]'
  await_status '^      path 1 \(127.0.0.1:[0-9]+\): works, [0-9.]+ ms, [0-9.]+ Mb/s'
  clean
  stop wan INT
  refuse wan 'queue_full [1-9]'
  expect wan 'delivered [1-9]'
  stop_sites
}

fec() {
  over_wan delay=50ms,loss=1%,seed=7 delay=50ms
  sed -i 's|^fingerprint = .*|&\nfec = "8+2"|' "$work/west.toml" "$work/east.toml"
  start_site west
  start_site east
  await_up
  perftest_across ib_send_bw -n 500
  perftest_across ib_write_bw -n 500
  local recovered repeated
  recovered=$(site_report east "remote['counters'].get('rx_recovered', 0)")
  repeated=$(site_report west "remote['counters'].get('tx_repeated', 0)")
  ((recovered > 10 && repeated < recovered)) || fail "recovered $recovered, repeated $repeated"
  site_report east "remote['counters']" >"$work/counters.out"
  refuse counters 'rx_lost|forged|overrun|repair_refused'
  run status "$weft" status
  expect status 'sealed with [a-z0-9-]+, fec 8[+]2: [0-9]+ of [0-9]+ lost frames made again'
  stop_site east
  sed -i '/^fec = /d' "$work/east.toml"
  start_site east
  await_site west "remote['session']" refused
  run status "$weft" status
  expect status 'refused, .*: the other end has no fec, this one fec 8[+]2'
  stop wan INT
  stop_sites
}

# second_wan PATH: besides that of over_wan, for datagrams only.
second_wan() {
  local relay there=${listen[east]}
  relay=127.0.0.1:$(free_port)
  spawn second "$weft" wan-emulator udp "$relay" "$there" --path "$1"
  await second '^weft wan-emulator: udp'
  sed -i "s|^address = \(.*\)|address = [\1, \"$relay\"]|" "$work/west.toml"
  sed -i 's|^fingerprint = .*|&\npaths = 2|' "$work/east.toml"
}

paths() {
  over_wan rate=400Mb/s,delay=5ms delay=1ms
  second_wan rate=400Mb/s,delay=10ms
  start_site west
  start_site east
  await_up
  works west '[True, True]'
  works east '[True, True]'
  across ibv_rc_pingpong -n 300
  # The nearer one is cut while packets are on it.
  local port first
  port=$(free_port)
  node server e1 ib_write_bw -d weft0 -F -D 5 -u 20 -p "$port"
  await_listener server "$port"
  node client w1 ib_write_bw -d weft0 -F -D 5 -u 20 -p "$port" "${host_of[east]}"
  await_site west "remote['counters'].get('tx_packets', 0) > 5000" True
  stop wan INT
  works west '[False, True]'
  finish client
  finish server
  [[ -n $(perftest_row client) ]] || fail "ib_write_bw printed no result"
  works east '[False, True]'
  [[ $(site_report west "remote['counters']['sessions']") == 1 ]] ||
    fail "the session began anew"
  await_status '^      path 2 \(127.0.0.1:[0-9]+\): works, [0-9.]+ ms, [0-9.]+ Mb/s'
  expect status '^      path 1 \(127.0.0.1:[0-9]+\): does not work'
  first=$(sed -n 's/^address = \["\([^"]*\)".*/\1/p' "$work/west.toml")
  spawn wan "$weft" wan-emulator udp "$first" "${listen[east]}" --path delay=5ms
  # Both have to know of the one before the other goes, or who does not is not heard any more.
  works west '[True, True]'
  works east '[True, True]'
  stop second INT
  works west '[True, False]'
  works east '[True, False]'
  across ibv_rc_pingpong -n 300
  stop wan INT
  await_site west "wan['state']" Down
  await_site east "wan['state']" Down
  stop_sites
}

listens() {
  local site other own there
  two_machines
  for site in "${sites[@]}"; do
    [[ $site == west ]] && own=1 || own=2
    other=$(other_site "$site") there=$((3 - own))
    sed -i -e "s|^listen = .*|listen = [\"${listen[$site]}\", \"[fd78::$own]:7471\"]|" \
      -e "s|^address = .*|address = [\"${listen[$other]}\", \"[fd78::$there]:7471\"]|" \
      "$work/$site.toml"
  done
  start_site west
  start_site east
  await_up
  works west '[True, True]'
  works east '[True, True]'
  across ibv_rc_pingpong -n 300
  run status "$weft" status
  at_site east ip address del fd78::2/64 dev veth0
  works west '[True, False]'
  works east '[True, False]'
  across ibv_rc_pingpong -n 300
  at_site east ip address add fd78::2/64 nodad dev veth0
  works west '[True, True]'
  at_site west ip address del 10.78.0.1/24 dev veth0
  works west '[False, True]'
  works east '[False, True]'
  site_report west "extender['listen']" >"$work/listen.out"
  expect listen '^10[.]78[.]0[.]1:[0-9]+, \[fd78::1\]:7471'
  [[ $(site_report west "remote['counters']['sessions']") == 1 ]] ||
    fail "the session began anew"
  stop_sites
  # In the clear, found by TCP: this remote has the other one of the addresses.
  at_site west ip address add 10.78.0.1/24 dev veth0
  in_the_clear
  for site in "${sites[@]}"; do
    sed -i -e 's/^insecure = .*/&\nsetup = "tcp"/' -e 's/^address = \[.*, \(.*\)\]/address = \1/' \
      "$work/$site.toml"
  done
  start_site west
  start_site east
  await_up
  across ibv_rc_pingpong -n 300
  [[ $(site_report west "remote['control']") == connected ]] || fail "found without TCP"
  stop_sites
}

# Has ibnetdiscover and a ping-pong cross the WAN, and keeps what an onlooker sees in $work/wire.
traffic() {
  nsenter "--net=/proc/${at[west]}/ns/net" -- \
    timeout "$time_limit" python3 "$source_tree/tests/e2e/raw_capture.py" veth0 "$work/wire" \
    >"$work/capture.out" 2>&1 &
  pid_of[capture]=$!
  await capture '^capturing'
  node discover w2 ibnetdiscover
  finish discover
  expect discover 'edge-east'
  # Its buffers are full of one letter.
  across ibv_rc_pingpong -n 300 -c
  stop capture
  expect capture '^[0-9]{3,} packets'
}
# seen TEXT: how often it is there.
seen() { grep -aoF -- "$1" "$work/wire" | wc -l; }

sealed() {
  local letters rotated
  letters=$(printf '{%.0s' {1..64})
  two_machines
  in_the_clear
  start_site west
  start_site east
  await_up
  traffic
  [[ $(seen edge-east) -gt 0 ]] || fail "the capture does not show a name that crossed in the clear"
  [[ $(seen "$letters") -gt 0 ]] || fail "nor a payload"
  stop_sites

  for site in west east; do
    example_site site "$site"
    sed -i 's/^key = .*/&\nkey_time = "1s"/' "$work/$site.toml"
  done
  start_site west
  start_site east
  await_up
  traffic
  [[ $(seen edge-east) -eq 0 ]] || fail "a name crossed the WAN in the clear"
  [[ $(seen "$letters") -eq 0 ]] || fail "a payload crossed the WAN in the clear"
  clean
  # More than the sockets' buffers hold, so that some of it is sent again.
  perftest_across ib_write_bw -D 6
  for site in west east; do
    rotated=$(site_report "$site" "remote['counters'].get('wan_open_rotated', 0)")
    ((rotated >= 4)) || fail "of site $site, keys changed $rotated times"
    site_report "$site" "sorted(remote['counters'])" >"$work/counters-$site.out"
    refuse "counters-$site" 'forged|rx_lost|overrun|malformed|replayed|no_keys|unknown|ended'
  done
  [[ $(site_report west "remote['counters']['sessions']") == 1 ]] ||
    fail "the session began anew"
  stop_sites
}

# encapsulate INTERFACE LAYERS: as both lab files say from now on, or did already. Over a TAP
# interface, addresses are not the machine's but the extender's own.
encapsulate() {
  local net=10.78.0. keys=''
  [[ $2 != *ipv6* ]] || net=fd78::
  [[ $1 != tap:* ]] || net=${net/78/79}
  if [[ $example == site ]]; then
    keys="encapsulation = \"$2\""
    [[ $2 != *ethernet ]] || keys+="\ninterface = \"$1\""
  fi
  [[ $2 != *ip* && $2 != *mpls* ]] || keys+="\ndscp = { 0 = 10, 3 = 46, control = 40 }"
  sed -i -e "s|^listen = .*|&\n$keys|" -e "s|^interface = \"eth1\"|interface = \"$1\"|" \
    "$work/west.toml" "$work/east.toml"
  if [[ $2 == *mpls* && $example == site ]]; then
    sed -i 's|^listen = .*|&\nlabels = [100016, 300]\nown_labels = [17]|' "$work/west.toml"
    sed -i 's|^listen = .*|&\nlabels = [17]\nown_labels = [100016, 300]|' "$work/east.toml"
  fi
  sed -i "s/10\.78\.0\.\([12]\):/[$net\1]:/" "$work/west.toml" "$work/east.toml"
  [[ $net == *:* ]] || sed -i 's/\[\([0-9.]*\)\]:/\1:/' "$work/west.toml" "$work/east.toml"
  wire_net=$net
}
# dissected FILTER [ARGUMENT ...]: what tshark shows of the capture where that holds.
dissected() {
  # No dissector is to guess at what is behind UDP.
  tshark -r "$work/wire.pcapng" -o udp.check_checksum:TRUE \
    -d "udp.port==${listen[west]##*:},data" -Y "$1" "${@:2}" 2>/dev/null
}
# has_each_way FILTER [LEAST]: there is much of that from each site to the other.
has_each_way() {
  local from to field count least=${2:-100}
  for from in 1 2; do
    to=$((3 - from))
    case $layers in
      *ipv6*) field="ipv6.src == $wire_net$from && ipv6.dst == $wire_net$to && " ;;
      *ipv4*) field="ip.src == $wire_net$from && ip.dst == $wire_net$to && " ;;
      *) field= ;;
    esac
    count=$(dissected "$field$1" | wc -l)
    ((count >= least)) || fail "there are $count packets with $field$1"
  done
}
# has_marks FILTER: what holds that is all marked.
has_marks() {
  local dscp=ip.dsfield.dscp
  [[ $layers != *ipv6* ]] || dscp=ipv6.tclass.dscp
  has_each_way "$1 && $dscp == 10"
  has_each_way "$1 && $dscp == 46"
  has_each_way "$1 && $dscp == 40" 5
  dissected "$1 && !($dscp in {10, 40, 46})" >"$work/unmarked.out"
  [[ ! -s $work/unmarked.out ]] || fail "there are packets with another mark"
}

# There are one to eight credits in the options of some packets each way, and nothing else.
has_options() {
  local option='ipv6.nxt == 60 && ipv6.opt.type == 0x1e && ipv6.opt.length >= 28'
  has_each_way "$option && ipv6.dstopts.nxt in {17, 253}" 10
  dissected "ipv6.opt.type == 0x1e" -T fields -e ipv6.opt.type -e ipv6.opt.length |
    sort | uniq -c >"$work/lengths.out"
  refuse lengths '0x(0[2-9a-f]|1[0-9a-df]|[2-9a-f])'
  expect lengths '(28|56|84|112|140|168|196|224)'
}

# Of each packet between the sites all labels, with a traffic class by its mark, or 0 without IP.
has_labels() {
  dissected mpls -T fields -e eth.type -e mpls.label -e mpls.bottom -e mpls.exp |
    sort | uniq -c >"$work/labels.out"
  # What is in the labels without IP tshark may take for Ethernet.
  local blank='[[:space:]]+' type='0x8847(,0x[0-9a-f]{4})?'
  expect labels "^ *[0-9]{3,} $type${blank}100016,300${blank}(0,1|False,True)${blank}1,1\$"
  expect labels "^ *[0-9]{3,} $type${blank}17${blank}(1|True)${blank}5\$"
  dissected 'mpls && !(mpls.label in {17, 300, 100016} && mpls.ttl == 64)' >"$work/others.out"
  [[ ! -s $work/others.out ]] || fail "there are packets with other labels"
}

wire() {
  local interface=veth0 site port in_options=False
  [[ $layers != *options* ]] || in_options=True
  two_machines
  if [[ $layers == tap/* ]]; then
    layers=${layers#tap/}
    interface=tap:wan0
  fi
  [[ $interface == veth0 && $layers == *ip* ]] || in_the_clear
  encapsulate "$interface" "$layers"
  start_site west
  start_site east
  if [[ $interface == tap:* ]]; then
    for site in west east; do
      at_site "$site" ip link add br0 type bridge
      at_site "$site" ip link set veth0 master br0
      at_site "$site" ip link set wan0 master br0
      at_site "$site" ip link set br0 up
      at_site "$site" ip address flush dev veth0
    done
    at_site west ip address add 10.78.0.1/24 dev br0
    at_site east ip address add 10.78.0.2/24 dev br0
  fi
  await_up
  # What the cache of neighbours knows, where paths need it.
  in_site west "$weft" status
  run status "${words[@]}"
  if [[ $layers == *ethernet ]]; then
    [[ $(site_report west "remote['neighbours']") =~ ^\[\'(reachable|probing)\'\]$ ]] ||
      fail "the report does not say that the neighbour is there"
    expect status '; neighbour (reachable|probing)(; connection open)?\): up'
  elif grep -q neighbour "$work/status.out"; then
    fail "there is talk of neighbours where the kernel finds them"
  fi
  [[ $layers != dccp/* ]] || expect status '; connection open\): up'
  : >"$work/capture.out"
  nsenter "--net=/proc/${at[west]}/ns/net" -- \
    timeout "$time_limit" dumpcap -q -i veth0 -w "$work/wire.pcapng" >"$work/capture.out" 2>&1 &
  pid_of[capture]=$!
  await capture '^File:'
  at_site west timeout "$time_limit" ping -q -c 100 -i 0.02 10.78.0.2 >"$work/ping.out" 2>&1 &
  pid_of[ping]=$!
  across ibv_rc_pingpong -n 500 -c
  expect client '^500 iters in .* seconds'
  across ibv_rc_pingpong -n 500 -l 3
  finish ping
  expect ping ' 0% packet loss'
  stop capture
  clean
  for site in west east; do
    [[ $(site_report "$site" "remote['counters'].get('tx_options', 0) > 0") == "$in_options" ]] ||
      fail "at $site, credit is not where $layers has it"
  done
  dissected _ws.malformed >"$work/malformed.out"
  [[ ! -s $work/malformed.out ]] || fail "tshark takes packets for malformed"
  dissected 'icmp.type == 3 || icmpv6.type == 1 || icmpv6.type == 4' >"$work/unreachable.out"
  [[ ! -s $work/unreachable.out ]] || fail "a kernel refuses packets of a tunnel"
  port="udp.port == ${listen[west]##*:}"
  case $layers in
    udp/*ethernet) has_each_way "$port && udp.checksum.status == 1" ;;
    udp/*) has_each_way "$port" ;;
    dccp/*) has_each_way 'dccp.checksum.status == 1 && dccp.type in {2, 4}' ;;
    *ipv6*) has_each_way 'ipv6.nxt == 253' ;;
    ipv4*) has_each_way 'ip.proto == 253 && ip.checksum.status != 0' ;;
    mpls/*) has_each_way 'eth.type == 0x8847' ;;
    ethernet) has_each_way 'eth.type == 0x88b5' ;;
  esac
  [[ $in_options == False ]] || has_options
  case $layers in
    udp/*) has_marks "$port" ;;
    dccp/*) has_marks 'dccp.type in {2, 4}' ;;
    *ipv6*) has_marks 'ipv6.nxt in {253, 60}' ;;
    ipv4*) has_marks 'ip.proto == 253' ;;
  esac
  [[ $layers != *mpls* ]] || has_labels
  case $layers in
    dccp/* | *mpls*)
      # What waits for a congestion window may take longer than a timeout is, which is longer here.
      perftest_across ib_write_bw -n 500
      rping_across w1 e1 10.254.128.1 20
      ;;
  esac
  stop_sites
}

# up_refused KEYS PATTERN [COMMAND ...]: an extender with these keys beside its address does not
# come up, and why.
up_refused() {
  example_site site west
  sed -i "s|^listen = .*|&\n$1|" "$work/west.toml"
  spawn refused "${@:3}" "$weft" up "$work/west.toml"
  finish refused 2
  expect refused "$2"
}

unsealable() {
  local raw=(setpriv --bounding-set -net_raw) ethernet='encapsulation = \"ethernet\"'
  local ip='encapsulation = \"ipv4/ethernet\"'
  need setpriv
  up_refused 'encapsulation = "ipv4"' 'CAP_NET_RAW is .*"udp/ipv4" needs none' "${raw[@]}"
  up_refused "$ip\ninterface = \"lo\"" 'remote east: .*CAP_NET_RAW.*\"udp/ipv4\"' "${raw[@]}"
  up_refused "$ethernet\ninterface = \"lo\"" 'remote east: ethernet: without IP there is no TCP'
  up_refused "$ip\ninterface = \"tap:x\"" 'remote east: tap:x: the kernel.s TCP'
  up_refused "$ip" 'remote east: ipv4/ethernet: say by which interface'
  up_refused "$ip\ninterface = \"nosuch0\"" 'remote east: nosuch0: there is no such interface'
  up_refused 'interface = \"lo\"' 'remote east: an interface is for encapsulations in ethernet'
  up_refused 'encapsulation = \"ipv6\"' 'remote east: ipv6: the addresses of both ends'
  up_refused 'encapsulation = \"udp/options/ipv4\"' 'remote east: .*: options cannot be in ipv4'
  up_refused 'encapsulation = \"options/ethernet\"' 'remote east: .*: options cannot be in ethernet'
  up_refused "$ethernet\ninterface = \"lo\"\ndscp = { 0 = 1 }" 'remote east: ethernet: dscp is in'
  up_refused 'encapsulation = "dccp/ipv4"' 'CAP_NET_RAW is .*"udp/ipv4" needs none' "${raw[@]}"
  up_refused 'encapsulation = \"dccp/ethernet\"' 'remote east: .*: dccp cannot be in ethernet'
  up_refused "${ip/ipv4/ipv4/mpls}\ninterface = \"lo\"" 'remote east: ipv4/mpls/ethernet: say with'
  up_refused 'labels = [100016]' 'remote east: labels are for encapsulations with mpls'
  up_refused 'labels = [15]' 'west.toml:[0-9]+: extender.edge-west.labels.*from 16 to 1048575'
  up_refused 'labels = []' 'extender.edge-west.labels: must be a list of one to 8 labels'
  up_refused 'encapsulation = \"udp\"' 'remote east: udp: udp must be in another layer'
  up_refused 'encapsulation = \"null\"' 'remote east needs a fibre without an encapsulation'
  listen=([west]=[::1]:${listen[west]##*:} [east]=[::1]:${listen[east]##*:})
  for ip in udp/options/ipv6 options/ipv6; do
    up_refused "encapsulation = \"$ip\"" 'CAP_NET_RAW is .*\"udp/ipv6\" needs none' "${raw[@]}"
  done
}

stranger() {
  local meant seen
  meant=$(sed "s,[+],[+],g" "$work/east.pub")
  rm "$work/east.key"
  seen=$("$weft" extend keygen "$work/east.key" | sed "s,[+],[+],g")
  start_site west
  start_site east
  await west "^weft: extender edge-west, .*: the other end has the key $seen, not the expected"
  expect west "not the expected $meant\$"
  await east "^weft: extender edge-east, .*: the other end refused this site's key .*: its site"
  expect east "must name $seen\$"
  await_site west "remote.get('why', '')[:13]" 'the other end'
  run status "$weft" status
  expect status "^    port 2 to east .*, sealed: the other end (has the key|refused this site's)"
  expect status '^    refused 127.0.0.1:[0-9]+: the other end'
  [[ $(site_report west "wan['state']") == Down ]] || fail "a stranger was let in"
  for site in west east; do
    [[ $(grep -c 'the other end' "$work/$site.out") == 1 ]] || fail "$site does not say it once"
  done
  stop_sites
  # Without a key, and with one that others may read: what to do about it.
  mv "$work/west.key" "$work/kept.key"
  spawn absent "$weft" up "$work/west.toml"
  finish absent 2
  expect absent 'weft up: extender edge-west: .*west.key: .*weft extend keygen'
  sed -i '/^key = /d' "$work/west.toml"
  spawn without "$weft" up "$work/west.toml"
  finish without 2
  expect without 'west.toml:[0-9]+: extender.edge-west: needs a key, .*weft extend keygen'
}

fibre() {
  local kind
  for kind in unix shm; do
    on_fibre "$kind:$work/fibre" "$kind:$work/fibre" 32KiB
    one_fabric
    clean
    run status "$weft" status
    expect status "^    port 2 to east \($kind:$work/fibre\): up, insecure\$"
    kill_site west # the one that listens
    await_site east "wan['state']" Down
    start_site west
    await_up
    across ibv_rc_pingpong -n 300
    stop_sites
  done
  # More than a standard link grants.
  local address
  address="tcp:127.0.0.1:$(free_port)"
  on_fibre "$address" "$address" 1MiB
  across ib_write_bw -d weft0 -F -n 500
  [[ $(site_report east "remote['credit_blocks']") == $((1 << 23)) ]] ||
    fail "they do not count more blocks"
  clean
  stop_sites
  mkfifo "$work/eastward" "$work/westward"
  on_fibre "file:$work/westward,$work/eastward" "file:$work/eastward,$work/westward" 128KiB
  across ibv_rc_pingpong -n 300
  kill_site east
  await_site west "wan['state']" Down
  start_site east
  await_up
  across ibv_rc_pingpong -n 300
  stop_sites
  rm "$work/eastward" "$work/westward"
  touch "$work/eastward" "$work/westward"
  on_fibre "file:$work/westward,$work/eastward" "file:$work/eastward,$work/westward" 1MiB
  across ibv_rc_pingpong -n 300 -s 65536
  clean
  stop_sites
}

$what
echo "$what: done"
