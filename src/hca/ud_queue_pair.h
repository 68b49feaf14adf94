// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "hca/credit_pacer.h"
#include "hca/datagram.h"
#include "hca/datagram_work.h"
#include "hca/memory_table.h"
#include "hca/pkey_table.h"
#include "hca/qp_state.h"
#include "hca/queue_pair.h"
#include "hca/receive_source.h"
#include "hca/static_rate.h"
#include "hca/types.h"
#include "hca/ud_counters.h"
#include "hca/ud_granter.h"
#include "hca/work_queue.h"
#include "wire/bth.h"
#include "wire/deth.h"

namespace weft::hca {

// How a datagram queue pair frames its messages.
enum class UdFraming : std::uint8_t {
  kBth,   // BTH, DETH and the rest, as InfiniBand and RoCEv2 have them
  kBare,  // nothing: the datagram is the message (wire `bare`)
};

struct UdConfig {
  Qpn qpn{};
  PdHandle pd = 0;
  UdFraming framing = UdFraming::kBth;
  std::uint32_t mtu = 4096;     // largest message, bytes
  std::uint32_t max_sends = 0;  // depth of the send queue, work requests
  std::uint32_t max_receives = 0;
  std::uint32_t max_send_pieces = 1;
  std::uint32_t max_receive_pieces = 1;
  std::uint32_t max_inline = 0;  // bytes
  bool signal_all = false;
  bool credits = true;                   // speak the receiver-credit extension (Weft peers only)
  std::uint32_t socket_bytes = 212'992;  // what the port can hold for us, as SO_RCVBUF tells
  std::uint8_t port = 1;                 // of the adapter
  PKeyTable* pkeys = nullptr;            // of the port; null: one with `pkey` at index 0 alone
  PKey pkey = kDefaultPKey;
  CopyFunction copy = plain_copy;
};

// An unreliable datagram queue pair (IBA 9.8.3, 10.2.3). A message longer than the MTU or a bad key
// shows when its turn comes: the request completes in error and the send queue stops in SQE (IBA
// 10.3.1.7). Completions carry the latest time that the queue pair was told.
class UdQueuePair final : public QueuePair {
 public:
  // Receive requests come from `shared` if it is given: it outlives the queue pair, and
  // post_receive is EINVAL.
  UdQueuePair(const UdConfig& config, const MemoryTable& memory, CompletionSink& send_completions,
              CompletionSink& receive_completions, ReceiveSource* shared = nullptr);

  [[nodiscard]] Qpn qpn() const override { return config_.qpn; }
  [[nodiscard]] QpType type() const override { return QpType::kUd; }
  void move_to(const HomePort& port) override;
  Expected<void> modify(const QpAttributes& attributes, std::uint32_t mask) override;
  [[nodiscard]] QpAttributes query() const override;
  [[nodiscard]] QpState state() const override { return state_; }

  // Further reasons for EINVAL: no path, an immediate on a wire that cannot carry one.
  std::errc post_send(const SendRequest& request) override;
  std::errc post_receive(const ReceiveRequest& request) override;
  void receives_posted() override;

  [[nodiscard]] std::size_t send_room() const override { return work_.send_room(); }
  bool next_burst(Burst& burst, Time now) override;
  void sent(const Burst& burst, SendResult result, Time now) override;
  // next_burst, sink, sent until nothing more may go or the sink would block (then returns false).
  bool transmit(Time now, Burst& scratch, BurstSink& sink);

  // Credit datagrams count too: a peer may wait for the credit of a receive just posted.
  [[nodiscard]] bool has_work() const override;
  [[nodiscard]] std::size_t queued_bytes() const override { return work_.queued_bytes(); }
  [[nodiscard]] std::size_t queued_packets() const override { return work_.sends(); }

  void receive(const InDatagram& datagram, Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override;

  // EINVAL for a GID that is not multicast; attaching twice is harmless; detaching what is not
  // attached is EINVAL.
  Expected<void> attach(const Gid& group) override;
  Expected<void> detach(const Gid& group) override;
  [[nodiscard]] const std::vector<Gid>& groups() const { return groups_; }

  std::uint32_t take_events() override { return std::exchange(events_, 0); }
  [[nodiscard]] std::vector<CounterValue> counter_values() const override {
    return counters_.snapshot();
  }
  [[nodiscard]] const UdCounters& counters() const { return counters_; }
  [[nodiscard]] const UdConfig& config() const { return config_; }

 private:
  static constexpr std::size_t kMaxFlows = 1024;       // that we send to
  static constexpr std::size_t kMaxCreditsDue = 256;   // beyond: the peer asks again
  static constexpr std::size_t kMaxPinsPerBurst = 16;  // a burst that has as many ends there
  static constexpr std::uint32_t kIcrcBytes = 4;

  // The sending side of a flow. Credits must show the Q_Key that we sent, as data would.
  struct OutFlow {
    CreditPacer pacer;
    QKey qkey{};
  };
  struct CreditDue {
    FlowKey flow;
    Path path{};
    bool asked = true;  // else it is worth a datagram only if there is something to grant
  };
  // What is out between next_burst() and sent().
  struct InFlight {
    enum class Kind : std::uint8_t { kNone, kData, kCredit };
    Kind kind = Kind::kNone;
    bool abandoned = false;   // reset meanwhile: complete nothing
    std::size_t slots = 0;    // kData: the oldest so many work requests
    OutFlow* flow = nullptr;  // to take back what was stamped; none: unpaced
    CreditPacer::Checkpoint before{};
    Psn unpaced_psn_before{};
    CreditDue credit{};
  };
  // Header fields of a datagram that passed the checks.
  struct Incoming {
    Bytes payload{};
    Qpn source_qpn{};
    bool solicited = false;
    bool with_immediate = false;
    std::uint32_t immediate = 0;
  };

  // Control.
  Expected<void> check_values(const QpAttributes& attributes, std::uint32_t mask) const;
  void enter(QpState to);
  void reset();
  void settle_sends();
  void see(Time now) { now_ = std::max(now_, now); }

  // Sending.
  struct Shape {
    std::uint8_t header = 0;
    std::uint8_t pad = 0;
    std::size_t length = 0;  // as OutPacket::length
  };
  bool fill_credit(Burst& burst);
  void remember_hungry(const CreditDue& due);
  bool fill_data(Burst& burst);
  bool append(Burst& burst, std::size_t n);
  bool begin_run(Burst& burst, const SendSlot& slot, std::uint32_t cost);
  CreditPacer::Stamp number(const SendSlot& slot, std::uint32_t cost);
  void write_header(OutPacket& packet, const SendSlot& slot, CreditPacer::Stamp stamp) const;
  void fail_oldest(CompletionStatus status);
  void take_back();
  void data_sent(SendResult result);
  void data_refused(CompletionStatus reason);
  void finish_oldest(std::size_t count);
  OutFlow& out_flow(const FlowKey& key);
  [[nodiscard]] Shape shape(const SendSlot& slot) const;
  [[nodiscard]] std::uint32_t trailer() const {
    return config_.framing == UdFraming::kBth ? kIcrcBytes : 0;
  }
  [[nodiscard]] bool paces(Qpn destination) const {
    return config_.credits && config_.framing == UdFraming::kBth && destination != kMulticastQpn;
  }
  [[nodiscard]] QKey wire_qkey(const SendSlot& slot) const {
    return (slot.remote_qkey.value() & kPrivilegedQKeyBit) != 0 ? qkey_ : slot.remote_qkey;
  }

  // Receiving.
  // What the P_Key table says now at our index: of our packets, and packets to us must match it.
  [[nodiscard]] PKey pkey() const {
    return config_.pkeys != nullptr ? config_.pkeys->at(pkey_index_) : config_.pkey;
  }
  void receive_bth(const InDatagram& datagram);
  void receive_bare(const InDatagram& datagram);
  [[nodiscard]] std::optional<UdCounter> check_address(const wire::Bth& bth,
                                                       const InDatagram& datagram) const;
  void receive_credit(const InDatagram& datagram, const wire::Deth& deth, Bytes payload);
  void note_arrival(const InDatagram& datagram, const wire::Bth& bth, const wire::Deth& deth);
  void credit_due(const CreditDue& due);
  void deliver(const InDatagram& datagram, const Incoming& incoming);
  bool scatter(const std::array<std::byte, kGrhArea>* network_header, Bytes payload);
  void wake_hungry();
  [[nodiscard]] bool can_receive() const;
  [[nodiscard]] bool attached(const Gid& group) const;

  UdConfig config_;
  const MemoryTable& memory_;
  QpState state_ = QpState::kReset;
  QKey qkey_;
  Psn sq_psn_;
  std::uint16_t pkey_index_ = 0;
  std::uint8_t port_ = 0;
  bool sqd_notify_ = false;
  std::uint32_t events_ = 0;  // QpEvents not yet taken
  Time now_{};

  DatagramWork<SendSlot> work_;
  TakenReceive taken_;  // by the datagram that is being delivered
  InFlight in_flight_;
  std::size_t one_by_one_ = 0;  // the next so many go in bursts of one, to find what is refused
  LruMap<FlowKey, OutFlow, FlowKeyHash> flows_{kMaxFlows};
  StaticRate rate_;
  std::optional<Time> stalled_until_;
  Psn unpaced_psn_;  // numbers what no credit paces: multicast, other wires

  UdGranter granter_;
  std::vector<CreditDue> credits_due_;
  std::vector<CreditDue> hungry_;  // were granted little because few receives were posted
  bool starving_ = false;          // one of them was granted nothing at all
  std::size_t most_receives_ = 0;  // that were seen to wait at once
  std::array<std::byte, Credit::kSize> credit_payload_{};
  std::vector<Gid> groups_;
  UdCounters counters_;
};

}  // namespace weft::hca
