// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/ring_program.h"

#include <utility>

namespace weft::daemon {
namespace {

using port::ring::ProgramBlocks;

// So many packets of one program before others get their turn.
constexpr int kTurn = 64;

}  // namespace

RingProgram::RingProgram(std::unique_ptr<port::ring::DaemonEnd> end, link::PacketPool& pool,
                         AttachCounters& counters, RingOwner& owner)
    : end_(std::move(end)), pool_(pool), counters_(counters), owner_(owner) {
  end_->set_watcher(this);
}

RingProgram::~RingProgram() {
  end_->set_watcher(nullptr);
}

Expected<void> RingProgram::attach(fabric::ChannelAdapter& adapter, mgmt::PortNumber port) {
  auto attachment = adapter.attach(port, *this);
  if (!attachment) return tl::unexpected(attachment.error());
  attachment_ = std::move(*attachment);
  return {};
}

std::optional<std::string_view> RingProgram::offence() const {
  if (forged_) return "it sent a packet as somebody else, or one that no program may send";
  return end_->lie();
}

bool RingProgram::poll(Time now) {
  if (offence()) return false;
  bool moved = collect(now);
  if (blocked_) return moved;
  for (int i = 0; i < kTurn; ++i) {
    if (pending_ == nullptr && !take_next()) break;
    moved = true;
    if (pending_ != nullptr && !send_pending(now)) break;
  }
  if (moved || offence()) owner_.touched();
  return moved;
}

bool RingProgram::collect(Time now) {
  if (left() || !end_->collect()) return false;
  if (std::exchange(refused_, false)) attachment_->resume(now);
  return true;
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
  if (pending_ == nullptr) counters_.add_in_turn(AttachCounter::kNoPacket);
  end_->accept();
  if (left()) --to_send_;
  ++sent_;
  return true;
}

bool RingProgram::send_pending(Time now) {
  switch (attachment_->send(pending_, pending_source_, pending_epoch_, now)) {
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

void RingProgram::leave(Time now) {
  leaving_until_ = now + kFarewell;
  to_send_ = offence() ? 0 : end_->waiting();
  // What waits for room has nobody to go to.
  if (std::exchange(refused_, false)) attachment_->resume(now);
}

void RingProgram::deliver(link::PacketPtr& packet, Time) {
  if (left()) {
    counters_.add_in_turn(AttachCounter::kUndelivered);
    return packet.reset();
  }
  ProgramBlocks* const sender = ProgramBlocks::of(packet->payload_owner());
  if (sender != nullptr && !end_->has_mapped(*sender)) owner_.not_mapped(*sender);
  switch (end_->arrive(packet->header(), packet->payload(), packet->payload_owner(),
                       packet->trailer())) {
    case port::ring::Arrival::kNoRoom:
      refused_ = true;
      break;
    case port::ring::Arrival::kCopied:
      counters_.add_in_turn(AttachCounter::kCopied);
      [[fallthrough]];
    case port::ring::Arrival::kReferred:
      packet.reset();
      ++arrived_;
  }
  owner_.touched();
}

void RingProgram::may_send(Time) {
  blocked_ = false;
  owner_.touched();
}

void RingProgram::port_changed(bool reregister, Time) {
  owner_.port_changed(reregister);
}

}  // namespace weft::daemon
