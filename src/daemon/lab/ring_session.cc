// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/ring_session.h"

#include <algorithm>
#include <array>

#include "daemon/lab/ring_protocol.h"
#include "io/pass_descriptor.h"
#include "service/service.h"

namespace weft::daemon {
namespace {

constexpr std::size_t kRingSessionLongestMessage = std::max(
    {sizeof(RingHello), sizeof(RingWelcome), sizeof(RingMessage) + service::Host::kMostRecord});
// So many messages before others get their turn.
constexpr int kRingSessionTurn = 256;
constexpr std::size_t kMostFiles = 2;

}  // namespace

Expected<void> RingSession::start(io::Reactor& reactor) {
  auto watch =
      reactor.watch(socket_.get(), EPOLLIN, [this](std::uint32_t events) { on_ready(events); });
  if (!watch) return tl::unexpected(watch.error());
  watch_ = std::move(*watch);
  reactor_ = &reactor;
  return {};
}

void RingSession::on_ready(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) flush();
  if ((events & ~std::uint32_t{EPOLLOUT}) != 0 && !read_all()) owner_->ended(*this);
}

bool RingSession::read_all() {
  std::array<std::byte, kRingSessionLongestMessage> buffer;
  std::array<io::UniqueFd, kMostFiles> files;
  for (int i = 0; i < kRingSessionTurn; ++i) {
    const auto message = io::receive_message(socket_.get(), buffer, files);
    if (!message) return false;
    if (!*message) return true;
    if ((*message)->size == 0) return false;
    if (!owner_->heard(*this, Bytes(buffer).first((*message)->size), files)) return false;
  }
  return true;
}

bool RingSession::pass(const Message& message) {
  std::array<int, kMostFiles> files{};
  const std::size_t count = std::min(message.files.size(), files.size());
  std::transform(message.files.begin(), message.files.begin() + static_cast<std::ptrdiff_t>(count),
                 files.begin(), [](const io::UniqueFd& file) { return file.get(); });
  const auto sent =
      io::send_message(socket_.get(), message.bytes, std::span<const int>(files).first(count));
  if (sent) return true;
  // Whoever reads the socket finds that it is over.
  broken_ = sent.error().code != std::errc::no_buffer_space;
  return broken_;
}

void RingSession::send(Bytes message, std::vector<io::UniqueFd> files) {
  if (broken_) return;
  Message next{.bytes = {message.begin(), message.end()}, .files = std::move(files)};
  if (waiting_.empty() && pass(next)) return;
  waiting_.push_back(std::move(next));
  if (waiting_.size() == 1) {
    static_cast<void>(reactor_->change_events(watch_, EPOLLIN | EPOLLOUT));
  }
}

void RingSession::flush() {
  while (!waiting_.empty() && pass(waiting_.front()))
    waiting_.pop_front();
  if (waiting_.empty()) static_cast<void>(reactor_->change_events(watch_, EPOLLIN));
}

}  // namespace weft::daemon
