// SPDX-License-Identifier: Apache-2.0
// How stations of one Ethernet find each other's addresses: ARP (RFC 826) for IPv4, neighbour
// discovery (RFC 4861) for IPv6. Both ask for an IP address and answer with an Ethernet one, and
// are read and written here as the same message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tl/expected.hpp>

#include "base/bytes.h"
#include "base/ids.h"
#include "wan/encapsulation/ends.h"

namespace weft::wan {

struct NeighbourMessage {
  enum class Kind : std::uint8_t {
    kSolicitation,   // who has `target`?
    kAdvertisement,  // `target` is at `mac`
  };

  Kind kind = Kind::kSolicitation;
  // Who says it; zero: one who has no address yet, and asks whether somebody else has it.
  Gid sender;
  Gid target;
  MacAddress mac{};        // of the sender, or of the target that is told of; zero: not said
  bool solicited = false;  // an advertisement that answers a question
  bool overrides = false;  // an advertisement that is to replace what was known before

  friend bool operator==(const NeighbourMessage&, const NeighbourMessage&) = default;
};

// Why a frame is no message.
enum class NotNeighbour : std::uint8_t {
  kOther,      // it is of another protocol
  kMalformed,  // it is of one of these, and cannot be
};

// Reads an Ethernet frame, from its destination address on. What a station must check is checked:
// lengths, the checksum, that no router has forwarded it (RFC 4861, 7.1), and that the addresses
// can be of single stations.
[[nodiscard]] tl::expected<NeighbourMessage, NotNeighbour> read_neighbour_message(Bytes frame);

// An Ethernet frame with a message.
class NeighbourFrame {
 public:
  // `from` sends it, of which message.mac is told; `to` is zero where it goes to all who may have
  // the target, or, where it is an advertisement, to all.
  NeighbourFrame(const NeighbourMessage& message, const MacAddress& from, const MacAddress& to,
                 const Gid& to_address);
  [[nodiscard]] Bytes bytes() const { return Bytes(bytes_).first(size_); }

 private:
  void write_arp(const NeighbourMessage& message, const MacAddress& from, const MacAddress& to,
                 const Gid& to_address);
  void write_discovery(const NeighbourMessage& message, const MacAddress& from,
                       const MacAddress& to, const Gid& to_address);
  void write_ethernet(const MacAddress& from, const MacAddress& to, std::uint16_t type);

  std::array<std::byte, 86> bytes_{};
  std::size_t size_ = 0;
};

// The group that stations with this IPv6 address hear (RFC 4291, 2.7.1), and where groups of IPv6
// are on Ethernet (RFC 2464, 7).
[[nodiscard]] Gid solicited_node_group(const Gid& address);
[[nodiscard]] MacAddress ethernet_of_group(const Gid& group);

}  // namespace weft::wan
