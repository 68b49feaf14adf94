// SPDX-License-Identifier: Apache-2.0
#include "wan/fibre_channel.h"

#include <algorithm>
#include <utility>

namespace weft::wan {
namespace {

constexpr std::size_t kReadAhead = std::size_t{256} << 10;

}  // namespace

class FibreChannel::Reader final : public FibreSink {
 public:
  Reader(FibreChannel& channel, Time now) : channel_(channel), now_(now) {}
  bool arrived(const FibreRecord& record) override {
    channel_.take(record, now_);
    return channel_.open_ && !channel_.is_unread();
  }

 private:
  FibreChannel& channel_;
  const Time now_;
};

FibreChannel::FibreChannel(const Options& options)
    : options_(options), code_(make_fibre_code(options.code)), in_(kReadAhead) {
}

void FibreChannel::opened(Time now) {
  open_ = true;
  out_.clear();
  gone_ = filled_ = 0;
  code_->restart();
  peer_ = 0;
  said_at_ = heard_at_ = now;
  if (seeks_) train(now);
}

void FibreChannel::closed(Time now) {
  open_ = false;
  peer_ = 0;
  disconnect(now);
}

void FibreChannel::seek(bool seek, Time now) {
  if (seek == seeks_) return;
  seeks_ = seek;
  if (!open_) return;
  if (seek) return train(now);
  disconnect(now);
  say(0, now);
}

// Has a number that was not used for a long time, so that nothing said before counts.
void FibreChannel::next_training() {
  if (++own_ == 0) own_ = 1;
}

void FibreChannel::train(Time now) {
  next_training();
  say(own_, now);
}

void FibreChannel::say(std::uint16_t own, Time now) {
  code_->put_training(
      out_, {.own = own, .heard = own == 0 ? std::uint16_t{0} : peer_, .format = options_.format});
  trained_at_ = said_at_ = now;
}

void FibreChannel::disconnect(Time now) {
  if (!std::exchange(connected_, false)) return;
  was_full_ = false;
  if (user_ != nullptr) user_->disconnected(now);
}

void FibreChannel::hear(const TrainingSet& set, Time now) {
  const Time asked_at = trained_at_;
  const bool anew = std::exchange(peer_, set.own) != set.own;
  if (anew && connected_) {
    disconnect(now);
    next_training();
  }
  if (!seeks_ || peer_ == 0) return;
  const bool is_heard = set.heard == own_;
  if (anew || !is_heard) say(own_, now);
  if (!is_heard || connected_) return;
  connected_ = true;
  round_trip_ = now - asked_at;
  far_format_ = set.format;
  counters_.add_in_turn(FibreCounter::kConnections);
  if (user_ != nullptr) user_->connected(now);
}

void FibreChannel::lose(Time now) {
  if (!connected_) return;  // training is said again and again
  counters_.add_in_turn(FibreCounter::kLost);
  peer_ = 0;
  disconnect(now);
  if (seeks_) train(now);
}

void FibreChannel::take(const FibreRecord& record, Time now) {
  switch (record.item) {
    case FibreItem::kSkip:
      return;
    case FibreItem::kTraining:
      return hear(record.training, now);
    case FibreItem::kLost:
      return lose(now);
    case FibreItem::kBadPacket:
      return counters_.add_in_turn(FibreCounter::kBadPackets);
    case FibreItem::kPacket:
    case FibreItem::kFlowControl:
      break;
  }
  if (!connected_) return counters_.add_in_turn(FibreCounter::kUnconnected);
  counters_.add_in_turn(FibreCounter::kArrived);
  if (user_ == nullptr) return;
  if (record.item == FibreItem::kPacket) return user_->arrived(record.bytes, now);
  user_->arrived_flow_control(record.bytes.first<wire::FlowControl::kSize>(), now);
}

MutableBytes FibreChannel::room() {
  return MutableBytes(in_).subspan(filled_);
}

bool FibreChannel::arrived(std::size_t bytes, Time now) {
  filled_ += bytes;
  heard_at_ = now;
  Reader reader(*this, now);
  const auto read = code_->read(Bytes(in_).first(filled_), reader);
  if (!read) {
    out_of_step();
    return false;
  }
  if (is_unread()) {
    counters_.add_in_turn(FibreCounter::kUnread);
    return false;
  }
  const Bytes rest = Bytes(in_).first(filled_).subspan(*read);
  std::copy(rest.begin(), rest.end(), in_.begin());
  filled_ = rest.size();
  return true;
}

void FibreChannel::sent(std::size_t bytes, Time now) {
  gone_ += bytes;
  // Seldom enough that what is moved then costs little.
  if (gone_ == out_.size() || gone_ >= options_.backlog) {
    out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(gone_));
    gone_ = 0;
  }
  if (full() || !std::exchange(was_full_, false)) return;
  if (user_ != nullptr) user_->may_send(now);
}

bool FibreChannel::run(Time now) {
  if (!open_) return true;
  if (now >= heard_at_ + options_.silence) {
    counters_.add_in_turn(FibreCounter::kSilences);
    return false;
  }
  if (full()) return true;  // it says enough, as soon as the stream lets it
  if (seeks_ && !connected_ && now >= trained_at_ + options_.training) say(own_, now);
  if (now >= said_at_ + options_.heartbeat) {
    code_->put_skip(out_);
    said_at_ = now;
  }
  return true;
}

std::optional<Time> FibreChannel::deadline() const {
  if (!open_) return std::nullopt;
  const Time silence = heard_at_ + options_.silence;
  if (full()) return silence;
  Time first = std::min(silence, said_at_ + options_.heartbeat);
  if (seeks_ && !connected_) first = std::min(first, trained_at_ + options_.training);
  return first;
}

void FibreChannel::send(const link::Packet& packet, Time now) {
  if (!connected_ || full()) return counters_.add_in_turn(FibreCounter::kUnconnected);
  if (!code_->put_packet(out_, packet)) return counters_.add_in_turn(FibreCounter::kBadPackets);
  counters_.add_in_turn(FibreCounter::kSent);
  said_at_ = now;
  was_full_ = full();
}

void FibreChannel::send_flow_control(link::SignalBytes packet, Time now) {
  if (!connected_) return counters_.add_in_turn(FibreCounter::kUnconnected);
  code_->put_flow_control(out_, packet);
  counters_.add_in_turn(FibreCounter::kSent);
  said_at_ = now;
  was_full_ = full();
}

}  // namespace weft::wan
