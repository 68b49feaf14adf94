// SPDX-License-Identifier: Apache-2.0
// The ICRC of RoCEv2 (IBA annex A17.9.1): the CRC-32 over eight bytes of ones, which stand for an
// LRH, and the packet from its IP header to the last pad byte, with ones in place of
//
//   IPv4  type of service, time to live, header checksum     UDP  checksum
//   IPv6  traffic class, flow label, hop limit               BTH  byte 4 (FECN, BECN, reserved)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/bth.h"
#include "wire/ip.h"
#include "wire/packet.h"

namespace weft::wire {

enum class IcrcVerdict : std::uint8_t {
  good,
  // Not the ICRC for the Identification assumed, but the one for another. A socket cannot read the
  // Identification of what it receives: 65,536 of the 2^32 wrong ICRCs pass for it.
  other_identification,
  bad,
};

// The ICRCs of one flow: what stays the same from packet to packet is computed once.
class IcrcFlow {
 public:
  // Both addresses IPv4-mapped, or both IPv6.
  IcrcFlow(const Gid& src, const Gid& dst, std::uint16_t src_port, std::uint16_t dst_port,
           bool dont_fragment = true);

  [[nodiscard]] bool is_ipv4() const { return ipv4_; }

  // The CRC register after the eight ones, the IP and the UDP header of a packet that has
  // `transport_size` bytes from its BTH through its ICRC (so much UDP carries). Go on with
  // crc32_update over the masked BTH and the rest. `identification` matters to IPv4 only.
  [[nodiscard]] std::uint32_t start(std::size_t transport_size,
                                    std::uint16_t identification = 0) const;

  // The same, and after `headers`, which begin with a BTH that is masked on the way: go on with
  // what follows them.
  [[nodiscard]] std::uint32_t after_headers(std::size_t transport_size, Bytes headers,
                                            std::uint16_t identification = 0) const;

  // The ICRC, to be stored with store_le32, of a packet whose BTH through last pad byte is
  // `covered`, of at least a BTH.
  [[nodiscard]] std::uint32_t icrc(Bytes covered, std::uint16_t identification = 0) const;

  // `transport` is BTH through ICRC. Over IPv6, and for callers that know the Identification,
  // anything but `good` is bad.
  [[nodiscard]] IcrcVerdict check(Bytes transport, std::uint16_t identification = 0) const;

 private:
  bool ipv4_;
  std::uint32_t base_;  // the register after the headers, with zero lengths and Identification
};

// The ICRCs of packets of a flow that are of one length, as those of a run are: what follows from
// their lengths is computed once.
class IcrcRun {
 public:
  // `transport_size`: from BTH through ICRC. `front`: how many of these bytes, at least a BTH, the
  // calls below are going to be given.
  IcrcRun(const IcrcFlow& flow, std::size_t transport_size, std::size_t front);

  [[nodiscard]] bool is_for(std::size_t transport_size, std::size_t front) const {
    return transport_size == transport_size_ && front == front_;
  }
  // As those of IcrcFlow.
  [[nodiscard]] std::uint32_t after_headers(Bytes headers, std::uint16_t identification = 0) const;
  [[nodiscard]] std::uint32_t icrc(Bytes covered, std::uint16_t identification = 0) const;
  [[nodiscard]] IcrcVerdict check(Bytes transport, std::uint16_t identification = 0) const;

 private:
  std::size_t transport_size_;
  std::size_t front_;
  std::uint32_t start_;  // the register before the BTH, with an Identification of zero
  std::uint32_t mask_;   // what a masked byte of zero is to the register after `front_` bytes
  bool ipv4_;
};

// The XOR of two IPv4 Identifications, from the XOR of the ICRCs that they alone make differ in a
// packet of `transport_size` bytes; nothing if no Identification can do it.
[[nodiscard]] std::optional<std::uint16_t> identification_difference(std::uint32_t icrc_difference,
                                                                     std::size_t transport_size);

}  // namespace weft::wire
