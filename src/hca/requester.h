// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/ring.h"
#include "base/time.h"
#include "hca/congestion_window.h"
#include "hca/connection.h"
#include "hca/credit_pacer.h"
#include "hca/datagram.h"
#include "hca/in_packet.h"
#include "hca/memory_table.h"
#include "hca/requester_records.h"
#include "hca/types.h"
#include "hca/work_queue.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/weft_ack.h"

namespace weft::hca {

// The sending half of a connection (IBA 9.7.3 to 9.7.8 for RC and XRC, 9.8.2 for UC): cuts messages
// into packets, keeps what is not acknowledged, sends it again, and completes work requests in
// order.
//
// Nobody acknowledges UC; to a Weft peer it holds to the credits that the peer gives.
//
// To a standard peer it goes back N: from what the peer misses on, everything is sent again. To a
// Weft peer (`extensions`) it sends again what is lost and nothing else, and holds to the window
// that the peer grants.
//
// The owner (ConnectedQueuePair) decides by the state of the queue pair which calls are made.
class Requester {
 public:
  // What a Weft peer is taken to hold before it has granted a window, bytes.
  static constexpr std::uint32_t kWindowUngranted = 64 * 1024;
  // Between the oldest packet that is not acknowledged and the newest, to a Weft peer: what the
  // bitmap of an acknowledgement covers, and what a receiver keeps of it.
  static constexpr std::uint32_t kMostSpan = wire::WeftAck::kMaxWords * 32;
  static constexpr std::uint32_t kMostSpanBytes = 3 * 1024 * 1024;
  // Fewer PSNs than half of all may be outstanding (IBA 9.7.3.1).
  static constexpr std::uint32_t kMostOutstanding = 1u << 23;
  // Packets of which is remembered what is needed to send them again: 64 MiB of memory, where it
  // comes to that. What was taken beyond kKeptRecords is given back when none is outstanding.
  static constexpr std::size_t kMostRecords = std::size_t{1} << 20;
  static constexpr std::size_t kKeptRecords = std::size_t{1} << 14;
  // No scheduler wakes a user-space program sooner, so the local ACK timeout is never shorter.
  static constexpr Duration kLeastTimeout = 1ms;
  // The wait before a tail loss probe, at least and before anything was measured.
  static constexpr Duration kLeastProbe = 5ms;
  static constexpr Duration kFirstProbe = 25ms;
  static constexpr Duration kMostProbe = 1s;
  // Between attempts to send a long packet over a path that seems to be narrow: doubled each time.
  static constexpr Duration kFirstTrial = 50ms;
  static constexpr Duration kLastTrial = 60s;
  static constexpr std::size_t kLeastThird = 16;  // requests, however short the send queue is
  static constexpr std::size_t kMostPins = 16;  // a burst that refers to so many regions ends there
  // A packet is taken for lost when one that was sent so many transmissions later has arrived.
  static constexpr std::uint64_t kReorder = 3;

  Requester(Connection& connection, MemoryTable& memory, CompletionSink& completions);

  // RTR to RTS: the first request packet will carry `first`.
  void start(Psn first);
  // Back to how it was made; nothing completes.
  void reset();
  // Completes everything that is queued or outstanding as flushed, and from then on whatever is
  // posted (IBA 10.3.1.6), until reset() or resume().
  void flush();
  // UC, SQE to RTS (IBA 10.3.1.7): what is posted from now on is sent.
  void resume();

  // See QueuePair::post_send; the state of the queue pair has been checked.
  std::errc post(const SendRequest& request);

  // SQD (IBA 10.3.1.5): begins no further message, finishes those begun.
  void hold(bool hold);
  // More requests are on their way, or a report that none are. Until then packets to a Weft peer,
  // none of which ends a request that is to be reported, need not ask for an acknowledgement, even
  // where nothing follows them yet: an answer to a run costs either end as much as a short message
  // or ten.
  void expect_more(bool more);
  // The last packet has not asked, since more is expected.
  [[nodiscard]] bool ask_waits() const { return more_expected_ && tail_unasked(); }
  // Others have their turn: nothing goes but what went before.
  void wait_turn(bool wait);
  // Nothing is outstanding; while held, the send queue has come to rest.
  [[nodiscard]] bool idle() const;

  // Something was sent that is not answered.
  [[nodiscard]] bool outstanding() const { return !records_.empty() || out_.active; }
  // Whether a packet of that number is.
  [[nodiscard]] bool awaits(Psn psn) const;
  // Of the packet before the oldest that is outstanding; before any, of one that the peer takes for
  // a duplicate just as well.
  [[nodiscard]] Psn settled_psn() const { return psn(oldest()) - 1; }
  // Whether the peer should be asked, by a short packet that it must acknowledge, if short ones
  // arrive: once.
  [[nodiscard]] bool take_question() { return std::exchange(question_, false); }
  // Whether the burst that is out is to be sent as it is, though long packets go in pieces.
  [[nodiscard]] bool sends_whole() const { return out_.active && out_.whole; }
  // The oldest packet goes again at once, to see what comes of it.
  void ask_again(Time now);
  // The peer is gone: the oldest request fails.
  void give_up(Time now);

  bool fill(Burst& burst, Time now);
  void sent(const Burst& burst, SendResult result, Time now);
  [[nodiscard]] bool has_work() const;
  [[nodiscard]] std::size_t queued_bytes() const { return queued_bytes_; }
  [[nodiscard]] std::size_t queued_packets() const { return queued_packets_; }
  // A third of the send queue waits to be sent: as much again can be on its way, and be answered.
  // Or many requests wait of which the newest is to be reported, after a good part of a queue of
  // others: the program is going to wait for that one, and can post more while it is answered.
  [[nodiscard]] bool queue_fills() const {
    const std::uint64_t waiting = first_request_ + requests_.size() - next_request_;
    if (waiting < kLeastThird) return false;
    const std::uint64_t most = connection_.config.max_sends;
    return 3 * waiting >= most || (report_ends_ > 0 && 4 * report_ends_ >= most);
  }
  // Free slots of the send queue.
  [[nodiscard]] std::size_t room() const { return requests_.room(); }

  // A response (is_response of its opcode), or a Weft acknowledgement or credit. The common checks
  // are made.
  void receive(const InPacket& packet, Time now);
  // All that has arrived was given to receive(): it holds no region any more, so that none waits
  // for it to be deregistered.
  void end_run() { target_.release(); }
  // The network is congested towards the peer (CNP, IBA A17.9.3).
  void congested(Time now);

  [[nodiscard]] std::optional<Time> deadline() const;
  // Has the deadline, if it is not after `now`, take effect. fill() does so by itself.
  void expire(Time now);

  // The request at the head failed for good and has completed in error: the owner moves the queue
  // pair to the error state (UC: its send queue to SQE, IBA 10.3.1.7) and flushes.
  [[nodiscard]] bool failed() const { return failed_; }

  // For reports and tests: bytes that may be in flight now, and that are.
  [[nodiscard]] std::uint32_t window() const;
  [[nodiscard]] std::uint64_t in_flight() const { return in_flight_; }

 private:
  struct Slot {
    std::uint64_t wr_id = 0;
    std::uint64_t length = 0;  // message bytes; may exceed what is allowed
    std::uint64_t remote_address = 0;
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;
    std::uint64_t end = 0;  // serial after its last packet; once finished
    WindowBinding bind{};   // of a bind; of others it has no meaning
    RKey rkey{};
    RKey invalidate{};
    Qpn remote_srq{};
    std::uint32_t immediate = 0;
    std::uint32_t piece_count = 0;
    std::uint32_t inline_area = SendSlot::kNoInline;
    SendOpcode opcode = SendOpcode::kSend;
    bool signaled = false;
    bool solicited = false;
    bool fence = false;
    bool finished = false;  // all of its packets have been sent once; local work: it is done

    [[nodiscard]] bool is_inline() const { return inline_area != SendSlot::kNoInline; }
  };
  // How a packet looks.
  struct Shape {
    wire::Opcode opcode{};
    std::uint8_t header = 0;
    std::uint8_t pad = 0;
    std::uint32_t payload = 0;
    bool ends = false;  // its message
    [[nodiscard]] std::size_t length() const { return std::size_t{header} + payload + pad; }
  };
  // The part of a response that a READ request asks for.
  struct Range {
    std::uint32_t offset = 0;  // in the message, bytes
    std::uint32_t bytes = 0;
  };
  // What has to be taken back when the wire does not take a burst.
  struct Checkpoint {
    std::uint64_t next_serial = 0;
    std::uint64_t next_request = 0;
    std::uint64_t next_offset = 0;
    std::uint32_t ssn = 0;
    std::uint64_t since_ask = 0;
    bool last_asked = true;
    CreditPacer::Checkpoint pacer{};
  };
  // What is out between fill() and sent().
  struct Out {
    // Packets whose records follow each other.
    struct Run {
      std::uint64_t serial = 0;  // of the first one's record
      std::size_t packets = 1;
      std::uint32_t ask_from = 0;  // of a fetch, as it was
      bool again = false;
    };
    // The next new packets.
    void add_fresh(std::uint64_t serial, std::size_t count) {
      if (runs.empty() || runs.back().again) {
        runs.push_back({.serial = serial, .packets = count});
      } else {
        runs.back().packets += count;
      }
      packets += count;
    }
    // One that goes again.
    void add_again(std::uint64_t serial, std::uint32_t ask_from) {
      runs.push_back({.serial = serial, .ask_from = ask_from, .again = true});
      ++packets;
    }
    void forget_packets() {
      runs.clear();
      packets = 0;
    }
    bool active = false;
    bool abandoned = false;        // reset or flushed meanwhile
    bool whole = false;            // see sends_whole()
    OutPacket* last = nullptr;     // while the burst is being filled
    std::size_t queued_bytes = 0;  // that it took from the queue
    std::size_t queued_packets = 0;
    Checkpoint before{};
    std::vector<Run> runs;
    std::size_t packets = 0;           // of all runs
    std::vector<std::uint32_t> areas;  // inline data of requests that were completed meanwhile
  };
  struct Doom {
    std::uint64_t request = 0;
    CompletionStatus status{};
  };

  // requester.cc: the queue.
  void forget();
  [[nodiscard]] std::errc check(const SendRequest& request) const;
  void describe(Slot& slot, const SendRequest& request) const;
  [[nodiscard]] Slot& slot(std::uint64_t request) { return requests_.at(request - first_request_); }
  [[nodiscard]] bool unsent() const { return next_request_ < first_request_ + requests_.size(); }
  void keep_inline(Slot& slot, const SendRequest& request);
  void complete_oldest(CompletionStatus status);
  void retire_oldest();
  void complete_finished();
  void doom(std::uint64_t request, CompletionStatus status);
  void settle();
  void see(Time now) { now_ = now > now_ ? now : now_; }
  [[nodiscard]] bool reliable() const { return is_reliable(connection_.config.type); }
  // To a Weft peer. Ends may agree in mid-connection: it begins when no read is outstanding.
  [[nodiscard]] bool selective() const { return selective_; }
  [[nodiscard]] bool running() const { return running_ && !failed_ && !flushed_; }
  // UC to a Weft peer: by credits.
  [[nodiscard]] bool paced() const { return paced_; }

  // requester_local.cc: work that sends nothing.
  [[nodiscard]] static bool is_local(SendOpcode opcode) {
    return opcode == SendOpcode::kLocalInvalidate || opcode == SendOpcode::kBindWindow;
  }
  void run_local(std::uint64_t request);
  void pass_done_local();

  // requester_fill.cc: the beginning and the end of a burst.
  void begin_burst(Burst& burst);
  bool fill_alone(Burst& burst);

  // requester_transmit.cc: what it has.
  static constexpr std::size_t kNone = ~std::size_t{0};
  [[nodiscard]] std::size_t next_lost();
  bool append_lost(Burst& burst);
  bool append_lost_fetch(Burst& burst, PacketRecord& record);
  bool append_fresh(Burst& burst);
  bool append_again(Burst& burst);
  bool append_data(Burst& burst, PacketRecord& record, const Shape& shape);
  bool append_fetch(Burst& burst, PacketRecord& record, Fetch& fetch);
  bool begin_fetch(Burst& burst, Slot& slot);
  bool begin_data(Burst& burst, Slot& slot);
  [[nodiscard]] bool skip_local();
  void finish_packet(std::uint64_t bytes, bool ends);
  void account(PacketRecord& record, bool asked);
  void doubt_path(const PacketRecord& record, Burst& burst);
  [[nodiscard]] bool tries_path(const Burst& burst);
  [[nodiscard]] bool may_begin(const Slot& slot) const;
  [[nodiscard]] std::optional<CompletionStatus> flaw(std::uint64_t request);
  [[nodiscard]] bool admits(std::uint64_t cost) const;
  [[nodiscard]] bool may_go(bool begins, std::uint32_t cost, std::uint32_t receives);
  [[nodiscard]] bool worth_a_run() const;
  [[nodiscard]] bool may_fetch(const Slot& slot) const;
  [[nodiscard]] bool fresh_possible();
  [[nodiscard]] bool fits(const Burst& burst, const Shape& shape) const;
  [[nodiscard]] std::uint32_t cost_of(std::size_t length, bool begins) const;
  [[nodiscard]] std::uint64_t ask_after() const;
  [[nodiscard]] bool asks(std::uint64_t cost) const;
  [[nodiscard]] bool ask_may_wait();
  [[nodiscard]] bool tail_unasked() const {
    return reliable() && !last_asked_ && !records_.empty();
  }

  // requester_run.cc: equal packets.
  struct Asking {
    std::size_t from = 0;        // all from that packet on
    std::uint64_t after = 0;     // and one for so much since the last that did
    std::uint32_t receives = 0;  // each takes of the peer, of interest to its pacer
  };
  bool append_run(Burst& burst);
  bool append_middles(Burst& burst);
  bool append_alike(Burst& burst);
  [[nodiscard]] bool is_like(const Slot& slot, const OutPacket& packet) const;
  [[nodiscard]] std::size_t credits(std::size_t most) const;
  [[nodiscard]] Asking asking(std::size_t packets, std::uint64_t cost,
                              std::uint32_t receives) const;
  bool note_next(const PacketRecord& model, std::uint64_t request, std::uint32_t offset,
                 const Asking& asking, std::size_t i);
  void note_middles(const PacketRecord& model, std::span<bool> asks);
  static void repeat_address(OutPacket& packet, const Slot& slot, std::uint64_t offset);
  void note_run(std::size_t packets, std::uint64_t cost, std::uint64_t bytes);
  [[nodiscard]] std::size_t admitted(std::size_t most, std::uint64_t cost, std::uint64_t total,
                                     std::uint32_t receives) const;
  [[nodiscard]] const std::byte* stretch(std::uint64_t request, std::uint64_t offset,
                                         std::size_t& packets);

  // requester_sent.cc: what became of them.
  void take_back();
  void refused(CompletionStatus reason);
  void confirm();

  // requester_packets.cc: headers and payload.
  [[nodiscard]] Shape data_shape(const Slot& slot, std::uint64_t offset) const;
  [[nodiscard]] Shape fetch_shape(const Slot& slot) const;
  [[nodiscard]] wire::Opcode opcode(unsigned operation) const;
  [[nodiscard]] bool repeats_address(const Slot& slot, bool first, bool last) const;
  void write_data(OutPacket& packet, const Slot& slot, const Shape& shape, std::uint64_t serial,
                  std::uint64_t offset, bool ask) const;
  void write_fetch(OutPacket& packet, const Slot& slot, std::uint64_t serial, Range range) const;
  std::size_t write_front(OutPacket& packet, const Slot& slot, const Shape& shape,
                          std::uint64_t serial, bool solicited, bool ask) const;
  bool add_payload(Burst& burst, OutPacket& packet, std::uint64_t request, std::uint64_t offset,
                   std::uint32_t bytes);

  // requester_fetches.cc: responses of reads and atomics.
  [[nodiscard]] std::uint32_t fetch_limit() const;
  [[nodiscard]] Fetch plan_fetch(const Slot& slot, std::uint64_t offset) const;
  [[nodiscard]] Fetch& fetch_of(const PacketRecord& record);
  void response(const InPacket& packet);
  bool accept(const InPacket& packet, const PacketRecord& record, Fetch& fetch, std::uint32_t n);
  bool place(std::uint64_t request, std::uint64_t offset, Bytes data);
  bool place_atomic(std::uint64_t request, const InPacket& packet);
  void note_gap(PacketRecord& record, Fetch& fetch);
  [[nodiscard]] std::optional<Time> gap_deadline(const PacketRecord& record,
                                                 const Fetch& fetch) const;

  // requester_receive.cc: acknowledgements.
  [[nodiscard]] Psn psn(std::uint64_t serial) const {
    return first_psn_ + static_cast<std::uint32_t>(serial & Psn::kMask);
  }
  [[nodiscard]] std::uint64_t oldest() const {
    if (!records_.empty()) return records_.front().serial;
    return out_.active && !reliable() ? out_.before.next_serial : next_serial_;
  }
  [[nodiscard]] std::optional<std::uint64_t> serial_of(Psn psn) const;
  [[nodiscard]] std::size_t index_of(std::uint64_t serial) const;
  [[nodiscard]] PacketRecord* find(std::uint64_t serial);
  void acknowledge(Psn psn, const wire::Aeth& aeth);
  void take_credit(const InPacket& packet);
  void weft_acknowledge(const InPacket& packet);
  void missing_at_peer(std::uint64_t serial);
  void acknowledge_through(std::uint64_t end);
  std::size_t mark_plain(std::uint64_t end);
  void take_sample(const PacketRecord& record);
  void note_newest(const PacketRecord& record);
  void mark_delivered(PacketRecord& record);
  void settle_delivered();
  [[nodiscard]] bool may_be_earlier(const PacketRecord& record) const;
  void receiver_not_ready(std::uint64_t serial, std::uint8_t timer);
  void refused_by_peer(std::uint64_t serial, wire::NakCode code);
  void take_credits(const wire::Aeth& aeth);
  void advance();
  void progress();

  // requester_recovery.cc: what is lost, and when to think so.
  void mark_lost(PacketRecord& record);
  void forget_delivery(PacketRecord& record);
  void go_back(std::uint64_t serial, bool believe_bitmap);
  [[nodiscard]] bool goes_again(const PacketRecord& record) const;
  void sequence_error(std::uint64_t serial);
  bool spend_retry();
  void find_losses();
  void find_lost_packets();
  void find_lost_responses();
  void time_out();
  void probe();
  [[nodiscard]] bool awaits_response() const { return records_.size() > lost_count_; }
  [[nodiscard]] Duration reorder_time() const;
  [[nodiscard]] std::optional<Time> timeout_at() const;
  [[nodiscard]] std::optional<Time> probe_at() const;
  void loss_check_at(Time at);

  Connection& connection_;
  MemoryTable& memory_;
  CompletionSink& completions_;

  WorkQueue<Slot> requests_;
  InlineAreas areas_;
  std::uint64_t first_request_ = 0;  // number of the oldest in the queue
  std::uint64_t next_request_ = 0;   // to be sent next, from next_offset_ on
  std::uint64_t next_offset_ = 0;
  std::size_t queued_bytes_ = 0;
  std::size_t queued_packets_ = 0;
  std::uint64_t unreported_ = 0;   // requests posted since the last one that is to be reported
  std::uint64_t report_ends_ = 0;  // what that was before the newest, if that one is; else 0

  Ring<PacketRecord> records_;  // none of an unreliable service: nobody answers
  Ring<Fetch> fetches_;
  std::uint64_t next_serial_ = 0;
  std::uint64_t acked_end_ = 0;   // serials below were acknowledged
  std::uint64_t in_flight_ = 0;   // cost of what is neither delivered nor lost
  std::uint64_t span_cost_ = 0;   // cost of all records
  std::uint64_t fetch_cost_ = 0;  // of all fetches
  std::size_t lost_count_ = 0;
  std::uint64_t lost_from_ = 0;     // no record before is lost
  std::uint64_t order_ = 0;         // transmissions so far
  std::uint64_t newest_order_ = 0;  // of those that are known to have arrived
  Time newest_sent_at_{};
  Time wide_delivered_at_{};
  Time answered_at_{};  // something came from the responder
  // Since then this was not run when it should have been, for a timeout, for a probe.
  bool was_absent_ = false;
  bool was_late_ = false;
  bool question_ = false;  // see take_question()
  // While the path is taken for a narrow one: when and how a long packet was last sent whole.
  std::optional<std::uint64_t> trial_;
  Time next_trial_{};
  Duration trial_pause_ = kFirstTrial;
  std::optional<Time> sample_sent_at_;  // of a packet just delivered, to measure by
  bool sample_clean_ = true;
  bool window_used_ = false;
  std::uint64_t arrived_bytes_ = 0;  // as the acknowledgement at hand tells: of data packets
  std::uint32_t arrived_packets_ = 0;
  Psn first_psn_{};
  RegionPinSet pins_;
  RegionPin target_;  // where the last response was written; the next one most likely goes there
  Out out_;
  std::size_t one_by_one_ = 0;  // the next so many go in bursts of one, to find what is refused

  CongestionWindow congestion_;
  CreditPacer pacer_;
  std::optional<Time> paced_until_;  // no credit: it goes on by itself then
  std::uint32_t granted_ = kWindowUngranted;
  std::uint32_t ssn_ = 1;               // of the next message (IBA 9.7.7.2), 24 bits
  std::optional<std::uint32_t> limit_;  // the last SSN that the peer has a receive request for
  std::uint64_t since_ask_ = 0;         // cost sent since an acknowledgement was asked for
  bool last_asked_ = true;              // by the packet sent last
  bool stalled_ = false;                // fill() found nothing, and nothing has changed since
  bool window_stalled_ = false;

  std::optional<Time> rnr_until_;
  std::uint64_t rnr_serial_ = 0;
  std::uint32_t rnr_retries_ = 0;
  std::uint32_t retries_ = 0;
  std::uint32_t probes_ = 0;  // since anything came back
  Time timer_from_{};         // the local ACK timeout counts from here
  Time probe_from_{};
  std::optional<Time> loss_at_;  // something is lost if it has not arrived by then

  std::optional<Doom> doom_;
  bool running_ = false;
  bool selective_ = false;
  bool paced_ = false;
  bool hold_ = false;
  bool more_expected_ = false;
  bool waits_turn_ = false;
  bool flushed_ = false;
  bool failed_ = false;
  Time now_{};
};

}  // namespace weft::hca
