// SPDX-License-Identifier: Apache-2.0
// The layers around a frame, as a site's file names them: "udp/ipv6/ethernet", from the frame
// outwards; "null" for none. Where the innermost is "dccp", what they carry is no frame but a
// packet of a connection that carries frames (wan/connected_path.h).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "wan/encapsulation/ends.h"
#include "wan/encapsulation/layer.h"

namespace weft::wan {

class Stack {
 public:
  // What came in, without its layers: the spans are those of the packet, or of `held`.
  struct Frame {
    Bytes bytes;
    Bytes options;  // that came with it; empty: none
    std::uint8_t traffic_class = 0;
    std::vector<std::byte> held;  // where a layer has changed the bytes
  };

  // Errors name the layer that is not known, or that cannot be where it is. `on_line`: what a line
  // carries, which may be packets of MPLS as they are.
  static Expected<Stack> parse(std::string_view text, const Ends& ends, bool on_line = false);
  // From the frame outwards; each must be able to carry what is inside it.
  explicit Stack(std::vector<std::unique_ptr<Layer>> layers, const Carried& inside = kFrame)
      : layers_(std::move(layers)), inside_(inside) {}

  [[nodiscard]] std::string to_string() const;  // as parse() takes it
  // What a frame is with all layers around it, to whoever puts more around that.
  [[nodiscard]] Carried outermost() const {
    return layers_.empty() ? inside_ : layers_.back()->identity();
  }
  // Bytes of a frame of `size` with all layers around it, at most.
  [[nodiscard]] std::size_t wrapped_size(std::size_t size) const;
  // The longest frame whose packet has at most `mtu` bytes, headers of links included; 0: none.
  // Without layers that may be absent, where `bare`.
  [[nodiscard]] std::size_t longest_frame(std::size_t mtu, bool bare = false) const;

  // Puts all layers around a frame. False, and nothing is of use, when it is too long for one of
  // them, or has options that no layer carries.
  [[nodiscard]] bool wrap(OutPacket& packet) const;
  // Takes all of them off; what is refused is counted, and why.
  [[nodiscard]] tl::expected<Frame, PacketRefusal> unwrap(Bytes packet);
  [[nodiscard]] const PacketRefusalCounters& refused() const { return *refused_; }

 private:
  [[nodiscard]] std::optional<PacketRefusal> take_off(InPacket& packet) const;

  std::vector<std::unique_ptr<Layer>> layers_;
  Carried inside_;
  std::unique_ptr<PacketRefusalCounters> refused_ = std::make_unique<PacketRefusalCounters>();
};

}  // namespace weft::wan
