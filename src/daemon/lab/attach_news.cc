// SPDX-License-Identifier: Apache-2.0
// What a program is told unasked.
#include <utility>

#include "base/plain_bytes.h"
#include "daemon/lab/attach_facts.h"
#include "daemon/lab/attach_server.h"
#include "daemon/lab/attach_session.h"
#include "io/pass_descriptor.h"

namespace weft::daemon {

using namespace port::attach;
using port::ring::ProgramBlocks;

void AttachSession::touched() {
  server_.touched(*this);
}

void AttachSession::port_changed(mgmt::PortNumber port, bool reregister) {
  owed_facts_[port] |= reregister ? std::uint32_t{kClientReregister} : 0u;
  touched();
}

void AttachSession::not_mapped(ProgramBlocks& sender) {
  // Packets of another user come here one by one.
  if (sender.arena() == unreadable_ || offered_.contains(sender.arena())) return;
  if (!server_.may_read(*this, sender)) {
    unreadable_ = sender.arena();
    return;
  }
  offered_.insert(sender.arena());
  offers_.push_back({.arena = sender.arena(), .blocks = sender.weak_from_this()});
}

void AttachSession::arena_gone(std::uint32_t arena) {
  if (offered_.erase(arena) == 0 || !program_) return;
  program_->end().unmapped(arena);
  gone_.push_back(arena);
  touched();
}

bool AttachSession::flush() {
  if (!program_) return true;
  program_->flush();
  if (has_news() && !news_watch_) tell_all();
  return go_on();
}

bool AttachSession::has_news() const {
  return news_ && (!owed_facts_.empty() || !gone_.empty() || (!offers_.empty() && !unanswered_));
}

void AttachSession::tell_all() {
  while (has_news()) {
    if (!(!owed_facts_.empty() ? tell_facts() : gone_.empty() ? tell_arena() : tell_gone())) return;
  }
  news_watch_.reset();
}

bool AttachSession::tell(Bytes message, int file) {
  const auto sent = io::send_message(news_.get(), message, file);
  if (sent) return true;
  // Who reads no news is not told; that the connection is over is seen where requests come.
  if (sent.error().code != std::errc::no_buffer_space) {
    news_watch_.reset();
    news_.reset();
  } else if (!news_watch_) {
    auto watch =
        server_.reactor_.watch(news_.get(), EPOLLOUT, [this](std::uint32_t) { tell_all(); });
    if (watch) news_watch_ = std::move(*watch);
  }
  return false;
}

bool AttachSession::tell_facts() {
  const auto [port, events] = *owed_facts_.begin();
  const std::uint32_t epoch = program_->attachment(port).epoch();
  if (!tell(program_facts(*adapter_, port, epoch, events))) return false;
  owed_facts_.erase(port);
  return true;
}

bool AttachSession::tell_gone() {
  if (!tell(plain::bytes_of(Arena{.kind = kArenaGone, .arena = gone_.front()}))) return false;
  gone_.pop_front();
  return true;
}

bool AttachSession::tell_arena() {
  const Offer& offer = offers_.front();
  const auto blocks = offer.blocks.lock();
  const auto file = blocks ? io::reopen_to_read(blocks->file()) : Expected<io::UniqueFd>();
  if (file && *file) {
    const Arena message{.kind = kArena, .arena = offer.arena};
    if (!tell(plain::bytes_of(message), file->get())) return false;
    unanswered_ = offer.arena;
    server_.offered(*this, offer.arena);
  } else {
    offered_.erase(offer.arena);  // perhaps there are descriptors when its next packet comes
  }
  offers_.pop_front();
  return true;
}

}  // namespace weft::daemon
