// SPDX-License-Identifier: Apache-2.0
// The receiving half of a datagram queue pair.
#include <cassert>
#include <cstring>
#include <span>

#include "hca/partition.h"
#include "hca/ud_queue_pair.h"

namespace weft::hca {
namespace {

std::size_t immediate_size(wire::Opcode opcode) {
  return opcode == wire::Opcode::ud_send_only_imm ? sizeof(std::uint32_t) : 0;
}

// RoCEv2 has no service levels; where a completion would name one, A17.4.5.1 has it say what kind
// of packet came. The bits are those of the adapters that programs (UCX) know: which layer 3, and
// whether UDP is above it. Nothing else tells an IPv4 header from what may stand before it.
std::uint8_t packet_type(const InDatagram& datagram) {
  constexpr std::uint8_t kIpv6 = 1;
  constexpr std::uint8_t kIpv4 = 2;
  constexpr std::uint8_t kUdp = 8;
  if (datagram.network_header == nullptr) return 0;
  return kUdp | (datagram.destination.is_ipv4_mapped() ? kIpv4 : kIpv6);
}

}  // namespace

void UdQueuePair::receive(const InDatagram& datagram, Time now) {
  see(now);
  if (config_.framing == UdFraming::kBth) {
    receive_bth(datagram);
  } else {
    receive_bare(datagram);
  }
}

bool UdQueuePair::can_receive() const {
  using enum QpState;
  return state_ != kReset && state_ != kInit && state_ != kErr;
}

// The checks of IBA 9.6.1 and 9.8.3.1 in the order in which their counters are documented.
void UdQueuePair::receive_bth(const InDatagram& datagram) {
  using wire::Opcode;
  ByteCursor cursor(datagram.transport);
  const auto drop = [this](UdCounter reason) { counters_.add(reason); };
  const auto bth_bytes = cursor.take(wire::Bth::kSize);
  if (!bth_bytes || datagram.transport.size() % 4 != 0) return drop(UdCounter::kRxMalformed);
  const wire::Bth bth = *wire::Bth::parse(*bth_bytes);
  const bool credit = bth.opcode == Opcode::weft_ud_credit && config_.credits;
  const bool ours =
      credit || bth.opcode == Opcode::ud_send_only || bth.opcode == Opcode::ud_send_only_imm;
  std::optional<Bytes> deth_bytes;
  std::optional<Bytes> immediate_bytes;
  std::optional<Bytes> payload;
  if (ours) {
    deth_bytes = cursor.take(wire::Deth::kSize);
    immediate_bytes = cursor.take(immediate_size(bth.opcode));
    if (!deth_bytes || !immediate_bytes) return drop(UdCounter::kRxMalformed);
    payload = datagram.payload(cursor.rest(), bth.pad_count);
    if (!payload || payload->size() > config_.mtu || (credit && payload->size() != Credit::kSize)) {
      return drop(UdCounter::kRxMalformed);
    }
  }
  if (bth.transport_version != 0) return drop(UdCounter::kRxBadVersion);
  if (!ours || (credit && datagram.multicast)) return drop(UdCounter::kRxBadOpcode);
  if (const auto reason = check_address(bth, datagram)) return drop(*reason);

  const wire::Deth deth = *wire::Deth::parse(*deth_bytes);
  if (credit) return receive_credit(datagram, deth, *payload);
  if (deth.qkey != qkey_) return drop(UdCounter::kRxBadQKey);
  if (!datagram.multicast && config_.credits) note_arrival(datagram, bth, deth);

  Incoming incoming{.payload = *payload, .source_qpn = deth.src_qp, .solicited = bth.solicited};
  if (!immediate_bytes->empty()) {
    incoming.with_immediate = true;
    std::memcpy(&incoming.immediate, immediate_bytes->data(), sizeof incoming.immediate);
  }
  deliver(datagram, incoming);
}

// Why this queue pair is not to have a datagram that is addressed so; nothing when it is.
std::optional<UdCounter> UdQueuePair::check_address(const wire::Bth& bth,
                                                    const InDatagram& datagram) const {
  const Qpn own = datagram.multicast ? kMulticastQpn : config_.qpn;
  if (bth.dest_qp != own) return UdCounter::kRxBadDestination;
  if (!can_receive()) return UdCounter::kRxWrongState;
  if (!same_partition(bth.pkey, pkey())) {
    if (config_.pkeys != nullptr) config_.pkeys->note_violation();
    return UdCounter::kRxBadPKey;
  }
  if (datagram.multicast && !attached(datagram.destination)) return UdCounter::kRxNotAttached;
  return std::nullopt;
}

// The bare wire has no fields to check but the message's own length.
void UdQueuePair::receive_bare(const InDatagram& datagram) {
  if (datagram.transport.size() > config_.mtu) return counters_.add(UdCounter::kRxMalformed);
  if (!can_receive()) return counters_.add(UdCounter::kRxWrongState);
  if (datagram.multicast && !attached(datagram.destination)) {
    return counters_.add(UdCounter::kRxNotAttached);
  }
  deliver(datagram, {.payload = datagram.transport, .source_qpn = datagram.source_qpn});
}

void UdQueuePair::receive_credit(const InDatagram& datagram, const wire::Deth& deth,
                                 Bytes payload) {
  const auto credit = Credit::parse(payload);
  if (!credit) return counters_.add(UdCounter::kRxMalformed);
  OutFlow* const flow = flows_.find({datagram.source, deth.src_qp});
  // A flow that we have forgotten needs no credit; it is a peer's honest datagram all the same.
  if (flow != nullptr) {
    if (flow->qkey != deth.qkey) return counters_.add(UdCounter::kRxBadQKey);
    flow->pacer.credit(*credit, now_);
  }
  counters_.add(UdCounter::kRxCredits);
}

void UdQueuePair::note_arrival(const InDatagram& datagram, const wire::Bth& bth,
                               const wire::Deth& deth) {
  const FlowKey key{datagram.source, deth.src_qp};
  const std::uint64_t lost = granter_.lost();
  granter_.arrived(key, bth.psn, now_,
                   static_cast<std::uint32_t>(datagram.transport.size()) + kIcrcBytes);
  // Modulo 2^64, so that a late packet takes its loss back.
  if (granter_.lost() != lost) counters_.add(UdCounter::kRxLost, granter_.lost() - lost);
  if (!bth.ack_request) return;
  credit_due({.flow = key,
              .path = {.sgid = datagram.destination,
                       .dgid = datagram.source,
                       .scope_id = datagram.scope_id,
                       .traffic_class = datagram.traffic_class}});
}

// One credit answers any number of requests of a flow.
void UdQueuePair::credit_due(const CreditDue& due) {
  const auto same = [&](const CreditDue& other) { return other.flow == due.flow; };
  const auto found = std::find_if(credits_due_.begin(), credits_due_.end(), same);
  if (found != credits_due_.end()) {
    found->asked |= due.asked;
  } else if (credits_due_.size() < kMaxCreditsDue) {
    credits_due_.push_back(due);
  }
}

// A flow that was granted little, for want of posted receives, would wait out its patience. No more
// are woken than there is something for.
void UdQueuePair::wake_hungry() {
  const std::size_t waiting = work_.source().size();
  if (!starving_ && waiting < most_receives_ / 4) return work_.source().await_post();
  const auto count = static_cast<std::ptrdiff_t>(std::min(hungry_.size(), waiting));
  for (CreditDue& due : std::span(hungry_).first(static_cast<std::size_t>(count))) {
    due.asked = false;
    credit_due(due);
  }
  hungry_.erase(hungry_.begin(), hungry_.begin() + count);
  starving_ = starving_ && !hungry_.empty();
  if (!hungry_.empty()) work_.source().await_post();
}

void UdQueuePair::deliver(const InDatagram& datagram, const Incoming& incoming) {
  const std::size_t length = kGrhArea + incoming.payload.size();
  // A datagram that does not fit is dropped silently and consumes no request (IBA 9.9.3, a class D
  // error): otherwise a peer could use up our receives with what we cannot take.
  switch (work_.source().take_for(length, taken_)) {
    case Take::kNone:
      return counters_.add(UdCounter::kRxNoReceive);
    case Take::kTooShort:
      return counters_.add(UdCounter::kRxTooLong);
    case Take::kTaken:
      break;
  }
  const bool placed = scatter(datagram.network_header, incoming.payload);
  const Completion completion{
      .wr_id = taken_.wr_id,
      .status = placed ? CompletionStatus::kSuccess : CompletionStatus::kLocalProtectionError,
      .opcode = CompletionOpcode::kReceive,
      .with_grh = datagram.network_header != nullptr,
      .with_immediate = incoming.with_immediate,
      .solicited = incoming.solicited,
      .sl = datagram.by_lid() ? datagram.sl.value() : packet_type(datagram),
      .path_bits = datagram.path_bits,
      .slid = datagram.slid,
      .pkey_index = pkey_index_,
      .byte_length = static_cast<std::uint32_t>(length),
      .immediate = incoming.immediate,
      .qpn = config_.qpn,
      .source_qpn = incoming.source_qpn,
      .at = now_};
  if (placed) {
    counters_.add(UdCounter::kRxPackets);
    counters_.add(UdCounter::kRxBytes, incoming.payload.size());
    if (datagram.multicast) counters_.add(UdCounter::kRxMulticast);
  }
  work_.complete_receive(completion);
  if (!placed) enter(QpState::kErr);
}

// Lays the network header's 40 bytes and the payload over the pieces of the receive that was taken.
// Where the port has no header to give, its place is left as it is.
bool UdQueuePair::scatter(const std::array<std::byte, kGrhArea>* network_header, Bytes payload) {
  const std::size_t total = kGrhArea + payload.size();
  RegionPin pin(memory_);
  std::size_t at = 0;
  for (const Sge& piece : taken_.pieces) {
    if (at == total) break;
    const std::size_t take = std::min<std::size_t>(piece.length, total - at);
    if (take == 0) continue;
    std::byte* to = pin.resolve(piece.lkey.value(), config_.pd, piece.address, take, kLocalWrite);
    if (to == nullptr) return false;
    const std::size_t end = at + take;
    if (at < kGrhArea) {
      const std::size_t n = std::min(end, kGrhArea) - at;
      if (network_header != nullptr && !config_.copy(to, network_header->data() + at, n))
        return false;
      at += n;
      to += n;
    }
    if (at < end && !config_.copy(to, payload.data() + (at - kGrhArea), end - at)) return false;
    at = end;
  }
  assert(at == total);
  return true;
}

}  // namespace weft::hca
