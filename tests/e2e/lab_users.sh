#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_users.sh WHAT, WHAT a case of the list at the end: a lab that one user runs, and others
# use as far as he lets them. The users are real ones.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need setpriv ibv_rc_pingpong ibv_devinfo ss
[[ $(id -u) -eq 0 ]] || skip "takes root, to be several users"
what=$1
time_limit=240
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

# The users may have no way into the checkout: what runs is a copy.
mkdir -p "$work/build/lib"
cp -r "$build_tree/bin" "$work/build/"
cp -r "$build_tree/lib/weft" "$work/build/lib/"
cp "$source_tree/examples/labs/two-switches.toml" "$work/lab.toml"
chmod -R go=rX "$work"

# user NAME NUMBER [GROUP]: makes $work/NAME, which is `weft` for him.
user() {
  install -d -m 700 -o "$2" -g "$2" "$work/run-$2"
  cat >"$work/$1" <<END_OF_WRAPPER
#!/bin/bash
exec setpriv --reuid=$2 --regid=$2 --groups=${3:-$2} env XDG_RUNTIME_DIR=$work/run-$2 \
  XDG_STATE_HOME=$work/run-$2/state HOME=/ "$work/build/bin/weft" "\$@"
END_OF_WRAPPER
  chmod 755 "$work/$1"
}
rdma=65520  # a group that needs no name
user owner 65533 65533,$rdma
user member 65532 $rdma
user stranger 65531
weft=$work/owner
name=users-$$
shared=/tmp/weft-labs-65533/$name
remove_shared() {
  local code=$?
  set +e
  rm -rf "$shared"
  rmdir "$(dirname "$shared")" 2>/dev/null
  (exit "$code")
  end
}
trap remove_shared EXIT

# start RIGHT=WHO ...: the lab, until its links are Active.
start() {
  local options=()
  while (($# > 0)); do
    options+=(--access "$1")
    shift
  done
  spawn lab "$weft" up --name "$name" "${options[@]}" "$work/lab.toml"
  await_states '{"Active":7}'
}
# mode NAME MODE: of what there is for other users.
mode() {
  [[ $(stat -c %a "$shared/$1") == "$2" ]] || fail "$1 has mode $(stat -c %a "$shared/$1"), not $2"
}
# refused NAME USER RIGHT COMMAND ...: he is told what he lacks and who can change it.
refused() {
  spawn "$1" "$work/$2" "${@:4}"
  finish "$1" 2
  expect "$1" "lab 65533/$name does not let user [0-9]+ $3 "
  expect "$1" "; 65533 can change that: weft up --access $3=everyone, or $3=group:NAME"
}
# across SERVER CLIENT PROGRAM ...: the one user's on node c, the other's on node a.
across() {
  local port
  port=$(free_port)
  spawn server "$work/$1" run --lab "65533/$name" --node c -- "${@:3}" -p "$port" -d weft0
  await_listener server "$port"
  spawn client "$work/$2" run --lab "65533/$name" --node a -- "${@:3}" -p "$port" -d weft0 \
    127.0.0.1
  finish client
  finish server
}
# counter NAME: of the lab.
counter() { of_lab "lab[0]['counters']['$1']"; }

alone() {
  start
  [[ ! -e $shared ]] || fail "there is $shared"
  spawn none "$work/stranger" run --lab "65533/$name" --node a -- ibv_devinfo
  finish none 2
  expect none "lab 65533/$name does not run, or lets in nobody but its owner"
  spawn own "$work/stranger" run --node a -- ibv_devinfo
  finish own 2
  expect own 'no lab runs'
  # Its user's directory is closed, whatever he calls it.
  spawn direct setpriv --reuid=65531 --regid=65531 --clear-groups \
    test -x "$work/run-65533/weft/labs"
  finish direct 1
}

everyone() {
  start attach=everyone
  mode attach 666
  mode rdma_cm 666
  [[ ! -e $shared/mads && ! -e $shared/admin ]] || fail "more is open than was said"
  run devinfo "$work/stranger" run --lab "65533/$name" --node a -- ibv_devinfo -v
  expect devinfo 'state:.*PORT_ACTIVE'
  run stat "$work/stranger" run --lab "65533/$name" --node a -- ibstat
  expect stat 'State: Active'
  # Nobody comes into another user's lab unless he names it; but he is told of it.
  spawn unnamed "$work/stranger" run --node a -- ibv_devinfo
  finish unnamed 2
  expect unnamed "no lab runs.*; of other users there are: .*65533/$name"

  across owner stranger ibv_rc_pingpong -n 200 -s 65536 -c
  expect client '^200 iters in'
  across member stranger ibv_rc_pingpong -n 200 -s 4096 -c
  across stranger owner ibv_ud_pingpong -n 200
  # Of all that crossed, nothing was read where its sender can write.
  local copied
  copied=$(counter attach_copied)
  across stranger member ibv_rc_pingpong -n 200 -s 16384 -c
  # 16 KiB in packets of 1 KiB, there and back.
  [[ $(counter attach_copied) -ge $((copied + 200 * 2 * 16)) ]] || fail "payload was not copied"
  copied=$(counter attach_copied)
  across stranger stranger ibv_rc_pingpong -n 2000 -s 16384 -c
  [[ $(counter attach_copied) -lt $((copied + 2000 * 2 * 8)) ]] ||
    fail "one user's programs do not read each other's payload where it is"

  refused mads stranger manage sm run --lab "65533/$name" --node a
  spawn discover "$work/stranger" run --lab "65533/$name" --node a -- ibnetdiscover
  finish discover 255
  expect discover "does not let user 65531 manage "
  spawn state "$work/stranger" status --lab "65533/$name"
  finish state 1
  expect state "does not let user 65531 administer "
  refused pull stranger administer link --lab "65533/$name" trunk down
  refused end stranger administer down "65533/$name"
  await_states '{"Active":7}'
  run again "$work/owner" status
  expect again 'lab users-'
}

rdma_cm() {
  need rping
  start attach=everyone
  spawn server "$work/owner" run --node c -- rping -s -C 20 -S 4096 -V
  await_ids c 1
  spawn client "$work/stranger" run --lab "65533/$name" --node a -- \
    rping -c -a 10.254.0.3 -C 20 -S 4096 -V -v
  finish_rping client
  expect client 'ping data: rdma-ping-19'
  finish_rping server
}

group() {
  need ibnetdiscover
  start manage=group:$rdma administer=group:$rdma
  for socket in attach rdma_cm mads admin; do
    mode $socket 660
    [[ $(stat -c %g "$shared/$socket") -eq $rdma ]] || fail "$socket is not the group's"
  done
  run discover "$work/member" run --lab "65533/$name" --node a -- ibnetdiscover
  expect discover '^Switch'
  run status "$work/member" status --lab "65533/$name"
  expect status "lab $name: pid"
  run link "$work/member" link --lab "65533/$name" trunk degrade loss=1%
  run link "$work/member" link --lab "65533/$name" trunk
  expect link 'loss'
  # A subnet manager of his own, beside the lab's.
  spawn manager "$work/member" sm run --lab "65533/$name" --node b --priority 3 --database none
  await manager 'entering MASTER state'
  run asked "$work/member" sm --lab "65533/$name" --node b
  expect asked 'MASTER'
  stop manager INT
  refused stranger stranger attach run --lab "65533/$name" --node a -- ibv_devinfo
  run down "$work/member" down "65533/$name"
  finish lab
  [[ ! -e $shared/attach ]] || fail "its sockets are still there"
}

# What is said of a lab that cannot be opened to others.
refusals() {
  spawn nobody "$weft" up --access attach=group:no-such-group "$work/lab.toml"
  finish nobody 2
  expect nobody 'access.attach: there is no group no-such-group on this machine'
  spawn alien "$weft" up --name "$name" --access attach=group:65519 "$work/lab.toml"
  finish alien 2
  expect alien 'group 65519 can be let in by its members and by root only'
  spawn wrong "$weft" up --access attach=alice "$work/lab.toml"
  finish wrong 2
  expect wrong -- '--access attach=alice: must be attach, manage or administer'
}

case $what in
  alone | everyone | rdma_cm | group | refusals) "$what" ;;
  *) fail "there is no test of $what" ;;
esac
[[ -z ${pid_of[lab]:-} ]] || end_lab
echo "$what: done"
