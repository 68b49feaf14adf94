// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/host_interface.h"

#include <sys/epoll.h>

#include <array>

#include "lan/flow.h"
#include "lan/virtio_header.h"

namespace weft::daemon {

static_assert(lan::VirtioHeader::kSize == io::TapInterface::kHeader);

Expected<std::unique_ptr<HostInterface>> HostInterface::make(const io::TapOptions& options,
                                                             io::Reactor& reactor,
                                                             std::function<void()> news) {
  auto tap = io::TapInterface::make(options);
  if (!tap) return tl::unexpected(tap.error());
  std::unique_ptr<HostInterface> made(new HostInterface(std::move(*tap), reactor, std::move(news)));
  const auto queues = made->tap_->queues();
  made->frames_.resize(queues.size());
  for (std::size_t queue = 0; queue < queues.size(); ++queue) {
    auto watch = reactor.watch(
        queues[queue].get(), EPOLLIN,
        [raw = made.get(), queue](std::uint32_t events) { raw->ready(queue, events); });
    if (!watch) return tl::unexpected(watch.error());
    made->watches_.push_back(std::move(*watch));
  }
  auto watch = reactor.watch(made->tap_->news(), EPOLLIN, [raw = made.get()](std::uint32_t) {
    if (const auto facts = raw->tap_->take_news()) raw->facts_ = facts;
    raw->has_news_();
  });
  if (!watch) return tl::unexpected(watch.error());
  made->news_ = std::move(*watch);
  return made;
}

void HostInterface::ready(std::size_t queue, std::uint32_t events) {
  if ((events & EPOLLERR) != 0) gone_ = true;
  readable_ |= 1u << queue;
  if (held_ && !muted_) mute(true);
  has_news_();
}

MutableBytes HostInterface::next(MutableBytes place) {
  while (readable_ != 0) {
    const std::size_t queue = turn_;
    turn_ = (turn_ + 1) % watches_.size();
    if ((readable_ >> queue & 1) == 0) continue;
    const MutableBytes frame = tap_->receive(queue, place);
    if (!frame.empty()) {
      last_ = queue;
      ++frames_[queue].read;
      return frame;
    }
    readable_ &= ~(1u << queue);
  }
  return {};
}

std::errc HostInterface::send(const lan::Offload& offload, Bytes frame) {
  std::array<std::byte, lan::VirtioHeader::kSize> header;
  lan::VirtioHeader::write(offload, header);
  const std::array<Bytes, 2> pieces{header, frame};
  const std::size_t queue = watches_.size() == 1 ? 0 : lan::flow_of(frame) % watches_.size();
  readable_ |= 1u << queue;
  ++frames_[queue].written;
  return tap_->send(queue, pieces);
}

void HostInterface::hold(bool held) {
  held_ = held;
  if (!held && muted_) mute(false);
}

// What the kernel refuses here, costs a little time and nothing more.
void HostInterface::mute(bool muted) {
  muted_ = muted;
  for (const auto& watch : watches_)
    static_cast<void>(reactor_.change_events(watch, muted ? 0u : std::uint32_t{EPOLLIN}));
}

}  // namespace weft::daemon
