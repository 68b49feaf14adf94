// SPDX-License-Identifier: Apache-2.0
// The beginning and the end of a burst.
#include <cassert>

#include "hca/requester.h"
#include "wire/bth.h"
#include "wire/packet.h"

namespace weft::hca {

bool Requester::fill(Burst& burst, Time now) {
  see(now);
  if (out_.active) return false;  // `burst` may be the one that is out
  if (fill_alone(burst)) return true;
  expire(now);
  if (fetches_.empty()) selective_ = connection_.config.extensions && reliable();
  if (!running() || rnr_until_) {
    burst.clear();
    return false;
  }
  begin_burst(burst);
  paced_until_.reset();
  const std::size_t most = one_by_one_ > 0 ? 1 : Burst::kMaxPackets;
  while (burst.size() < most && (lost_count_ > 0 ? append_lost(burst) : append_fresh(burst))) {
  }
  if (burst.empty() && tail_unasked() && !more_expected_) append_again(burst);
  if (burst.empty()) {
    pins_.release();
    out_.forget_packets();
    stalled_ = true;
    settle();
    return false;
  }
  // Nothing follows that could ask: never wait for what nobody asked for.
  if (out_.last != nullptr && tail_unasked() && !ask_may_wait() &&
      (lost_count_ > 0 ? next_lost() == kNone : !fresh_possible())) {
    wire::BthView(MutableBytes(out_.last->header)).set_ack_request(true);
    last_asked_ = true;
    since_ask_ = 0;
  }
  out_.whole = tries_path(burst);
  out_.active = true;
  return true;
}

// What to go back to if the wire does not take it.
void Requester::begin_burst(Burst& burst) {
  assert(pins_.size() == 0 && out_.runs.empty());
  burst.clear();
  burst.path = connection_.path;
  burst.destination = connection_.peer;
  burst.alone_above = connection_.alone_above();
  out_.abandoned = false;
  out_.whole = false;
  out_.last = nullptr;
  out_.queued_bytes = out_.queued_packets = 0;
  out_.before.next_serial = next_serial_;
  out_.before.next_request = next_request_;
  out_.before.next_offset = next_offset_;
  out_.before.ssn = ssn_;
  out_.before.since_ask = since_ask_;
  out_.before.last_asked = last_asked_;
  if (paced()) out_.before.pacer = pacer_.checkpoint();
}

// A message of one packet that nobody acknowledges or grants credit for, when no other one waits:
// as fill() would have it, in one step. False: it is not as simple as that.
bool Requester::fill_alone(Burst& burst) {
  if (reliable() || paced() || !running() || doom_ || hold_ || waits_turn_ || next_offset_ != 0 ||
      next_request_ + 1 != first_request_ + requests_.size()) {
    return false;
  }
  Slot& slot = this->slot(next_request_);
  const bool simple = slot.opcode == SendOpcode::kSend && slot.piece_count == 1 &&
                      slot.length != 0 && slot.length <= connection_.mtu &&
                      slot.length <= connection_.config.max_message && !slot.is_inline();
  if (!simple) return false;
  begin_burst(burst);
  const Sge& piece = requests_.pieces(next_request_ - first_request_).front();
  const std::byte* const data =
      pins_.resolve(piece.lkey.value(), connection_.config.pd, piece.address, slot.length, 0);
  if (data == nullptr) {
    pins_.release();
    return false;
  }
  const auto length = static_cast<std::uint32_t>(slot.length);
  OutPacket& packet = burst.open();
  burst.add_piece(packet, {data, length});
  write_front(packet, slot,
              {.opcode = wire::Opcode::uc_send_only,
               .header = wire::Bth::kSize,
               .pad = wire::pad_count_for(length),
               .payload = length,
               .ends = true},
              next_serial_, slot.solicited, false);
  burst.close(packet, wire::kIcrcSize);
  out_.add_fresh(next_serial_, 1);
  ++next_serial_;
  ssn_ = (ssn_ + 1) & Psn::kMask;
  out_.queued_bytes = length;
  out_.queued_packets = 1;
  queued_bytes_ -= length;
  --queued_packets_;
  slot.finished = true;
  slot.end = next_serial_;
  ++next_request_;
  out_.active = true;
  return true;
}

}  // namespace weft::hca
