// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wan/encapsulation/ends.h"
#include "wan/encapsulation/layer.h"

namespace weft::wan {

// An IPv6 header (RFC 8200, 3) without extension headers, which are layers of their own.
class Ipv6Layer : public Layer {
 public:
  static constexpr std::uint8_t kProtocol = 41;        // IPv6 in IP
  static constexpr std::uint16_t kEtherType = 0x86DD;  // RFC 2464

  explicit Ipv6Layer(const Ends& ends) : ends_(ends) {}

  [[nodiscard]] std::string_view name() const override { return "ipv6"; }
  [[nodiscard]] Carried identity() const override { return {kProtocol, kEtherType}; }
  [[nodiscard]] std::size_t wrapped_size(std::size_t size) const override;
  [[nodiscard]] std::size_t longest_body() const override { return 0xFFFF; }
  void wrap(OutPacket& packet) const override;
  [[nodiscard]] std::optional<PacketRefusal> unwrap(InPacket& packet) const override;

 private:
  Ends ends_;
};

}  // namespace weft::wan
