// SPDX-License-Identifier: Apache-2.0
// What a connection's packets say beside data: their options, in and out.
#include <algorithm>
#include <cassert>

#include "wan/dccp/dccp_connection.h"
#include "wire/endian.h"

namespace weft::wan::dccp {
namespace {

// Cells that go with data; with more, an Ack of its own.
constexpr std::size_t kCellsWithData = 32;
constexpr std::uint64_t kOthersUnanswered = 8;  // packets without data until data tells of them
constexpr Duration kTimestampUnit = 10us;       // RFC 4340, 13.1

bool may_negotiate(PacketType type) {
  return type == PacketType::kRequest || type == PacketType::kResponse ||
         type == PacketType::kAck || type == PacketType::kDataAck;
}

// On packets of data alone only what is about them counts (RFC 4340, 5.8, table 3).
bool may_be_with_data(OptionType type) {
  return type == OptionType::kNdpCount || type == OptionType::kTimestamp ||
         type == OptionType::kTimestampEcho || type == OptionType::kSlowReceiver;
}

bool is_known(OptionType type) {
  return type == OptionType::kSlowReceiver ||
         (type >= OptionType::kChangeL && type <= OptionType::kTimestampEcho);
}

}  // namespace

// Step 8.
bool Connection::read_options(const Packet& packet, std::uint64_t skipped, Time now) {
  const Header& header = packet.header;
  if (header.acknowledged && !(header.type == PacketType::kSync)) note_told(*header.acknowledged);
  Sequence acknowledged_to = header.acknowledged.value_or(Sequence());
  OptionReader reader(packet.options);
  while (const auto option = reader.next()) {
    if (header.type == PacketType::kData && !may_be_with_data(option->type)) continue;
    if (option->mandatory && !is_known(option->type)) {
      abort(ResetCode::kMandatoryError, now);
      return false;
    }
    if (option->type >= OptionType::kChangeL && option->type <= OptionType::kConfirmR) {
      const auto wrong = features_.receive(*option, header.sequence, header.acknowledged);
      if (!wrong) continue;
      abort(*wrong, now);
      return false;
    }
    read_option(*option, header, acknowledged_to, skipped, now);
  }
  if (reader.malformed()) counters_.add_in_turn(DccpCounter::kRxOption);
  if (!features_.pending()) say_again_at_.reset();
  return true;
}

void Connection::read_option(const Option& option, const Header& header, Sequence& acknowledged_to,
                             std::uint64_t skipped, Time now) {
  switch (option.type) {
    case OptionType::kAckVector:
    case OptionType::kAckVectorNonce1:
      if (!header.acknowledged || header.type == PacketType::kSync) return;
      note(congestion_.acknowledge(acknowledged_to, option.value, now));
      for (const std::byte cell : option.value)
        acknowledged_to = acknowledged_to - (std::to_integer<unsigned>(cell) & 63) - 1;
      return;
    case OptionType::kNdpCount: {
      // Of the packets that did not come before this one, those without data.
      std::uint64_t count = 0;
      for (const std::byte b : option.value.first(std::min<std::size_t>(option.value.size(), 6)))
        count = count << 8 | std::to_integer<std::uint64_t>(b);
      if (skipped != 0 && count != 0) congestion_.lost_acknowledgements();
      return;
    }
    case OptionType::kDataDropped:
      for (const std::byte block : option.value) {
        constexpr unsigned kForWantOfRoom = 0xA0;  // 11.7: a drop, code 2
        if ((std::to_integer<unsigned>(block) & 0xF0) == kForWantOfRoom) congestion_.reduce();
      }
      return;
    case OptionType::kSlowReceiver:
      return congestion_.hold(now);
    case OptionType::kTimestamp:
      if (option.value.size() != 4) return;
      asked_.emplace().at = now;
      std::copy(option.value.begin(), option.value.end(), asked_->timestamp.begin());
      return;
    case OptionType::kInitCookie:
      if (header.type != PacketType::kResponse || state_ != State::kRequest) return;
      cookie_.assign(option.value.begin(), option.value.end());
      return;
    default:
      return;
  }
}

// What a packet told that has come need not be told again (appendix A.3).
void Connection::note_told(Sequence acknowledged) {
  while (!told_.empty() && told_.front().by.after(acknowledged) < 0)
    told_.pop_front();
  if (told_.empty() || told_.front().by != acknowledged) return;
  record_.told(told_.front().newest);
  told_.pop_front();
}

void Connection::send(const OutFrame& data, Time now) {
  assert(room() != 0 && data.size + kOverhead <= settings_.longest_packet);
  bool acknowledges = state_ == State::kPartOpen || data_unanswered_ != 0 ||
                      all_unanswered_ >= kOthersUnanswered || features_.owes_answer();
  if (acknowledges && record_.cells() > kCellsWithData) {
    send_ack(now);
    acknowledges = state_ == State::kPartOpen;
  }
  send_packet(acknowledges ? PacketType::kDataAck : PacketType::kData, &data, newest_received_,
              now);
}

void Connection::send_ack(Time now) {
  const std::uint16_t ratio = congestion_.ack_ratio();
  if (ratio != features_.own().ack_ratio && !features_.pending_ack_ratio()) {
    features_.want_ack_ratio(ratio);
  }
  counters_.add_in_turn(DccpCounter::kTxAcks);
  send_packet(PacketType::kAck, now);
}

// So rarely that somebody who makes packets up gets less back than he sends (7.5.4).
void Connection::send_sync(Sequence acknowledged, Time now) {
  if (!syncs_.take(now)) return;
  counters_.add_in_turn(DccpCounter::kTxSyncs);
  send_packet(PacketType::kSync, nullptr, acknowledged, now);
}

void Connection::send_packet(PacketType type, const OutFrame* data, Sequence acknowledged,
                             Time now) {
  Header header{.source_port = settings_.local_port,
                .destination_port = settings_.remote_port,
                .type = type,
                .sequence = newest_sent_ + 1,
                .acknowledged = {},
                .service_code = settings_.service_code,
                .reset_code = why_};
  if (has_acknowledgement(type)) header.acknowledged = acknowledged;
  const bool is_partial = data != nullptr && settings_.partial_coverage;
  if (is_partial && features_.peer().partial_coverage) header.coverage = 1;
  const std::size_t most = std::min(Header::kMostBytes, settings_.longest_packet);
  OptionWriter options(data != nullptr ? kDataOptions : most - header.size());
  newest_sent_ = header.sequence;
  write_options(options, type, now);
  std::array<std::byte, Header::kMostBytes> bytes;
  const MutableBytes head = MutableBytes(bytes).first(header_bytes(header, options.bytes().size()));
  const std::span<const Bytes> body = data != nullptr ? data->parts : std::span<const Bytes>();
  write(header, options.bytes(), body, settings_.local, settings_.remote, head);
  congestion_.sent(header.sequence, data != nullptr, now);
  without_data_ = data != nullptr ? 0 : without_data_ + 1;
  if (data != nullptr) counters_.add_in_turn(DccpCounter::kTxData);
  sink_.transmit(head, data, now);
}

void Connection::write_options(OptionWriter& options, PacketType type, Time now) {
  const bool acknowledges = type == PacketType::kAck || type == PacketType::kDataAck ||
                            type == PacketType::kClose || type == PacketType::kCloseReq;
  if (features_.own().send_ndp_count && without_data_ != 0) {
    std::array<std::byte, 4> count;
    wire::store_be32(count.data(),
                     static_cast<std::uint32_t>(std::min<std::uint64_t>(without_data_, 0xFFFF)));
    static_cast<void>(options.put(OptionType::kNdpCount, Bytes(count).last(2)));
  }
  if (acknowledges) {
    write_ack_vector(options);
    data_unanswered_ = 0;
    all_unanswered_ = 0;
    ack_due_ = false;
    ack_at_.reset();
  }
  if (may_negotiate(type)) {
    features_.write(options, newest_sent_);
    if (features_.pending()) {
      say_again_at_ = now + std::max<Duration>(2 * congestion_.round_trip().smoothed(), 200ms);
    }
    // Of these two the handshake's own timers are enough.
    if (type == PacketType::kRequest || type == PacketType::kResponse) say_again_at_.reset();
  }
  if (acknowledges && !cookie_.empty()) {
    static_cast<void>(options.put(OptionType::kInitCookie, cookie_));
  }
  if (asked_ && type != PacketType::kData) {
    std::array<std::byte, 8> echo;
    std::copy(asked_->timestamp.begin(), asked_->timestamp.end(), echo.begin());
    wire::store_be32(echo.data() + 4,
                     static_cast<std::uint32_t>((now - asked_->at) / kTimestampUnit));
    if (options.put(OptionType::kTimestampEcho, echo)) asked_.reset();
  }
}

void Connection::write_ack_vector(OptionWriter& options) {
  if (!features_.own().send_ack_vector) return;
  std::array<std::byte, 2 * OptionWriter::kMostValue> cells;
  const std::size_t count = record_.write(cells);
  std::size_t written = 0;
  while (written < count && options.room() > 2) {
    const std::size_t part =
        std::min({count - written, options.room() - 2, OptionWriter::kMostValue});
    static_cast<void>(options.put(OptionType::kAckVector, Bytes(cells).subspan(written, part)));
    written += part;
  }
  if (written < record_.cells()) return;  // what was left out is not told
  told_.push_back({.by = newest_sent_, .newest = record_.newest()});
  if (told_.size() > kMostTold) told_.pop_front();
}

}  // namespace weft::wan::dccp
