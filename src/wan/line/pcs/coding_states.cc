// SPDX-License-Identifier: Apache-2.0
#include "wan/line/pcs/coding_states.h"

#include <utility>

#include "base/bytes.h"
#include "wan/line/octet_run.h"

namespace weft::wan {

CodingState next_coding_state(CodingState state, BlockKind kind) {
  const bool in_frame = state == CodingState::kData;
  const bool is_lost = state == CodingState::kError;
  switch (kind) {
    case BlockKind::kControl:
      return in_frame ? CodingState::kError : CodingState::kControl;
    case BlockKind::kStart:
      return in_frame || is_lost ? CodingState::kError : CodingState::kData;
    case BlockKind::kData:
      return in_frame || is_lost ? CodingState::kData : CodingState::kError;
    case BlockKind::kTerminate:
      return in_frame || is_lost ? CodingState::kTerminate : CodingState::kError;
    case BlockKind::kError:
      break;
  }
  return CodingState::kError;
}

Block TransmitStates::next(const XgmiiWord& word) {
  const EncodedBlock encoded = encode_block(word);
  state_ = next_coding_state(state_, encoded.kind);
  return state_ == CodingState::kError ? encode_block(kErrorWord).block : encoded.block;
}

void ReceiveStates::go(CodingState state, const XgmiiWord& word, XgmiiSink& sink) {
  state_ = state;
  if (state == CodingState::kError) {
    ++errors_;
    sink.control(kErrorWord);
  } else if (state == CodingState::kData && word.control == 0) {
    sink.data(std::span(&word.octets, 1));
  } else {
    sink.control(word);
  }
}

void ReceiveStates::take(std::span<const std::uint64_t> payloads,
                         std::span<const std::uint8_t> headers, XgmiiSink& sink) {
  for (std::size_t i = 0; i < payloads.size();) {
    const bool in_frame = state_ == CodingState::kData && !kept_;
    const Bytes rest = std::as_bytes(headers.subspan(i, payloads.size() - i));
    const std::size_t run = in_frame ? octet_run(rest, std::byte{Block::kData}) : 0;
    if (run > 0) {
      sink.data(payloads.subspan(i, run));
      i += run;
    } else {
      judge({headers[i], payloads[i]}, sink);
      ++i;
    }
  }
}

void ReceiveStates::judge(const Block& block, XgmiiSink& sink) {
  const DecodedBlock decoded = decode_block(block);
  if (kept_) {
    const bool ends = decoded.kind == BlockKind::kControl || decoded.kind == BlockKind::kStart;
    const XgmiiWord word = *std::exchange(kept_, std::nullopt);
    go(ends ? CodingState::kTerminate : CodingState::kError, word, sink);
  }
  const CodingState next = next_coding_state(state_, decoded.kind);
  if (next == CodingState::kTerminate) {
    kept_ = decoded.word;
  } else {
    go(next, decoded.word, sink);
  }
}

void ReceiveStates::restart() {
  state_ = CodingState::kInit;
  kept_.reset();
}

std::uint64_t ReceiveStates::take_errors() {
  return std::exchange(errors_, 0);
}

}  // namespace weft::wan
