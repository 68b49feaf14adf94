// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/link_captures.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "io/clock.h"
#include "io/pass_descriptor.h"
#include "io/socket_buffer.h"

namespace weft::daemon {
namespace {

// LRH through VCRC of the longest packet: 4096 bytes of payload, all headers, both CRCs.
constexpr std::size_t kLongestPacket = 4096 + 128 + 16;
// Whoever writes them down has no processor now and then; meanwhile some hundred wait for him.
constexpr std::size_t kLinkCapturesRoom = std::size_t{4} << 20;

}  // namespace

void LinkCaptures::add(std::size_t index, link::Link& link, int socket) {
  std::unique_ptr<Tap>& tap = taps_[index];
  if (!tap) tap = std::make_unique<Tap>(link);
  io::size_send_buffer(socket, kLinkCapturesRoom);
  tap->watchers.push_back({socket, 0});
}

void LinkCaptures::remove(std::size_t index, int socket) {
  const auto found = taps_.find(index);
  if (found == taps_.end()) return;
  std::erase_if(found->second->watchers,
                [&](const Watcher& watcher) { return watcher.socket == socket; });
  if (!found->second->watchers.empty()) return;
  found->second->link_->set_tap(nullptr);
  taps_.erase(found);
}

LinkCaptures::Tap::Tap(link::Link& link)
    : link_(&link), clocks_apart_(io::wall_clock() - io::now().time_since_epoch()) {
  link.set_tap(this);
}

// When it was sent is as the link has it: what it does late counts from when it was due, and what
// it sends at once has one time.
void LinkCaptures::Tap::sent(std::size_t from, const link::Packet& packet, Time now) {
  std::array<std::byte, sizeof(CapturedHead) + kLongestPacket> message;
  if (packet.size() > kLongestPacket) return;
  CapturedHead head{.timestamp_ns = (now.time_since_epoch() + clocks_apart_).count(),
                    .from = static_cast<std::uint32_t>(from)};
  packet.copy_to(MutableBytes(message).subspan(sizeof head));
  for (Watcher& watcher : watchers) {
    head.missed = watcher.missed;
    std::memcpy(message.data(), &head, sizeof head);
    const bool taken =
        io::send_message(watcher.socket, Bytes(message).first(sizeof head + packet.size()))
            .has_value();
    watcher.missed = taken ? 0 : watcher.missed + 1;
  }
}

}  // namespace weft::daemon
