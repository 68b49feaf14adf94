// SPDX-License-Identifier: Apache-2.0
#include "carrier/ring_channel.h"

#include <cassert>
#include <utility>

namespace weft::carrier {
namespace {

constexpr int kTurn = 128;  // packets: then others have their turn

}  // namespace

void RingChannel::open(std::unique_ptr<RingEnd> end, const link::Training& far, Time now) {
  assert(seeks_ && end_ == nullptr);
  end_ = std::move(end);
  lie_.reset();
  full_ = false;
  counters_.add_in_turn(RingCounter::kConnections);
  if (user_ == nullptr) return;
  user_->heard_training(far);
  user_->connected(now);
}

void RingChannel::close(Time now) {
  if (end_ == nullptr) return;
  lie_ = end_->lie();
  if (lie_) counters_.add_in_turn(RingCounter::kLies);
  end_.reset();
  full_ = false;
  if (user_ != nullptr) user_->disconnected(now);
}

void RingChannel::seek(bool seek, Time now) {
  if (seek == seeks_) return;
  seeks_ = seek;
  if (!seek) close(now);
  host_.seek_changed(*this, seek, now);
}

template <class P>
void RingChannel::put(const P& packet) {
  if (end_ == nullptr) return counters_.add_in_turn(RingCounter::kUnconnected);
  const bool taken = end_->put(packet);
  counters_.add_in_turn(taken ? RingCounter::kSent : RingCounter::kNoRoom);
  full_ = !end_->has_room();
  host_.touched(*this);
}

void RingChannel::send(const link::Packet& packet, Time) {
  put(packet);
}

void RingChannel::send_flow_control(link::SignalBytes packet, Time) {
  put(packet);
}

// What the user does with what arrives may end the connection.
bool RingChannel::take_all(Time now) {
  int taken = 0;
  while (taken < kTurn && end_ != nullptr) {
    const auto record = end_->next();
    if (!record) break;
    ++taken;
    counters_.add_in_turn(RingCounter::kArrived);
    if (user_ == nullptr) {
    } else if (record->is_packet) {
      user_->arrived(record->bytes, now);
    } else {
      user_->arrived_flow_control(record->bytes.first<wire::FlowControl::kSize>(), now);
    }
    if (end_ != nullptr) end_->taken();
  }
  return taken > 0;
}

bool RingChannel::poll(Time now) {
  if (end_ == nullptr) return false;
  const bool worked = take_all(now);
  if (end_ == nullptr) return worked;
  if (full_ && end_->has_room()) {
    full_ = false;
    if (user_ != nullptr) user_->may_send(now);
  }
  if (end_ == nullptr) return worked;
  if (worked) host_.touched(*this);
  if (end_->lie()) close(now);
  return worked;
}

void RingChannel::look() {
  if (end_ != nullptr) end_->look();
}

}  // namespace weft::carrier
