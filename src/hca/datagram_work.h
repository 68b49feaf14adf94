// SPDX-License-Identifier: Apache-2.0
// The work requests of a queue pair that has no connection: both queues, data that was posted
// inline, the memory that a burst refers to, and where requests complete. Whether a request may be
// posted or sent now is the queue pair's to say.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <system_error>

#include "base/bytes.h"
#include "base/time.h"
#include "hca/datagram.h"
#include "hca/memory_table.h"
#include "hca/receive_source.h"
#include "hca/types.h"
#include "hca/work_queue.h"

namespace weft::hca {

// `Slot` is that of a WorkQueue, and has the members of SendSlot that are named here.
template <class Slot>
class DatagramWork {
 public:
  // `shared`: receives come from there; null: from a queue of its own. All are outlived by what
  // they are given; `Config` is a queue pair's.
  template <class Config>
  DatagramWork(const Config& config, const MemoryTable& memory, CompletionSink& send_completions,
               CompletionSink& receive_completions, ReceiveSource* shared)
      : qpn_(config.qpn),
        pd_(config.pd),
        max_send_pieces_(config.max_send_pieces),
        max_receive_pieces_(config.max_receive_pieces),
        max_inline_(config.max_inline),
        send_completions_(send_completions),
        receive_completions_(receive_completions),
        sends_(config.max_sends, config.max_send_pieces),
        inline_areas_(config.max_inline),
        pins_(memory),
        own_receives_(config.max_receives, config.max_receive_pieces),
        source_(shared != nullptr ? *shared : own_receives_) {}

  // --- sends -------------------------------------------------------------------------------------
  [[nodiscard]] std::size_t sends() const { return sends_.size(); }
  [[nodiscard]] bool sends_full() const { return sends_.full(); }
  [[nodiscard]] std::size_t send_room() const { return sends_.room(); }
  // Of those that are not complete.
  [[nodiscard]] std::size_t queued_bytes() const { return queued_bytes_; }
  // The `n`th oldest. The reference is good until the next post().
  [[nodiscard]] const Slot& send(std::size_t n) { return sends_.at(n); }

  // How many bytes it is. Nothing: it has too many pieces, or is too long to be inline.
  [[nodiscard]] std::optional<std::uint64_t> length_of(const SendRequest& request) const {
    if (request.pieces.size() > max_send_pieces_) return std::nullopt;
    std::uint64_t length = 0;
    for (const Sge& piece : request.pieces)
      length += piece.length;
    if (request.inline_data && length > max_inline_) return std::nullopt;
    return length;
  }
  // Not when full. `slot` has all but where inline data is, which is filled in; its length is what
  // length_of() says.
  void post(Slot& slot, const SendRequest& request) {
    if (request.inline_data && slot.length > 0) {
      slot.inline_area = inline_areas_.take();
      ByteSink area(inline_areas_.bytes(slot.inline_area));
      for (const Sge& piece : request.pieces) {
        // The address of inline data is one of this process, not of a region (IBA has no inline).
        [[maybe_unused]] const bool put =
            area.put({std::bit_cast<const std::byte*>(piece.address), piece.length});
        assert(put);
      }
    }
    sends_.push(slot, request.inline_data ? std::span<const Sge>{} : request.pieces);
    queued_bytes_ += slot.length;
  }
  // Puts the data of the `n`th into the packet that is open, pinned until pins().release(). False:
  // it names memory that may not be read.
  [[nodiscard]] bool add_pieces(Burst& burst, OutPacket& packet, std::size_t n) {
    const Slot& slot = sends_.at(n);
    if (slot.is_inline()) {
      burst.add_piece(packet, inline_areas_.bytes(slot.inline_area).first(slot.length));
      return true;
    }
    for (const Sge& piece : sends_.pieces(n)) {
      if (piece.length == 0) continue;  // names no memory, so its key does not matter
      const std::byte* const data =
          pins_.resolve(piece.lkey.value(), pd_, piece.address, piece.length, 0);
      if (data == nullptr) return false;
      burst.add_piece(packet, {data, piece.length});
    }
    return true;
  }
  // The oldest is done with: with a completion, unless it went well and nobody asked for one.
  void complete_oldest(CompletionStatus status, Time now) {
    const Slot& slot = sends_.at(0);
    if (status != CompletionStatus::kSuccess || slot.signaled) {
      send_completions_.complete({.wr_id = slot.wr_id,
                                  .status = status,
                                  .opcode = CompletionOpcode::kSend,
                                  .qpn = qpn_,
                                  .at = now});
    }
    drop_oldest();
  }
  void drop_oldest() {
    let_go(sends_.at(0));
    sends_.pop_oldest();
  }
  void flush_sends(Time now) {
    while (!sends_.empty())
      complete_oldest(CompletionStatus::kFlushed, now);
  }
  [[nodiscard]] RegionPinSet& pins() { return pins_; }

  // --- receives ----------------------------------------------------------------------------------
  [[nodiscard]] bool shares_receives() const { return &source_ != &own_receives_; }
  [[nodiscard]] ReceiveSource& source() { return source_; }
  // To the queue of its own. EINVAL: too many pieces, or there is no such queue; ENOMEM: it is
  // full.
  std::errc post_receive(const ReceiveRequest& request) {
    if (shares_receives() || request.pieces.size() > max_receive_pieces_) {
      return std::errc::invalid_argument;
    }
    if (own_receives_.queue.full()) return std::errc::not_enough_memory;
    push_receive(own_receives_.queue, request);
    return {};
  }
  void complete_receive(const Completion& completion) { receive_completions_.complete(completion); }
  void flush_receives(Time now) {
    hca::flush_receives(own_receives_.queue, receive_completions_, qpn_, now);
  }

  // --- both --------------------------------------------------------------------------------------
  // Silently (IBA 10.3.1.1), but for the `in_flight` oldest sends, to whose data a burst that is
  // out refers.
  void forget(std::size_t in_flight) {
    while (sends_.size() > in_flight) {
      let_go(sends_.at(sends_.size() - 1));
      sends_.pop_newest();
    }
    while (!own_receives_.queue.empty())
      own_receives_.queue.pop_oldest();
  }

 private:
  void let_go(const Slot& slot) {
    assert(queued_bytes_ >= slot.length);
    if (slot.is_inline()) inline_areas_.give_back(slot.inline_area);
    queued_bytes_ -= slot.length;
  }

  const Qpn qpn_;
  const PdHandle pd_;
  const std::uint32_t max_send_pieces_;
  const std::uint32_t max_receive_pieces_;
  const std::uint32_t max_inline_;  // bytes
  CompletionSink& send_completions_;
  CompletionSink& receive_completions_;
  WorkQueue<Slot> sends_;
  InlineAreas inline_areas_;
  std::size_t queued_bytes_ = 0;
  RegionPinSet pins_;
  OwnReceives own_receives_;
  ReceiveSource& source_;
};

}  // namespace weft::hca
