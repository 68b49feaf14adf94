// SPDX-License-Identifier: Apache-2.0
#include "wan/opener.h"

#include <cassert>
#include <utility>

namespace weft::wan {

Opener::Opener(AeadKeySource& keys, const Config& config)
    : keys_(keys),
      config_(config),
      window_(config.replay_window),
      current_epoch_(config.first_epoch) {
}

tl::unexpected<OpenCounter> Opener::refuse(OpenCounter reason) {
  counters_.add_in_turn(reason);
  return tl::unexpected(reason);
}

tl::expected<Opener::Opened, OpenCounter> Opener::open(Bytes datagram, std::size_t header,
                                                       MutableBytes out, Time now, Bytes beside) {
  const auto size = frame_size(header, datagram.size());
  if (!size) return refuse(OpenCounter::kShort);
  assert(out.size() >= *size);
  const SealHeader said = SealHeader::read(datagram.subspan(header).first<SealHeader::kSize>());
  expire(now);
  // What is cheap to refuse is refused first; only what is genuine moves the window.
  const ReplayWindow::Verdict verdict = window_.look(said.sequence);
  if (verdict == ReplayWindow::Verdict::kReplayed) return refuse(OpenCounter::kReplayed);
  if (verdict == ReplayWindow::Verdict::kTooOld) return refuse(OpenCounter::kTooOld);
  const auto epoch = find(said.epoch);
  if (!epoch) return refuse(epoch.error());
  if ((*epoch)->forged >= config_.limits.forged) return refuse(OpenCounter::kWorn);

  const std::size_t clear = header + SealHeader::kSize;
  const AeadKey& key = (*epoch)->key;
  const Associated associated(datagram.first(clear), beside);
  if (!key.aead->open(seal_nonce(key.salt, said.sequence), associated.bytes(),
                      datagram.subspan(clear), out.first(*size))) {
    ++(*epoch)->forged;
    return refuse(OpenCounter::kForged);
  }
  window_.accept(said.sequence);
  opened_with(said.epoch, now);
  counters_.add_in_turn(OpenCounter::kOpened);
  counters_.add_in_turn(OpenCounter::kOpenedBytes, *size);
  return Opened{said.sequence, out.first(*size)};
}

tl::expected<Opener::Epoch*, OpenCounter> Opener::find(std::uint32_t number) {
  if (number == current_epoch_) return derive(current_, number);
  if (number > current_epoch_) {
    const std::uint32_t ahead = number - current_epoch_;
    if (ahead > kMostAhead) return tl::unexpected(OpenCounter::kUnknownEpoch);
    return derive(ahead_.at(ahead - 1), number);
  }
  if (old_ && number == old_->number) return old_->epoch.get();
  return tl::unexpected(OpenCounter::kEndedEpoch);
}

tl::expected<Opener::Epoch*, OpenCounter> Opener::derive(std::unique_ptr<Epoch>& slot,
                                                         std::uint32_t number) {
  if (!slot) {
    auto key = keys_.key(number);
    if (!key) return tl::unexpected(OpenCounter::kUnknownEpoch);
    slot = std::make_unique<Epoch>(Epoch{std::move(*key)});
  }
  return slot.get();
}

void Opener::opened_with(std::uint32_t number, Time now) {
  if (number > current_epoch_) {
    follow(number, now);
  } else if (number < current_epoch_ && --old_->left == 0) {
    old_.reset();
  }
}

// The other end has gone on: what is older than the epoch that was current is erased.
void Opener::follow(std::uint32_t number, Time now) {
  std::unique_ptr<Epoch> next = std::move(ahead_.at(number - current_epoch_ - 1));
  ahead_ = {};
  old_.reset();
  if (current_ && config_.old_datagrams > 0) {
    old_.emplace(OldEpoch{current_epoch_, std::move(current_), now + config_.old_time,
                          config_.old_datagrams});
  }
  current_ = std::move(next);
  current_epoch_ = number;
  counters_.add_in_turn(OpenCounter::kRotated);
}

std::optional<Time> Opener::deadline() const {
  if (!old_) return std::nullopt;
  return old_->until;
}

void Opener::expire(Time now) {
  if (old_ && now >= old_->until) old_.reset();
}

}  // namespace weft::wan
