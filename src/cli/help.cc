// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <fmt/format.h>

#include "host/config.h"

namespace weft::cli {

std::string general_help() {
  return R"(Weft runs InfiniBand programs on ordinary machines and networks: no HCA, no kernel
module, no root. A program that uses libibverbs is run as it is, over UDP.

Usage: weft COMMAND [OPTIONS]

Commands
  run       run a program on Weft's devices
  devices   list the devices that programs will see
  doctor    check this machine, and a program, for Weft
  status    show what runs now, and what went wrong there
  resource  show queue pairs, completion queues and memory regions of running programs
  lab       make and check lab files, which describe fabrics
  up        run a lab: a fabric of switches and channel adapters
  down      end a lab
  link      look at a link of a lab, pull its cable, degrade it; judge how it came up
  lan       give nodes of a lab Ethernet interfaces, and look at them
  sm        ask a lab's own subnet manager: sweeps, paths and why they are so
  policy    say which paths of a lab lead through data services, and ask why
  service   show the data services of a lab, and what they did; run one
  capture   record what a link of a lab carries
  extend    extend a fabric over a WAN; plan it; make the keys of its sites
  firewall      check firewall rules, and try them on a capture
  serve         run a data service here, for labs elsewhere
  wan           make captures the bytes of any WAN, and captures of those
  wan-emulator  make the way between two programs look like a WAN
  help      explain a command: weft help run

Try first
  weft doctor                        is everything there?
  weft devices                       a device for each network interface
  weft run -- ibv_devinfo            an unmodified program sees them

Then, in two terminals or on two machines
  weft run -- ibv_ud_pingpong -g 0 -d weft_lo
  weft run -- ibv_ud_pingpong -g 0 -d weft_lo localhost

And look at what happens
  weft run --stats --capture ping.pcapng -- PROGRAM
  weft status                        while it runs

Options
  -h, --help   print this help
  --version    print the version

Manual pages: weft(1) and one for each command, such as weft-run(1).
)";
}

std::string run_footer() {
  std::string variables;
  for (const host::ConfigVariable& variable : host::config_variables()) {
    variables += fmt::format("  {:<19} {:<11} {}\n", variable.name, variable.values, variable.help);
  }
  return fmt::format(
      R"(Exit status: the program's; 2 when it was not started, with one line that says why.

Variables, which options override
{}  WEFT_LIBDIR         DIRECTORY   where the drop-in libraries are; default: beside weft

Examples
  weft run -- ibv_devinfo
  weft run --interface eth0 -- ib_send_bw -c UD -x 0
  weft run --capture ping.pcapng -- ibv_ud_pingpong -g 0 -d weft_lo
  weft run -- bash                   every program started from this shell
)",
      variables);
}

std::string devices_footer() {
  return R"(There is a device weft_IF for each interface IF that is up and has an address: the
default route's first, weft_lo last. Its GIDs are the interface's addresses.

Examples
  weft devices
  weft devices --json | jq '.[].gids'
)";
}

std::string doctor_footer() {
  return R"(Each line is ok, a note (it works, but could be better) or a problem, with what to
change. Exit status: 0, or 1 when a problem was found.

Examples
  weft doctor
  weft doctor ib_send_bw
)";
}

std::string status_footer() {
  return R"(Labs come first, with the programs on their nodes, then host agents with what they do
for rdma_cm, then programs with their devices.
Counters are shown where they tell of trouble: drops, retransmissions, refusals.

Examples
  weft status
  weft status --json | jq '.programs[].devices[].trouble'
)";
}

std::string resource_footer() {
  return R"(The programs of the user who asks are shown.

Examples
  weft resource                      how many objects each program has, per device
  weft resource show qp -d           every queue pair with its counters
  weft resource show mr --json
  weft resource show cm_id           rdma_cm's identifiers: who listens, who is connected
)";
}

std::string lab_footer() {
  return R"(A lab file describes a fabric: switches, nodes and the links between them. What is
made goes to standard output.

Shapes
  fat-tree   18x36: nodes below a lowest switch, switches below one of the next level, and so on
  torus      4x4x4: switches along each dimension
  dragonfly  2x4x2: nodes of a switch, switches of a group, links of a switch to other groups
  line       5: switches

Exit status: 0, or 2 with one line that says what is wrong and where.

Examples
  weft lab fat-tree --size 18x36 > lab.toml       648 nodes on 36-port switches
  weft lab torus --size 4x4 --hosts 2 > lab.toml
  ibnetdiscover | weft lab import - > lab.toml    the fabric that you have
  weft lab check lab.toml
)";
}

std::string up_footer() {
  return R"(FILE is a lab file (weft help lab says how to make one), what ibnetdiscover prints of a
fabric, or a net file of ibsim. The lab runs until it is interrupted, or weft down ends it.

Examples
  weft up examples/labs/two-switches.toml
  ibnetdiscover > real.topo; weft up --detach real.topo
  weft run --node host1 -- ibstat    in another terminal
  weft up --part left examples/labs/in-parts.toml    one part of a lab, others elsewhere
  weft up --access attach=everyone lab.toml          other users: weft run --lab OWNER/LAB
)";
}

std::string down_footer() {
  return R"(Programs on the lab's nodes find their devices gone.

Examples
  weft down
  weft down two-switches
)";
}

std::string link_footer() {
  return R"(down pulls the cable, up plugs it in again. degrade gives the link a line rate, delay
and faults, each direction alike: rate=2.5Gb/s, delay=2ms, loss=1%, credit_loss=1%, bit_errors=1e-9,
duplicate=1%, reorder=1%, seed=7. What is not named stays; none ends all of it. show tells of a link
with speed = "auto" how its ports came to their speed: each message, and what the sweep measured.

conform says of each requirement of the DDR auto-negotiation specification whether ports keep to
it: pass, fail, or not exercised. Alone, or with --role, it puts Weft's own port through scenarios
with a peer that follows a script; with --capture it judges both ends of a recorded link, with a
LINK those of a link of a running lab. --replay plays one of the specification's flow diagrams. It
exits with 1 when a requirement fails.

Examples
  weft link leaf1:3
  weft link show uplink --svg sweep.svg
  weft link uplink down
  weft link uplink degrade loss=1%,delay=2ms
  weft link uplink degrade none
  weft link conform --role responder
  weft link conform --capture uplink.pcapng
  weft link conform --replay 2
)";
}

std::string lan_footer() {
  return R"(A lab file says with lan = true which nodes are on the LAN; up makes the interface of a
port of another one, or tries again to make one that failed. arp lists whom each port knows.

Examples
  weft lan
  weft lan up host1 --netns host1 --mtu 9000
  weft lan arp host1
  weft lan down host1:1
)";
}

std::string policy_footer() {
  return R"(Rules are those of [[policy]] in a lab file: from, to, requester, service_id, pkey, sl,
qos_class, through or answer, answer_sl, symmetric, name. The first one that fits a query for a path
counts; answer_sl is the SL that it gives the path.
A rule is called by its number or its name. drain takes an instance of a service out, as for
maintenance: its service LIDs move to its pair, and no new paths lead there; restore puts it back.
explain says which rule answers a query; besides both ends it may have requester, slid,
service_id, pkey, sl and qos_class. log has the last 256 queries, and which rule answered each.
What is changed so is forgotten when the lab ends; export prints all rules as a lab file has them,
and save writes them into the file that the lab file names for them, policies = "rules.toml".

Examples
  weft policy
  weft policy add --before 1 from=a to=b through=firewall symmetric
  weft policy add to=b answer=none name=closed
  weft policy add from=a to=c answer=direct answer_sl=3 symmetric
  weft policy explain a b pkey=0x8001
  weft policy log
  weft policy export >rules.toml
  weft policy add --save to=c answer=none
  weft policy delete closed
  weft policy drain fw1
)";
}

std::string service_footer() {
  return R"(A row for each service and port: the service LIDs that lead there, packets that came and
went on, those that were dropped, and those that wait until it is known where they go. WHY has the
drops by reason: those of the service itself, such as over_rate of a limiter, and those of what it
runs in, such as no_path. A service with select = "copies" has copies in place of LIDs: it sees
what is for its port and forwards nothing.

With NAME, all counters, and what services of its type know: of a monitor the heaviest flows and
senders, with the time from a request to its acknowledgement; of a limiter each tenant; of a
firewall what each rule has matched; of a capture its files. filter has what the port's receive
filter made of all packets that came there.

NAME reload reads the rules of a firewall in the lab's daemon anew; when they are wrong, nothing is
changed. Connections that the new ones would have let begin go on. run does so on SIGHUP.

run serves as a process of its own, on a node of which the lab file has [service.NAME] with
type = "process": a firewall, monitor, capture, limiter, balancer or router. Packets that come there
and are not for the port itself go through the service and on to where they are for, until it is
interrupted; then it prints what it has counted, as it does on SIGUSR1. --set says what lab files
say of services of the type, as in rate=1Gb/s. A router is at several ports of the node, each in
another subnet. Each thread of a firewall or router is a program on the adapter: the flows are
spread over all of them, each to one, and they tell each other of connections. When it dies, its
pair takes over, or the paths are as if_down in the lab file says.

Examples
  weft service
  weft service monitor
  weft service firewall --json
  weft service firewall reload
  weft service run firewall --node fw --rules firewall.rules --threads 2
  weft service run limiter --node l --set rate=1Gb/s --set by=source
)";
}

std::string sm_footer() {
  return R"(status is what the manager is and has done, history what it said: sweeps, links and
nodes that came and went, problems. topology is which nodes and links there are and were, and from
when to when. metrics is what it counts, in the form that Prometheus reads. path is the way from one
end port to another as its forwarding tables make it, explain the same hop by hop, with the reasons.

run is a subnet manager, with its administrator, as a process on a node, as opensm is one. Of
several in a lab the one with the highest priority is the master. The lab's own is asked; with
--node, that of weft sm run on this node.

Examples
  weft sm
  weft sm history
  weft sm explain a d:2
  weft up --sm none lab.toml; weft sm run --node b --priority 3
  weft sm history --node b
)";
}

std::string capture_footer() {
  return R"(Packets are recorded as they go onto the link, from LRH to VCRC, before any fault that
the link is made to have. Each direction is an interface of the capture.

Examples
  weft capture leaf1:3 | tshark -i -
  weft capture uplink mad -w mads.pcapng
  weft capture host1:1 data qp=0x48 -c 100 -w 100.pcapng
)";
}

std::string extend_footer() {
  return R"(With a lab file, the part of the lab that has its extenders runs as a process of its
own, until weft down ends it; the other parts are for weft up --part.

A path holds what is sent until the first of it is answered. The far site's buffer must
take all of that, for each virtual lane and each remote site, or the path is not full.

keygen makes the key of a site in a new file, which nobody else may read, and prints its
fingerprint, by which other sites know it. fingerprint prints that of a key or certificate.

Examples
  weft extend --plan --distance 5000km --vls 15
  weft extend --plan --round-trip 130us --signalling 10Gb/s
  weft extend --plan --distance 100km --sites 4 --json
  weft extend keygen east.key
  weft extend site-east.toml
)";
}

std::string firewall_footer() {
  return R"(Rules are text as nftables has it; docs/firewall.md has the language. A capture is
pcapng or pcap with InfiniBand packets, as weft capture writes it. Packets meet the rules
in their order, and connections are learned from those that pass, as in the firewall of a
fabric.

Examples
  weft firewall check rules.fw
  weft capture leaf1:3 -w packets.pcapng -c 1000
  weft firewall test rules.fw packets.pcapng
)";
}

std::string serve_footer() {
  return R"(A lab has such a service by type = "external" and the address here, as server =
"ADDRESS" (docs/data-services.md). What its places send goes through the service and back to
them; this machine need not be in any fabric, and needs neither a node nor a subnet manager.

Each place that may come has a key, whose --fingerprint is given here; the place is given that
of the key here. With --insecure one place may come.

Signals: SIGUSR1 prints a report; so does the end. SIGHUP reads the rules anew.

Examples
  weft extend keygen server.key
  weft serve firewall --listen 192.0.2.9:7471 --rules firewall.rules --key server.key \
      --fingerprint SHA256:...
  weft serve firewall --listen [::1]:7471 --insecure
  weft serve limiter --listen [::1]:7471 --insecure --set rate=1Gb/s
)";
}

std::string wan_footer() {
  return R"(STACK is what a site file says for encapsulation, from the frame outwards:
  udp/ipv6/ethernet, ipv4, mpls/ethernet   packets: captures of Ethernet, or of IP
  PACKETS/MAPPING/LINE                     octets of a line, as a file or a pipe
    MAPPING  aal5, gfp, ppp                what puts packets into octets
    LINE     stm1, stm4, stm16, stm64      SONET/SDH; without one, the mapping's own octets
  PACKETS/ethernet/10gbase-r               64b/66b blocks; 10gbase-w: those in an STS-192c

encode reads a capture of InfiniBand packets (pcapng or pcap), decode writes one. Each packet is in
a frame of its own, which is not sealed. What was lost on the way, and why, standard error says.
explain prints the first frames, cells or blocks of a line, field by field.

Examples
  weft wan encode ipv6/ppp/stm64 packets.pcapng -o line.stm64
  weft wan decode ipv6/ppp/stm64 line.stm64 -o again.pcapng
  weft wan encode udp/ipv6/ethernet packets.pcapng | tshark -r -
  weft wan encode gfp/stm1 packets.pcapng | weft wan explain gfp/stm1
)";
}

std::string wan_emulator_footer() {
  return R"(LISTEN and TARGET are IP addresses with ports, [::1]:4000 as 127.0.0.1:4000; of streams
also unix:PATH. Answers of the target go back the way. LIST is of these words:
  rate=10Gb/s          of the line; packets wait in a queue before it
  delay=50ms           one way; jitter=5ms: and up to so much more, in order
  loss=1%, duplicate=1%, reorder=1%, bit_errors=1e-9
                       of datagrams at random; late=1ms: how late what is reordered may be
  queue=60MB           what may wait; default: what the line sends in 50 ms
  mark=1MB             mark datagrams capable of ECN when more than that waits
  mtu=1500             drop longer datagrams
  flap=10s,outage=1s   out for a while, about so often
  seed=7               from which all of this is drawn
  none                 as if there were no WAN, from here on in the list

A stream may be the line between two extenders, and --equipment what stands in it, from LISTEN to
TARGET: regenerator, add-drop (a multiplexer), cell-switch (of ATM, with calls), each with the
line's level, as in add-drop:stm16; router, bridge and relay, with its stack, as in
router:ipv6/ppp/stm16; and hosts of others, as weft-wan-emulator(1) says.

Signals: SIGUSR1 prints a report, SIGHUP reads --settings again. Its lines begin with path, forward
or backward, and go on with a list.

Examples
  weft wan-emulator --path rate=10Gb/s,delay=50ms udp 127.0.0.1:4000 127.0.0.1:5000
  weft wan-emulator --forward loss=0.1%,seed=7 --interval 1 udp [::]:4000 [2001:db8::2]:4000
  weft wan-emulator --path delay=50ms stream unix:/tmp/wan 127.0.0.1:5000
)";
}

}  // namespace weft::cli
