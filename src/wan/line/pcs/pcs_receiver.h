// SPDX-License-Identifier: Apache-2.0
// The receiving half of the PCS: octets of the line become words of lanes.
//
//   octets > blocks (block_lock.h) > descrambled > in their turn (coding_states.h) > words
//
// As long as blocks are not locked onto, or too many are bad, the words say local fault (49.2.14).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "wan/line/octet_stream.h"
#include "wan/line/pcs/block_lock.h"
#include "wan/line/pcs/block_stream.h"
#include "wan/line/pcs/coding_states.h"
#include "wan/line/pcs/pcs_counters.h"

namespace weft::wan {

class PcsReceiver final : public OctetSink {
 public:
  struct Options {
    BitOrder order = BitOrder::kLeastFirst;
    std::uint32_t error_rate_blocks = HighErrorRate::kBlocksOfLan;
  };

  // Both outlive this; what they are told they are told from inside of take().
  PcsReceiver(const Options& options, XgmiiSink& sink, PcsCounters& counters);
  PcsReceiver(const PcsReceiver&) = delete;
  PcsReceiver& operator=(const PcsReceiver&) = delete;

  void take(Bytes octets) override;
  // What comes next begins anywhere.
  void interrupted() override;

  [[nodiscard]] bool locked() const { return lock_.locked(); }
  [[nodiscard]] bool high_error_rate() const { return rate_.high(); }
  // PCS_status (49.2.14.1).
  [[nodiscard]] bool good() const { return locked() && !high_error_rate(); }
  // Blocks that came, whether locked onto or not.
  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }

 private:
  static constexpr std::size_t kBatch = 128;
  static constexpr std::size_t kPiece = 4096;  // octets that are looked at together
  static constexpr std::size_t kLeft = 16;     // and that were left of others: less than a block

  void search();
  void read(std::size_t count);
  void read_good(std::size_t count);
  void read_bad(std::size_t count);
  void unpack(std::size_t count);
  void hand_on(std::size_t count);
  void lost();
  // Whole blocks. After a slip the next one may begin behind all that has come.
  [[nodiscard]] std::size_t waiting() const {
    return at_ < 8 * filled_ ? (8 * filled_ - at_) / kBlockBits : 0;
  }

  const Options options_;
  XgmiiSink& sink_;
  PcsCounters& counters_;
  BlockLock lock_;
  HighErrorRate rate_;
  BlockDescrambler descrambler_;
  ReceiveStates states_;
  std::array<std::byte, kPiece + kLeft> bits_{};
  std::size_t filled_ = 0;  // octets of those
  std::size_t at_ = 0;      // the bit of those at which the next block begins
  std::uint64_t blocks_ = 0;
  std::array<std::uint64_t, kBatch> payloads_{};
  std::array<std::uint8_t, kBatch> headers_{};
};

}  // namespace weft::wan
