// SPDX-License-Identifier: Apache-2.0
#include "hca/raw_queue_pair.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "wire/bth.h"
#include "wire/crc.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"

namespace weft::hca {

RawQueuePair::RawQueuePair(const RawConfig& config, const MemoryTable& memory,
                           CompletionSink& send_completions, CompletionSink& receive_completions,
                           ReceiveSource* shared)
    : config_(config),
      memory_(memory),
      work_(config, memory, send_completions, receive_completions, shared) {
}

// --- states
// ---------------------------------------------------------------------------------------

Expected<void> RawQueuePair::modify(const QpAttributes& attributes, std::uint32_t mask) {
  const QpState to = (mask & kAttrState) != 0 ? attributes.state : state_;
  if (auto checked = check_transition(type(), state_, to, mask); !checked) return checked;
  if (auto checked = check_current_state(attributes, mask, state_); !checked) return checked;
  if (auto checked = check_port(attributes, mask, config_.port); !checked) return checked;
  if ((mask & kAttrSqdNotify) != 0) sqd_notify_ = attributes.sqd_notify;
  if (to != state_ || to == QpState::kReset) enter(to);
  return {};
}

QpAttributes RawQueuePair::query() const {
  return {.state = state_,
          .current_state = state_,
          .sqd_notify = sqd_notify_,
          .port = state_ == QpState::kReset ? std::uint8_t{0} : config_.port};
}

void RawQueuePair::enter(QpState to) {
  state_ = to;
  if (to == QpState::kReset) return reset();
  if (to == QpState::kErr) {
    work_.flush_receives(now_);
    if (work_.shares_receives()) events_ |= kEventLastWqe;  // IBA 11.6.3.2
  }
  settle_sends();
}

// A burst that is out still refers to its slots: they stay until sent().
void RawQueuePair::reset() {
  work_.forget(in_flight_);
  abandoned_ = in_flight_ > 0;
  one_by_one_ = 0;
  sqd_notify_ = false;
  events_ = 0;
}

// What the state asks of a send queue of which nothing is out: SQE and ERR flush it, SQD tells that
// it is at rest.
void RawQueuePair::settle_sends() {
  if (in_flight_ > 0) return;
  if (state_ == QpState::kSqe || state_ == QpState::kErr) {
    finish(work_.sends(), CompletionStatus::kFlushed);
  }
  if (state_ == QpState::kSqd && std::exchange(sqd_notify_, false)) events_ |= kEventSqDrained;
}

Expected<void> RawQueuePair::attach(const Gid&) {
  return fail(std::errc::invalid_argument,
              "a raw queue pair gets what its flows say, and is in no multicast group");
}

Expected<void> RawQueuePair::detach(const Gid& group) {
  return attach(group);
}

// --- sending
// --------------------------------------------------------------------------------------

std::errc RawQueuePair::post_send(const SendRequest& request) {
  using enum QpState;
  if (state_ == kReset || state_ == kInit || state_ == kRtr) return std::errc::invalid_argument;
  if (request.opcode != SendOpcode::kSend) return std::errc::invalid_argument;
  const auto length = work_.length_of(request);
  if (!length) return std::errc::invalid_argument;
  if (work_.sends_full()) return std::errc::not_enough_memory;
  Slot slot{.wr_id = request.wr_id,
            .length = *length,
            .raw = {.make_icrc = request.make_icrc, .pkey = request.pkey},
            .signaled = request.signaled || config_.signal_all};
  work_.post(slot, request);
  settle_sends();
  return {};
}

bool RawQueuePair::next_burst(Burst& burst, Time now) {
  see(now);
  if (in_flight_ > 0) return false;  // `burst` may be the one that is out
  burst.clear();
  while (has_work()) {
    const std::size_t most = one_by_one_ > 0 ? 1 : Burst::kMaxPackets;
    std::size_t n = 0;
    while (n < most && n < work_.sends() && append(burst, n))
      ++n;
    if (n > 0) {
      in_flight_ = n;
      return true;
    }
    work_.pins().release();
  }
  return false;
}

// False when it does not fit into the burst; the first always does, or has just failed.
bool RawQueuePair::append(Burst& burst, std::size_t n) {
  const Slot& slot = work_.send(n);
  const auto fail_first = [&](CompletionStatus status) {
    if (n > 0) return false;
    finish(1, status);
    if (state_ != QpState::kErr) state_ = QpState::kSqe;  // IBA 10.3.1.7
    settle_sends();
    return false;
  };
  if (slot.length > kLongest || slot.length < wire::Lrh::kSize) {
    return fail_first(CompletionStatus::kLocalLengthError);
  }
  if (n == 0) burst.raw = slot.raw;
  if (burst.raw != slot.raw || !burst.takes(slot.length, 0)) return false;
  OutPacket& packet = burst.open();
  packet.header_length = 0;
  if (!work_.add_pieces(burst, packet, n))
    return fail_first(CompletionStatus::kLocalProtectionError);
  burst.close(packet, 0);
  return true;
}

void RawQueuePair::sent(const Burst& burst, SendResult result, Time now) {
  see(now);
  assert(in_flight_ > 0 && burst.size() == in_flight_);
  work_.pins().release();
  const std::size_t count = std::exchange(in_flight_, 0);
  if (std::exchange(abandoned_, false)) {
    for (std::size_t i = 0; i < count; ++i)
      work_.drop_oldest();
  } else if (result.outcome == SendOutcome::kSent) {
    counters_.add(RawCounter::kTxPackets, count);
    counters_.add(RawCounter::kTxBytes, burst.bytes());
    finish(count, CompletionStatus::kSuccess);
  } else if (result.outcome == SendOutcome::kRefused) {
    if (result.reason == CompletionStatus::kSuccess) {  // nobody promised that it arrives
      counters_.add(RawCounter::kTxRefused, count);
      finish(count, CompletionStatus::kSuccess);
    } else if (count > 1) {  // which one is at fault shows when they go one by one
      one_by_one_ = count;
    } else {
      counters_.add(RawCounter::kTxRefused);
      finish(1, result.reason);
      if (state_ != QpState::kErr) state_ = QpState::kSqe;
    }
  }
  settle_sends();
}

void RawQueuePair::finish(std::size_t count, CompletionStatus status) {
  for (std::size_t i = 0; i < count; ++i)
    work_.complete_oldest(status, now_);
  one_by_one_ -= std::min(one_by_one_, count);
}

// --- receiving
// ------------------------------------------------------------------------------------

std::errc RawQueuePair::post_receive(const ReceiveRequest& request) {
  if (state_ == QpState::kReset) return std::errc::invalid_argument;
  if (const auto error = work_.post_receive(request); error != std::errc{}) return error;
  if (state_ == QpState::kErr) work_.flush_receives(now_);
  return {};
}

namespace {

// LRH through the last transport header that is there.
std::size_t headers_of(Bytes header, const wire::Lrh& lrh) {
  if (lrh.next_header == wire::Lnh::raw || lrh.next_header == wire::Lnh::raw_ipv6) {
    return wire::Lrh::kSize;
  }
  const std::size_t size = wire::link_headers_size(header);
  const auto bth = size <= header.size() ? wire::Bth::parse(header.subspan(size - wire::Bth::kSize))
                                         : std::nullopt;
  if (!bth) return header.size();
  return std::min(header.size(), size + wire::info(bth->opcode).headers_size);
}

bool is_iba(const wire::Lrh& lrh) {
  return lrh.next_header == wire::Lnh::iba_local || lrh.next_header == wire::Lnh::iba_global;
}

// Whether the packet carries the ICRC of its bytes.
bool icrc_good(const std::array<Bytes, 3>& stretches, std::size_t size) {
  std::size_t left = size - wire::kIcrcSize - wire::kVcrcSize;  // that it covers
  std::array<std::byte, wire::kIcrcSize> carried{};
  std::size_t found = 0;
  std::uint32_t state = 0;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const Bytes covered = stretches[i].first(std::min(left, stretches[i].size()));
    state = i == 0 ? wire::link_icrc_front(covered) : wire::crc32_update(state, covered);
    left -= covered.size();
    const Bytes behind = stretches[i].subspan(covered.size());
    const std::size_t more = std::min(carried.size() - found, behind.size());
    std::copy_n(behind.begin(), more, carried.begin() + static_cast<std::ptrdiff_t>(found));
    found += more;
  }
  return wire::load_le32(carried.data()) == wire::crc32_finish(state);
}

// Of what came from memory, where it needed none.
void make_crcs(const std::array<Bytes, 3>& stretches, bool has_icrc, MutableBytes trailer) {
  if (has_icrc) {
    const std::size_t pad = trailer.size() - wire::kIcrcSize - wire::kVcrcSize;
    std::uint32_t state = wire::crc32_update(wire::link_icrc_front(stretches[0]), stretches[1]);
    state = wire::crc32_update(state, trailer.first(pad));
    wire::store_le32(trailer.data() + pad, wire::crc32_finish(state));
  }
  const std::size_t covered = trailer.size() - wire::kVcrcSize;
  std::uint16_t state = wire::crc16_update(wire::kVcrcPreset, stretches[0]);
  state = wire::crc16_update(state, stretches[1]);
  state = wire::crc16_update(state, trailer.first(covered));
  wire::store_le16(trailer.data() + covered, wire::crc16_finish(state));
}

}  // namespace

// Nothing, or why it is dropped. The header is copied before it is looked at.
std::optional<RawCounter> RawQueuePair::lay_out(const RawPacket& packet, Layout& layout) const {
  const Bytes header = layout.stretches[0];
  const std::size_t size = packet.size();
  const auto lrh = wire::Lrh::parse(header);
  if (!lrh || size > kLongest || lrh->packet_bytes() + wire::kVcrcSize != size ||
      packet.trailer.size() < wire::kVcrcSize || packet.trailer.size() > layout.trailer.size()) {
    return RawCounter::kRxMalformed;
  }
  const bool iba = is_iba(*lrh);
  if (iba && (wire::link_headers_size(header) > header.size() ||
              size < wire::link_headers_size(header) + wire::kIcrcSize + wire::kVcrcSize)) {
    return RawCounter::kRxMalformed;
  }
  layout.headers = headers_of(header, *lrh);
  const MutableBytes trailer = MutableBytes(layout.trailer).first(packet.trailer.size());
  std::memcpy(trailer.data(), packet.trailer.data(), trailer.size());
  layout.stretches[1] = packet.payload;
  layout.stretches[2] = trailer;
  if (packet.sealed) {
    if (iba && !icrc_good(layout.stretches, size)) return RawCounter::kRxBadIcrc;
    return std::nullopt;
  }
  if (iba && trailer.size() < wire::kIcrcSize + wire::kVcrcSize) return RawCounter::kRxMalformed;
  make_crcs(layout.stretches, iba, trailer);
  return std::nullopt;
}

// Whether the receive that was taken has room, with the headers apart where it has a place for
// them.
bool RawQueuePair::fits(const Layout& layout, std::size_t size) const {
  if (!splits()) return true;
  const std::uint64_t first = taken_.pieces.front().length;
  return layout.headers <= first && size - layout.headers <= taken_.length - first;
}

void RawQueuePair::receive(const InDatagram& datagram, Time now) {
  see(now);
  if (state_ == QpState::kReset || state_ == QpState::kInit || state_ == QpState::kErr) {
    return counters_.add(RawCounter::kRxWrongState);
  }
  if (datagram.raw == nullptr || datagram.raw->to != config_.qpn) {
    return counters_.add(RawCounter::kRxNotRaw);
  }
  const RawPacket& packet = *datagram.raw;
  if (packet.header.size() > header_.size()) return counters_.add(RawCounter::kRxMalformed);
  std::copy(packet.header.begin(), packet.header.end(), header_.begin());
  Layout layout;
  layout.stretches[0] = Bytes(header_).first(packet.header.size());
  if (const auto why = lay_out(packet, layout)) return counters_.add(*why);
  switch (work_.source().take_for(packet.size(), taken_)) {
    case Take::kNone:
      return counters_.add(RawCounter::kRxNoReceive);
    case Take::kTooShort:
      return counters_.add(RawCounter::kRxTooLong);
    case Take::kTaken:
      break;
  }
  const bool roomy = fits(layout, packet.size());
  const bool placed = roomy && scatter(layout);
  if (!roomy) counters_.add(RawCounter::kRxTooLong);
  if (placed) counters_.add(RawCounter::kRxPackets);
  if (placed) counters_.add(RawCounter::kRxBytes, packet.size());
  const CompletionStatus status = placed   ? CompletionStatus::kSuccess
                                  : !roomy ? CompletionStatus::kLocalLengthError
                                           : CompletionStatus::kLocalProtectionError;
  work_.complete_receive({.wr_id = taken_.wr_id,
                          .status = status,
                          .opcode = CompletionOpcode::kReceive,
                          .byte_length = static_cast<std::uint32_t>(packet.size()),
                          .qpn = config_.qpn,
                          .at = now_});
  // Pieces that are too short for a long packet are no reason to stop: a peer would choose when.
  if (roomy && !placed) enter(QpState::kErr);
}

// Lays the stretches over the pieces of the receive that was taken, beginning the second piece with
// what follows the headers where these are apart.
bool RawQueuePair::scatter(const Layout& layout) {
  RegionPin pin(memory_);
  std::size_t piece = 0;
  std::uint64_t used = 0;  // of it
  const auto put = [&](Bytes bytes) {
    while (!bytes.empty()) {
      const Sge& to = taken_.pieces[piece];
      const std::size_t room = std::min<std::size_t>(to.length - used, bytes.size());
      if (room > 0) {
        std::byte* const at =
            pin.resolve(to.lkey.value(), config_.pd, to.address + used, room, kLocalWrite);
        if (at == nullptr || !config_.copy(at, bytes.data(), room)) return false;
      }
      used += room;
      bytes = bytes.subspan(room);
      if (used < to.length) continue;
      ++piece;
      used = 0;
    }
    return true;
  };
  const Bytes header = layout.stretches[0];
  const std::size_t first = splits() ? layout.headers : header.size();
  if (!put(header.first(first))) return false;
  if (splits() && piece == 0) {
    piece = 1;
    used = 0;
  }
  return put(header.subspan(first)) && put(layout.stretches[1]) && put(layout.stretches[2]);
}

}  // namespace weft::hca
