// SPDX-License-Identifier: Apache-2.0
#include "wan/frame_builder.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "wan/encapsulation/options_layer.h"

namespace weft::wan {
namespace {

// Bytes of a packet: a shorter piece is not worth a head of its own.
constexpr std::size_t kLeastPiece = 64;

}  // namespace

void FrameBuilder::begin(std::size_t most, std::size_t options_room) {
  assert(most >= kLeastFrame && most <= kLongestFrame);
  most_ = most;
  size_ = written_ = 0;
  options_room_ = std::min(options_room, options_.size());
  options_size_ = 0;
  parts_.clear();
  if (scratch_.size() < most) scratch_.resize(most);
  (void)write(FrameHead::kSize);
}

MutableBytes FrameBuilder::write(std::size_t count) {
  assert(count <= room());
  const MutableBytes room = MutableBytes(scratch_).subspan(written_, count);
  const bool joins = !parts_.empty() && parts_.back().data() + parts_.back().size() == room.data();
  if (joins) {
    parts_.back() = {parts_.back().data(), parts_.back().size() + count};
  } else {
    parts_.emplace_back(room);
  }
  written_ += count;
  size_ += count;
  return room;
}

void FrameBuilder::copy(Bytes bytes) {
  if (bytes.empty()) return;
  std::memcpy(write(bytes.size()).data(), bytes.data(), bytes.size());
}

void FrameBuilder::refer(Bytes bytes) {
  if (bytes.empty()) return;
  assert(bytes.size() <= room());
  parts_.push_back(bytes);
  size_ += bytes.size();
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
  if (whole && packet.payload().size() > kCopied) {
    add_long(tag, packet);
    return true;
  }
  if (whole) {
    write_packet_item(tag, total, write(head));
  } else {
    write_segment_item(tag, static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(length),
                       total, write(head));
  }
  slice(packet, offset, length);
  return true;
}

// All of it, as most packets are that take long.
void FrameBuilder::add_long(const PacketTag& tag, const link::Packet& packet) {
  const Bytes header = packet.header();
  const MutableBytes front = write(PacketItem::kSize + header.size());
  write_packet_item(tag, static_cast<std::uint16_t>(packet.size()), front);
  const MutableBytes copy_of_header = front.subspan(PacketItem::kSize);
  std::memcpy(copy_of_header.data(), header.data(), copy_of_header.size());
  refer(packet.payload());
  copy(packet.trailer());
}

void FrameBuilder::finish(const FrameHead& head) {
  head.write(scratch_);
}

}  // namespace weft::wan
