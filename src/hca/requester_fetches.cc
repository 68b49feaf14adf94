// SPDX-License-Identifier: Apache-2.0
// Reads and atomics: how much to ask for at a time, and what becomes of the responses
// (IBA 9.7.5.1.4 to 9.7.5.1.9).
#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "hca/credit.h"
#include "hca/requester.h"
#include "wire/atomic_ack_eth.h"

namespace weft::hca {
namespace {

constexpr std::uint32_t kResponseOverhead = 20;  // BTH, AETH, ICRC; of others less may have an AETH

std::uint32_t packets_of(std::uint64_t bytes, std::uint32_t mtu) {
  return bytes == 0 ? 1 : static_cast<std::uint32_t>((bytes + mtu - 1) / mtu);
}

// What a response may cost of what the port can hold: its bytes, and every run that it comes in.
std::uint32_t response_cost(std::uint64_t bytes, std::uint32_t packets) {
  const std::uint64_t all = bytes + std::uint64_t{packets} * kResponseOverhead;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(all + (all / Burst::kMaxBytes + 1) * kPacketCost, 0xFFFF'FFFF));
}

}  // namespace

// The most that one READ asks for, bytes. To a Weft peer large reads are split, so that the
// responses under way never exceed what our port holds, and so that of those that come after a gap
// none is lost. Two at a time keep the wire busy while the next is asked for.
std::uint32_t Requester::fetch_limit() const {
  const std::uint32_t mtu = connection_.mtu;
  const std::uint32_t share =
      connection_.config.receive_budget / (connection_.max_reads_out > 1 ? 2 : 1);
  const std::uint32_t net = share > 2 * kPacketCost ? share - 2 * kPacketCost : 0;
  const std::uint32_t packets = std::clamp(net / (mtu + kResponseOverhead), 1u,
                                           std::min(Fetch::kMostSelective, kMostSpan / 2));
  return packets * mtu;
}

Fetch Requester::plan_fetch(const Slot& slot, std::uint64_t offset) const {
  std::uint64_t bytes = slot.length - offset;
  if (slot.opcode == SendOpcode::kRdmaRead && selective()) {
    bytes = std::min<std::uint64_t>(bytes, fetch_limit());
  }
  const std::uint32_t count =
      slot.opcode == SendOpcode::kRdmaRead ? packets_of(bytes, connection_.mtu) : 1;
  Fetch fetch;
  fetch.serial = next_serial_;
  fetch.count = count;
  fetch.bytes = static_cast<std::uint32_t>(bytes);
  fetch.cost = response_cost(bytes, count);
  return fetch;
}

// Whether one more read or atomic may be outstanding.
bool Requester::may_fetch(const Slot& slot) const {
  if (records_.empty()) return true;
  if (fetches_.size() >= connection_.max_reads_out) return false;
  const Fetch fetch = plan_fetch(slot, next_offset_);
  if (!selective()) return next_serial_ + fetch.count - oldest() <= kMostOutstanding;
  return fetches_.empty() || fetch_cost_ + fetch.cost <= connection_.config.receive_budget;
}

Fetch& Requester::fetch_of(const PacketRecord& record) {
  assert(record.fetches && !fetches_.empty());
  std::size_t low = 0;
  std::size_t high = fetches_.size();
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (fetches_[middle].serial <= record.serial ? low : high) = middle;
  }
  assert(fetches_[low].serial == record.serial);
  return fetches_[low];
}

void Requester::response(const InPacket& packet) {
  ConnectedCounters& counters = connection_.counters;
  const auto serial = serial_of(packet.psn);
  if (!serial || *serial < oldest()) {
    counters.add_in_turn(ConnectedCounter::kRxGhostAcks);
    return;
  }
  PacketRecord* const record = find(*serial);
  assert(record != nullptr);
  if (!record->fetches) {
    counters.add_in_turn(ConnectedCounter::kRxBadResponses);
    return;
  }
  Fetch& fetch = fetch_of(*record);
  const auto n = static_cast<std::uint32_t>(*serial - record->serial);
  if (fetch.has(n)) {
    counters.add_in_turn(ConnectedCounter::kRxGhostAcks);
    return;
  }
  if (!selective()) {
    // Responses come in order, or one is missing (IBA 9.7.5.1.1).
    std::size_t first = 0;
    while (fetches_[first].complete())
      ++first;
    if (fetches_[first].serial != fetch.serial || n != fetch.next) {
      counters.add_in_turn(ConnectedCounter::kRxOutOfOrder);
      // The peer is at work on what it was asked for before. That comes to an end, and the timeout
      // is for the silence after it: to ask once more would only make a slow peer slower.
      timer_from_ = now_;
      note_gap(*find(fetches_[first].serial), fetches_[first]);
      return;
    }
  }
  if (accept(packet, *record, fetch, n)) {
    fetch.add(n);
    fetch.tries = 0;
    if (fetch.next == fetch.beyond) {
      fetch.gap_at.reset();
    } else {
      note_gap(*record, fetch);
    }
    progress();
  }
}

// Takes packet `n` of a response; false when it does not fit the request, or the memory is gone:
// the request fails then.
bool Requester::accept(const InPacket& packet, const PacketRecord& record, Fetch& fetch,
                       std::uint32_t n) {
  const bool read = slot(record.request).opcode == SendOpcode::kRdmaRead;
  const bool answers_read = packet.info->operation == wire::Operation::read_response;
  const std::uint64_t at = std::uint64_t{n} * connection_.mtu;
  const std::uint64_t expected = std::min<std::uint64_t>(
      fetch.bytes - std::min<std::uint64_t>(at, fetch.bytes), connection_.mtu);
  bool fits = read == answers_read;
  if (read) {
    const bool last = n + 1 == fetch.count;
    fits = fits && packet.payload.size() == expected && (!last || packet.info->ends_message());
  }
  std::optional<wire::Aeth> aeth;
  if (packet.info->has(wire::kAeth)) {
    aeth = wire::Aeth::parse(packet.extended);
    fits = fits && aeth && aeth->syndrome.type() == wire::AckType::ack;
  }
  if (!fits) {
    connection_.counters.add_in_turn(ConnectedCounter::kRxBadResponses);
    doom(record.request, CompletionStatus::kBadResponse);
    return false;
  }
  // It says that everything before was carried out (IBA 9.7.5.1.2).
  acknowledge_through(record.serial);
  PacketRecord& self = *find(record.serial);
  mark_delivered(self);
  if (aeth) take_credits(*aeth);
  return read ? place(record.request, record.offset + at, packet.payload)
              : place_atomic(record.request, packet);
}

bool Requester::place(std::uint64_t request, std::uint64_t offset, Bytes data) {
  for (const Sge& piece : requests_.pieces(request - first_request_)) {
    if (data.empty()) break;
    if (offset >= piece.length) {
      offset -= piece.length;
      continue;
    }
    const std::size_t here = std::min<std::size_t>(piece.length - offset, data.size());
    std::byte* const to = target_.resolve(piece.lkey.value(), connection_.config.pd,
                                          piece.address + offset, here, kLocalWrite);
    if (to == nullptr) {
      doom(request, CompletionStatus::kLocalProtectionError);
      return false;
    }
    if (!connection_.config.copy(to, data.data(), here)) {
      doom(request, CompletionStatus::kLocalAccessError);
      return false;
    }
    data = data.subspan(here);
    offset = 0;
  }
  assert(data.empty());
  return true;
}

// The wire has the value in network order, memory in the host's (IBA 9.4.5).
bool Requester::place_atomic(std::uint64_t request, const InPacket& packet) {
  const auto eth = wire::AtomicAckEth::parse(packet.extended.subspan(wire::Aeth::kSize));
  if (!eth) {
    doom(request, CompletionStatus::kBadResponse);
    return false;
  }
  const auto value = std::bit_cast<std::array<std::byte, 8>>(eth->original);
  return place(request, 0, value);
}

// Something that the responder sent after what `fetch` misses has arrived.
void Requester::note_gap(PacketRecord& record, Fetch& fetch) {
  if (selective()) {
    if (!fetch.gap_at) fetch.gap_at = now_;
    if (const auto at = gap_deadline(record, fetch)) loss_check_at(*at);
    return;
  }
  // One implied NAK for one gap: what was under way when the read was resumed goes on arriving.
  if (fetch.gap_at) return;
  fetch.gap_at = now_;
  sequence_error(record.serial);
}

// When what `fetch` misses is taken for lost.
std::optional<Time> Requester::gap_deadline(const PacketRecord& record, const Fetch& fetch) const {
  if (!fetch.gap_at || record.lost || record.out || fetch.complete()) return std::nullopt;
  Time at = *fetch.gap_at + reorder_time();
  if (fetch.tries > 0) {  // the answer to what was asked last takes a round trip
    const Duration round_trip = congestion_.round_trip().value_or(kLeastProbe);
    const Duration patience = 2 * round_trip * (1 << std::min(fetch.tries - 1, 6u));
    at = std::max(at, fetch.asked_at + std::min(patience, Duration{kMostProbe}));
  }
  return at;
}

}  // namespace weft::hca
