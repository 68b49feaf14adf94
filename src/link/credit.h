// SPDX-License-Identifier: Apache-2.0
// The two halves of a virtual lane's flow control, IBA 7.9.4.4: plain counting, modulo 4096.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wire/flow_control.h"

namespace weft::link {

inline constexpr std::uint16_t kMostCredit = 2048;  // blocks that can be granted at a time

[[nodiscard]] constexpr std::uint16_t credit_count(unsigned value) {
  return static_cast<std::uint16_t>(value & wire::FlowControl::kCountMask);
}

// The sending half. Before the first flow-control packet it may send nothing.
class SendCredit {
 public:
  void granted(std::uint16_t fccl) {
    limit_ = fccl;
    known_ = true;
  }
  void sent(std::uint16_t blocks) { sent_ = credit_count(sent_ + blocks); }

  // CR = FCTBS + blocks, and (FCCL - CR) mod 4096 is at most 2048.
  [[nodiscard]] bool allows(std::uint16_t blocks) const {
    return known_ && credit_count(limit_ - sent_ - blocks) <= kMostCredit;
  }
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] std::uint16_t fctbs() const { return sent_; }
  [[nodiscard]] std::uint16_t limit() const { return limit_; }

 private:
  std::uint16_t sent_ = 0;   // FCTBS
  std::uint16_t limit_ = 0;  // FCCL as received last
  bool known_ = false;
};

// The receiving half.
class ReceiveCredit {
 public:
  // ABR, the adjusted blocks received: what came, put right by what the sender says it has sent, so
  // that blocks lost on the way are not counted against it for ever.
  void received(std::uint16_t blocks) { abr_ = credit_count(abr_ + blocks); }
  void peer_sent(std::uint16_t fctbs) { abr_ = fctbs; }
  [[nodiscard]] std::uint16_t abr() const { return abr_; }

  // FCCL to grant when so many blocks are free.
  [[nodiscard]] std::uint16_t fccl(std::uint32_t free_blocks) const {
    return credit_count(abr_ + std::min<std::uint32_t>(free_blocks, kMostCredit));
  }
  void told(std::uint16_t fccl) { told_ = fccl; }
  // Blocks that the sender may still send, by what it was told last.
  [[nodiscard]] std::uint16_t left() const {
    const std::uint16_t left = credit_count(told_ - abr_);
    return left > kMostCredit ? std::uint16_t{0} : left;
  }
  // Blocks by which it may now be told more.
  [[nodiscard]] std::uint16_t gained(std::uint32_t free_blocks) const {
    const auto could =
        static_cast<std::uint16_t>(std::min<std::uint32_t>(free_blocks, kMostCredit));
    return could > left() ? static_cast<std::uint16_t>(could - left()) : std::uint16_t{0};
  }

 private:
  std::uint16_t abr_ = 0;
  std::uint16_t told_ = 0;
};

}  // namespace weft::link
