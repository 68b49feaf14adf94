// SPDX-License-Identifier: Apache-2.0
// The receiving side of one RMPP message, IBA 13.6.7: puts segments together in whatever order they
// come within the window, and says what to acknowledge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "wire/mad.h"
#include "wire/rmpp.h"

namespace weft::mgmt {

class RmppReceiver {
 public:
  static constexpr std::uint32_t kWindow = 64;  // segments

  // At most `limit` bytes of message, headers included.
  RmppReceiver(std::size_t data_offset, std::size_t limit)
      : data_offset_(data_offset), limit_(limit) {}

  enum class Outcome : std::uint8_t {
    kNothing,      // a repetition, or outside the window
    kKept,         // new, no answer needed yet
    kAcknowledge,  // write_ack() is due
    kComplete,     // the same, and the message is all there
    kAbort,        // send `status` and forget the message
    kStop,         // the same, for want of memory
  };
  struct Answer {
    Outcome outcome = Outcome::kNothing;
    wire::RmppStatus status = wire::RmppStatus::kNormal;
  };
  // A DATA datagram; `header` is its header.
  Answer receive(const wire::RmppHeader& header, wire::MadBytes mad);

  // Turns `mad`, any segment of the message, into the acknowledgement of all that has arrived in
  // order.
  void write_ack(wire::MutableMadBytes mad) const;

  // Headers once, then the data. To be taken once it is complete; repetitions are still answered
  // afterwards.
  [[nodiscard]] std::vector<std::byte> take() { return std::move(message_); }
  [[nodiscard]] bool complete() const { return last_ != 0 && contiguous_ == last_; }
  // Bytes that it holds.
  [[nodiscard]] std::size_t memory() const {
    return message_.size() + early_.size() * wire::kMadSize;
  }

 private:
  struct Segment {
    wire::MadBuffer mad;
    std::size_t count;  // bytes of data
  };
  void append(wire::MadBytes mad, std::size_t count);

  std::size_t data_offset_;
  std::size_t limit_;
  std::vector<std::byte> message_;
  std::map<std::uint32_t, Segment> early_;  // beyond a gap
  std::uint32_t contiguous_ = 0;            // all segments up to this one are there
  std::uint32_t window_last_ = kWindow;
  std::uint32_t last_ = 0;  // number of the one with the Last flag; 0: not seen yet
};

// Turns any datagram of a message into one that ends it: kAbort or kStop.
void write_rmpp_end(wire::MutableMadBytes mad, wire::RmppType type, wire::RmppStatus status);

}  // namespace weft::mgmt
