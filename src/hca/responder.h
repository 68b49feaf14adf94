// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ring.h"
#include "base/time.h"
#include "hca/connection.h"
#include "hca/datagram.h"
#include "hca/in_packet.h"
#include "hca/memory_table.h"
#include "hca/reorder_buffer.h"
#include "hca/types.h"
#include "hca/uc_granter.h"
#include "wire/aeth.h"
#include "wire/reth.h"
#include "wire/weft_ack.h"

namespace weft::hca {

// The receiving half of a connection (IBA 9.7.4, 9.7.5 for RC and XRC; 9.8.2.3 for UC): executes
// requests in order and exactly once, acknowledges them, sends the data of RDMA reads.
//
// What goes back does so in order: a queue of answers (reads and atomics), and behind it at most
// one acknowledgement of everything so far, positive or negative. An answer acknowledges what was
// before it, so that an acknowledgement is never needed between two of them (IBA 9.7.5.1.2).
class Responder {
 public:
  // `source`: the queue pair's own receive queue or a shared one; `queues`: XRC targets only, which
  // find queue and completions by packet.
  Responder(Connection& connection, MemoryTable& memory, CompletionSink& completions,
            ReceiveSource& source, XrcQueues* queues);

  // INIT to RTR: the first request packet is expected to carry `first`.
  void start(Psn first);
  void reset();
  // Into the error state: what it holds of a receive request completes as flushed. The owner
  // flushes the queue itself.
  void flush();

  // A request. The common checks are made.
  void receive(const InPacket& packet, Time now);
  // Nothing more waits to be read just now: acknowledgements that were put off are due.
  void end_run(Time now);
  // The same of acknowledgements alone, in the middle of a run.
  void acknowledge_now() { ack_now_ = ack_due_; }
  // The network marked a packet of the peer's: it is to be told (CNP, IBA A17.9.3).
  void congestion_experienced(Time now);

  bool fill(Burst& burst, Time now);
  // Appends the acknowledgement that is due to a burst of the requester's, if nothing else is and
  // the burst takes it; sent() must follow then, too.
  bool join(Burst& burst, Time now);
  // The same, in the packet that is all of the burst: between Weft peers, and where there is room.
  bool ride(Burst& burst, Time now);
  void sent(const Burst& burst, SendResult result, Time now);
  // Whether there can ever be anything to send: of an unreliable service only to a Weft peer.
  [[nodiscard]] bool speaks() const { return reliable() || connection_.config.extensions; }
  [[nodiscard]] bool has_work() const;
  // Whether that is answers to reads and atomics.
  [[nodiscard]] bool has_answers() const { return !answers_.empty(); }
  // Whether has_work() only because of an acknowledgement without bad news: of a gap the peer is to
  // hear at once.
  [[nodiscard]] bool only_acks_due() const;
  [[nodiscard]] std::optional<Time> deadline() const { return std::nullopt; }

  // Receive requests were posted: a Weft peer that waits for them is told (never needed by the
  // standard).
  void receive_posted();

  // QpEvents since the last call. The owner moves the queue pair to the error state once failed().
  std::uint32_t take_events();
  // It has refused a request for good and executes nothing more.
  [[nodiscard]] bool failing() const { return failing_; }
  // And the NAK that says so is out, or there is none (IBA 9.9.3).
  [[nodiscard]] bool failed() const;

 private:
  static constexpr std::uint32_t kIcrcBytes = 4;
  // An acknowledgement that was asked for waits for the end of the run, but not longer than this.
  static constexpr std::uint32_t kMostUnacknowledgedBytes = 128 * 1024;
  static constexpr std::uint32_t kMostUnacknowledgedPackets = 128;
  // Repeated reads that wait to be answered, beyond those that the peer may have outstanding.
  static constexpr std::size_t kMostReplays = 256;
  // A read whose first packet was asked for again so often seems not to fit the path.
  static constexpr unsigned kVanishes = 3;
  static constexpr Duration kCnpInterval = 50us;

  // The message that is arriving; between two messages `active` is false.
  struct Message {
    bool active = false;
    wire::Operation operation = wire::Operation::send;
    std::uint64_t arrived = 0;  // payload bytes so far
    wire::Reth reth{};          // of a write
    Qpn srq{};                  // XRC: where its receive request comes from
  };
  // A receive request that was taken for a message, and where the next byte goes.
  struct Receive {
    bool held = false;
    TakenReceive request;
    PdHandle pd = 0;
    std::size_t piece = 0;
    std::uint32_t offset = 0;  // into the piece
  };
  // The extended headers of a request; which count depends on the opcode.
  struct Headers {
    Qpn srq{};
    wire::Reth reth{};
    RKey invalidate{};
    std::uint32_t immediate = 0;  // as it was on the wire
    bool with_immediate = false;
    bool with_invalidate = false;
  };
  // An answer that is to be sent.
  struct Answer {
    bool atomic = false;
    bool replay = false;  // of a duplicate
    Psn psn{};            // of its first packet
    std::uint32_t msn = 0;
    std::uint32_t packets = 1;
    std::uint32_t next = 0;  // packets before it are sent
    PdHandle pd = 0;
    wire::Reth reth{};           // a read
    std::uint64_t original = 0;  // an atomic
  };
  // What is kept of a read or an atomic in case the answer is lost (IBA 9.7.5.1.4).
  struct Kept {
    bool atomic = false;
    Psn psn{};
    std::uint32_t msn = 0;
    std::uint32_t packets = 1;
    PdHandle pd = 0;
    wire::Reth reth{};
    std::uint64_t original = 0;
    unsigned replays = 0;  // from its first packet on
  };
  // Where receive requests come from and complete to, for one packet.
  struct Source {
    ReceiveSource* queue = nullptr;
    CompletionSink* completions = nullptr;
    PdHandle pd = 0;
  };
  struct Nak {
    wire::Syndrome syndrome{};
    Psn psn{};
  };
  enum class Tail : std::uint8_t { kNone, kAck, kNak, kCnp, kCredit };
  // What is out between fill() and sent().
  struct InFlight {
    bool out = false;
    bool abandoned = false;     // reset meanwhile: forget it
    bool joined = false;        // the tail only, in a burst of the requester's
    std::size_t finished = 0;   // so many answers are sent in full,
    std::uint32_t partial = 0;  // and so many packets of the next one
    std::uint64_t bytes = 0;    // payload
    std::size_t answers = 0;    // packets of answers
    Tail tail = Tail::kNone;
    Nak nak{};                 // the tail's, or
    std::uint8_t credits = 0;  // what the tail says, an acknowledgement
    std::uint32_t window = 0;  // likewise; 0: nothing
  };
  // How far the execution of a packet went.
  enum class Verdict : std::uint8_t { kDone, kNotReady, kRefused, kDropped };

  // Receiving: responder.cc.
  void receive_unreliable(const InPacket& packet);
  void receive_next(const InPacket& packet);
  void receive_ahead(const InPacket& packet);
  void receive_duplicate(const InPacket& packet);
  void replay(const InPacket& packet, Kept& kept);
  void drain();
  void note_executed(const InPacket& packet);
  void see(Time now) { now_ = now > now_ ? now : now_; }

  // Execution: responder_execute.cc.
  Verdict execute(const InPacket& packet);
  [[nodiscard]] bool in_sequence(const wire::OpcodeInfo& info) const;
  [[nodiscard]] bool right_length(const InPacket& packet) const;
  [[nodiscard]] bool permits(wire::Operation operation) const;
  static Headers parse_headers(const InPacket& packet);
  Verdict execute_send(const InPacket& packet, const Headers& headers);
  Verdict execute_write(const InPacket& packet, const Headers& headers);
  Verdict execute_read(const InPacket& packet, const Headers& headers);
  Verdict execute_atomic(const InPacket& packet, const Headers& headers);
  Verdict finish_message(const InPacket& packet, const Headers& headers);
  Verdict take_receive(Qpn srq);
  bool scatter(Bytes payload);
  [[nodiscard]] Source source_for(Qpn srq);
  void complete_receive(const Source& source, Completion& completion);
  Verdict fail_receive(CompletionStatus status, wire::NakCode code);
  Verdict refuse(wire::NakCode code);
  void keep(const Answer& answer);
  void doubt_path(const Answer& answer);

  // Answering: responder_answer.cc.
  [[nodiscard]] bool ack_ripe() const;
  void fill_answers(Burst& burst);
  [[nodiscard]] wire::Position look_of(std::uint32_t number, std::uint32_t packets) const;
  bool append_answer(Burst& burst, const Answer& answer, std::uint32_t number);
  std::uint32_t append_alike(Burst& burst, const Answer& answer, std::uint32_t number);
  void note_tail(Tail tail, wire::Syndrome syndrome);
  void fill_acknowledgement(Burst& burst);
  [[nodiscard]] wire::WeftAck describe(const wire::Aeth& aeth) const;
  void fill_cnp(Burst& burst);
  void fill_credit(Burst& burst);
  void write_header(OutPacket& packet, wire::Opcode opcode, Psn psn) const;
  [[nodiscard]] wire::Syndrome ack_syndrome() const;
  [[nodiscard]] bool news_of_window() const;
  void note_sent_tail(const InFlight& was);
  void take_back_tail(const InFlight& was);
  void fail_read(Psn psn);
  [[nodiscard]] std::size_t reads_waiting() const;
  [[nodiscard]] std::uint32_t packets_of(std::uint64_t length) const;

  [[nodiscard]] bool reliable() const { return is_reliable(connection_.config.type); }
  [[nodiscard]] bool extended() const { return connection_.config.extensions && reliable(); }
  // The peer is given credits.
  [[nodiscard]] bool grants() const {
    return connection_.config.extensions && connection_.config.type == QpType::kUc;
  }
  void count(ConnectedCounter counter, std::uint64_t n = 1) {
    connection_.counters.add_in_turn(counter, n);
  }

  Connection& connection_;
  MemoryTable& memory_;
  CompletionSink& completions_;
  ReceiveSource& source_;
  XrcQueues* queues_;

  Psn expected_{};
  std::uint32_t msn_ = 0;  // 24 bits: messages completed
  bool silent_ = false;    // a NAK has said what is expected: nothing more until it comes
  bool failing_ = false;
  std::uint32_t events_ = 0;
  Message message_;
  Receive receive_;
  ReorderBuffer reorder_;
  Ring<Answer> answers_;
  std::vector<Kept> kept_;  // at most max_reads_in
  std::size_t oldest_kept_ = 0;

  bool ack_due_ = false;
  bool ack_now_ = false;    // the run is over, or it cannot wait for that
  bool gap_news_ = false;   // packets arrived out of order that a Weft peer has not heard of
  std::optional<Nak> nak_;  // due
  std::uint32_t unacknowledged_bytes_ = 0;
  std::uint32_t unacknowledged_packets_ = 0;
  std::uint32_t told_window_ = 0;  // 0: nothing yet
  std::uint8_t told_credits_ = wire::Syndrome::kNoCredits;
  UcGranter granter_;
  bool cnp_due_ = false;
  std::optional<Time> last_cnp_;

  // Where the last packet was written: held until the end of the run, for the next one most likely
  // goes there too. Windows are not.
  RegionPin target_;
  RegionPinSet pins_;  // of what is being sent
  InFlight in_flight_;
  std::size_t one_by_one_ = 0;  // the next so many go in bursts of one, to find what is refused
  std::array<std::byte, wire::WeftAck::kMaxSize> ack_payload_{};
  Time now_{};
};

}  // namespace weft::hca
