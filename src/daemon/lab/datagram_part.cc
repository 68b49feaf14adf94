// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/datagram_part.h"

#include <sys/uio.h>

#include <algorithm>

namespace weft::daemon {

using io::IoStatus;

carrier::DatagramChannel& DatagramPart::add(std::uint64_t link, Entropy& entropy) {
  carrier::DatagramSink& sink = *this;
  carrier::DatagramChannel& channel = channels_.emplace_back(link, sink, peer_, entropy);
  peer_.add(channel);
  return channel;
}

std::size_t DatagramPart::connected_links() const {
  return static_cast<std::size_t>(
      std::count_if(channels_.begin(), channels_.end(),
                    [](const auto& channel) { return channel.is_connected(); }));
}

// Whether another datagram can leave together with what waits.
bool DatagramPart::takes(std::size_t size) const {
  const std::size_t bytes = waiting_.size() - begin_;
  return bytes == 0 ||
         (size <= segment_ && bytes % segment_ == 0 && bytes + size <= io::kMaxUdpPayload &&
          bytes / segment_ < io::kMaxGsoSegments);
}

MutableBytes DatagramPart::next(std::size_t size) {
  if (!takes(size)) flush();
  if (blocked_) return {};
  if (waiting_.empty()) segment_ = size;
  waiting_.resize(waiting_.size() + size);
  return MutableBytes(waiting_).last(size);
}

IoStatus DatagramPart::send(std::size_t bytes, bool cut) {
  const iovec data{waiting_.data() + begin_, bytes};
  const io::SendDatagram datagram{.destination = address_,
                                  .source = {},
                                  .tos = {},
                                  .ttl = {},
                                  .data = {&data, 1},
                                  .segment_size = static_cast<std::uint16_t>(cut ? segment_ : 0)};
  const io::IoResult sent = socket_.send(datagram);
  // As newer kernels say where datagrams of this length would have to leave in fragments.
  const bool too_long = sent.status == IoStatus::kFailed && sent.error == std::errc::message_size;
  return cut && too_long ? IoStatus::kSegmentationRefused : sent.status;
}

void DatagramPart::flush() {
  while (begin_ < waiting_.size() && !blocked_) {
    const std::size_t all = waiting_.size() - begin_;
    const bool cut = all > segment_ && segment_ <= longest_cut_;
    const std::size_t bytes = cut ? all : std::min(all, segment_);
    switch (send(bytes, cut)) {
      case IoStatus::kWouldBlock:
        blocked_ = true;
        break;
      case IoStatus::kSegmentationRefused:
        // Such datagrams are too long for the path, or the device cannot do it at all.
        longest_cut_ = segment_ - 1;
        break;
      case IoStatus::kFailed:
        refused_ += (bytes + segment_ - 1) / segment_;
        [[fallthrough]];
      case IoStatus::kDone:
        begin_ += bytes;
        break;
    }
  }
  if (begin_ < waiting_.size()) return;
  waiting_.clear();
  begin_ = 0;
}

void DatagramPart::flush_blocked(Time now) {
  blocked_ = false;
  flush();
  if (!blocked_) peer_.may_send(now);
}

}  // namespace weft::daemon
