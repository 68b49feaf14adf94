// SPDX-License-Identifier: Apache-2.0
// The sending side of one RMPP message, IBA 13.6.6: cuts it into segments, sends as far as the
// receiver's window allows, and goes back to what was not acknowledged. Whoever has it keeps time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "wire/mad.h"
#include "wire/rmpp.h"

namespace weft::mgmt {

class RmppSender {
 public:
  // `message`: headers up to `data_offset` once, then all the data.
  RmppSender(std::vector<std::byte> message, std::size_t data_offset);

  [[nodiscard]] std::uint32_t segments() const { return segments_; }
  [[nodiscard]] bool done() const { return acknowledged_ == segments_; }
  [[nodiscard]] Bytes message() const { return message_; }

  // The next segment that the window allows; false: none.
  bool next(wire::MutableMadBytes out);
  // No acknowledgement came in time: next() begins again behind what was acknowledged.
  void go_back() { sent_ = acknowledged_; }

  enum class Outcome : std::uint8_t {
    kOld,       // nothing new in it
    kProgress,  // something more has arrived, or may be sent
    kAbort,     // it contradicts what was sent: `status` says how
  };
  struct Answer {
    Outcome outcome = Outcome::kOld;
    wire::RmppStatus status = wire::RmppStatus::kNormal;
  };
  Answer acknowledge(const wire::RmppHeader& ack);

 private:
  std::vector<std::byte> message_;
  std::size_t data_offset_;
  std::size_t segment_data_;  // bytes of data in each, but perhaps the last
  std::uint32_t segments_;
  std::uint32_t sent_ = 0;
  std::uint32_t acknowledged_ = 0;
  std::uint32_t window_last_ = 1;  // IBA 13.6.6.2: one segment, until the receiver says more
};

}  // namespace weft::mgmt
