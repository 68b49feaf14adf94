// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/time.h"

namespace weft::wan {

// A frame on its way out: its bytes in order. They stay as they are until send() returns.
struct OutFrame {
  std::span<const Bytes> parts;
  std::size_t size = 0;            // of all of them
  std::uint8_t traffic_class = 0;  // for IP, ECN bits included
  Bytes options{};                 // items that go beside it: at most Path::options_room()
};

// What bounds how fast frames go into a path, besides who reads them.
enum class Pace : std::uint8_t {
  kNone,      // nothing, so that who sends must bound what is under way
  kSet,       // a rate that the user has set, be it more than gets through
  kFollowed,  // one that follows what gets through, or a clock that waits for who reads
};

// What a tunnel sends frames through to one remote: encapsulations and sockets, or a simulation. It
// may lose, double, delay and mix up frames, and say nothing of it. What comes goes to
// TunnelEnd::receive(); whenever one of the answers below has changed, TunnelEnd::path_changed().
class Path {
 public:
  virtual ~Path() = default;

  // The network below has found the other end: a connection is set up, an address resolved. Where
  // there is no such thing, always.
  [[nodiscard]] virtual bool established() const = 0;
  // Whether it takes frames now; a path with a pace says no until the next may leave.
  [[nodiscard]] virtual bool ready() const = 0;
  // Bytes of the longest frame that it carries, kLeastFrame to kLongestFrame. It may change.
  [[nodiscard]] virtual std::size_t longest_frame() const = 0;
  // Bytes that it takes at once, where it has a pace; the last frame may go beyond.
  [[nodiscard]] virtual std::size_t burst() const { return SIZE_MAX; }
  // Bytes of frames for this end that the network below keeps until they are read; more are lost.
  // 0: any number.
  [[nodiscard]] virtual std::uint32_t receive_room() const { return 0; }
  [[nodiscard]] virtual Pace pace() const { return Pace::kNone; }
  // Where it is made of several ways: how much later than another a frame may come that left at the
  // same time.
  [[nodiscard]] virtual Duration spread() const { return 0ns; }
  // Bytes of items that it carries beside a frame, in a header of the network (OutPacket::options):
  // whoever receives is given the frame and them together, or neither. 0: none. What that header
  // takes, OptionsLayer::header_size(), is not part of longest_frame().
  [[nodiscard]] virtual std::size_t options_room() const { return 0; }
  // While it is ready.
  virtual void send(std::span<const OutFrame> frames, Time now) = 0;
};

}  // namespace weft::wan
