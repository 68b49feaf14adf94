// SPDX-License-Identifier: Apache-2.0
// What a responder does with the request packet that is next in order (IBA 9.7.4.1, 9.8.2.3).
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "hca/queue_pair.h"
#include "hca/responder.h"
#include "wire/atomic_eth.h"
#include "wire/ieth.h"
#include "wire/xrceth.h"

namespace weft::hca {

using wire::NakCode;
using wire::Operation;
using wire::Position;

namespace {

constexpr std::uint32_t kMsnMask = 0xFF'FFFF;

struct AtomicWork {
  std::byte* at;
  bool add;  // else compare and swap
  std::uint64_t swap_or_add;
  std::uint64_t value;  // what to compare with; then what was there
};

// A guard may abandon it at any access to `at`: it holds nothing. To the program this is an adapter
// at work: ThreadSanitizer knows of no order between the two, since that comes with the packets.
__attribute__((no_sanitize("thread"))) void do_atomic(void* argument) {
  auto& work = *static_cast<AtomicWork*>(argument);
  auto* const target = std::launder(static_cast<std::uint64_t*>(static_cast<void*>(work.at)));
  if (work.add) {
    work.value = __atomic_fetch_add(target, work.swap_or_add, __ATOMIC_SEQ_CST);
  } else {  // on failure `value` gets what is there
    __atomic_compare_exchange_n(target, &work.value, work.swap_or_add, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
  }
}

}  // namespace

Responder::Verdict Responder::execute(const InPacket& packet) {
  const wire::OpcodeInfo& info = *packet.info;
  if (!in_sequence(info) || !permits(info.operation) || !right_length(packet)) {
    return refuse(NakCode::invalid_request);
  }
  const Headers headers = parse_headers(packet);
  switch (info.operation) {
    case Operation::send:
      return execute_send(packet, headers);
    case Operation::write:
      return execute_write(packet, headers);
    case Operation::read_request:
      return execute_read(packet, headers);
    case Operation::compare_swap:
    case Operation::fetch_add:
      return execute_atomic(packet, headers);
    default:  // FLUSH, ATOMIC WRITE, RESYNC
      return refuse(NakCode::invalid_request);
  }
}

// IBA 9.7.4.1.2, table 45: a message is of one operation and has a first and a last packet.
bool Responder::in_sequence(const wire::OpcodeInfo& info) const {
  if (info.starts_message()) return !message_.active;
  return message_.active && message_.operation == info.operation;
}

// Whether the queue pair lets its peer do this at all. What it does not is no request for its
// responder (IBA 11.6.2, Remote Invalid Request Error).
bool Responder::permits(Operation operation) const {
  const std::uint32_t granted = connection_.peer_access;
  switch (operation) {
    case Operation::write:
      return (granted & kRemoteWrite) != 0;
    case Operation::read_request:
      return (granted & kRemoteRead) != 0;
    case Operation::compare_swap:
    case Operation::fetch_add:
      return (granted & kRemoteAtomic) != 0;
    default:
      return true;
  }
}

// IBA 9.7.4.1.6: all packets of a message but its last are full.
bool Responder::right_length(const InPacket& packet) const {
  const std::size_t length = packet.payload.size();
  switch (packet.info->position) {
    case Position::first:
    case Position::middle:
      return length == connection_.mtu;
    case Position::last:
      return length >= 1 && length <= connection_.mtu;
    case Position::only:
      return length <= connection_.mtu;
  }
  return false;
}

Responder::Headers Responder::parse_headers(const InPacket& packet) {
  const wire::OpcodeInfo& info = *packet.info;
  assert(packet.extended.size() == info.headers_size);
  ByteCursor cursor(packet.extended);
  Headers headers;
  if (info.has(wire::kXrceth)) {
    headers.srq = Qpn{wire::Xrceth::parse(*cursor.take(wire::Xrceth::kSize))->srq};
  }
  if (info.has(wire::kReth)) headers.reth = *wire::Reth::parse(*cursor.take(wire::Reth::kSize));
  if (info.has(wire::kIeth)) {
    headers.with_invalidate = true;
    headers.invalidate = wire::Ieth::parse(*cursor.take(wire::Ieth::kSize))->rkey;
  }
  if (info.has(wire::kImmDt)) {
    headers.with_immediate = true;
    std::memcpy(&headers.immediate, cursor.rest().data(), sizeof headers.immediate);
  }
  return headers;
}

Responder::Verdict Responder::execute_send(const InPacket& packet, const Headers& headers) {
  if (packet.info->starts_message()) {
    if (const Verdict taken = take_receive(headers.srq); taken != Verdict::kDone) return taken;
    // Member by member: a message that is copied when it has just been written costs as much as to
    // look the memory up.
    message_.active = true;
    message_.operation = Operation::send;
    message_.arrived = 0;
    message_.srq = headers.srq;
  }
  const std::uint64_t length = message_.arrived + packet.payload.size();
  if (length > receive_.request.length || length > connection_.config.max_message) {
    return fail_receive(CompletionStatus::kLocalLengthError, NakCode::invalid_request);
  }
  if (!scatter(packet.payload)) {
    return fail_receive(CompletionStatus::kLocalProtectionError, NakCode::remote_operational_error);
  }
  message_.arrived = length;
  return packet.info->ends_message() ? finish_message(packet, headers) : Verdict::kDone;
}

Responder::Verdict Responder::execute_write(const InPacket& packet, const Headers& headers) {
  const wire::OpcodeInfo& info = *packet.info;
  const bool starts = info.starts_message();
  // Active once its first packet is done. In place: to copy it would be to wait for the stores of
  // the payload before.
  if (starts) message_ = {.operation = Operation::write, .reth = headers.reth, .srq = headers.srq};
  const std::uint64_t whole = message_.reth.dma_length;
  const std::uint64_t at = message_.arrived;
  const std::size_t length = packet.payload.size();
  // A Weft peer says again where it is.
  if (!starts && info.has(wire::kReth) &&
      headers.reth != wire::Reth{.virtual_address = message_.reth.virtual_address + at,
                                 .rkey = message_.reth.rkey,
                                 .dma_length = static_cast<std::uint32_t>(whole - at)}) {
    return refuse(NakCode::invalid_request);
  }
  const Source source = source_for(message_.srq);
  if (source.queue == nullptr || whole > connection_.config.max_message) {
    return refuse(NakCode::invalid_request);
  }
  const bool fits = info.ends_message() ? at + length == whole : at + length < whole;
  if (!fits) return refuse(NakCode::invalid_request);
  if (headers.with_immediate) {
    if (const Verdict taken = take_receive(message_.srq); taken != Verdict::kDone) return taken;
  }
  if (whole > 0) {
    // The first packet shows whether all of the message may go there (IBA 9.7.4.1.5).
    std::byte* const to =
        target_.resolve(message_.reth.rkey.value(), source.pd, message_.reth.virtual_address + at,
                        starts ? whole : length, kRemoteWrite, connection_.config.qpn);
    const bool done = to != nullptr && connection_.config.copy(to, packet.payload.data(), length);
    target_.release_window();
    if (!done) return refuse(NakCode::remote_access_error);
  }
  message_.active = true;
  message_.arrived += length;
  return info.ends_message() ? finish_message(packet, headers) : Verdict::kDone;
}

Responder::Verdict Responder::execute_read(const InPacket& packet, const Headers& headers) {
  const wire::Reth& reth = headers.reth;
  const Source source = source_for(headers.srq);
  if (source.queue == nullptr || reads_waiting() >= connection_.max_reads_in ||
      reth.dma_length > connection_.config.max_message) {
    return refuse(NakCode::invalid_request);
  }
  if (reth.dma_length > 0) {
    RegionPin pin(memory_);
    if (pin.resolve(reth.rkey.value(), source.pd, reth.virtual_address, reth.dma_length,
                    kRemoteRead, connection_.config.qpn) == nullptr) {
      return refuse(NakCode::remote_access_error);
    }
  }
  msn_ = (msn_ + 1) & kMsnMask;
  const Answer answer{.psn = packet.psn,
                      .msn = msn_,
                      .packets = packets_of(reth.dma_length),
                      .pd = source.pd,
                      .reth = reth};
  keep(answer);
  answers_.push(answer);
  expected_ = expected_ + answer.packets;
  return Verdict::kDone;
}

Responder::Verdict Responder::execute_atomic(const InPacket& packet, const Headers& headers) {
  constexpr std::size_t kSize = sizeof(std::uint64_t);
  const std::size_t skip = packet.info->has(wire::kXrceth) ? wire::Xrceth::kSize : 0;
  const wire::AtomicEth eth = *wire::AtomicEth::parse(packet.extended.subspan(skip));
  const Source source = source_for(headers.srq);
  if (source.queue == nullptr || reads_waiting() >= connection_.max_reads_in ||
      eth.virtual_address % kSize != 0) {
    return refuse(NakCode::invalid_request);
  }
  RegionPin pin(memory_);
  std::byte* const at = pin.resolve(eth.rkey.value(), source.pd, eth.virtual_address, kSize,
                                    kRemoteAtomic, connection_.config.qpn);
  if (at == nullptr) return refuse(NakCode::remote_access_error);
  // A region may map an aligned address to memory that is not: the processor has no atomics there.
  if (reinterpret_cast<std::uintptr_t>(at) % kSize != 0) {
    return refuse(NakCode::remote_operational_error);
  }
  AtomicWork work{.at = at,
                  .add = packet.info->operation == Operation::fetch_add,
                  .swap_or_add = eth.swap_or_add,
                  .value = eth.compare};
  if (!connection_.config.guard(do_atomic, &work)) return refuse(NakCode::remote_access_error);
  msn_ = (msn_ + 1) & kMsnMask;
  const Answer answer{.atomic = true, .psn = packet.psn, .msn = msn_, .original = work.value};
  keep(answer);
  answers_.push(answer);
  return Verdict::kDone;
}

// The message is whole: its receive request completes, if it has one.
Responder::Verdict Responder::finish_message(const InPacket& packet, const Headers& headers) {
  const bool consumes = message_.operation == Operation::send || headers.with_immediate;
  if (headers.with_invalidate) {
    const PdHandle pd = source_for(message_.srq).pd;
    if (memory_.invalidate(headers.invalidate, pd, connection_.config.qpn) != std::errc{}) {
      return fail_receive(CompletionStatus::kRemoteInvalidRequest, NakCode::remote_access_error);
    }
  }
  if (consumes) {
    const Source source = source_for(message_.srq);
    if (source.completions == nullptr) return refuse(NakCode::invalid_request);
    Completion completion{
        .opcode = message_.operation == Operation::send
                      ? CompletionOpcode::kReceive
                      : CompletionOpcode::kReceiveRdmaWithImmediate,
        .with_immediate = headers.with_immediate,
        .with_invalidate = headers.with_invalidate,
        .solicited = packet.solicited,
        .byte_length = static_cast<std::uint32_t>(message_.arrived),
        .immediate = headers.with_invalidate ? headers.invalidate.value() : headers.immediate};
    complete_receive(source, completion);
  }
  msn_ = (msn_ + 1) & kMsnMask;
  message_.active = false;
  return Verdict::kDone;
}

// IBA 9.7.5.2.8: without a receive request the peer is told to come again later.
Responder::Verdict Responder::take_receive(Qpn srq) {
  receive_.piece = 0;
  receive_.offset = 0;
  if (receive_.held) return Verdict::kDone;  // of an unreliable message that was abandoned
  const Source source = source_for(srq);
  if (source.queue == nullptr) return refuse(NakCode::invalid_request);
  if (source.queue->take(receive_.request)) {
    receive_.held = true;
    receive_.pd = source.pd;
    return Verdict::kDone;
  }
  if (!reliable()) {
    count(ConnectedCounter::kRxNoReceive);
    message_.active = false;
    return Verdict::kDropped;
  }
  nak_ = {wire::Syndrome::rnr_nak(connection_.rnr_timer), expected_};
  silent_ = true;
  return Verdict::kNotReady;
}

// An XRC target has no protection domain: that of the queue which a request names counts for its
// R_Keys as well (annex A14).
Responder::Source Responder::source_for(Qpn srq) {
  if (queues_ == nullptr) return {&source_, &completions_, connection_.config.pd};
  const XrcQueues::Found found = queues_->find(srq);
  return {found.source, found.completions, found.pd};
}

// Lays the payload over the pieces of the receive request, after what is there already. The caller
// has made sure that it fits.
bool Responder::scatter(Bytes payload) {
  while (!payload.empty()) {
    assert(receive_.piece < receive_.request.pieces.size());
    const Sge& piece = receive_.request.pieces[receive_.piece];
    const std::size_t take = std::min<std::size_t>(piece.length - receive_.offset, payload.size());
    if (take > 0) {
      std::byte* const to = target_.resolve(piece.lkey.value(), receive_.pd,
                                            piece.address + receive_.offset, take, kLocalWrite);
      if (to == nullptr || !connection_.config.copy(to, payload.data(), take)) return false;
      payload = payload.subspan(take);
      receive_.offset += static_cast<std::uint32_t>(take);
    }
    if (receive_.offset == piece.length) {
      ++receive_.piece;
      receive_.offset = 0;
    }
  }
  return true;
}

// Fills in what all of them say.
void Responder::complete_receive(const Source& source, Completion& completion) {
  assert(receive_.held && source.completions != nullptr);
  receive_.held = false;
  completion.wr_id = receive_.request.wr_id;
  completion.sl = connection_.path.sl.value();
  completion.qpn = connection_.config.qpn;
  completion.source_qpn = connection_.peer;
  completion.at = now_;
  source.completions->complete(completion);
}

// The receive request is at fault, or the message for it. An unreliable message that is too long is
// dropped, and the request stays for the next one (IBA 9.9.3, class D).
Responder::Verdict Responder::fail_receive(CompletionStatus status, NakCode code) {
  if (!reliable() && status == CompletionStatus::kLocalLengthError) return refuse(code);
  const Source source = source_for(message_.srq);
  Completion completion{.status = status};
  if (source.completions != nullptr) complete_receive(source, completion);
  if (code == NakCode::invalid_request) count(ConnectedCounter::kRxInvalidRequests);
  message_.active = false;
  failing_ = true;
  ack_due_ = ack_now_ = gap_news_ = false;
  if (reliable()) nak_ = {wire::Syndrome::nak(code), expected_};
  return Verdict::kRefused;
}

// IBA 9.9.3, table 62: the peer has broken a rule. A reliable connection ends with a NAK, and with
// an event where no receive request can tell; of an unreliable one only the message is lost.
Responder::Verdict Responder::refuse(NakCode code) {
  const bool access = code == NakCode::remote_access_error;
  count(access ? ConnectedCounter::kRxAccessErrors : ConnectedCounter::kRxInvalidRequests);
  message_.active = false;
  if (!reliable()) {
    count(ConnectedCounter::kRxMessagesAbandoned);
    return Verdict::kDropped;
  }
  events_ |= access ? kEventAccessError : kEventInvalidRequest;
  nak_ = {wire::Syndrome::nak(code), expected_};
  failing_ = true;
  ack_due_ = ack_now_ = gap_news_ = false;
  return Verdict::kRefused;
}

}  // namespace weft::hca
