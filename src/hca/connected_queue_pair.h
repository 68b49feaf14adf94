// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hca/connection.h"
#include "hca/peer_watch.h"
#include "hca/queue_pair.h"
#include "hca/requester.h"
#include "hca/responder.h"
#include "hca/static_rate.h"
#include "hca/work_queue.h"
#include "wire/bth.h"

namespace weft::hca {

// A queue pair of a connected service (RC, UC, XRC; IBA 9.7, 9.8.2, annex A14): a requester and a
// responder that share an address, a state machine and the wire.
class ConnectedQueuePair final : public QueuePair {
 public:
  // `shared`: receive from this instead of a queue of its own (SRQ). `queues`: XRC targets only.
  ConnectedQueuePair(const ConnectedConfig& config, MemoryTable& memory,
                     CompletionSink& send_completions, CompletionSink& receive_completions,
                     ReceiveSource* shared = nullptr, XrcQueues* queues = nullptr);

  [[nodiscard]] Qpn qpn() const override { return connection_.config.qpn; }
  [[nodiscard]] QpType type() const override { return connection_.config.type; }
  void move_to(const HomePort& port) override;
  Expected<void> modify(const QpAttributes& attributes, std::uint32_t mask) override;
  [[nodiscard]] QpAttributes query() const override;
  [[nodiscard]] QpState state() const override { return state_; }
  void agree(const Agreement& agreement) override;
  // Further reasons for EINVAL: an XRC target sends nothing, and whoever receives from a shared
  // queue has no queue of its own to post to.
  std::errc post_send(const SendRequest& request) override;
  std::errc post_receive(const ReceiveRequest& request) override;
  void receives_posted() override { responder_.receive_posted(); }
  [[nodiscard]] std::size_t send_room() const override { return requester_.room(); }
  bool next_burst(Burst& burst, Time now) override;
  void sent(const Burst& burst, SendResult result, Time now) override;
  [[nodiscard]] bool has_work() const override;
  [[nodiscard]] bool only_acks_due() const override;
  void set_acks_first(bool first) override { acks_first_ = first; }
  [[nodiscard]] std::size_t queued_bytes() const override { return requester_.queued_bytes(); }
  [[nodiscard]] std::size_t queued_packets() const override { return requester_.queued_packets(); }
  [[nodiscard]] bool queue_fills() const override { return requester_.queue_fills(); }
  void expect_more(bool more) override { requester_.expect_more(more); }
  [[nodiscard]] bool ask_waits() const override { return requests() && requester_.ask_waits(); }
  void hold_requests(bool hold) override { requester_.wait_turn(hold); }
  [[nodiscard]] bool awaits_answers() const override { return requester_.outstanding(); }
  void receive(const InDatagram& datagram, Time now) override;
  void end_run(Time now) override;
  bool end_run_later(Time now) override;
  bool undelivered(const Undelivered& packet, Time now) override;
  void set_receive_budget(std::uint32_t bytes) override {
    connection_.config.receive_budget = bytes;
  }
  [[nodiscard]] std::optional<Time> deadline() const override;
  Expected<void> attach(const Gid& group) override;
  Expected<void> detach(const Gid& group) override;
  std::uint32_t take_events() override;
  [[nodiscard]] std::vector<CounterValue> counter_values() const override {
    return connection_.counters.snapshot();
  }
  [[nodiscard]] const Connection& connection() const { return connection_; }

 private:
  // The queue pair's own receive queue as the responder sees it.
  enum class Half : std::uint8_t { kRequests, kResponses };
  // What is between next_burst() and sent(). Both: requests, and an acknowledgement behind them.
  enum class Out : std::uint8_t { kNothing, kRequests, kResponses, kBoth, kQuestion };

  // Control.
  [[nodiscard]] Expected<void> check_values(const QpAttributes& attributes,
                                            std::uint32_t mask) const;
  [[nodiscard]] Expected<void> check_pkey_index(const char* what, std::uint16_t index) const;
  [[nodiscard]] Expected<void> check_port(const char* what, std::uint8_t port) const;
  [[nodiscard]] Expected<void> check_path(const Path& path, const char* which) const;
  [[nodiscard]] Expected<void> check_migration(const QpAttributes& attributes,
                                               std::uint32_t mask) const;
  void take_over(const QpAttributes& attributes, std::uint32_t mask);
  void take_over_migration(const QpAttributes& attributes, std::uint32_t mask);
  void enter(QpState to);
  void reset();
  void watch_peer();
  void cut_if_narrow(Burst& burst);
  void join_piece(const InDatagram& datagram, const wire::Bth& bth, Bytes piece);
  // What has become of the halves: failures, migration, a drained send queue. After every call that
  // may have changed them.
  void settle();
  void flush_receives();
  void see(Time now) { now_ = now > now_ ? now : now_; }

  // Data.
  [[nodiscard]] Half whose_turn() const;
  [[nodiscard]] std::uint8_t traffic_class() const;
  bool fill_in_turn(Burst& burst, Time now);
  bool fill(Half half, Burst& burst, Time now);
  // Whether what this half has to send, waits for its turn by the path's static rate. Answers do
  // that, nothing else of the responder's.
  [[nodiscard]] bool rate_holds(Half half, Time now);
  [[nodiscard]] bool requests() const { return state_ == QpState::kRts || state_ == QpState::kSqd; }
  [[nodiscard]] bool responds() const {
    return requests() || state_ == QpState::kRtr || state_ == QpState::kSqe;
  }
  [[nodiscard]] bool takes(const wire::OpcodeInfo& info, wire::Opcode opcode) const;
  [[nodiscard]] std::optional<ConnectedCounter> check_address(const InDatagram& datagram,
                                                              const wire::Bth& bth) const;
  // Whether a packet shows that the peer has gone over to the alternate path.
  [[nodiscard]] bool migrates(const InDatagram& datagram, const wire::Bth& bth) const;
  void note_migration(const InDatagram& datagram, const wire::Bth& bth);
  void dispatch(const InPacket& packet);
  void dispatch_two(const InPacket& packet);

  // Whether the peer is still there.
  [[nodiscard]] std::optional<Time> watch_due() const;
  void look_after_peer();
  void peer_is_gone();
  bool fill_question(Burst& burst);

  Connection connection_;
  const bool extended_unasked_;  // ConnectedConfig::extensions as it was given
  CompletionSink& receive_completions_;
  OwnReceives own_receives_;
  ReceiveSource& source_;
  Requester requester_;
  Responder responder_;
  PeerWatch watch_;
  PacketCutter cutter_;
  PacketJoiner joiner_;
  StaticRate rate_;
  bool question_due_ = false;
  QpState state_ = QpState::kReset;
  QpAttributes attributes_{};  // as set last; see query() for what changes by itself
  Out out_ = Out::kNothing;
  bool responses_last_ = false;  // so it is the requests' turn when both have something
  bool acks_first_ = false;
  bool ack_alone_ =
      false;  // requests could not take the acknowledgement along: it goes before more
  bool established_ = false;
  bool sqd_notify_ = false;
  std::uint32_t events_ = 0;
  Time now_{};
};

}  // namespace weft::hca
