// SPDX-License-Identifier: Apache-2.0
// The two halves of a virtual lane's flow control, IBA 7.9.4.4: plain counting, modulo 4096, or
// modulo 2^24 where both ends of the link have agreed on that.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "link/packet.h"
#include "wire/flow_control.h"

namespace weft::link {

inline constexpr std::uint16_t kMostCredit = 2048;  // blocks that the standard grants at a time

// How a port counts what it takes in. As it stands here, the standard's way, which grants 128 KiB
// at most. Ends that tell each other while they train that they know more may have larger blocks,
// more of them, or both, and so a longer link.
struct CreditFormat {
  static constexpr std::uint8_t kMostScale = 15;  // blocks of 2 MiB
  static constexpr unsigned kWideBits = 24;

  std::uint8_t scale = 0;  // a block is 64 bytes << scale; at most kMostScale
  bool wide = false;       // counts have 24 bits, not 12

  // What counts are taken modulo, less one.
  [[nodiscard]] constexpr std::uint32_t mask() const {
    return wide ? (std::uint32_t{1} << kWideBits) - 1 : wire::FlowControl::kCountMask;
  }
  // Blocks that can be granted at a time.
  [[nodiscard]] constexpr std::uint32_t most() const { return mask() / 2 + 1; }
  [[nodiscard]] constexpr std::uint32_t count(std::uint32_t value) const { return value & mask(); }
  // What a packet of so many bytes costs; at most kLongestPacket.
  [[nodiscard]] constexpr std::uint32_t blocks(std::size_t bytes) const {
    return static_cast<std::uint32_t>((bytes + (Packet::kBlock << scale) - 1) >> (6 + scale));
  }
  // The same in blocks of 64 bytes, as receive buffers count.
  [[nodiscard]] constexpr std::uint16_t space(std::size_t bytes) const {
    return static_cast<std::uint16_t>(blocks(bytes) << scale);
  }

  friend bool operator==(const CreditFormat&, const CreditFormat&) = default;
};
static_assert(Packet::kBlock == 64);

// The sending half. Before the first flow-control packet it may send nothing.
class SendCredit {
 public:
  explicit SendCredit(CreditFormat format = {}) : mask_(format.mask()) {}

  void granted(std::uint32_t fccl) {
    limit_ = fccl;
    known_ = true;
  }
  void sent(std::uint32_t blocks) { sent_ = (sent_ + blocks) & mask_; }

  // CR = FCTBS + blocks, and (FCCL - CR) mod 4096 is at most 2048.
  [[nodiscard]] bool allows(std::uint32_t blocks) const {
    return known_ && ((limit_ - sent_ - blocks) & mask_) <= mask_ / 2 + 1;
  }
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] std::uint32_t fctbs() const { return sent_; }
  [[nodiscard]] std::uint32_t limit() const { return limit_; }

 private:
  std::uint32_t mask_;
  std::uint32_t sent_ = 0;   // FCTBS
  std::uint32_t limit_ = 0;  // FCCL as received last
  bool known_ = false;
};

// The receiving half.
class ReceiveCredit {
 public:
  explicit ReceiveCredit(CreditFormat format = {}) : mask_(format.mask()) {}

  // ABR, the adjusted blocks received: what came, put right by what the sender says it has sent, so
  // that blocks lost on the way are not counted against it for ever.
  void received(std::uint32_t blocks) { abr_ = (abr_ + blocks) & mask_; }
  void peer_sent(std::uint32_t fctbs) { abr_ = fctbs; }
  [[nodiscard]] std::uint32_t abr() const { return abr_; }

  // FCCL to grant when so many blocks are free.
  [[nodiscard]] std::uint32_t fccl(std::uint32_t free_blocks) const {
    return (abr_ + std::min(free_blocks, most())) & mask_;
  }
  void told(std::uint32_t fccl) { told_ = fccl; }
  // Blocks that the sender may still send, by what it was told last.
  [[nodiscard]] std::uint32_t left() const {
    const std::uint32_t left = (told_ - abr_) & mask_;
    return left > most() ? 0 : left;
  }
  // Blocks by which it may now be told more.
  [[nodiscard]] std::uint32_t gained(std::uint32_t free_blocks) const {
    const std::uint32_t could = std::min(free_blocks, most());
    return could > left() ? could - left() : 0;
  }

 private:
  [[nodiscard]] std::uint32_t most() const { return mask_ / 2 + 1; }

  std::uint32_t mask_;
  std::uint32_t abr_ = 0;
  std::uint32_t told_ = 0;
};

}  // namespace weft::link
