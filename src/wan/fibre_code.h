// SPDX-License-Identifier: Apache-2.0
// How what is said on a fibre becomes a stream of bytes, and comes out of it again: its line code.
//
//   symbols  fibre_framing.h     the symbols of a lane as they are, for streams that lose nothing
//   8b10b    fibre_lane_code.h   the same in the 8b/10b code, as on a lane
//   64b66b   fibre_block_code.h  packets as frames of 66-bit blocks, and credit in ordered sets
//
// With the first whoever is out of step has to have a new stream; the others find their way back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tl/expected.hpp>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "link/channel.h"
#include "link/credit.h"
#include "link/packet.h"

namespace weft::wan {

// A training set. An end that looks for the other one says the number of this training of its own,
// and that of the other end's as far as it has heard it: who hears its own number is heard. Sets
// that bear no numbers of this kind say nothing.
struct TrainingSet {
  static constexpr std::size_t kSize = 16;

  std::uint16_t own = 0;    // 0: it does not look for anybody
  std::uint16_t heard = 0;  // 0: none
  std::optional<link::CreditFormat> format{};

  friend bool operator==(const TrainingSet&, const TrainingSet&) = default;
};

enum class FibreItem : std::uint8_t {
  kPacket,
  kBadPacket,
  kFlowControl,
  kTraining,
  kSkip,
  kLost,  // what comes, or what goes, is not understood any more: train anew
};

struct FibreRecord {
  FibreItem item = FibreItem::kSkip;
  std::size_t size = 0;    // bytes of the stream, of a code in which each item has its own
  Bytes bytes{};           // of a packet of either kind
  TrainingSet training{};  // where it is one
};

enum class FibreError : std::uint8_t {
  kIncomplete,  // what there is may be the beginning of one
  kOutOfStep,   // nothing begins so, or it does not end where it must
};

// Who reads.
class FibreSink {
 public:
  virtual ~FibreSink() = default;
  // The next one; what it refers to is gone when this returns. False: no more of this stream.
  virtual bool arrived(const FibreRecord& record) = 0;
};

class FibreCode {
 public:
  virtual ~FibreCode() = default;
  // A new stream begins in both directions.
  virtual void restart() = 0;

  // To the end of `out`. False: its LRH says another length than it has, and it stays out.
  [[nodiscard]] virtual bool put_packet(std::vector<std::byte>& out,
                                        const link::Packet& packet) = 0;
  virtual void put_flow_control(std::vector<std::byte>& out, link::SignalBytes packet) = 0;
  virtual void put_training(std::vector<std::byte>& out, const TrainingSet& set) = 0;
  // What means nothing, so that silence means that nobody is there.
  virtual void put_skip(std::vector<std::byte>& out) = 0;

  // The next bytes; how many of them are done with. The others are to come again, first, once there
  // are more. Error: kOutOfStep.
  [[nodiscard]] virtual tl::expected<std::size_t, FibreError> read(Bytes bytes,
                                                                   FibreSink& sink) = 0;
  // What was counted beneath packets; empty where there is nothing beneath.
  [[nodiscard]] virtual std::vector<CounterValue> counters() const { return {}; }
};

// By their number in kFibreCodeNames.
enum class FibreCodeKind : std::uint8_t { kSymbols, k8b10b, k64b66b };

[[nodiscard]] std::unique_ptr<FibreCode> make_fibre_code(FibreCodeKind kind);

}  // namespace weft::wan
