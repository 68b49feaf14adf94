#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_router_outside.sh WHERE: two subnets of one lab that are joined by a router alone which
# works outside of the lab's daemon: with rules and without, and with paths of the administrators of
# both. While it is not there, or one of its ports is not, neither subnet has a path to the other
# one. WHERE is one of
#   process   in a process on the node between them, in one thread and in two
#   server    on a server outside of the fabric, at two addresses
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need ib_send_bw rping ibaddr
where=$1
[[ $where != server ]] || private_network "$0" "$@"
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

rules=$source_tree/examples/labs/two-subnets.rules
listens=(127.0.0.1:7491 127.0.0.1:7492)
case $where in
  process) type='type = "process"' ;;
  server)
    for key in fabric server; do
      "$weft" extend keygen "$work/$key.key" >"$work/$key.pub"
    done
    printf -v type '%s\\n' 'type = "external"' "server = [\"${listens[0]}\", \"${listens[1]}\"]" \
      'key = "fabric.key"' 'fingerprint = "server.pub"'
    ;;
esac
sed -e '/^rules/d' -e "s|^\[service\.router\]|&\n$type|" \
  -e "1,/^name/s|^name = .*|name = \"router-$where-$$\"|" -e 's|127\.251|127.241|' \
  "$source_tree/examples/labs/two-subnets.toml" >"$work/outside.toml"
app=127.241.0.1
db=127.241.0.2

spawn lab "$weft" up "$work/outside.toml"
await lab '^  subnet manager     its own, of 2 subnets'
await_states '{"Active":5}'
gid_of() { # NODE
  on "gid-$1" "$1" ibaddr
  awk '/GID/ { print $2; exit }' "$work/gid-$1.out"
}
app_gid=$(gid_of app)
db_gid=$(gid_of db)

# answer NODE GID: what the path there is.
answer() {
  "$weft" policy explain "$1" "$2" --json | python3 -c "
import json, sys
out = json.load(sys.stdin)
print(out['answer'], *(hop['at'] for hop in out['hops']), out.get('reason', ''))"
}
await_answers() { # THERE BACK: of the path from app to db, and of the way back
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    [[ $(answer app "$db_gid") != "$1" || $(answer db "$app_gid") != "$2" ]] || return 0
    sleep 0.05
  done
  fail "the paths are '$(answer app "$db_gid")' and '$(answer db "$app_gid")', not '$1' and '$2'"
}
await_there() { await_answers 'through gate:1 ' 'through gate:2 '; }
await_nowhere() {
  local nobody='none no instance of service router is well'
  await_answers "$nobody" "$nobody"
}
start() { # [ARGUMENT ...]
  case $where in
    process)
      spawn router "$weft" service run router --node gate "$@"
      await router '^router serves on node gate in [12] thread'
      ;;
    server)
      spawn router "$weft" serve router --listen "${listens[0]}" --listen "${listens[1]}" \
        --key "$work/server.key" --fingerprint "$work/fabric.pub" "$@"
      await router "weft serve: router at ${listens[0]}, ${listens[1]}$"
      ;;
  esac
  await_there
}
end_router() {
  kill -TERM "${pid_of[router]}"
  finish router
  await_nowhere
}
# count COUNTER: of what the router has printed at its end.
count() { sed -nE "s/^ *$1 +([0-9]+)( .*)?$/\1/p" "$work/router.out" | head -n 1; }
bandwidth() { # SERVER ADDRESS CLIENT
  spawn server "$weft" run --node "$1" -- ib_send_bw -R -p 5432 -F -n 200 -s 4096 -q 4
  await_ids "$1" 1
  spawn client "$weft" run --node "$3" -- ib_send_bw -R -p 5432 -F -n 200 -s 4096 -q 4 "$2"
  finish client
  finish server
  expect client '^ 4096 +800 '
}

refused() { # SENTENCE ARGUMENT ...
  spawn wrong "$weft" "${@:2}"
  finish wrong 2
  expect wrong "$1"
}

await_nowhere
case $where in
  process)
    refused 'a monitor works at one port' service run monitor --node gate --ports 1,2
    refused '3: the node has ports 1 to 2$' service run router --node gate --ports 1,3
    ;;
  server)
    refused 'an address of its own' serve router --listen "${listens[0]}" --insecure
    ;;
esac

# Where a port is open.
start --rules "$rules"
bandwidth db "$db" app
bandwidth app "$app" db
spawn server "$weft" run --node db -- rping -s -a "$db" -p 5433 -C 5
await_ids db 1
spawn client "$weft" run --node app -- timeout 20 rping -c -a "$db" -p 5433 -C 5
code=0
wait "${pid_of[client]}" || code=$?
unset "pid_of[client]"
[[ $code -ne 0 ]] || fail "a connection to a closed port came about"
stop server INT

# Without one of its ports it is of no use, in the other subnet either.
run cut "$weft" link east-gate down
await_states '{"Active":4,"Down":1}'
[[ $(answer app "$db_gid") == none* ]] || fail "the west has a path: $(answer app "$db_gid")"
run join "$weft" link east-gate up
await_states '{"Active":5}'
await_there
bandwidth db "$db" app
end_router
is_above "$(count routed)" 2400 || fail "only $(count routed) packets were routed"
is_above "$(count drop_by_service)" 0 || fail "nothing was dropped"

# All the way without rules, in two threads where there may be such.
case $where in
  process) start --threads 2 --ports 2,1 ;;
  server) start ;;
esac
bandwidth app "$app" db
bandwidth db "$db" app
end_router
[[ $where != process ]] || expect router '^packets of each thread: [1-9][0-9]* [1-9][0-9]*$'
is_above "$(count routed)" 1600 || fail "only $(count routed) packets were routed"
stop lab INT
