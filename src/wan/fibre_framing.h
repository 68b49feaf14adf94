// SPDX-License-Identifier: Apache-2.0
// What is on a fibre that is a stream of bytes: the symbols of one lane of an InfiniBand link as
// IBA Volume 2, chapter 5 has them, without the 8b/10b code beneath. All of it is in steps of four
// symbols.
//
//   SDP  LRH … VCRC  EGP                  a packet, as it is; EBP at its end: it is to be dropped
//   SLP  6 bytes     EGP                  a flow-control packet
//   COM  lane 0      14 of training       a training set: what this end says of itself
//   COM  SKP SKP SKP                      nothing, so that silence means that nobody is there
//
// How long a packet is its LRH says. Whoever does not find an end where one must be is out of step,
// and there is no way back into step but a new stream. A line code with ordered sets of its own, as
// 64b/66b, takes the place of this file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tl/expected.hpp>
#include <vector>

#include "base/bytes.h"
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

enum class FibreItem : std::uint8_t { kPacket, kBadPacket, kFlowControl, kTraining, kSkip };

struct FibreRecord {
  FibreItem item = FibreItem::kSkip;
  std::size_t size = 0;    // symbols, with what is around it
  Bytes bytes{};           // of a packet of either kind
  TrainingSet training{};  // where it is one
};

enum class FibreError : std::uint8_t {
  kIncomplete,  // what there is may be the beginning of one
  kOutOfStep,   // nothing begins so, or it does not end where it must
};

// The first one in there.
[[nodiscard]] tl::expected<FibreRecord, FibreError> parse_fibre(Bytes bytes);

// To the end of `out`. False: its LRH says another length than it has, and it stays out.
[[nodiscard]] bool put_packet(std::vector<std::byte>& out, const link::Packet& packet);
void put_flow_control(std::vector<std::byte>& out, link::SignalBytes packet);
void put_training(std::vector<std::byte>& out, const TrainingSet& set);
void put_skip(std::vector<std::byte>& out);

}  // namespace weft::wan
