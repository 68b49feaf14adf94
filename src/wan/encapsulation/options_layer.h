// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tl/expected.hpp>

#include "wan/encapsulation/layer.h"

namespace weft::wan {

// An IPv6 destination options header (RFC 8200, 4.6) with one option for experiments (RFC 4727),
// whose data are the packet's options: credit that rides with a frame. A packet that has none goes
// without the header. Routers, and receivers that do not know the option, pass it over.
//
//   byte 0 next header   1 length in units of 8 bytes beyond the first   2 option type 0x1E
//        3 its length    4- its data, and padding to a multiple of 8 bytes
class OptionsLayer : public Layer {
 public:
  static constexpr std::uint8_t kProtocol = 60;
  static constexpr std::uint8_t kOptionType = 0x1E;

  // Bytes of the header for so many bytes of options, at most OutPacket::kMostOptions; 0 for none.
  [[nodiscard]] static constexpr std::size_t header_size(std::size_t options) {
    return options == 0 ? 0 : (kBeforeData + options + kUnit - 1) / kUnit * kUnit;
  }
  // Writes the header for options, of which there are some, to `header`, which is just as long.
  static void write(Bytes options, std::uint8_t next_header, MutableBytes header);
  // The options in a header as it came, with whatever is behind it; empty: it has none for this.
  [[nodiscard]] static tl::expected<Bytes, PacketRefusal> read(Bytes header);

  [[nodiscard]] std::string_view name() const override { return "options"; }
  [[nodiscard]] Carried identity() const override { return {kProtocol, {}}; }
  [[nodiscard]] bool may_be_absent() const override { return true; }
  [[nodiscard]] std::size_t wrapped_size(std::size_t size) const override;
  [[nodiscard]] std::size_t longest_body() const override { return 0xFFFF - 256; }
  void wrap(OutPacket& packet) const override;
  [[nodiscard]] std::optional<PacketRefusal> unwrap(InPacket& packet) const override;

 private:
  static constexpr std::size_t kUnit = 8;
  static constexpr std::size_t kBeforeData = 4;  // the header's two bytes and the option's
};

}  // namespace weft::wan
