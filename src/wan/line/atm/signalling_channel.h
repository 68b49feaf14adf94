// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/time.h"
#include "wan/line/atm/aal5_reassembler.h"
#include "wan/line/atm/cell_source.h"
#include "wan/line/atm/signalling_end.h"

namespace weft::wan::atm {

// The signalling of one side of an interface, as cells of its channel (SAAL: SSCOP over AAL 5).
class SignallingChannel final : public CellFeed, Aal5Sink, PacketSource {
 public:
  SignallingChannel(const SignallingOptions& options, CallOwner& owner) : end_(options, owner) {
    reassembler_.open(kSignalling);
  }

  [[nodiscard]] SignallingEnd& end() { return end_; }
  [[nodiscard]] const SignallingEnd& end() const { return end_; }

  void take(const CellRun& run, Time now) {
    now_ = now;
    cells_ += run.count;
    if (run.header.is_user_data()) reassembler_.take(run, cells_, *this);
  }
  [[nodiscard]] std::size_t put_cells(MutableBytes cells) override {
    return segments_.put_cells(cells);
  }

 private:
  static constexpr std::size_t kLongestPdu = Sscop::kMostMessage + 4;

  void pdu(const Channel&, Bytes payload, std::uint8_t) override { end_.receive(payload, now_); }
  Bytes next() override { return end_.next_pdu(); }

  SignallingEnd end_;
  Aal5Reassembler reassembler_{{.longest_payload = kLongestPdu}};
  PacketCells segments_{*this, {.channel = kSignalling}, std::nullopt};
  Time now_{};
  std::uint64_t cells_ = 0;
};

}  // namespace weft::wan::atm
