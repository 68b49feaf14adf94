// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "link/packet.h"
#include "wan/encapsulation/out_packet.h"
#include "wan/frame.h"

namespace weft::wan {

// Puts a frame together without copying payloads, but for short ones: a list of parts, of which the
// payloads belong to the packets, and all else to this. What does not fit is not put in.
class FrameBuilder {
 public:
  // Bytes of a payload, or of a piece of one, that is copied, at most.
  static constexpr std::size_t kCopied = 256;
  // Of one frame: each payload that is not copied, what stands before it, and what stands behind
  // the last.
  static constexpr std::size_t kMostParts =
      2 * (kLongestFrame / (kCopied + 1 + PacketItem::kSize)) + 1;

  // Begins a frame of at most `most` bytes, from kLeastFrame to kLongestFrame. Where there is room
  // for options (Path::options_room()), credit goes there and not into the frame, which is shorter
  // by the header that they need. With `groups`, whole packets that lie as most do are put into
  // groups, which the other end has to know.
  void begin(std::size_t most, std::size_t options_room = 0, bool groups = false);
  // Bytes that are left.
  [[nodiscard]] std::size_t room() const { return most_ - size(); }
  // And that there are in a frame that is empty.
  [[nodiscard]] std::size_t most_room() const { return most_ - FrameHead::kSize; }

  // Whether add() would take one more.
  [[nodiscard]] bool takes_credit() const;
  [[nodiscard]] bool add(const CreditItem& item);
  [[nodiscard]] bool add(const Hello& hello);
  [[nodiscard]] bool add(Refusal why);
  [[nodiscard]] bool add_end();
  [[nodiscard]] bool add(const RepairItem& item);
  // As many of the ranges as fit; none at all is put in as nothing.
  void add(std::span<const AcknowledgeItem::Range> ranges);
  [[nodiscard]] bool add_management(const link::Packet& packet);
  // `length` bytes of the packet from `offset` on, a segment where that is not all of it. The
  // packet stays as it is until the frame is sent.
  [[nodiscard]] bool add(const PacketTag& tag, const link::Packet& packet, std::size_t offset,
                         std::size_t length);
  // All of it, for which there is room.
  void add_whole(const PacketTag& tag, const link::Packet& packet);
  // What of a packet that has `length` bytes to go fits in: all, as many bytes as there is room
  // for, or 0 where a piece would not be worth its head.
  [[nodiscard]] std::size_t fitting(std::size_t length, bool whole) const;

  // Writes the head. What parts() says is complete then, and good until the next begin().
  void finish(const FrameHead& head);
  [[nodiscard]] std::span<const Bytes> parts() const {
    return std::span(parts_).first(part_count_);
  }
  [[nodiscard]] std::size_t size() const { return written_ + referred_; }
  // What goes beside the frame.
  [[nodiscard]] Bytes options() const { return Bytes(options_).first(options_size_); }

 private:
  // Room that the caller fills; `count` is at most room().
  [[nodiscard]] MutableBytes write(std::size_t count);
  void copy(Bytes bytes);
  void refer(Bytes bytes);
  void end_part();
  [[nodiscard]] bool add_to_group(const PacketTag& tag, const link::Packet& packet);
  void end_group();
  void slice(const link::Packet& packet, std::size_t offset, std::size_t length);
  // What the header of the options grows by with one more credit.
  [[nodiscard]] std::size_t growth() const;

  std::size_t most_ = 0;
  std::size_t written_ = 0;   // of scratch_
  std::size_t parted_ = 0;    // of that, what parts_ has
  std::size_t referred_ = 0;  // bytes that are not in scratch_
  std::size_t part_count_ = 0;
  // Neither grows while a frame is put together.
  std::vector<std::byte> scratch_;
  std::vector<Bytes> parts_;  // part_count_ of them, and room for more
  // The group that is being put together, the last in scratch_: where it begins, and how many
  // packets it has, of which parts_ has what is between their ends, behind a place for what is
  // before that.
  bool groups_ = false;
  std::size_t group_ = 0;
  std::size_t grouped_ = 0;  // 0: there is none
  std::size_t options_room_ = 0;
  std::size_t options_size_ = 0;
  std::array<std::byte, OutPacket::kMostOptions> options_{};
};

}  // namespace weft::wan
