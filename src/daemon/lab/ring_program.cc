// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/ring_program.h"

#include <algorithm>
#include <utility>

namespace weft::daemon {
namespace {

using port::ring::ProgramBlocks;

// So many packets of one program before others get their turn.
constexpr int kRingProgramTurn = 64;
// A message and what goes with it: what comes in greater numbers is not waiting to be answered.
constexpr std::uint64_t kMessage = 4;

}  // namespace

RingProgram::RingProgram(std::unique_ptr<port::ring::DaemonEnd> end, link::PacketPool& pool,
                         AttachCounters& counters, RingOwner& owner)
    : end_(std::move(end)), pool_(pool), counters_(counters), owner_(owner) {
  end_->set_watcher(this);
}

RingProgram::~RingProgram() {
  end_->set_watcher(nullptr);
}

Expected<void> RingProgram::attach(fabric::ChannelAdapter& adapter) {
  for (unsigned i = 1; i <= adapter.port_count(); ++i) {
    const auto port = static_cast<mgmt::PortNumber>(i);
    Place& place = places_.emplace_back(*this, port);
    auto attachment = adapter.attach(port, place);
    if (!attachment) return tl::unexpected(attachment.error());
    place.attachment = std::move(*attachment);
  }
  return {};
}

fabric::Attachment& RingProgram::attachment_of(Qpn qpn) {
  const auto found = std::find_if(places_.begin(), places_.end(), [qpn](const Place& place) {
    return place.attachment->owns(qpn);
  });
  return *(found == places_.end() ? places_.front() : *found).attachment;
}

std::optional<std::string_view> RingProgram::offence() const {
  if (forged_) return "it sent a packet as somebody else, or one that no program may send";
  return end_->lie();
}

bool RingProgram::poll(Time now) {
  if (offence()) return false;
  bool moved = collect(now);
  if (blocked_) return moved;
  const std::uint64_t sent = sent_;
  for (int i = 0; i < kRingProgramTurn; ++i) {
    if (pending_ == nullptr && !take_next()) break;
    moved = true;
    if (pending_ != nullptr && !send_pending(now)) break;
  }
  if (sent != sent_) habit_.answered();
  if (moved || offence()) owner_.touched();
  return moved;
}

bool RingProgram::collect(Time now) {
  if (left() || !end_->collect()) return false;
  resume(now);
  return true;
}

void RingProgram::resume(Time now) {
  if (!std::exchange(refused_, false)) return;
  for (const Place& place : places_)
    place.attachment->resume(now);
}

bool RingProgram::take_next() {
  if (left() && to_send_ == 0) return false;
  auto next = end_->next();
  if (!next) {
    to_send_ = 0;
    return false;
  }
  pending_ = pool_.refer(next->header, next->payload, std::move(next->owner), next->trailer);
  pending_source_ = Qpn{next->source};
  pending_epoch_ = next->epoch;
  pending_port_ = next->port;
  if (pending_ != nullptr) {
    pending_->sealed = next->sealed;
  } else {
    counters_.add_in_turn(AttachCounter::kNoPacket);
  }
  end_->accept();
  if (left()) --to_send_;
  ++sent_;
  return true;
}

bool RingProgram::send_pending(Time now) {
  fabric::Sent sent = fabric::Sent::kForged;
  if (pending_port_ >= 1 && pending_port_ <= places_.size()) {
    sent = attachment(pending_port_).send(pending_, pending_source_, pending_epoch_, now);
  }
  switch (sent) {
    case fabric::Sent::kTaken:
      return true;
    case fabric::Sent::kNotNow:
      blocked_ = true;
      return false;
    case fabric::Sent::kForged:
      forged_ = true;
      pending_.reset();
      return false;
  }
  return false;
}

void RingProgram::flush() {
  end_->publish();
  const std::uint64_t news = arrived_ - std::exchange(shown_, arrived_);
  if (news > 0 && news <= kMessage) habit_.given();
}

void RingProgram::leave(Time now) {
  leaving_until_ = now + kFarewell;
  to_send_ = offence() ? 0 : end_->waiting();
  // What waits for room has nobody to go to.
  resume(now);
}

void RingProgram::note_copied(const BufferRef& payload) {
  counters_.add_in_turn(AttachCounter::kCopied);
  ProgramBlocks* const sender = ProgramBlocks::of(payload);
  if (sender != nullptr && !end_->has_mapped(*sender)) owner_.not_mapped(*sender);
}

void RingProgram::deliver(link::PacketPtr& packet, mgmt::PortNumber port, Qpn raw) {
  if (left()) {
    counters_.add_in_turn(AttachCounter::kUndelivered);
    return packet.reset();
  }
  switch (end_->arrive(port, packet->header(), packet->payload(), packet->payload_owner(),
                       packet->trailer(), packet->sealed, raw)) {
    case port::ring::Arrival::kNoRoom:
      refused_ = true;
      break;
    case port::ring::Arrival::kCopied:
      note_copied(packet->payload_owner());
      [[fallthrough]];
    case port::ring::Arrival::kReferred:
      packet.reset();
      ++arrived_;
  }
  owner_.touched();
}

void RingProgram::Place::may_send(Time) {
  whole_.blocked_ = false;
  whole_.owner_.touched();
}

}  // namespace weft::daemon
