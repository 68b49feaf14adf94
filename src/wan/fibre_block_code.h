// SPDX-License-Identifier: Apache-2.0
// A fibre of 66-bit blocks: the line of 10GBASE-R (line/pcs) with InfiniBand on it.
//
//   packet            /S/ LRH ... VCRC /T/, and idle up to a multiple of four blocks
//   flow control      a message in ordered sets (line/pcs/set_message.h) of kind 1:
//                     Op(4) VL(4) | FCTBS(24) | FCCL(24) | flags: bit 0: counts have 24 bits
//   training          a message of kind 2: version 1 | own(16) | heard(16) | flags: bit 0: offers
//                     to count credit otherwise, bit 1: modulo 2^24 | scale | 0
//   before training, and for a skip: 320 blocks of idle or, as long as this end does not find
//                     blocks, of remote fault, in which the other end finds them
//
// Counts of credit are whole, not differences: a message that is lost does no harm once the next
// one has come, which the port sends on every change and every so often.
#pragma once

#include <optional>

#include "wan/fibre_code.h"
#include "wan/line/pcs/block_stream.h"
#include "wan/line/pcs/coding_states.h"
#include "wan/line/pcs/pcs_receiver.h"
#include "wan/line/pcs/set_message.h"
#include "wan/line/pcs/xgmii_receiver.h"
#include "wire/flow_control.h"

namespace weft::wan {

class FibreBlockCode final : public FibreCode, private FrameSink {
 public:
  // Blocks in which whoever listens finds where they begin: at each of 65 wrong places every other
  // one gives it away, and then there are 64 good ones. One in a million takes longer.
  static constexpr std::size_t kLeadIn = 320;

  FibreBlockCode() = default;

  void restart() override;
  [[nodiscard]] bool put_packet(std::vector<std::byte>& out, const link::Packet& packet) override;
  void put_flow_control(std::vector<std::byte>& out, link::SignalBytes packet) override;
  void put_training(std::vector<std::byte>& out, const TrainingSet& set) override;
  void put_skip(std::vector<std::byte>& out) override;
  [[nodiscard]] tl::expected<std::size_t, FibreError> read(Bytes bytes, FibreSink& sink) override;
  [[nodiscard]] std::vector<CounterValue> counters() const override { return counters_.snapshot(); }

 private:
  // What there is of one stream.
  struct Line {
    Line(FrameSink& sink, PcsCounters& counters)
        : lanes(link::kLongestPacket, sink, counters), blocks({}, lanes, counters) {}
    XgmiiReceiver lanes;
    PcsReceiver blocks;
    SetMessageReader messages;
    BlockScrambler scrambler;
    bool was_good = false;
    std::optional<wire::FlowControl> upper_said;  // kUpper, until the packet that it belongs to
  };

  // FrameSink
  void frame(Bytes octets) override;
  void bad_frame() override { tell({.item = FibreItem::kBadPacket}); }
  void ordered_set(const OrderedSet& set) override;

  void tell(const FibreRecord& record);
  void tell_credit(const SetMessage& message);
  void watch();
  void put(const XgmiiWord& word);
  void put(const SetMessage& message);
  void put_lead_in();
  void flush(std::vector<std::byte>& out);

  PcsCounters counters_;
  std::optional<Line> line_{std::in_place, static_cast<FrameSink&>(*this), counters_};
  FibreSink* sink_ = nullptr;            // during read(), and until it wants no more
  std::vector<std::uint64_t> payloads_;  // of blocks that are being put
  std::vector<std::uint8_t> headers_;
};

}  // namespace weft::wan
