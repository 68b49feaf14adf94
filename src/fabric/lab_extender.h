// SPDX-License-Identifier: Apache-2.0
// The extenders of a lab: switches of which some links lead over a WAN to other sites, which are
// labs of their own, or routers to the subnets of those (docs/range-extension.md).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/atm_address.h"
#include "base/gid_prefix.h"
#include "base/ids.h"
#include "base/time.h"
#include "fabric/lab_parts.h"

namespace weft::fabric {

enum class ExtenderMode : std::uint8_t {
  kBridge,  // a switch: the labs at all sites are one subnet
  kRouter,  // a router: each lab is a subnet of its own
  kRoce,    // no part of a fabric: it carries RoCEv2 between hosts on an Ethernet here and others
};

// What packets are marked with on their way through IP networks (RFC 2474): DSCPs, 0 to 63.
struct LabDscp {
  std::array<std::uint8_t, 16> of_sl{};  // of data packets, by SL
  // Of what keeps the tunnel going, and of management packets: as RFC 4594, 3.1 has it for the
  // network's own traffic.
  std::uint8_t control = 48;
  friend bool operator==(const LabDscp&, const LabDscp&) = default;
};

// Forward error correction: behind so many frames as many more, by which lost ones are made again.
struct LabFec {
  std::uint8_t frames = 0;
  std::uint8_t repairs = 0;
  friend bool operator==(const LabFec&, const LabFec&) = default;
};

// By the data lane on which a packet leaves the fabric here, the one that it takes at the other
// site, whose room there it needs: 0 to 14, each its own unless something else is said.
struct LabEgress {
  static constexpr std::size_t kLanes = 15;
  LabEgress() {
    for (std::uint8_t vl = 0; vl < kLanes; ++vl)
      of_vl[vl] = Vl{vl};
  }
  std::array<Vl, kLanes> of_vl;
  friend bool operator==(const LabEgress&, const LabEgress&) = default;
};

// A connection of ATM that is set up by signalling (SVC), between two addresses.
struct LabSvc {
  AtmAddress own{};
  AtmAddress other{};
  friend bool operator==(const LabSvc&, const LabSvc&) = default;
};

struct LabRemote {
  std::string name;
  // Where its extender listens. Nothing: it is not known, and that one comes here, from wherever.
  std::optional<PartAddress> address;
  // The same by other ways, which are used together with that one; all are known or none.
  std::vector<PartAddress> more_addresses;
  std::uint8_t paths = 1;           // how many ways there are, the first one included
  std::vector<GidPrefix> prefixes;  // of a router: the subnets that are there
  // Of a router that has LabExtender::route_table: routes by this IPv6 address lead there. Nothing:
  // those by the host of `address`.
  std::optional<Gid> next_hop;
  // Of the keys that it may have, unless the extender is insecure: as LabExtender::key, or
  // "SHA256:" and what follows.
  std::vector<std::string> fingerprints;
  // What lies between a frame and the wire, from the frame outwards, as wan/encapsulation/stack.h
  // reads it; empty: UDP, in IP of the address's version.
  std::string encapsulation;
  std::string interface;  // by which frames of Ethernet leave, where the encapsulation has them
  // Where it has MPLS: labels of packets that go there, the outermost first, and of those that come
  // from there; empty: the same.
  std::vector<std::uint32_t> labels;
  std::vector<std::uint32_t> own_labels;
  // Where it is the other end of a fibre, on which packets travel as they are: which one, as
  // daemon/wan/fibre_stream.h reads it; it has neither address nor fingerprint then.
  std::string fibre;
  // Where it is at the other end of a line, in which its encapsulation ends: the stream that bears
  // that, as a fibre's; empty: it is not.
  std::string line;
  std::uint64_t line_octets_per_s = 0;  // of that; 0: as its standard has it
  std::optional<LabSvc> svc;            // where that is of ATM; nothing: one that is configured
  std::uint64_t rate_bytes_per_s = 0;   // of what goes there into the WAN; 0: as fast as it can
  std::optional<LabDscp> dscp;          // of what goes there; nothing: no mark
  std::optional<LabFec> fec;            // the same as at that site; nothing: none
  std::optional<LabEgress> egress;      // of what goes there; nothing: LabEgress()
  bool adapts_rate = false;  // that goes there as fast as the WAN can carry it, which is found out
  friend bool operator==(const LabRemote&, const LabRemote&) = default;
};

struct LabExtender {
  ExtenderMode mode = ExtenderMode::kBridge;
  std::uint32_t node = 0;  // index in Lab::nodes: a switch, a router; with kRoce one without links
  // Of a switch: the port that leads to the first of `remotes`; the others follow. Of a router,
  // which has no ports for them: 0.
  std::uint8_t first_port = 0;
  std::string hosts;   // kRoce: the interface where hosts are
  PartAddress listen;  // where frames of other sites arrive
  // The same elsewhere on this machine, as of the other version of IP: each way to a remote leaves
  // from one of them.
  std::vector<PartAddress> more_listens;
  std::uint64_t buffer_bytes = std::uint64_t{512} << 20;  // of each lane of each remote
  // What this site proves to the others that it is, and they to it: files, as the lab file has
  // them, which is: from its own place on. The certificate may be absent.
  std::string key;
  std::string certificate;
  Duration key_time = 1h;  // what crosses the WAN is sealed with no key for longer
  bool insecure = false;   // it is not sealed at all, and nobody proves anything
  bool tcp_setup = false;  // insecure: remotes are there while there is a TCP connection to them
  // Of a router: the table of the kernel's IPv6 routing whose routes say, besides the remotes'
  // prefixes, which subnets are where. Nothing: none.
  std::optional<std::uint32_t> route_table;
  std::vector<LabRemote> remotes;
  friend bool operator==(const LabExtender&, const LabExtender&) = default;

  // Whether the kernel's TCP has to reach its remotes.
  [[nodiscard]] bool needs_tcp() const { return !insecure || tcp_setup; }
  // Whether its remotes are at the other ends of fibres: all of them are, or none.
  [[nodiscard]] bool on_fibres() const {
    return !remotes.empty() && !remotes.front().fibre.empty();
  }
  [[nodiscard]] bool listens_at(const PartAddress& address) const {
    return address == listen ||
           std::find(more_listens.begin(), more_listens.end(), address) != more_listens.end();
  }
  // Of a switch.
  [[nodiscard]] std::uint8_t port_of(std::size_t remote) const {
    return static_cast<std::uint8_t>(first_port + remote);
  }
};

// What a fingerprint begins with that is written out, and no file's name.
inline constexpr std::string_view kFingerprintPrefix = "SHA256:";

}  // namespace weft::fabric
