// SPDX-License-Identifier: Apache-2.0
#include "mgmt/mad/rmpp_receiver.h"

#include <algorithm>
#include <cstring>

#include "wire/endian.h"

namespace weft::mgmt {
namespace {

using wire::RmppHeader;
using wire::RmppStatus;

// What goes back has the direction of its method the other way round (IBA 13.6.2.2), and no data.
void turn_round(wire::MutableMadBytes mad, std::size_t keep) {
  wire::store_u8(mad.data() + 3,
                 static_cast<std::uint8_t>(wire::load_u8(mad.data() + 3) ^ wire::kResponseBit));
  std::memset(mad.data() + keep, 0, mad.size() - keep);
}

}  // namespace

RmppReceiver::Answer RmppReceiver::receive(const RmppHeader& header, wire::MadBytes mad) {
  const auto abort = [](RmppStatus status) { return Answer{Outcome::kAbort, status}; };
  if (header.status != RmppStatus::kNormal) return abort(RmppStatus::kIllegalStatus);
  if (header.first() != (header.segment == 1)) return abort(RmppStatus::kInconsistentFirst);
  if (header.segment == 0) return abort(RmppStatus::kInconsistentFirst);
  if (complete() || header.segment <= contiguous_) {
    // The sender did not see the acknowledgement; it sends again up to what it last knew.
    return {header.segment == contiguous_ ? Outcome::kAcknowledge : Outcome::kNothing};
  }
  if (header.segment > window_last_ || early_.contains(header.segment)) return {};
  if (last_ != 0 && (header.segment > last_ || (header.last() && header.segment != last_))) {
    return abort(RmppStatus::kInconsistentLength);
  }
  std::size_t count = wire::kMadSize - data_offset_;
  if (header.last()) {
    const std::size_t class_header = data_offset_ - RmppHeader::kOffset - RmppHeader::kSize;
    const std::size_t length = header.length_or_window;
    if (length < class_header || length > RmppHeader::kPayload) {
      return abort(RmppStatus::kInconsistentLength);
    }
    if (!early_.empty() && early_.rbegin()->first > header.segment) {
      return abort(RmppStatus::kInconsistentLength);
    }
    count = length - class_header;
    last_ = header.segment;
  }
  if (memory() + wire::kMadSize > limit_) return {Outcome::kStop, RmppStatus::kResourcesExhausted};
  if (header.segment != contiguous_ + 1) {
    Segment& early = early_[header.segment];
    std::copy(mad.begin(), mad.end(), early.mad.begin());
    early.count = count;
    return {Outcome::kKept};
  }
  append(mad, count);
  while (!early_.empty() && early_.begin()->first == contiguous_ + 1) {
    append(early_.begin()->second.mad, early_.begin()->second.count);
    early_.erase(early_.begin());
  }
  if (complete()) return {Outcome::kComplete};
  if (contiguous_ != 1 && contiguous_ < window_last_) return {Outcome::kKept};
  // The first is answered at once, since the sender waits for a window; then once for each window.
  if (contiguous_ == window_last_) window_last_ = contiguous_ + kWindow;
  return {Outcome::kAcknowledge};
}

void RmppReceiver::append(wire::MadBytes mad, std::size_t count) {
  const std::size_t from = contiguous_ == 0 ? 0 : data_offset_;
  message_.insert(message_.end(), mad.begin() + static_cast<std::ptrdiff_t>(from),
                  mad.begin() + static_cast<std::ptrdiff_t>(data_offset_ + count));
  ++contiguous_;
}

void RmppReceiver::write_ack(wire::MutableMadBytes mad) const {
  turn_round(mad, data_offset_);
  RmppHeader{.type = wire::RmppType::kAck,
             .response_time = RmppHeader::kNoResponseTime,
             .flags = wire::kRmppActive,
             .segment = contiguous_,
             .length_or_window = std::max(window_last_, contiguous_)}
      .write(mad);
}

void write_rmpp_end(wire::MutableMadBytes mad, wire::RmppType type, RmppStatus status) {
  turn_round(mad, RmppHeader::kOffset + RmppHeader::kSize);
  RmppHeader{.type = type,
             .response_time = RmppHeader::kNoResponseTime,
             .flags = wire::kRmppActive,
             .status = status}
      .write(mad);
}

}  // namespace weft::mgmt
