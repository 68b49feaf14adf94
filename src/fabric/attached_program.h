// SPDX-License-Identifier: Apache-2.0
// One attachment, as its port has it: its numbers, what it may send, and what waits for it.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fabric/attachment.h"
#include "fabric/raw_queue_pairs.h"
#include "link/receive_buffer.h"

namespace weft::fabric {

class ProgramPort;

class AttachedProgram final : public Attachment,
                              private link::ReceiveBuffer::Observer,
                              private RawQueuePairs::Owner {
 public:
  // What may wait at the port of one program's packets, for each VL, in blocks of 64 bytes: as much
  // as a link's end takes in.
  static constexpr std::uint32_t kRoom = 2048;
  // Numbers that the program lately gave back: it may have sent packets before that, which are
  // looked at after it. More than fit into what carries them need not be remembered.
  static constexpr std::size_t kLately = 1024;

  // Both outlive it.
  AttachedProgram(ProgramPort& port, Program& program);
  AttachedProgram(const AttachedProgram&) = delete;
  AttachedProgram& operator=(const AttachedProgram&) = delete;
  ~AttachedProgram() override;

  // --- Attachment --------------------------------------------------------------------------------
  Expected<Qpn> allocate() override;
  Expected<void> release(Qpn qpn) override;
  [[nodiscard]] bool owns(Qpn qpn) const override { return queue_pairs_.contains(qpn); }
  Expected<void> hand_over(Qpn qpn, Attachment& to) override;
  Expected<void> take_over(Qpn qpn, const Groups& groups) override;
  Expected<void> join(Qpn qpn, const Gid& group) override;
  Expected<void> leave(Qpn qpn, const Gid& group) override;
  Expected<void> make_raw(Qpn qpn) override;
  Expected<void> divert(Qpn qpn, const RawRule& rule) override;
  Expected<void> restore(Qpn qpn, const RawRule& rule) override;
  [[nodiscard]] std::uint32_t epoch() const override;
  Sent send(link::PacketPtr& packet, Qpn source, std::uint32_t epoch, Time now) override;
  void resume(Time now) override;

  // --- the port ----------------------------------------------------------------------------------
  // For one of its queue pairs, or a group of theirs.
  void arrive(link::PacketPtr packet, Time now);
  // What it was woken for, or its deadline.
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;
  [[nodiscard]] Program& program() { return program_; }
  [[nodiscard]] const ProgramPort& port() const { return port_; }

 private:
  void space_freed(Vl vl) override;
  void arrive_raw(link::PacketPtr packet, Qpn to, Time now) override {
    arrive_for(std::move(packet), to, now);
  }
  [[nodiscard]] bool is_raw(Qpn qpn) const { return raw_ != nullptr && raw_->contains(qpn); }
  Sent send_raw(link::PacketPtr& packet, Qpn source, std::uint32_t epoch, Time now);
  // `raw`: 0, or the raw queue pair.
  void arrive_for(link::PacketPtr packet, Qpn raw, Time now);
  [[nodiscard]] bool was_lately(Qpn qpn) const;
  // The number stays in use.
  void forget(Qpn qpn);
  // Whether the program took it.
  bool hand_over(link::PacketPtr& packet, Qpn raw, Time now);
  // Whether it may hold so much of the port's receive buffer.
  [[nodiscard]] bool may_wait(const link::Packet& packet) const;
  [[nodiscard]] link::PacketPtr next_waiting();
  void drop_waiting();
  void set_stuck(bool stuck);

  ProgramPort& port_;
  Program& program_;
  std::unordered_set<Qpn> queue_pairs_;
  Qpn last_source_{};  // of these, from which it sent last; 0, which is nobody's: none
  std::deque<Qpn> lately_;
  std::unordered_map<Gid, std::unordered_set<Qpn>> groups_;
  std::size_t joins_ = 0;

  link::ReceiveBuffer::Ptr room_;  // of what it has sent and waits at the port
  std::uint16_t blocked_ = 0;      // bit n: may_send() is owed once VL n has room

  std::unique_ptr<RawQueuePairs> raw_;  // null: none

  std::deque<Qpn> waiting_raw_;  // as of arrive_for(), of each that waits
  link::PacketQueue waiting_;    // for room at the program; arrived_at is when it began to wait
  std::array<std::uint32_t, link::kVls> waiting_blocks_{};
  bool stuck_ = false;  // it did not take what waited: nothing waits for it now
};

}  // namespace weft::fabric
