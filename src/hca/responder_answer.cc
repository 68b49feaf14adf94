// SPDX-License-Identifier: Apache-2.0
// What a responder sends: the data of reads, results of atomics, acknowledgements, congestion
// notifications, credits.
#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "hca/responder.h"
#include "wire/atomic_ack_eth.h"
#include "wire/bth.h"
#include "wire/riding_ack.h"

namespace weft::hca {

using wire::Opcode;
using wire::Operation;
using wire::Position;

namespace {

constexpr std::size_t kAckLength = wire::Bth::kSize + wire::Aeth::kSize;
constexpr std::array<std::byte, 16> kCnpReserved{};  // IBA A17.9.3
constexpr std::uint8_t kXrcOpcodes = 0xA0;           // those of RC, moved

Position position_of(std::uint32_t packet, std::uint32_t packets) {
  if (packets == 1) return Position::only;
  if (packet == 0) return Position::first;
  return packet + 1 == packets ? Position::last : Position::middle;
}

Opcode rc_read_response(Position position) {
  switch (position) {
    case Position::first:
      return Opcode::rc_read_response_first;
    case Position::middle:
      return Opcode::rc_read_response_middle;
    case Position::last:
      return Opcode::rc_read_response_last;
    case Position::only:
      break;
  }
  return Opcode::rc_read_response_only;
}

}  // namespace

std::uint32_t Responder::packets_of(std::uint64_t length) const {
  const std::uint64_t mtu = connection_.mtu;
  return length == 0 ? 1 : static_cast<std::uint32_t>((length + mtu - 1) / mtu);
}

bool Responder::ack_ripe() const {
  if (!ack_due_ && !gap_news_) return false;
  return ack_now_ || unacknowledged_bytes_ >= kMostUnacknowledgedBytes ||
         unacknowledged_packets_ >= kMostUnacknowledgedPackets;
}

bool Responder::has_work() const {
  return !in_flight_.out && (cnp_due_ || granter_.due() || !answers_.empty() || nak_ || ack_ripe());
}

bool Responder::only_acks_due() const {
  const bool more = cnp_due_ || granter_.due() || !answers_.empty() || nak_;
  return !in_flight_.out && !more && ack_ripe() && !gap_news_ && reorder_.empty();
}

bool Responder::failed() const {
  return failing_ && !nak_ && !(in_flight_.out && in_flight_.tail == Tail::kNak);
}

// Reads and atomics of the peer that are not answered yet. What is on its way counts as answered:
// the peer may have it before the wire tells us.
std::size_t Responder::reads_waiting() const {
  std::size_t waiting = 0;
  for (std::size_t i = in_flight_.out ? in_flight_.finished : 0; i < answers_.size(); ++i)
    waiting += answers_[i].replay ? 0 : 1;
  return waiting;
}

bool Responder::fill(Burst& burst, Time now) {
  see(now);
  if (in_flight_.out) return false;
  in_flight_ = InFlight{};
  burst.clear();
  burst.path = connection_.path;
  burst.destination = connection_.peer;
  burst.alone_above = connection_.alone_above();
  assert(pins_.size() == 0);
  if (cnp_due_) {
    fill_cnp(burst);
  } else if (granter_.due()) {
    fill_credit(burst);
  } else {
    fill_answers(burst);
    if (in_flight_.finished == answers_.size()) fill_acknowledgement(burst);
  }
  in_flight_.out = !burst.empty();
  return in_flight_.out;
}

bool Responder::join(Burst& burst, Time now) {
  see(now);
  assert(!burst.empty());
  if (!only_acks_due()) return false;
  in_flight_ = InFlight{};
  fill_acknowledgement(burst);
  in_flight_.out = in_flight_.joined = in_flight_.tail != Tail::kNone;
  return in_flight_.out;
}

// A call to the wire for one packet costs a good deal less than one for a run of two.
bool Responder::ride(Burst& burst, Time now) {
  see(now);
  if (burst.size() != 1 || !extended() || !only_acks_due() || news_of_window()) return false;
  OutPacket& packet = burst.only();
  wire::BthView bth{MutableBytes(packet.header)};
  const auto opcode = wire::with_riding_ack(bth.opcode());
  if (!opcode || packet.length() + wire::RidingAck::kSize > kNarrowPacket) return false;
  const wire::Syndrome syndrome = ack_syndrome();
  bth.set_opcode(*opcode);
  wire::RidingAck{.aeth = {.syndrome = syndrome, .msn = msn_}, .psn = expected_ - 1}.write(
      MutableBytes(packet.header).subspan(packet.header_length));
  burst.lengthen_header(wire::RidingAck::kSize);
  in_flight_ = InFlight{};
  in_flight_.out = in_flight_.joined = true;
  note_tail(Tail::kAck, syndrome);
  return true;
}

void Responder::note_tail(Tail tail, wire::Syndrome syndrome) {
  in_flight_.tail = tail;
  in_flight_.credits = syndrome.value();
  ack_due_ = ack_now_ = gap_news_ = false;
  unacknowledged_bytes_ = unacknowledged_packets_ = 0;
}

void Responder::fill_answers(Burst& burst) {
  while (in_flight_.finished < answers_.size()) {
    const std::size_t waiting = answers_.size();
    const Answer& answer = answers_[in_flight_.finished];
    std::uint32_t next = answer.next;
    while (next < answer.packets && append_answer(burst, answer, next)) {
      ++next;
      next += append_alike(burst, answer, next);
    }
    if (answers_.empty()) return;  // it has failed
    if (answers_.size() < waiting) continue;
    if (next < answer.packets) {
      in_flight_.partial = next;
      break;
    }
    ++in_flight_.finished;
  }
  in_flight_.answers = burst.size();
}

// To a Weft peer the packets in the middle of a response look like the first: with an AETH all are
// of one length, and leave in runs. A requester has to take such a packet anywhere in a read, since
// one that is resumed begins so (IBA 9.7.5.1.4).
Position Responder::look_of(std::uint32_t number, std::uint32_t packets) const {
  const Position position = position_of(number, packets);
  return position == Position::middle && extended() ? Position::first : position;
}

// Adds a packet of an answer; false when it does not fit, or (the first of the burst) has failed.
bool Responder::append_answer(Burst& burst, const Answer& answer, std::uint32_t number) {
  if (one_by_one_ > 0 && !burst.empty()) return false;
  const Position position = look_of(number, answer.packets);
  const std::uint64_t offset = std::uint64_t{number} * connection_.mtu;
  const std::uint32_t length = answer.atomic
                                   ? 0
                                   : static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                         connection_.mtu, answer.reth.dma_length - offset));
  const bool with_aeth = position != Position::middle;
  const std::uint8_t pad = wire::pad_count_for(length);
  const std::size_t header = wire::Bth::kSize + (with_aeth ? wire::Aeth::kSize : 0) +
                             (answer.atomic ? wire::AtomicAckEth::kSize : 0);
  if (!burst.takes(header + length + pad, kIcrcBytes)) return false;
  const Psn psn = answer.psn + number;
  const std::byte* data = nullptr;
  if (length > 0) {
    data = pins_.resolve(answer.reth.rkey.value(), answer.pd, answer.reth.virtual_address + offset,
                         length, kRemoteRead, connection_.config.qpn);
    if (data == nullptr) {
      if (burst.empty()) fail_read(psn);
      return false;
    }
  }
  OutPacket& packet = burst.open();
  packet.header_length = static_cast<std::uint8_t>(header);
  packet.pad = pad;
  write_header(packet, answer.atomic ? Opcode::rc_atomic_acknowledge : rc_read_response(position),
               psn);
  const MutableBytes after = MutableBytes(packet.header).subspan(wire::Bth::kSize);
  if (with_aeth) wire::Aeth{.syndrome = ack_syndrome(), .msn = answer.msn}.write(after);
  if (answer.atomic) {
    wire::AtomicAckEth{.original = answer.original}.write(after.subspan(wire::Aeth::kSize));
  }
  if (length > 0) burst.add_piece(packet, {data, length});
  in_flight_.bytes += length;
  burst.close(packet, kIcrcBytes);
  return true;
}

// Goes on with a response whose packet before `number` the burst ends with, for as many full
// packets that look like that one as there is room for; none when it is not as simple as that.
std::uint32_t Responder::append_alike(Burst& burst, const Answer& answer, std::uint32_t number) {
  if (one_by_one_ > 0 || number + 1 >= answer.packets ||
      look_of(number - 1, answer.packets) != look_of(number, answer.packets)) {
    return 0;
  }
  const std::uint32_t mtu = connection_.mtu;
  const OutPacket& model = burst.packets().back();
  const auto count = static_cast<std::uint32_t>(
      std::min<std::size_t>(burst.room(model.length(), kIcrcBytes), answer.packets - 1 - number));
  if (count == 0) return 0;
  const std::uint64_t bytes = std::uint64_t{count} * mtu;
  const std::byte* const data =
      pins_.resolve(answer.reth.rkey.value(), answer.pd,
                    answer.reth.virtual_address + std::uint64_t{number} * mtu, bytes, kRemoteRead,
                    connection_.config.qpn);
  if (data == nullptr) return 0;
  Psn psn = answer.psn + number;
  for (OutPacket& packet : burst.repeat(model, data, count, kIcrcBytes)) {
    wire::BthView(MutableBytes(packet.header)).set_psn(psn);
    ++psn;
  }
  in_flight_.bytes += bytes;
  return count;
}

// Behind the answers: what is to be said of everything before `expected_`.
void Responder::fill_acknowledgement(Burst& burst) {
  if (!nak_ && !ack_ripe()) return;
  const bool weft = !nak_ && extended() && (!reorder_.empty() || news_of_window());
  const wire::Syndrome syndrome = nak_ ? nak_->syndrome : ack_syndrome();
  const wire::Aeth aeth{.syndrome = syndrome, .msn = msn_};
  if (one_by_one_ > 0 && !burst.empty()) return;
  if (weft) {
    const wire::WeftAck ack = describe(aeth);
    if (!burst.takes(wire::Bth::kSize + ack.size(), kIcrcBytes)) return;
    ack.write(ack_payload_);
    const Bytes bytes = Bytes(ack_payload_).first(ack.size());
    const Bytes fixed = bytes.first(wire::WeftAck::kFixedSize);
    OutPacket& packet = burst.open();
    packet.header_length = wire::Bth::kSize + wire::WeftAck::kFixedSize;
    write_header(packet, Opcode::weft_rc_acknowledge, expected_ - 1);
    std::copy(fixed.begin(), fixed.end(), packet.header.begin() + wire::Bth::kSize);
    if (ack.words > 0) burst.add_piece(packet, bytes.subspan(fixed.size()));
    burst.close(packet, kIcrcBytes);
    in_flight_.window = ack.window;
  } else {
    if (!burst.takes(kAckLength, kIcrcBytes)) return;
    OutPacket& packet = burst.open();
    packet.header_length = kAckLength;
    write_header(packet, Opcode::rc_acknowledge, nak_ ? nak_->psn : expected_ - 1);
    aeth.write(MutableBytes(packet.header).subspan(wire::Bth::kSize));
    burst.close(packet, kIcrcBytes);
  }
  if (nak_) in_flight_.nak = *nak_;
  note_tail(nak_ ? Tail::kNak : Tail::kAck, syndrome);
  nak_.reset();
}

wire::WeftAck Responder::describe(const wire::Aeth& aeth) const {
  wire::WeftAck ack{.aeth = aeth, .window = connection_.config.receive_budget};
  if (reorder_.empty()) return ack;
  const auto beyond = static_cast<std::uint32_t>(Psn::diff(reorder_.end(), expected_));
  for (std::uint32_t i = 1; i < beyond; ++i) {
    if (reorder_.find(expected_ + i) != nullptr) ack.set(i - 1);
  }
  return ack;
}

void Responder::fill_cnp(Burst& burst) {
  OutPacket& packet = burst.open();
  packet.header_length = wire::Bth::kSize;
  wire::Bth{.opcode = Opcode::cnp,
            .pkey = connection_.pkey(),
            .becn = true,
            .dest_qp = connection_.peer,
            .psn = Psn{}}
      .write(packet.header);
  burst.add_piece(packet, kCnpReserved);
  burst.close(packet, kIcrcBytes);
  cnp_due_ = false;
  in_flight_.tail = Tail::kCnp;
}

void Responder::fill_credit(Burst& burst) {
  const std::size_t waiting = source_.size();
  const Credit credit = granter_.grant(waiting, connection_.config.receive_budget);
  if (granter_.scarce()) {
    source_.await_post();
    if (source_.size() > waiting) receive_posted();  // just before it was told to watch
  }
  const MutableBytes payload = MutableBytes(ack_payload_).first(Credit::kSize);
  credit.write(payload);
  OutPacket& packet = burst.open();
  packet.header_length = wire::Bth::kSize;
  write_header(packet, Opcode::weft_uc_credit, Psn{});
  burst.add_piece(packet, payload);
  burst.close(packet, kIcrcBytes);
  in_flight_.tail = Tail::kCredit;
}

// `opcode` as RC has it.
void Responder::write_header(OutPacket& packet, Opcode opcode, Psn psn) const {
  const bool xrc =
      connection_.config.type == QpType::kXrcTarget && opcode != Opcode::weft_rc_acknowledge;
  const auto code = static_cast<std::uint8_t>(opcode);
  wire::Bth{.opcode = xrc ? static_cast<Opcode>(code + kXrcOpcodes) : opcode,
            .migrated = connection_.migration == PathMigration::kMigrated,
            .pad_count = packet.pad,
            .pkey = connection_.pkey(),
            .dest_qp = connection_.peer,
            .psn = psn}
      .write(packet.header);
}

// IBA 9.7.7.2: how many messages after those completed will find a receive request. A queue that
// others take from, too, promises nothing.
wire::Syndrome Responder::ack_syndrome() const {
  if (queues_ != nullptr || source_.shared()) return wire::Syndrome::ack();
  constexpr std::size_t kMost = 32'768;  // the largest code
  const std::size_t waiting = source_.size() + (receive_.held ? 1 : 0);
  return wire::Syndrome::ack(
      wire::credit_code_for(static_cast<std::uint32_t>(std::min(waiting, kMost))));
}

// A Weft peer is told the window with the first acknowledgement, and when it changes a good deal.
bool Responder::news_of_window() const {
  const std::uint32_t window = connection_.config.receive_budget;
  const bool less = window < told_window_ - told_window_ / 8;
  return window != 0 && (less || window > told_window_ + told_window_ / 4);
}

void Responder::sent(const Burst& burst, SendResult result, Time now) {
  see(now);
  assert(in_flight_.out);
  pins_.release();
  const InFlight was = std::exchange(in_flight_, InFlight{});
  if (was.abandoned) return;
  if (was.joined) {  // the requester counts the packets, and sees to what was refused
    if (result.outcome == SendOutcome::kSent) {
      note_sent_tail(was);
    } else {
      take_back_tail(was);
    }
    return;
  }
  const bool at_fault = result.outcome == SendOutcome::kRefused &&
                        result.reason != CompletionStatus::kSuccess && was.answers > 0;
  if (result.outcome == SendOutcome::kWouldBlock || at_fault) {
    take_back_tail(was);
    if (at_fault) {
      count(ConnectedCounter::kTxRefused, burst.size());
      if (was.answers > 1) {  // which one is at fault shows when they go one by one
        one_by_one_ = was.answers;
      } else {
        fail_read(answers_.front().psn + answers_.front().next);
      }
    }
    return;
  }
  // What the wire refuses for other reasons is lost: the peer will ask again.
  const bool lost = result.outcome == SendOutcome::kRefused;
  count(lost ? ConnectedCounter::kTxRefused : ConnectedCounter::kTxPackets, burst.size());
  for (std::size_t i = 0; i < was.finished; ++i)
    answers_.pop_front();
  if (was.answers > 0 && !answers_.empty()) answers_.front().next = was.partial;
  one_by_one_ -= std::min(one_by_one_, was.answers);
  if (lost) return;
  count(ConnectedCounter::kTxBytes, was.bytes);
  note_sent_tail(was);
}

void Responder::note_sent_tail(const InFlight& was) {
  switch (was.tail) {
    case Tail::kNone:
      return;
    case Tail::kAck:
      count(ConnectedCounter::kTxAcks);
      told_credits_ = was.credits;
      if (was.window != 0) told_window_ = was.window;
      return;
    case Tail::kNak:
      count(was.nak.syndrome.type() == wire::AckType::rnr_nak ? ConnectedCounter::kTxRnrNaks
                                                              : ConnectedCounter::kTxNaks);
      return;
    case Tail::kCnp:
      count(ConnectedCounter::kTxCnps);
      return;
    case Tail::kCredit:
      count(ConnectedCounter::kTxCredits);
      return;
  }
}

// The wire did not take it. A NAK may have been overtaken by what it asks for.
void Responder::take_back_tail(const InFlight& was) {
  switch (was.tail) {
    case Tail::kNone:
      return;
    case Tail::kAck:
      if (!nak_ && !failing_) ack_due_ = ack_now_ = true;
      return;
    case Tail::kNak:
      if (nak_) return;
      if (failing_ || was.nak.psn == expected_) {
        nak_ = was.nak;
      } else {
        ack_due_ = ack_now_ = true;
      }
      return;
    case Tail::kCnp:
      cnp_due_ = true;
      return;
    case Tail::kCredit:
      granter_.take_back();
      return;
  }
}

// The memory of a read is not there any more: the connection ends at this packet of the answer. Not
// so of one that was answered before: its request may have been on its way twice, or so long that
// the peer has the answer and has given the memory back. It takes no notice of a NAK then.
void Responder::fail_read(Psn psn) {
  one_by_one_ = 0;
  if (answers_.front().replay) {
    answers_.pop_front();
    count(ConnectedCounter::kRxAccessErrors);
    if (!nak_) nak_ = {wire::Syndrome::nak(wire::NakCode::remote_access_error), psn};
    return;
  }
  answers_.clear();
  refuse(wire::NakCode::remote_access_error);
  nak_->psn = psn;
}

}  // namespace weft::hca
