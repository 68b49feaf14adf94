// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/udp_path.h"

#include <algorithm>
#include <memory>
#include <system_error>

#include "wan/frame.h"
#include "wan/frame_builder.h"
#include "wire/ip.h"

namespace weft::daemon {
namespace {

using io::IoStatus;

// A frame is no longer, with room to begin where a line of the cache does.
constexpr std::size_t kUdpPathLine = 64;
static_assert(wan::kLongestFrame <= io::kMaxUdpPayload);

}  // namespace

UdpPath::UdpPath(const std::optional<io::SocketAddress>& remote,
                 const std::vector<io::UdpSocket>& sockets, std::size_t place)
    : AddressedPath(remote, place),
      sockets_(sockets),
      longest_frame_(remote ? frame_that_fits(*remote, wire::kUdpHeaderSize) : wan::kLeastFrame),
      room_(io::kMaxUdpPayload + kUdpPathLine) {
}

void UdpPath::moved() {
  longest_frame_ = frame_that_fits(*remote(), wire::kUdpHeaderSize);
  longest_cut_ = io::kMaxUdpPayload;
}

std::size_t UdpPath::group(Frames frames) const {
  const std::size_t segment = frames.front().size;
  if (segment > longest_cut_ || !frames.front().options.empty()) return 1;
  std::size_t bytes = segment;
  std::size_t count = 1;
  while (count < frames.size() && count < io::kMaxGsoSegments) {
    const wan::OutFrame& next = frames[count];
    bytes += next.size;
    if (next.size > segment || bytes > io::kMaxUdpPayload) break;
    if (next.traffic_class != frames.front().traffic_class || !next.options.empty()) break;
    ++count;
    if (next.size < segment) break;  // the last one may be shorter
  }
  return count;
}

// The kernel copies one stretch in half the time that it takes for payloads and what stands between
// them, which begin anywhere: that is far more than the copy costs.
iovec UdpPath::gather(Frames frames) {
  if (frames.size() == 1 && frames.front().parts.size() == 1) {
    const Bytes all = frames.front().parts.front();
    // sendmsg only reads, but its iovec has no way to say so.
    return {const_cast<std::byte*>(all.data()), all.size()};
  }
  void* begin = room_.data();
  std::size_t space = room_.size();
  std::byte* const first =
      static_cast<std::byte*>(std::align(kUdpPathLine, io::kMaxUdpPayload, begin, space));
  std::byte* at = first;
  for (const wan::OutFrame& frame : frames) {
    for (const Bytes part : frame.parts)
      at = std::copy(part.begin(), part.end(), at);
  }
  return {first, static_cast<std::size_t>(at - first)};
}

// With what goes beside the first frame, which is alone then.
io::IoResult UdpPath::send_bytes(const iovec& bytes, std::size_t segment,
                                 const wan::OutFrame& first) const {
  const std::uint8_t traffic_class = marked_capable(first.traffic_class);
  // The socket's own is 0, and to name it would cost something.
  const auto tos = traffic_class == 0 ? std::nullopt : std::optional(traffic_class);
  const io::SendDatagram datagram{.destination = *remote(),
                                  .source = {},
                                  .tos = tos,
                                  .ttl = {},
                                  .data = {&bytes, 1},
                                  .segment_size = static_cast<std::uint16_t>(segment)};
  return io::send_with_options(sockets_[place()], datagram, OptionsHeader(first.options).bytes());
}

std::size_t UdpPath::send_group(Frames frames, Time now) {
  const std::size_t segment = frames.size() > 1 ? frames.front().size : 0;
  const io::IoResult sent = send_bytes(gather(frames), segment, frames.front());
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
