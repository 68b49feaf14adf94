// SPDX-License-Identifier: Apache-2.0
#include "wan/frame_builder.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "base/usual_copy.h"
#include "wan/encapsulation/options_layer.h"
#include "wire/packet.h"

namespace weft::wan {
namespace {

// Bytes of a packet: a shorter piece is not worth a head of its own.
constexpr std::size_t kLeastPiece = 64;

}  // namespace

void FrameBuilder::begin(std::size_t most, std::size_t options_room, bool groups) {
  assert(most >= kLeastFrame && most <= kLongestFrame);
  most_ = most;
  written_ = parted_ = referred_ = part_count_ = grouped_ = 0;
  groups_ = groups;
  options_room_ = std::min(options_room, options_.size());
  options_size_ = 0;
  if (scratch_.size() < most) scratch_.resize(most);
  if (parts_.empty()) parts_.resize(kMostParts);
  (void)write(FrameHead::kSize);
}

MutableBytes FrameBuilder::write(std::size_t count) {
  assert(count <= room());
  end_group();
  const MutableBytes room(scratch_.data() + written_, count);
  written_ += count;
  return room;
}

void FrameBuilder::copy(Bytes bytes) {
  if (bytes.empty()) return;
  std::copy(bytes.begin(), bytes.end(), write(bytes.size()).begin());
}

void FrameBuilder::refer(Bytes bytes) {
  if (bytes.empty()) return;
  assert(bytes.size() <= room() && part_count_ + 2 < parts_.size());
  end_part();
  parts_[part_count_++] = bytes;
  referred_ += bytes.size();
}

// What was written since the last one.
void FrameBuilder::end_part() {
  if (written_ == parted_) return;
  parts_[part_count_++] = {scratch_.data() + parted_, written_ - parted_};
  parted_ = written_;
}

// Of the three stretches of the packet. What is short is copied: that spares the network an entry
// of its list, and keeps the list short in a frame of many small packets.
void FrameBuilder::slice(const link::Packet& packet, std::size_t offset, std::size_t length) {
  const auto cut = [&](Bytes stretch) {
    const std::size_t skipped = std::min(offset, stretch.size());
    offset -= skipped;
    const Bytes taken = stretch.subspan(skipped, std::min(length, stretch.size() - skipped));
    length -= taken.size();
    return taken;
  };
  copy(cut(packet.header()));
  const Bytes payload = cut(packet.payload());
  if (payload.size() <= kCopied) {
    copy(payload);
  } else {
    refer(payload);
  }
  copy(cut(packet.trailer()));
}

std::size_t FrameBuilder::growth() const {
  return OptionsLayer::header_size(options_size_ + CreditItem::kSize) -
         OptionsLayer::header_size(options_size_);
}

bool FrameBuilder::takes_credit() const {
  if (options_room_ == 0) return room() >= CreditItem::kSize;
  return options_size_ + CreditItem::kSize <= options_room_ && growth() <= room();
}

bool FrameBuilder::add(const CreditItem& item) {
  if (!takes_credit()) return false;
  if (options_room_ == 0) {
    write_credit_item(item, write(CreditItem::kSize));
    return true;
  }
  most_ -= growth();
  write_credit_item(item, MutableBytes(options_).subspan(options_size_));
  options_size_ += CreditItem::kSize;
  return true;
}

bool FrameBuilder::add(const Hello& hello) {
  if (room() < Hello::kSize) return false;
  write_hello_item(hello, write(Hello::kSize));
  return true;
}

bool FrameBuilder::add(Refusal why) {
  if (room() < RefusalItem::kSize) return false;
  write_refusal_item(why, write(RefusalItem::kSize));
  return true;
}

bool FrameBuilder::add_end() {
  if (room() < EndItem::kSize) return false;
  write_end_item(write(EndItem::kSize));
  return true;
}

bool FrameBuilder::add(const RepairItem& item) {
  if (room() < RepairItem::kSize + item.symbol.size()) return false;
  write_repair_item(item, write(RepairItem::kSize));
  copy(item.symbol);
  return true;
}

void FrameBuilder::add(std::span<const AcknowledgeItem::Range> ranges) {
  if (room() < AcknowledgeItem::kSize + AcknowledgeItem::kRangeSize) return;
  const std::size_t count =
      std::min({ranges.size(), (room() - AcknowledgeItem::kSize) / AcknowledgeItem::kRangeSize,
                AcknowledgeItem::kMostRanges});
  if (count == 0) return;
  write_acknowledge_item(static_cast<std::uint8_t>(count), write(AcknowledgeItem::kSize));
  for (const auto& range : ranges.first(count))
    write_range(range, write(AcknowledgeItem::kRangeSize));
}

bool FrameBuilder::add_management(const link::Packet& packet) {
  if (room() < ManagementItem::kSize + packet.size()) return false;
  write_management_item(static_cast<std::uint16_t>(packet.size()), write(ManagementItem::kSize));
  slice(packet, 0, packet.size());
  return true;
}

std::size_t FrameBuilder::fitting(std::size_t length, bool whole) const {
  if (whole && PacketItem::kSize + length <= room()) return length;
  if (room() < PacketItem::kSegmentSize + kLeastPiece) return 0;
  return std::min(length, room() - PacketItem::kSegmentSize);
}

bool FrameBuilder::add(const PacketTag& tag, const link::Packet& packet, std::size_t offset,
                       std::size_t length) {
  assert(length > 0 && offset + length <= packet.size());
  const auto total = static_cast<std::uint16_t>(packet.size());
  const bool whole = length == packet.size();
  const std::size_t head = whole ? PacketItem::kSize : PacketItem::kSegmentSize;
  if (room() < head + length) return false;
  if (whole) {
    add_whole(tag, packet);
  } else {
    write_segment_item(tag, static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(length),
                       total, write(head));
    slice(packet, offset, length);
  }
  return true;
}

// One that is cut as those are that come from other sites and from links: the front as long as it
// may be, and nothing but the VCRC at the end.
bool FrameBuilder::add_to_group(const PacketTag& tag, const link::Packet& packet) {
  const Bytes payload = packet.payload();
  const bool fits = packet.header().size() == GroupItem::kFront &&
                    packet.trailer().size() == wire::kVcrcSize && payload.size() > kCopied;
  if (!fits) return false;
  if (grouped_ == 0) {
    if (room() < GroupItem::kSize + PacketItem::kSize + packet.size()) return false;
    group_ = written_;
    written_ += GroupItem::kSize;
  }
  std::byte* const at = scratch_.data() + written_;
  write_packet_item(tag, static_cast<std::uint16_t>(packet.size()),
                    MutableBytes(at, PacketItem::kSize));
  std::memcpy(at + PacketItem::kSize, packet.header().data(), GroupItem::kFront);
  std::memcpy(at + PacketItem::kSize + GroupItem::kFront, packet.trailer().data(), wire::kVcrcSize);
  written_ += GroupItem::kEnds;
  parts_[part_count_ + ++grouped_] = payload;
  referred_ += payload.size();
  return true;
}

void FrameBuilder::end_group() {
  if (grouped_ == 0) return;
  write_group_item(static_cast<std::uint16_t>(grouped_),
                   MutableBytes(scratch_).subspan(group_, GroupItem::kSize));
  parts_[part_count_] = {scratch_.data() + parted_, written_ - parted_};
  parted_ = written_;
  part_count_ += 1 + std::exchange(grouped_, 0);
}

// As most are: each counts.
void FrameBuilder::add_whole(const PacketTag& tag, const link::Packet& packet) {
  assert(PacketItem::kSize + packet.size() <= room());
  assert(part_count_ + grouped_ + 2 < parts_.size());
  if (groups_ && add_to_group(tag, packet)) return;
  end_group();
  const Bytes header = packet.header();
  const Bytes payload = packet.payload();
  const Bytes trailer = packet.trailer();
  std::byte* const front = scratch_.data() + written_;
  write_packet_item(tag, static_cast<std::uint16_t>(packet.size()),
                    MutableBytes(front, PacketItem::kSize));
  copy_usual<link::Packet::kMaxHeader>(header, front + PacketItem::kSize);
  written_ += PacketItem::kSize + header.size();
  if (payload.size() <= kCopied) {
    copy(payload);
  } else {
    parts_[part_count_++] = {scratch_.data() + parted_, written_ - parted_};
    parts_[part_count_++] = payload;
    parted_ = written_;
    referred_ += payload.size();
  }
  copy_usual<wire::kVcrcSize>(trailer, scratch_.data() + written_);
  written_ += trailer.size();
}

void FrameBuilder::finish(const FrameHead& head) {
  end_group();
  head.write(scratch_);
  end_part();
}

}  // namespace weft::wan
