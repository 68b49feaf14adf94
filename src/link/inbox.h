// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
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

  // Times do not go back.
  void push(PacketPtr packet, Time arrives) {
    packet->arrived_at = arrives;
    packets_.push(std::move(packet));
    ++pushed_;
  }
  void push(const Signal& signal, Time arrives);

  [[nodiscard]] bool empty() const { return packets_.empty() && next_signal_ == signals_.size(); }
  // When the first of all arrives.
  [[nodiscard]] std::optional<Time> next() const {
    if (signal_is_next()) return signals_[next_signal_].arrives;
    if (packets_.empty()) return std::nullopt;
    return packets_.front()->arrived_at;
  }
  // Whether the first of all has arrived. Each packet comes by this at every hop, which is why it
  // makes no optional of a time.
  [[nodiscard]] bool has_come(Time now) const {
    if (signal_is_next()) return signals_[next_signal_].arrives <= now;
    return !packets_.empty() && packets_.front()->arrived_at <= now;
  }
  // What the first of all is, when there is one: take it out by the one or the other.
  [[nodiscard]] bool signal_is_next() const {
    return next_signal_ != signals_.size() && signals_[next_signal_].after == popped_;
  }
  [[nodiscard]] PacketPtr pop_packet() {
    assert(!packets_.empty() && !signal_is_next());
    ++popped_;
    return packets_.pop();
  }
  [[nodiscard]] Signal pop_signal();
  // Returns how many packets that were.
  std::size_t clear();

 private:
  struct Waiting {
    Signal signal;
    std::uint32_t after;  // so many packets, counted from the beginning
    Time arrives;
  };

  PacketQueue packets_;  // arrival times are in the packets
  std::vector<Waiting> signals_;
  std::size_t next_signal_ = 0;
  std::uint32_t pushed_ = 0;  // packets, ever; wraps around
  std::uint32_t popped_ = 0;
};

}  // namespace weft::link
