#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The weft command as a person meets it: every refusal is one line and exit status 2.
set -u
weft=$WEFT_BUILD/bin/weft
work=$(mktemp -d /tmp/weft-cli.XXXXXX)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
export XDG_RUNTIME_DIR=$work/run
unset NO_COLOR
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}  # of the programs that are run, not of weft
mkdir -m 700 "$XDG_RUNTIME_DIR"
failures=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# expect STATUS PATTERN COMMAND...: stdout and stderr together match the regular expression.
expect() {
  local status=$1 pattern=$2 output got
  shift 2
  output=$("$@" 2>&1 < /dev/null)
  got=$?
  [[ $got == "$status" ]] || fail "status $got, not $status: $*: $output"
  grep -Eq -- "$pattern" <<< "$output" || fail "no '$pattern' from: $*: $output"
}

# refused PATTERN COMMAND...: exit status 2, nothing on stdout, exactly one line on stderr.
refused() {
  local pattern=$1 output got
  shift
  output=$("$@" 2>&1 > "$work/stdout" < /dev/null)
  got=$?
  [[ $got == 2 ]] || fail "status $got, not 2: $*: $output"
  [[ ! -s $work/stdout ]] || fail "wrote to stdout: $*"
  [[ $(wc -l <<< "$output") == 1 ]] || fail "not one line: $*: $output"
  grep -Eq -- "$pattern" <<< "$output" || fail "no '$pattern' from: $*: $output"
}

# json COMMAND...: stdout is one JSON document. (Not in a pipeline: a failure there is forgotten.)
json() {
  "$@" > "$work/json" 2> /dev/null < /dev/null
  python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$work/json" 2> /dev/null ||
    fail "no JSON from: $*"
}

# Help and version.
expect 0 '^weft [0-9]+\.[0-9]+' "$weft" --version
for form in "" --help -h help; do expect 0 'Try first' "$weft" $form; done
for command in run devices doctor status resource lab extend firewall wan wan-emulator; do
  expect 0 "^Usage: weft $command" "$weft" help $command
  expect 0 "^Usage: weft $command" "$weft" $command --help
done
expect 0 'WEFT_SOCKET_BUFFER' "$weft" run --help

# The command line.
refused "nobody/x is another user's, who saves its rules himself" "$weft" policy save --lab nobody/x
refused "nobody/x is another user's" "$weft" policy delete 1 --save --lab nobody/x
refused 'nobody/x' "$weft" policy --lab nobody/x
refused 'devcies: no such command; did you mean devices\? .*run, devices' "$weft" devcies
refused 'frobnicate: no such command \(there are' "$weft" frobnicate
refused '--versoin: no such option; did you mean --version' "$weft" --versoin
refused 'no such command' "$weft" help frobnicate
refused '--jsn: no such option; did you mean --json' "$weft" devices --jsn
refused 'one word too many' "$weft" devices eth0
refused 'one word too many' "$weft" doctor ls ls
refused '--wier: no such option; did you mean --wire' "$weft" run --wier udp -- true
refused 'show pq: the choices are qp, cq, mr, cm_id' "$weft" resource show pq
refused 'show: the choices are' "$weft" resource show
refused 'shwo: no such action; did you mean show' "$weft" resource shwo qp
refused 'one word too many' "$weft" resource show qp cq

# Lab files.
refused 'lab: name what to do: fat-tree, .*check' "$weft" lab
refused 'lab: toruss: no such action; did you mean torus\?' "$weft" lab toruss
refused 'lab: torus: --size is missing' "$weft" lab torus
refused 'lab: --size 4y: must be numbers' "$weft" lab torus --size 4y
refused 'lab: --hosts: of torus and line only' "$weft" lab fat-tree --size 2 --hosts 2
refused 'lab: x: one word too many' "$weft" lab torus x --size 4
refused 'lab: check: name a file' "$weft" lab check
refused 'lab: check: takes neither' "$weft" lab check f --size 3
refused 'lab: /no/such/file: No such file' "$weft" lab check /no/such/file
refused 'lab: fat-tree 200x2: a switch of level 1 would need 400 ports' \
  "$weft" lab fat-tree --size 200x2
for shape in 'fat-tree --size 2x3' 'torus --size 3x3 --hosts 2' 'dragonfly --size 1x2x1' \
  'line --size 4 --name row'; do
  # shellcheck disable=SC2086
  "$weft" lab $shape > "$work/lab.toml" || fail "lab $shape"
  expect 0 '^[a-z-]+: [0-9]+ switches, [0-9]+ nodes, [0-9]+ links$' \
    "$weft" lab check "$work/lab.toml"
done
echo 'ports = 3' >> "$work/lab.toml"
refused "lab: $work/lab.toml:[0-9]+: link.ports: there is no such key" \
  "$weft" lab check "$work/lab.toml"
for listing in "$WEFT_SOURCE"/tests/data/fabric/four.*; do
  "$weft" lab import "$listing" > "$work/four.toml" || fail "lab import $listing"
  expect 0 '^four: 2 switches, 3 nodes, 6 links$' "$weft" lab check "$work/four.toml"
done
"$weft" lab import - < "$listing" > "$work/four.toml" || fail "lab import -"
expect 0 '^lab: 2 switches, 3 nodes, 6 links$' "$weft" lab check "$work/four.toml"

# Options and variables of run.
refused '--wire foo: .*udp, bare or roce' "$weft" run --wire foo -- true
refused '--wire foo: .*udp, bare or roce' "$weft" run --wire=foo true
refused '--fault los=1%: los: there is no such fault; there are loss' \
  "$weft" run --fault los=1% -- true
refused '--fault delay=2: .*a time in us, ms or s' "$weft" run --fault delay=2 -- true
refused 'WEFT_FAULT=loss=5: .*a percentage' env WEFT_FAULT=loss=5 "$weft" run -- true
refused '--cm-port 80: .*1024 and 65534' "$weft" run --cm-port 80 -- true
refused '--interface nope0: no interface of that name.*there are .*lo' \
  "$weft" run --interface nope0 -- true
refused '--interface a/b: ' "$weft" run --interface a/b -- true
refused '--ports 7: ' "$weft" run --ports 7 -- true
refused '--ports 50000-65535: .*between 1024 and 65534' "$weft" run --ports 50000-65535 -- true
refused '--socket-buffer 4M: .*between 4096 and' "$weft" run --socket-buffer 4M -- true
refused '--wire' "$weft" run --wire
refused 'WEFT_WIRE=foo: .*udp, bare or roce' env WEFT_WIRE=foo "$weft" run -- true
refused 'WEFT_STATS=yes: .*0 or 1' env WEFT_STATS=yes "$weft" run -- true
refused 'WEFT_WIER: there is no such variable; there are WEFT_WIRE' \
  env WEFT_WIER=udp "$weft" run -- true
refused 'WEFT_WIRE=foo' env WEFT_WIRE=foo "$weft" devices
refused 'capture.*No such file|no/such/dir.*No such file' \
  "$weft" run --capture "$work/no/such/dir/x.pcapng" -- true
refused 'WEFT_LIBDIR=.*no libibverbs' env WEFT_LIBDIR="$work" "$weft" run -- true

# Programs that cannot be run.
refused 'name a program' "$weft" run
refused 'name a program' "$weft" run --stats --
refused 'no-such-program-here: no such program in PATH' "$weft" run -- no-such-program-here
refused 'is a directory' "$weft" run -- "$work"
printf '#!/bin/sh\nexit 0\n' > "$work/plain"
refused 'may not execute.*chmod \+x' "$weft" run -- "$work/plain"
printf '#!/no/such/interpreter\n' > "$work/lost" && chmod 755 "$work/lost"
refused 'interpreter /no/such/interpreter' "$weft" run -- "$work/lost"
printf 'int main(void) { return 7; }\n' > "$work/hello.c"
if ${CC:-cc} -static -o "$work/static" "$work/hello.c" 2> "$work/cc.log"; then
  refused 'statically linked.*leave out -static' "$weft" run -- "$work/static"
else
  echo "not tried: this compiler cannot link statically"
fi
${CC:-cc} -o "$work/hello" "$work/hello.c" || fail "cc"

# What is started is the program: its status, its signals, its arguments, its environment.
expect 7 '' "$weft" run -- "$work/hello"
expect 7 '' "$weft" run "$work/hello"
expect 143 '' "$weft" run -- sh -c 'kill -TERM $$'
expect 0 '^<a b><--wire><foo><--help>$' \
  "$weft" run -- sh -c 'printf "<%s>" "$@"; echo' sh 'a b' --wire foo --help
expect 0 '^bare 1 50000-50001$' "$weft" run --wire bare --stats --ports 50000-50001 \
  sh -c 'echo $WEFT_WIRE $WEFT_STATS $WEFT_PORTS'
expect 0 '^bare$' env WEFT_WIRE=udp "$weft" run --wire bare -- sh -c 'echo $WEFT_WIRE'
expect 0 'libibverbs.so.1' "$weft" run -- sh -c 'echo $LD_PRELOAD'
expect 0 '/weft:/opt/none$' env LD_LIBRARY_PATH=/opt/none "$weft" run -- \
  sh -c 'echo $LD_LIBRARY_PATH'
printf '#!/usr/bin/env sh\necho script $1\n' > "$work/script" && chmod 755 "$work/script"
expect 0 '^script one$' "$weft" run -- "$work/script" one

# The tree behind /sys/class/infiniband lives as long as somebody uses it.
tree=$("$weft" run -- sh -c 'test -d "$WEFT_SYSROOT/sys/class/infiniband" && echo "$WEFT_SYSROOT"')
[[ $tree == "$XDG_RUNTIME_DIR"/* ]] || fail "no tree: $tree"
"$weft" run -- sh -c '"$0" run -- true; test -d "$WEFT_SYSROOT/sys"' "$weft" ||
  fail "a tree in use was removed"
[[ ! -e $tree ]] || fail "the tree of a program that ended is still there"

# Captures have their headers before the program starts, whatever directory it changes to.
cd "$work" || exit 1
expect 0 'tshark -r .*c\.pcapng -d udp.port==49152-65535,infiniband' \
  "$weft" run --capture c.pcapng -- sh -c 'cd / && test -s "$WEFT_CAPTURE"'
[[ -s $work/c.pcapng ]] || fail "no capture"
if command -v tshark > /dev/null; then
  tshark -r "$work/c.pcapng" -d udp.port==49152-65535,infiniband --disable-protocol rpcordma \
    --disable-protocol infiniband.eoib --disable-protocol lapbether > "$work/tshark.log" 2>&1 ||
    fail "tshark does not take the options that weft prints: $(cat "$work/tshark.log")"
fi

# JSON and text; no colour without a terminal, none with NO_COLOR on one.
json "$weft" devices --json
json "$weft" resource --json
json "$weft" status --json
for kind in qp cq mr cm_id; do json "$weft" resource show $kind --json; done
json "$weft" doctor --json sh
expect 0 'weft_lo' "$weft" devices
expect 0 'node GUID' "$weft" devices -v
# Other programs run meanwhile, and agents a while longer, in other directories of this user.
expect 0 'No program has|^[0-9]+: weft_' "$weft" resource
expect 0 'Nothing of Weft runs.*weft run -- PROGRAM|^agent [0-9]+:|^[0-9]+: weft_' \
  bash -c '"$1" status | tr "\n" " "' - "$weft"
expect 0 'Nothing of Weft runs|^agent [0-9]+:|^[0-9]+: weft_' "$weft" status -d
refused 'one word too many' "$weft" status qp

# Who does not answer, and an agent that was killed.
mkdir -p "$XDG_RUNTIME_DIR/weft" && chmod 700 "$XDG_RUNTIME_DIR/weft"
python3 - "$XDG_RUNTIME_DIR/weft" <<'END' &
import os, socket, sys, time
for name in ("agent-1.sock", "agent-2.sock"):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(os.path.join(sys.argv[1], name))
    if name == "agent-1.sock":
        listener.listen()
        mute = listener
    else:
        listener.close()
time.sleep(60)
END
mute=$!
for _ in $(seq 500); do [[ -S $XDG_RUNTIME_DIR/weft/agent-2.sock ]] && break; sleep 0.02; done
expect 1 'agent-1.sock: it does not answer' "$weft" status
"$weft" status 2>&1 | grep -q agent-2 && fail "complained about an agent that was killed"
kill $mute
rm -f "$XDG_RUNTIME_DIR"/weft/agent-*.sock
expect 0 'ok +program' "$weft" doctor sh
expect 1 'problem +program .*no such program' "$weft" doctor no-such-program-here
expect 1 'problem +environment .*WEFT_WIRE=x' env WEFT_WIRE=x "$weft" doctor
"$weft" devices | grep -q $'\x1b' && fail "colour without a terminal"
if command -v script > /dev/null; then
  TERM=xterm script -qec "$weft devices" /dev/null | grep -q $'\x1b' ||
    fail "no colour on a terminal"
  NO_COLOR=1 TERM=xterm script -qec "$weft devices" /dev/null | grep -q $'\x1b' &&
    fail "colour in spite of NO_COLOR"
fi

# Privileged programs, seen by somebody who is not root.
if [[ $(id -u) == 0 ]] && command -v setpriv > /dev/null &&
  ! findmnt -no OPTIONS -T "$work" | grep -q nosuid; then
  cp "$work/hello" "$work/setuid" && chmod 4755 "$work/setuid"
  cp "$work/hello" "$work/setgid" && chmod 2755 "$work/setgid"
  cp "$weft" "$work/weft" && mkdir -p "$work/nobody" && chown nobody "$work/nobody" &&
    chmod 700 "$work/nobody"
  as_nobody() {
    XDG_RUNTIME_DIR=$work/nobody WEFT_LIBDIR=$WEFT_BUILD/lib/weft \
      setpriv --reuid=nobody --regid=nogroup --clear-groups "$work/weft" "$@"
  }
  refused 'setuid.*run a copy' as_nobody run -- "$work/setuid"
  refused 'setgid.*run a copy' as_nobody run -- "$work/setgid"
  if command -v setcap > /dev/null && cp "$work/hello" "$work/caps" &&
    setcap cap_net_raw+ep "$work/caps" 2> /dev/null; then
    refused 'given capabilities.*run a copy' as_nobody run -- "$work/caps"
  fi
  expect 7 '' "$weft" run -- "$work/setuid"
  expect 1 'problem +program .*setuid' as_nobody doctor "$work/setuid"
else
  echo "not tried: setuid programs (needs root, and a file system that honours the bit)"
fi

# Plans of long links.
plan() { expect 0 "$1" "$weft" extend --plan "${@:2}"; }
plan '^buffer of a site +894\.1 MiB \(1 remote, 937500000 B\)$' --distance 5000km --vls 15
plan '^under way in one direction +610\.4 KiB \(5 Mbit\)$' --distance 100km
plan '128 KiB per VL, enough: it fills a round trip of 131\.072us' --round-trip 130us \
  --signalling 10Gb/s
plan '^data rate, each way +8Gb/s$' --round-trip 130us --signalling 10Gb/s
plan 'buffer of a site +3\.6 MiB \(3 remote' --distance 100km --sites 4
plan '^what the local link advertises +8KiB per VL: it fills a round trip of 8\.192us$' \
  --distance 100km --signalling 10Gb/s
json "$weft" extend --plan --distance 5000km --vls 15 --json
grep -q '"buffer_bytes": 937500000' "$work/json" || fail "no buffer_bytes: $(cat "$work/json")"
refused 'extend: .*--plan is required' "$weft" extend --distance 5km
refused 'extend: how far is it\?' "$weft" extend --plan
refused '--distance 5: must be as in 100km or 300m' "$weft" extend --plan --distance 5
refused '--rate 0Gb/s: must be as in 10Gb/s, not 0' "$weft" extend --plan --distance 5km \
  --rate 0Gb/s
refused 'instead of --distance' "$weft" extend --plan --distance 5km --round-trip 5ms
refused '[Ee]xcludes' "$weft" extend --plan --distance 5km --rate 1Gb/s --signalling 1Gb/s
refused 'no machine has a buffer' "$weft" extend --plan --distance 1e9km --sites 65536 \
  --rate 1000000Gb/s

# Keys of sites.
key=$work/east.key
expect 0 '^SHA256:[A-Za-z0-9+/]{43}$' "$weft" extend keygen "$key"
[[ $(stat -c %a "$key") == 600 ]] || fail "others may read $key"
fingerprint=$("$weft" extend fingerprint "$key")
other=$(openssl pkey -in "$key" -pubout -outform DER | openssl dgst -sha256 -binary |
  openssl base64)
[[ $fingerprint == SHA256:${other%=} ]] || fail "$fingerprint is not SHA256:$other"
json "$weft" extend fingerprint "$key" --json
grep -qF "\"fingerprint\": \"$fingerprint\"" "$work/json" || fail "other than $fingerprint in JSON"
refused 'east.key: there is a file already' "$weft" extend keygen "$key"
[[ $("$weft" extend fingerprint "$key") == "$fingerprint" ]] || fail "a key was overwritten"
refused 'extend keygen: name the file' "$weft" extend keygen
refused 'extend fingerprint: name a file' "$weft" extend fingerprint
refused 'absent: No such file' "$weft" extend fingerprint "$work/absent"
refused 'run: Is a directory' "$weft" extend fingerprint "$work/run"
refused 'command_line.sh: holds no key' "$weft" extend fingerprint "$0"
refused 'kegen: no such action; did you mean keygen' "$weft" extend kegen "$key"
refused 'keygen: takes a file, and nothing of a plan' "$weft" extend keygen "$key" --vls 3
refused 'one word too many' "$weft" extend fingerprint "$key" "$key"

# Firewall rules, and a genuine capture (tests/data/ib).
firewall() { refused "$1" "$weft" firewall "${@:2}"; }
cat > "$work/rules.fw" << 'END'
table lab {
  chain forward {
    hook forward; policy drop;
    mad class { subn-lid, subn-directed, sa } accept comment "management"
    cm message { req, sidr-req } accept
    ct state established accept
    traffic ipoib dlid >= 0xc000 accept
  }
}
END
expect 0 'rules.fw: 4 rules in 1 chains, policy drop; tables of' \
  "$weft" firewall check "$work/rules.fw"
expect 0 'in a chain, a packet comes by 0 tables at most, 4 rules$' \
  "$weft" firewall check "$work/rules.fw"
# Ranges that overlap each other on both fields: said, as it takes long.
{
  echo 'table lab { chain forward { hook forward; policy drop;'
  for ((i = 0; i < 4096; ++i)); do
    echo "dqp $i-$((i + 5000)) sqp $((7 * i % 5000))-$((7 * i % 5000 + 5000)) accept"
  done
  echo '} }'
} > "$work/slow.fw"
expect 0 'chain forward is slow: .* 192 words' "$weft" firewall check "$work/slow.fw"
expect 0 '"slow_chains":\["forward"\]' "$weft" firewall check --json "$work/slow.fw"
capture="$WEFT_SOURCE/tests/data/ib/infiniband.pcap"
expect 0 '43 packets: [1-9][0-9]* accepted, [0-9]* dropped, 0 rejected' \
  "$weft" firewall test "$work/rules.fw" "$capture"
expect 0 'accept .*none .*line 4, management .*MAD class' \
  "$weft" firewall test "$work/rules.fw" "$capture"
expect 0 '"line":5.*"what":"REQ"' "$weft" firewall test --json "$work/rules.fw" "$capture"
json "$weft" firewall check --json "$work/rules.fw"
sed -i 's/dlid >= 0xc000/dlid >= 0x1c000/' "$work/rules.fw"
firewall 'rules.fw:7:27: want a LID, from 0 to 0xffff' check "$work/rules.fw"
firewall 'absent: No such file' check "$work/absent"
firewall 'test takes rules and a capture' test /dev/null
firewall 'check takes rules only' check /dev/null "$capture"
firewall 'no such action|not in' chekc /dev/null

# Ports that keep to the DDR auto-negotiation specification.
conform() { refused "$1" "$weft" link conform "${@:2}"; }
expect 0 "^Weft's port as requester and responder: 4[0-9] of 4[0-9] requirements pass, 0 fail" \
  "$weft" link conform
for role in requester responder; do
  expect 0 "port as $role: .*, 0 fail" "$weft" link conform --role $role
  json "$weft" link conform --json --role $role
done
expect 0 '"id": *"missed-acknowledgement"' "$weft" link conform --json
expect 0 'Node 0 -> Node 1: Capabilities Advertisement \+ ACK \(lost\)' \
  "$weft" link conform --replay 2
expect 0 '^Node 1: ended at SDR' "$weft" link conform --replay 3
for diagram in 1 2 3; do
  expect 0 "^Flow diagram $diagram: " "$weft" link conform --replay $diagram
  json "$weft" link conform --json --replay $diagram
done
conform '--replay 4: the specification has flow diagrams 1 to 3' --replay 4
conform '--role both: it is|--role none: it is requester, responder or both' --role none
conform 'takes one of --role, --capture, --replay and a link' --role both --replay 1
conform 'takes one of --role, --capture, --replay and a link' uplink --capture f
conform '--lab goes with a link' --lab x
conform 'one word too many' uplink again
conform '--svg goes with show' --svg x
conform 'absent: No such file' --capture "$work/absent"
conform 'byte 0: neither pcapng nor pcap' --capture "$WEFT_SOURCE/README.md"
conform 'no message of the DDR auto-negotiation is in it' --capture "$capture"
conform 'no packet of InfiniBand is in it' --capture "$WEFT_SOURCE/tests/data/roce/cm-rping.pcap"
refused '--role, --capture and --replay go with conform' "$weft" link uplink --role both

# Captures as the bytes of a WAN, and back: the same packets, whatever the stack.
wan() { refused "$1" "$weft" wan "${@:2}" -o "$work/unwritten"; }
wan 'ipv6/pppp: there is no layer "pppp"' encode ipv6/pppp "$capture"
wan 'stm64 carries octets: one of aal5, gfp, ppp puts packets into them' encode ipv6/stm64 \
  "$capture"
wan 'ethernet has no place in ppp' encode ipv6/ethernet/ppp "$capture"
wan 'stm1 is a line itself, and nothing is outside of it' encode stm1/ethernet "$capture"
wan '10gbase-r carries frames of Ethernet: say ethernet/10gbase-r' encode ipv6/10gbase-r "$capture"
wan 'udp must be in another layer' encode udp "$capture"
wan 'absent: No such file' encode ipv6/ppp "$work/absent"
wan 'byte 0: neither pcapng nor pcap' encode ipv6/ppp "$WEFT_SOURCE/README.md"
wan 'none of its .* packets is one of InfiniBand' encode ipv6/ppp \
  "$WEFT_SOURCE/tests/data/roce/cm-rping.pcap"
packets() { tshark -r "$1" -T fields -e infiniband.lrh.dlid -e infiniband.bth.psn \
  -e infiniband.variant.crc -e infiniband.invariant.crc 2> /dev/null; }
for stack in udp/ipv6/ethernet ipv4 mpls/ethernet ethernet aal5 ipv6/aal5 gfp ethernet/gfp \
  ipv6/ppp ppp/stm1 ipv6/ppp/stm4 ipv4/aal5/stm1 gfp/stm16 ipv6/ppp/stm64 ethernet/10gbase-r \
  udp/ipv6/ethernet/10gbase-w dccp/ipv6/ethernet dccp/ipv4 dccp/ipv6/ppp/stm1 \
  null null/8b10b null/64b66b; do
  expect 0 '^weft wan: [1-9][0-9]* packets$' "$weft" wan encode "$stack" "$capture" -o "$work/line"
  expect 0 '^weft wan: [1-9][0-9]* packets$' "$weft" wan decode "$stack" "$work/line" \
    -o "$work/again"
  [[ $(packets "$capture") == "$(packets "$work/again")" ]] || fail "$stack: other packets"
done

# What is on a line, field by field.
explains() { # STACK PATTERN ...: what is told of the capture on such a line
  local pattern
  "$weft" wan encode "$1" "$capture" -o "$work/line" 2> /dev/null || fail "cannot encode $1"
  for pattern in "${@:2}"; do expect 0 "$pattern" "$weft" wan explain "$1" "$work/line"; done
  json "$weft" wan explain --json "$1" "$work/line"
}
explains ipv6/ppp/stm1 '^STM-1 frame' '^PPP frame' 'IPv6' 'J1'
explains ethernet/gfp '^GFP frame' 'Ethernet'
explains ipv6/aal5 '^cell' '^AAL5 PDU'
explains ethernet/10gbase-r '^64b/66b block'
for stack in null null/8b10b null/64b66b; do
  explains "$stack" '^training set' '^packet' 'DLID +[1-9]'
done
wan 'from octet 0 on it is no fibre of this code' decode null "$WEFT_SOURCE/README.md"
expect 1 '^$' "$weft" wan explain gfp "$WEFT_SOURCE/README.md"

# An emulated WAN.
emulator() { refused "$1" "$weft" wan-emulator "${@:2}"; }
emulator 'forward: rate=10Gb/s,delay=1s: needs 1\..*GB of memory .*more than the 1GiB' \
  --forward rate=10Gb/s,delay=1s udp 127.0.0.1:0 127.0.0.1:5
emulator '--path los=1: there is no such setting; there are rate, ' --path los=1 \
  udp 127.0.0.1:0 127.0.0.1:5
emulator 'backward: loss is of datagrams' --backward loss=1% stream 127.0.0.1:0 127.0.0.1:5
emulator '127\.0\.0\.1: the port is missing' udp 127.0.0.1:0 127.0.0.1
emulator 'unix:: the path is missing' stream unix: 127.0.0.1:5
emulator 'must be a size, as in 512MiB' --memory 5 udp 127.0.0.1:0 127.0.0.1:5
emulator 'absent: No such file' --settings "$work/absent" udp 127.0.0.1:0 127.0.0.1:5
emulator 'tcp not in' tcp 127.0.0.1:0 127.0.0.1:5
printf 'path delay=1ms\nsideways loss=1%%\n' > "$work/settings"
emulator 'settings:2: a line is path, forward or backward' --settings "$work/settings" \
  udp 127.0.0.1:0 127.0.0.1:5

echo "$failures failures"
[[ $failures == 0 ]]
