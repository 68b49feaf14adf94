// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/time.h"
#include "link/packet.h"
#include "wire/flow_control.h"

namespace weft::link {

// What is on its way to one end of a link: packets and flow-control packets in the order in which
// they were sent, each with the time when it arrives. That order matters: FCTBS counts the packets
// before it, and a count that overtakes them would grant their blocks twice.
class Inbox {
 public:
  struct Signal {
    wire::FlowControl packet;
    std::uint8_t wrong_bit = kNoBit;  // of its 6 bytes
    static constexpr std::uint8_t kNoBit = 0xFF;
  };
  using Item = std::variant<PacketPtr, Signal>;

  // Times do not go back.
  void push(PacketPtr packet, Time arrives);
  void push(const Signal& signal, Time arrives);

  [[nodiscard]] bool empty() const { return packets_.empty() && next_signal_ == signals_.size(); }
  // When the first item arrives.
  [[nodiscard]] std::optional<Time> next() const;
  // The first item; there is one.
  [[nodiscard]] Item pop();
  // Returns how many packets that were.
  std::size_t clear();

 private:
  struct Waiting {
    Signal signal;
    std::uint32_t after;  // so many packets, counted from the beginning
    Time arrives;
  };
  [[nodiscard]] bool signal_is_next() const;

  PacketQueue packets_;  // arrival times are in the packets
  std::vector<Waiting> signals_;
  std::size_t next_signal_ = 0;
  std::uint32_t pushed_ = 0;  // packets, ever; wraps around
  std::uint32_t popped_ = 0;
};

}  // namespace weft::link
