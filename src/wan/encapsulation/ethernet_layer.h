// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wan/encapsulation/ends.h"
#include "wan/encapsulation/layer.h"

namespace weft::wan {

// Ethernet II, from the destination address on, without FCS, which interfaces add and check. A
// frame shorter than 60 bytes is filled up by them, so what is right inside it must know its own
// length. Tagged frames are another protocol's.
//
//   bytes 0-5 destination   6-11 source   12-13 EtherType
class EthernetLayer : public Layer {
 public:
  static constexpr std::size_t kHeader = 14;

  explicit EthernetLayer(const Ends& ends) : ends_(ends) {}

  [[nodiscard]] std::string_view name() const override { return "ethernet"; }
  [[nodiscard]] Carried identity() const override { return {}; }
  [[nodiscard]] std::size_t wrapped_size(std::size_t size) const override { return size + kHeader; }
  // What the interface takes is less, and its MTU says so.
  [[nodiscard]] std::size_t longest_body() const override { return 0xFFFF; }
  void wrap(OutPacket& packet) const override;
  [[nodiscard]] std::optional<PacketRefusal> unwrap(InPacket& packet) const override;

 private:
  Ends ends_;
};

}  // namespace weft::wan
