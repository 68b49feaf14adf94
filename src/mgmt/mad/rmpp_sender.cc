// SPDX-License-Identifier: Apache-2.0
#include "mgmt/mad/rmpp_sender.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace weft::mgmt {

using wire::RmppHeader;

RmppSender::RmppSender(std::vector<std::byte> message, std::size_t data_offset)
    : message_(std::move(message)),
      data_offset_(data_offset),
      segment_data_(wire::kMadSize - data_offset) {
  assert(data_offset >= RmppHeader::kOffset + RmppHeader::kSize);
  assert(message_.size() >= data_offset);
  const std::size_t data = message_.size() - data_offset_;
  segments_ = static_cast<std::uint32_t>(
      std::max<std::size_t>(1, (data + segment_data_ - 1) / segment_data_));
}

bool RmppSender::next(wire::MutableMadBytes out) {
  if (sent_ >= std::min(window_last_, segments_)) return false;
  const std::uint32_t segment = ++sent_;
  const std::size_t data = message_.size() - data_offset_;
  const std::size_t at = std::size_t{segment - 1} * segment_data_;
  const std::size_t count = std::min(segment_data_, data - at);
  std::memcpy(out.data(), message_.data(), data_offset_);
  std::memset(out.data() + data_offset_, 0, segment_data_);
  if (count > 0) std::memcpy(out.data() + data_offset_, message_.data() + data_offset_ + at, count);
  // PayloadLength counts the class's own header in every segment: of the whole message in the
  // first, of itself in the last.
  const std::size_t class_header = data_offset_ - RmppHeader::kOffset - RmppHeader::kSize;
  RmppHeader header{.type = wire::RmppType::kData,
                    .response_time = RmppHeader::kNoResponseTime,
                    .flags = wire::kRmppActive,
                    .segment = segment};
  if (segment == 1) {
    header.flags |= wire::kRmppFirst;
    header.length_or_window = static_cast<std::uint32_t>(data + class_header * segments_);
  }
  if (segment == segments_) {
    header.flags |= wire::kRmppLast;
    header.length_or_window = static_cast<std::uint32_t>(count + class_header);
  }
  header.write(out);
  return true;
}

RmppSender::Answer RmppSender::acknowledge(const RmppHeader& ack) {
  const auto abort = [](wire::RmppStatus status) { return Answer{Outcome::kAbort, status}; };
  if (ack.status != wire::RmppStatus::kNormal) return abort(wire::RmppStatus::kIllegalStatus);
  if (ack.length_or_window < ack.segment) return abort(wire::RmppStatus::kWindowTooSmall);
  // Behind a time-out sent_ may have gone back; the window tells what was sent at most.
  if (ack.segment > std::min(window_last_, segments_)) {
    return abort(wire::RmppStatus::kSegmentTooBig);
  }
  if (ack.segment < acknowledged_ || ack.length_or_window < window_last_) return {};
  if (ack.segment == acknowledged_ && ack.length_or_window == window_last_) return {};
  acknowledged_ = ack.segment;
  window_last_ = ack.length_or_window;
  sent_ = std::max(sent_, acknowledged_);
  return {Outcome::kProgress};
}

}  // namespace weft::mgmt
