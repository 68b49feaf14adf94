// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wan/encapsulation/ends.h"
#include "wan/encapsulation/layer.h"

namespace weft::wan {

// An IPv4 header (RFC 791) without options; those of others are passed over. Packets are atomic:
// not to be cut on the way, and so without an identification (RFC 6864).
//
//   byte 0   version(4) length(4) in words   6-7    flags(3) fragment offset(13)   10-11 checksum
//        1   type of service                 8      time to live                   12-15 source
//        2-3 total length                    9      protocol                       16-19
//        destination 4-5 identification
class Ipv4Layer : public Layer {
 public:
  static constexpr std::uint8_t kProtocol = 4;         // IPv4 in IP
  static constexpr std::uint16_t kEtherType = 0x0800;  // RFC 894

  explicit Ipv4Layer(const Ends& ends) : ends_(ends) {}

  [[nodiscard]] std::string_view name() const override { return "ipv4"; }
  [[nodiscard]] Carried identity() const override { return {kProtocol, kEtherType}; }
  [[nodiscard]] std::size_t wrapped_size(std::size_t size) const override;
  [[nodiscard]] std::size_t longest_body() const override;
  void wrap(OutPacket& packet) const override;
  [[nodiscard]] std::optional<PacketRefusal> unwrap(InPacket& packet) const override;

 private:
  Ends ends_;
};

}  // namespace weft::wan
