// SPDX-License-Identifier: Apache-2.0
// Packets of queue pairs as they lie on a fabric, LRH through VCRC, and back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "hca/datagram.h"
#include "port/ring/port_facts.h"
#include "port/ring/shared_memory.h"
#include "wire/grh.h"
#include "wire/lrh.h"

namespace weft::port {

// What goes before the transport headers; lengths are filled in for each packet.
struct Route {
  wire::Lrh lrh{};
  std::optional<wire::Grh> grh;

  [[nodiscard]] std::size_t size() const { return wire::Lrh::kSize + (grh ? wire::Grh::kSize : 0); }
  // Whether the whole packet but its trailer fits into the header of a slot.
  [[nodiscard]] bool fits_header(const hca::OutPacket& packet) const {
    return size() + packet.header_length + packet.payload_length <= ring::kMostHeader;
  }
  // LRH through VCRC, bytes.
  [[nodiscard]] std::size_t packet_size(const hca::OutPacket& packet) const;
};

// Of what is sent along `path` from a port now; the path is by LID, and its GID one that the port
// has.
[[nodiscard]] Route route_of(const hca::Path& path, const PortFacts& facts);

// Writes the route and the transport headers of a packet; returns their size. `out` has room for
// ring::kMostHeader bytes.
std::size_t write_link_headers(const Route& route, const hca::OutPacket& packet, MutableBytes out);

// Fills in all of `slot` but where it comes from; the packet is not sealed. `block`: room for the
// payload, unless it fits the header. Reads the payload once.
void write_link_packet(const Route& route, const hca::OutPacket& packet,
                       std::span<const Bytes> payload, MutableBytes block, ring::SendSlot& slot);

// The longest: an MTU of payload, all headers, trailer.
inline constexpr std::size_t kLongestLinkPacket =
    ring::kMostHeader + ring::kBlock + ring::kMostTrailer;

// A packet made contiguous.
struct LinkFrame {
  std::array<std::byte, kLongestLinkPacket> bytes;
  std::size_t size = 0;  // LRH through VCRC

  [[nodiscard]] MutableBytes all() { return MutableBytes(bytes).first(size); }
};

enum class FrameVerdict : std::uint8_t { kGood, kMalformed, kBadIcrc };

// A packet as it lies in memory. Somebody else may be writing to all of it.
struct LinkPieces {
  Bytes header{};
  Bytes payload{};
  Bytes trailer{};

  [[nodiscard]] std::size_t size() const { return header.size() + payload.size() + trailer.size(); }
};

// Copies a packet, and on the way compares its ICRC with its bytes. The lengths of its headers have
// been looked at when it is good.
FrameVerdict join_link_packet(const LinkPieces& packet, LinkFrame& frame);
// Copies one that is not sealed; seal_link_packet() may follow when it is good.
FrameVerdict join_unsealed_packet(const LinkPieces& packet, LinkFrame& frame);
// What join_link_packet() says, of one that is contiguous already.
FrameVerdict check_link_packet(Bytes packet);

// The room of a network header that a datagram refers to.
using GrhArea = std::array<std::byte, hca::kGrhArea>;

// What a queue pair gets of a packet that is good: refers to it, and to `grh`, which is filled in
// where the packet has one. `lmc` is the port's.
[[nodiscard]] hca::InDatagram link_datagram(Bytes packet, std::uint8_t lmc, GrhArea& grh);
// The same of one that is not sealed, of which the headers alone are copied to `frame`. Nothing: it
// is not cut between headers and payload, or not good; join_unsealed_packet() tells.
[[nodiscard]] std::optional<hca::InDatagram> datagram_in_place(const LinkPieces& packet,
                                                               std::uint8_t lmc, LinkFrame& frame,
                                                               GrhArea& grh);

}  // namespace weft::port
