// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "hca/datagram.h"
#include "hca/datagram_work.h"
#include "hca/memory_table.h"
#include "hca/qp_state.h"
#include "hca/queue_pair.h"
#include "hca/raw_counters.h"
#include "hca/receive_source.h"
#include "hca/types.h"
#include "hca/work_queue.h"
#include "wire/packet.h"

namespace weft::hca {

struct RawConfig {
  Qpn qpn{};
  PdHandle pd = 0;
  std::uint32_t max_sends = 0;  // depth of the send queue, work requests
  std::uint32_t max_receives = 0;
  std::uint32_t max_send_pieces = 1;
  std::uint32_t max_receive_pieces = 1;
  std::uint32_t max_inline = 0;  // bytes
  bool signal_all = false;
  PKeyTable* pkeys = nullptr;  // of no use: a raw queue pair is in no partition
  std::uint8_t port = 1;       // of the adapter
  CopyFunction copy = plain_copy;
};

// A queue pair that receives and sends whole packets, LRH through VCRC, of whomever they are: that
// of a data service. What it receives has all its CRCs, and the ICRC was found right. A receive of
// one piece has all of it there; of several, the headers, LRH through the last transport header,
// are in the first one, which must have room for all of them, and what follows is in the others.
//
// What is posted ends with the payload and its pad, with the ICRC or with the VCRC, as the LRH's
// PktLen tells: the VCRC is made in any case, the ICRC where it is not there or is asked for
// (SendRequest::make_icrc). There is no acknowledgement, and no flow control but the wire's.
class RawQueuePair final : public QueuePair {
 public:
  static constexpr std::size_t kLongest = 4096 + 126 + 2;  // IBA 7.7.8, with the VCRC

  RawQueuePair(const RawConfig& config, const MemoryTable& memory, CompletionSink& send_completions,
               CompletionSink& receive_completions, ReceiveSource* shared = nullptr);

  [[nodiscard]] Qpn qpn() const override { return config_.qpn; }
  [[nodiscard]] QpType type() const override { return QpType::kRaw; }
  void move_to(const HomePort& port) override { config_.port = port.number; }
  Expected<void> modify(const QpAttributes& attributes, std::uint32_t mask) override;
  [[nodiscard]] QpAttributes query() const override;
  [[nodiscard]] QpState state() const override { return state_; }

  std::errc post_send(const SendRequest& request) override;
  std::errc post_receive(const ReceiveRequest& request) override;
  [[nodiscard]] std::size_t send_room() const override { return work_.send_room(); }

  bool next_burst(Burst& burst, Time now) override;
  void sent(const Burst& burst, SendResult result, Time now) override;
  [[nodiscard]] bool has_work() const override {
    return in_flight_ == 0 && state_ == QpState::kRts && work_.sends() > 0;
  }
  [[nodiscard]] std::size_t queued_bytes() const override { return work_.queued_bytes(); }
  [[nodiscard]] std::size_t queued_packets() const override { return work_.sends(); }

  void receive(const InDatagram& datagram, Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override { return std::nullopt; }

  // EINVAL: what comes is said by the port's filter.
  Expected<void> attach(const Gid& group) override;
  Expected<void> detach(const Gid& group) override;

  std::uint32_t take_events() override { return std::exchange(events_, 0); }
  [[nodiscard]] std::vector<CounterValue> counter_values() const override {
    return counters_.snapshot();
  }
  [[nodiscard]] const RawCounters& counters() const { return counters_; }

 private:
  // A packet as it is to be laid out in memory.
  struct Layout {
    std::array<Bytes, 3> stretches;
    std::size_t headers = 0;                                                 // bytes
    std::array<std::byte, wire::kIcrcSize + 3 + wire::kVcrcSize> trailer{};  // made here
  };
  using Raw = Burst::Raw;
  struct Slot {
    static constexpr std::uint32_t kNoInline = SendSlot::kNoInline;
    std::uint64_t wr_id = 0;
    std::uint64_t length = 0;
    Raw raw{};
    std::uint32_t piece_count = 0;
    std::uint32_t inline_area = kNoInline;
    bool signaled = false;

    [[nodiscard]] bool is_inline() const { return inline_area != kNoInline; }
  };

  void enter(QpState to);
  void reset();
  void settle_sends();
  bool append(Burst& burst, std::size_t n);
  void finish(std::size_t count, CompletionStatus status);
  void see(Time now) { now_ = std::max(now_, now); }
  [[nodiscard]] std::optional<RawCounter> lay_out(const RawPacket& packet, Layout& layout) const;
  [[nodiscard]] bool splits() const { return taken_.pieces.size() > 1; }
  [[nodiscard]] bool fits(const Layout& layout, std::size_t size) const;
  bool scatter(const Layout& layout);

  RawConfig config_;
  const MemoryTable& memory_;
  QpState state_ = QpState::kReset;
  bool sqd_notify_ = false;
  std::uint32_t events_ = 0;  // QpEvents not yet taken
  Time now_{};

  DatagramWork<Slot> work_;
  std::size_t in_flight_ = 0;   // the oldest so many requests are out
  bool abandoned_ = false;      // reset meanwhile: they complete nothing
  std::size_t one_by_one_ = 0;  // the next so many go alone, to find what is refused
  TakenReceive taken_;
  std::array<std::byte, 128> header_;  // a copy, since others may be writing to it
  RawCounters counters_;
};

}  // namespace weft::hca
