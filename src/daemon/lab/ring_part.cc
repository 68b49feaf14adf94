// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/ring_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/plain_bytes.h"
#include "io/clock.h"
#include "io/log.h"

namespace weft::daemon {
namespace {

using carrier::RingChannel;

// Records that wait for the other part, at most: those of two full tables of connections.
constexpr std::size_t kMostRecordsWaiting = 131'072;

}  // namespace

RingPart::~RingPart() {
  session_.reset();
}

RingChannel& RingPart::add(std::uint64_t number) {
  Link& link = *links_.emplace_back(std::make_unique<Link>(*this, number));
  by_number_[number] = &link;
  by_channel_[&link.channel] = &link;
  return link.channel;
}

std::size_t RingPart::open_links() const {
  return static_cast<std::size_t>(
      std::count_if(links_.begin(), links_.end(), [](const auto& link) { return link->is_open; }));
}

void RingPart::adopt(std::unique_ptr<RingSession> session) {
  end(io::now());
  session_ = std::move(session);
  session_->set_owner(*this);
  for (const auto& link : links_) {
    if (!makes_ && link->channel.seeks()) seek(*link);
  }
  if (record_user_ != nullptr) record_user_->part_came(*this);
}

void RingPart::tell(const PartRecord& record) {
  if (session_ == nullptr) return;
  if (session_->waiting() >= kMostRecordsWaiting) {
    ++records_lost_;
    return;
  }
  const RingMessage message{
      .action = RingAction::kRecord, .attempt = record.which, .link = record.service};
  const Bytes head = plain::bytes_of(message);
  std::vector<std::byte> bytes(head.begin(), head.end());
  bytes.insert(bytes.end(), record.record.begin(), record.record.end());
  session_->send(bytes);
}

bool RingPart::heard_record(Bytes bytes) {
  const auto message = plain::read<RingMessage>(bytes);
  if (!message) return false;
  if (record_user_ != nullptr) {
    record_user_->record_came({.service = message->link,
                               .which = message->attempt,
                               .record = bytes.subspan(sizeof *message)});
  }
  return true;
}

void RingPart::say(RingAction action, const Link& link, std::vector<io::UniqueFd> files) {
  if (session_ == nullptr) return;
  const RingMessage message{.action = action,
                            .attempt = link.attempt,
                            .link = link.number,
                            .training = link.channel.training().packed()};
  session_->send(plain::bytes_of(message), std::move(files));
}

void RingPart::seek(Link& link) {
  ++link.attempt;
  say(RingAction::kSeek, link);
}

// The channel has closed already where it no longer seeks.
void RingPart::seek_changed(RingChannel& channel, bool seeks, Time now) {
  Link& link = *by_channel_.at(&channel);
  if (seeks) return makes_ ? try_to_make(link, now) : seek(link);
  if (!makes_ || link.is_open) say(makes_ ? RingAction::kClose : RingAction::kUnseek, link);
  close(link, now);
}

void RingPart::touched(RingChannel& channel) {
  if (touched_.empty() || touched_.back() != &channel) touched_.push_back(&channel);
}

void RingPart::open(Link& link, Time now) {
  link.is_open = true;
  link.channel.open(std::make_unique<carrier::RingEnd>(link.rings.ours(), link.rings.theirs()),
                    link.far, now);
}

void RingPart::close(Link& link, Time now) {
  link.channel.close(now);
  link.rings = {};
  link.is_open = false;
}

Expected<void> RingPart::make(Link& link, Time now) {
  std::vector<io::UniqueFd> files;
  auto rings = RingMappings::make(files);
  if (!rings) return tl::unexpected(rings.error());
  link.attempt = *link.asked;
  link.asked.reset();
  link.rings = std::move(*rings);
  say(RingAction::kOpen, link, std::move(files));
  open(link, now);
  return {};
}

void RingPart::try_to_make(Link& link, Time now) {
  if (!link.asked || link.is_open || !link.channel.seeks()) return;
  if (const auto made = make(link, now); !made) {
    io::log(io::LogLevel::kError,
            fmt::format("a link to part {} stays down: {}", name_, made.error().message));
  }
}

Expected<void> RingPart::take(Link& link, std::span<io::UniqueFd> files, Time now) {
  auto rings = RingMappings::take(files);
  if (!rings) return tl::unexpected(rings.error());
  link.rings = std::move(*rings);
  open(link, now);
  return {};
}

bool RingPart::heard_by_maker(Link& link, const RingMessage& message, Time now) {
  switch (message.action) {
    case RingAction::kSeek:
      close(link, now);
      link.asked = message.attempt;
      link.far = link::Training::unpack(static_cast<std::uint32_t>(message.training));
      try_to_make(link, now);
      return true;
    case RingAction::kUnseek:
      link.asked.reset();
      close(link, now);
      return true;
    default:
      return false;
  }
}

bool RingPart::heard_by_seeker(Link& link, const RingMessage& message,
                               std::span<io::UniqueFd> files, Time now) {
  const bool is_last = message.attempt == link.attempt && link.channel.seeks();
  switch (message.action) {
    case RingAction::kOpen:
      if (!is_last || link.is_open) return true;
      link.far = link::Training::unpack(static_cast<std::uint32_t>(message.training));
      if (const auto taken = take(link, files, now); !taken) {
        io::log(io::LogLevel::kError,
                fmt::format("what part {} gives for a link: {}", name_, taken.error().message));
        return false;
      }
      return true;
    case RingAction::kClose:
      if (!is_last || !link.is_open) return true;
      close(link, now);
      if (link.channel.seeks()) seek(link);
      return true;
    default:
      return false;
  }
}

bool RingPart::heard(RingSession&, Bytes bytes, std::span<io::UniqueFd> files) {
  const auto message = plain::read<RingMessage>(bytes);
  if (message && message->action == RingAction::kRecord) return heard_record(bytes);
  if (!message || bytes.size() != sizeof *message) return false;
  if (message->action == RingAction::kWake) return true;
  const auto found = by_number_.find(message->link);
  // A part that has read another lab file looks for it in vain.
  if (found == by_number_.end()) return true;
  const Time now = io::now();
  return makes_ ? heard_by_maker(*found->second, *message, now)
                : heard_by_seeker(*found->second, *message, files, now);
}

void RingPart::ended(RingSession&) {
  lose(io::now());
}

void RingPart::lose(Time now) {
  end(now);
  if (lost_) lost_();
}

void RingPart::end(Time now) {
  session_.reset();
  for (const auto& link : links_) {
    link->asked.reset();
    close(*link, now);
  }
}

void RingPart::give_up(const std::string& why, Time now) {
  io::log(io::LogLevel::kError, fmt::format("part {} is disconnected: {}", name_, why));
  lose(now);
}

bool RingPart::poll(Time now) {
  bool worked = false;
  for (const auto& link : links_) {
    if (!link->is_open) continue;
    worked = link->channel.poll(now) || worked;
    if (const auto lie = link->channel.lie(); lie && !link->channel.is_open()) {
      give_up(std::string(*lie), now);
      return true;
    }
  }
  return worked;
}

void RingPart::flush() {
  bool wake = false;
  for (RingChannel* const channel : touched_)
    wake = channel->flush() || wake;
  touched_.clear();
  if (wake && session_ != nullptr && !session_->is_full()) {
    session_->send(plain::bytes_of(RingMessage{}));
  }
}

bool RingPart::sleep() {
  for (const auto& link : links_) {
    if (link->channel.sleep()) continue;
    awake();
    return false;
  }
  return true;
}

void RingPart::awake() {
  for (const auto& link : links_)
    link->channel.look();
}

}  // namespace weft::daemon
