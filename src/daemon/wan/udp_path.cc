// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/udp_path.h"

#include <algorithm>
#include <system_error>

#include "wan/frame.h"
#include "wan/frame_builder.h"
#include "wire/ip.h"

namespace weft::daemon {
namespace {

using io::IoStatus;

// Of one system call, as Linux has it (UIO_MAXIOV).
constexpr std::size_t kMostParts = 1024;
static_assert(wan::FrameBuilder::kMostParts <= kMostParts);

}  // namespace

UdpPath::UdpPath(const std::optional<io::SocketAddress>& remote,
                 const std::vector<io::UdpSocket>& sockets, std::size_t place)
    : AddressedPath(remote, place),
      sockets_(sockets),
      longest_frame_(remote ? frame_that_fits(*remote, wire::kUdpHeaderSize) : wan::kLeastFrame) {
}

void UdpPath::moved() {
  longest_frame_ = frame_that_fits(*remote(), wire::kUdpHeaderSize);
  longest_cut_ = io::kMaxUdpPayload;
}

std::size_t UdpPath::group(Frames frames) const {
  const std::size_t segment = frames.front().size;
  if (segment > longest_cut_ || !frames.front().options.empty()) return 1;
  std::size_t bytes = segment;
  std::size_t parts = frames.front().parts.size();
  std::size_t count = 1;
  while (count < frames.size() && count < io::kMaxGsoSegments) {
    const wan::OutFrame& next = frames[count];
    bytes += next.size;
    parts += next.parts.size();
    if (next.size > segment || bytes > io::kMaxUdpPayload || parts > kMostParts) break;
    if (next.traffic_class != frames.front().traffic_class || !next.options.empty()) break;
    ++count;
    if (next.size < segment) break;  // the last one may be shorter
  }
  return count;
}

// With what goes beside the first frame, which is alone then.
io::IoResult UdpPath::send_parts(std::size_t segment, const wan::OutFrame& first) const {
  const std::uint8_t traffic_class = marked_capable(first.traffic_class);
  // The socket's own is 0, and to name it would cost something.
  const auto tos = traffic_class == 0 ? std::nullopt : std::optional(traffic_class);
  const io::SendDatagram datagram{.destination = *remote(),
                                  .source = {},
                                  .tos = tos,
                                  .ttl = {},
                                  .data = parts_,
                                  .segment_size = static_cast<std::uint16_t>(segment)};
  return io::send_with_options(sockets_[place()], datagram, OptionsHeader(first.options).bytes());
}

std::size_t UdpPath::send_group(Frames frames, Time now) {
  parts_.clear();
  for (const wan::OutFrame& frame : frames) {
    for (const Bytes part : frame.parts)
      parts_.push_back({const_cast<std::byte*>(part.data()), part.size()});
  }
  const std::size_t segment = frames.size() > 1 ? frames.front().size : 0;
  const io::IoResult sent = send_parts(segment, frames.front());
  switch (sent.status) {
    case IoStatus::kDone:
      return frames.size();
    case IoStatus::kWouldBlock:
      return 0;
    case IoStatus::kSegmentationRefused:
      longest_cut_ = frames.front().size - 1;
      return send_group(frames.first(1), now);
    case IoStatus::kFailed:
      if (segment != 0 && sent.error == std::errc::message_size) {
        // As newer kernels say where the pieces are too long for the path.
        longest_cut_ = segment - 1;
        return send_group(frames.first(1), now);
      }
      refuse(frames.size());
      if (sent.error == std::errc::message_size) look_at_mtu(now);
      return frames.size();
  }
  return frames.size();
}

std::size_t UdpPath::transmit(Frames frames, Time now) {
  std::size_t done = 0;
  while (done < frames.size()) {
    const Frames rest = frames.subspan(done);
    const std::size_t sent = send_group(rest.first(group(rest)), now);
    if (sent == 0) break;
    done += sent;
  }
  return done;
}

void UdpPath::look_at_mtu(Time now) {
  const std::size_t fits = frame_that_fits(*remote(), wire::kUdpHeaderSize);
  if (fits == longest_frame_) return;
  longest_frame_ = fits;
  changed(now);
}

}  // namespace weft::daemon
