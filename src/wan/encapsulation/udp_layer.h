// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wan/encapsulation/ends.h"
#include "wan/encapsulation/layer.h"

namespace weft::wan {

// UDP (RFC 768) in IPv4 or IPv6, which is a layer outside of it (RFC 8200, 8.1).
//
//   bytes 0-1 source port   2-3 destination port   4-5 length   6-7 checksum
class UdpLayer : public Layer {
 public:
  static constexpr std::uint8_t kProtocol = 17;

  explicit UdpLayer(const Ends& ends) : ends_(ends) {}

  [[nodiscard]] std::string_view name() const override { return "udp"; }
  [[nodiscard]] Carried identity() const override { return {kProtocol, {}}; }
  [[nodiscard]] std::size_t wrapped_size(std::size_t size) const override;
  [[nodiscard]] std::size_t longest_body() const override;
  void wrap(OutPacket& packet) const override;
  [[nodiscard]] std::optional<PacketRefusal> unwrap(InPacket& packet) const override;

 private:
  Ends ends_;
};

}  // namespace weft::wan
