#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a program and the host agent tell of themselves is for their own user and root: not for
# another user, even where the modes of directory and sockets would let him in.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need rping ibv_rc_pingpong setpriv python3
[[ $(id -u) -eq 0 ]] || skip "takes root, to be two users"
private_network "$0" "$@"
begin

owner=65533 stranger=65532
# The users may have no way into the checkout: what runs is a copy.
mkdir -p "$work/build/lib"
cp -r "$build_tree/bin" "$work/build/"
cp -r "$build_tree/lib/weft" "$work/build/lib/"
chmod -R go=rX "$work"
copy=$work/build/bin/weft
for user in $owner $stranger 0; do
  install -d -m 700 -o "$user" -g "$user" "$work/run-$user" "$work/run-$user/weft"
done
# as USER COMMAND ...: sets `words` to a command that runs it as that user.
as() {
  words=(setpriv "--reuid=$1" "--regid=$1" --clear-groups
    env "XDG_RUNTIME_DIR=$work/run-$1" HOME=/ "${@:2}")
}

# One that has a device open, and one that needs the host agent; both wait for a peer.
as $owner "$copy" run -- ibv_rc_pingpong -g 0 -p "$(free_port)"
spawn program "${words[@]}"
as $owner "$copy" run -- rping -s -a 127.0.0.1 -C 1
spawn listener "${words[@]}"
as $owner "$copy" status
for ((tries = 0; tries < 500; tries++)); do
  run own "${words[@]}"
  ! { grep -q '(1 LISTEN' "$work/own.out" && grep -q 'comm ibv_rc_pingpong' "$work/own.out"; } ||
    break
  sleep 0.02
done
expect own '\(1 LISTEN'
agent=$(sed -n 's/^agent \([0-9]*\):.*/\1/p' "$work/own.out")
process=$(sed -n 's/^\([0-9]*\): .* comm ibv_rc_pingpong .*/\1/p' "$work/own.out")
[[ -n $agent && -n $process ]] || fail "its user is not told of the program"

# Everybody may come to the sockets now, and finds them where he looks for his own.
chmod 711 "$work/run-$owner" "$work/run-$owner/weft"
chmod 666 "$work/run-$owner/weft"/*.sock
for user in $stranger 0; do
  ln -s "$work/run-$owner/weft"/*.sock "$work/run-$user/weft/"
done

# The server says nothing to him, and `weft status` would not have believed him.
cat >"$work/ask.py" <<'END'
import socket, struct, sys

# host/door.h: magic, version, purpose (the agent's report), and what does not matter to that.
hello = struct.pack("=6I2Q2I", 0x77656674, 4, 4, 0, 14791, 0, 0, 0, 0, 0)
for path in sys.argv[1:]:
    agent = "/agent-" in path
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET if agent else socket.SOCK_STREAM) as s:
        s.settimeout(20)
        s.connect(path)
        try:
            if agent:
                s.send(hello)
            answer = s.recv(65536)
        except (BrokenPipeError, ConnectionResetError):
            answer = b""
        print("agent" if agent else "program", "answers" if answer else "is silent")
END
as $owner python3 "$work/ask.py" "$work/run-$owner/weft"/*.sock
run owner "${words[@]}"
expect owner '^program answers'
expect owner '^agent answers'
as $stranger python3 "$work/ask.py" "$work/run-$owner/weft"/*.sock
run stranger "${words[@]}"
expect stranger '^program is silent'
expect stranger '^agent is silent'
refuse stranger 'answers'

as $stranger "$copy" status
spawn status "${words[@]}"
finish status 1
expect status "process $process: it is another user's"
expect status "host agent at .*: it is another user's"
refuse status 'comm|LISTEN'

as 0 "$copy" status
run root "${words[@]}"
expect root "^agent $agent:"
expect root "^$process: .* comm ibv_rc_pingpong"
expect root 'agent_foreign [1-9]' "he has been noticed"

stop program
stop listener
kill "$agent"
echo "only the user and root are told"
