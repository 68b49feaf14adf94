// SPDX-License-Identifier: Apache-2.0
// Which block may follow which (IEEE 802.3, Figures 49-14 and 49-15): what is out of turn is sent,
// or handed on, as an error, so that no frame is made of pieces of others.
//
//                 C        S        D        T
//   init, C, T:   C        D        error    error
//   D:            error    error    D        T
//   error:        C        error    D        T
//
// A receiver takes a T for one only if what follows is C or S.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wan/line/pcs/block.h"

namespace weft::wan {

enum class CodingState : std::uint8_t { kInit, kControl, kData, kTerminate, kError };

[[nodiscard]] CodingState next_coding_state(CodingState state, BlockKind kind);

class TransmitStates {
 public:
  // The block for the next word.
  [[nodiscard]] Block next(const XgmiiWord& word);
  [[nodiscard]] CodingState state() const { return state_; }

 private:
  CodingState state_ = CodingState::kInit;
};

class ReceiveStates {
 public:
  // The next blocks, whose words go to `sink`: as many as blocks, but that a T is kept until the
  // block behind it has come.
  void take(std::span<const std::uint64_t> payloads, std::span<const std::uint8_t> headers,
            XgmiiSink& sink);
  // Blocks are not understood any more: what was kept is lost.
  void restart();
  // Words that were handed on as errors since the last call.
  [[nodiscard]] std::uint64_t take_errors();

 private:
  void judge(const Block& block, XgmiiSink& sink);
  void go(CodingState state, const XgmiiWord& word, XgmiiSink& sink);

  CodingState state_ = CodingState::kInit;
  std::optional<XgmiiWord> kept_;
  std::uint64_t errors_ = 0;
};

}  // namespace weft::wan
