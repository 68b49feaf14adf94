// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "wan/encapsulation/ends.h"
#include "wan/encapsulation/layer.h"

namespace weft::wan {

// A stack of MPLS labels (RFC 3032, 2.1) between Ethernet and IP, or a frame. Nothing in it names
// what follows: that is what the innermost label stands for, to whoever has given it away. GMPLS
// tunnels that switch packets are carried as such (RFC 3945); a control word is not written, since
// no frame begins with the version of an IP packet (RFC 4928).
//
//   of each entry: bits 0-19 label   20-22 traffic class (RFC 5462)   23 last   24-31 time to live
class MplsLayer : public Layer {
 public:
  static constexpr std::uint16_t kEtherType = 0x8847;  // RFC 5332: labels of the receiver's
  static constexpr std::uint32_t kLeastLabel = 16;  // those before it have a meaning of their own
  static constexpr std::uint32_t kGreatestLabel = 0xFFFFF;
  static constexpr std::size_t kMostLabels = 8;
  static constexpr std::size_t kEntry = 4;

  // Whether this can be written, and taken.
  [[nodiscard]] static bool is_stack(std::span<const std::uint32_t> labels);
  // The innermost label of what follows an EtherType; nothing: there is no end of the stack.
  [[nodiscard]] static std::optional<std::uint32_t> innermost(Bytes stack);

  // Both stacks of `ends` are such.
  explicit MplsLayer(const Ends& ends) : ends_(ends) {}

  [[nodiscard]] std::string_view name() const override { return "mpls"; }
  [[nodiscard]] Carried identity() const override { return {{}, kEtherType}; }
  [[nodiscard]] std::size_t wrapped_size(std::size_t size) const override {
    return size + ends_.labels.size() * kEntry;
  }
  [[nodiscard]] std::size_t longest_body() const override { return 0xFFFF; }
  // Traffic class is the precedence of IP's (RFC 2474, 4.2.2).
  void wrap(OutPacket& packet) const override;
  // An explicit null (RFC 3032, 2.1) may be on top of the stack (RFC 4182), or stand for the
  // innermost label where IP of its version follows.
  [[nodiscard]] std::optional<PacketRefusal> unwrap(InPacket& packet) const override;

 private:
  Ends ends_;
};

}  // namespace weft::wan
