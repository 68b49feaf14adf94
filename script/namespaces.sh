# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Network namespaces for script/demo and the tests, as root and as anybody; sourced, never run. A
# namespace is kept by a sleeping process, whose number names it.

# enter_private_network SCRIPT ARGUMENT ...: starts the calling script again in a network namespace
# of its own, in which it may do what root may with networks. Returns once it stands there; returns
# 1 where the kernel or the container forbids it.
enter_private_network() {
  if [[ ${WEFT_PRIVATE_NETWORK:-} == yes ]]; then
    unset WEFT_PRIVATE_NETWORK
    ip link set lo up
    return
  fi
  local how=(unshare --net)
  [[ $(id -u) -eq 0 ]] || how=(unshare --user --map-root-user --net)
  "${how[@]}" true 2>/dev/null || return 1
  WEFT_PRIVATE_NETWORK=yes exec "${how[@]}" "$@"
}

# new_namespace NAME: sets the variable NAME to the number of the process that keeps it, and adds
# that number to the array `namespaces`.
namespaces=()
new_namespace() {
  local mine keeper tries
  mine=$(readlink /proc/self/ns/net)
  unshare --net sleep infinity </dev/null >/dev/null 2>&1 &
  keeper=$!
  namespaces+=("$keeper")
  for ((tries = 0; tries < 500; tries++)); do
    # The process is in its namespace once it has become sleep.
    if [[ $(readlink "/proc/$keeper/ns/net" 2>/dev/null) != "$mine" &&
      $(cat "/proc/$keeper/comm" 2>/dev/null) == sleep ]]; then
      printf -v "$1" '%s' "$keeper"
      in_namespace "$keeper" ip link set lo up
      # Saves the second in which an address is checked for duplicates; harmless where refused.
      in_namespace "$keeper" sh -c 'cd /proc/sys/net/ipv6/conf &&
        echo 0 >all/accept_dad && echo 0 >default/accept_dad' 2>/dev/null || :
      return
    fi
    sleep 0.01
  done
  return 1
}

# in_namespace KEEPER COMMAND ...
in_namespace() {
  local keeper=$1
  shift
  nsenter --net="/proc/$keeper/ns/net" -- "$@"
}

# join KEEPER_A NAME_A ADDRESSES_A KEEPER_B NAME_B ADDRESSES_B [MTU]: a veth pair between two
# namespaces. ADDRESSES are ADDRESS/LENGTH, several with blanks between.
join() {
  local mtu=${7:-1500} side keeper name address tries
  ip link add "$2" netns "$1" mtu "$mtu" type veth peer name "$5" netns "$4" mtu "$mtu"
  for side in 1 4; do
    keeper=${!side}
    name=$((side + 1)) address=$((side + 2))
    name=${!name}
    for address in ${!address}; do
      if [[ $address == *:* ]]; then
        in_namespace "$keeper" ip address add "$address" dev "$name" nodad
      else
        in_namespace "$keeper" ip address add "$address" dev "$name"
      fi
    done
    in_namespace "$keeper" ip link set "$name" up
  done
  for side in 1 4; do
    name=$((side + 1)) address=$((side + 2))
    for ((tries = 0; tries < 500; tries++)); do
      ! link_is_ready "${!side}" "${!name}" "${!address}" || break
      sleep 0.02
    done
  done
}

# link_is_ready KEEPER NAME ADDRESSES: the kernel says up to a second late that a link is there, and
# IPv6 is there later still: its route for groups comes last.
link_is_ready() {
  [[ $(in_namespace "$1" ip link show dev "$2") == *'state UP'* ]] || return 1
  [[ $3 == *:* ]] || return 0
  [[ -z $(in_namespace "$1" ip -6 address show dev "$2" tentative) &&
    -n $(in_namespace "$1" ip -6 route show table local type multicast dev "$2") ]]
}

# release_namespaces: ends the processes that keep them; the namespaces go with them.
release_namespaces() {
  [[ ${#namespaces[@]} -eq 0 ]] || kill "${namespaces[@]}" 2>/dev/null || :
  namespaces=()
}
