// SPDX-License-Identifier: Apache-2.0
#include "wan/frame.h"

#include <bit>
#include <cassert>
#include <utility>

#include "link/channel.h"
#include "link/iba_values.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

constexpr std::uint8_t kWantsAnswer = 1;
constexpr std::uint8_t kFrameRecovery = 2;
constexpr std::uint8_t kFrameOptions = 4;
constexpr std::uint8_t kFrameGroups = 8;

void begin(ItemType type, std::uint8_t second, MutableBytes out, std::size_t size) {
  assert(out.size() >= size);
  wire::store_u8(out.data(), static_cast<std::uint8_t>(type));
  wire::store_u8(out.data() + 1, second);
}

bool is_packet_size(std::size_t bytes) {
  return bytes >= link::kShortestPacket && bytes <= link::kLongestPacket;
}

std::optional<Vl> data_vl(std::uint8_t value) {
  return value < kLanes ? std::optional(Vl{value}) : std::nullopt;
}

// Of a packet item's head.
std::optional<PacketTag> tag(const std::byte* at) {
  const auto vl = data_vl(wire::load_u8(at + 1));
  if (!vl) return std::nullopt;
  return PacketTag{
      .vl = *vl, .sequence = wire::load_be32(at + 4), .position = wire::load_be32(at + 8)};
}

// Of a packet of a group, as its ends say: bytes between them. Nothing: it cannot be.
std::optional<std::size_t> between(const std::byte* ends) {
  constexpr std::size_t kApart = GroupItem::kFront + wire::kVcrcSize;
  const std::size_t length = wire::load_be16(ends + 2);
  const bool is_packet = static_cast<ItemType>(wire::load_u8(ends)) == ItemType::kPacket;
  if (!is_packet || !tag(ends) || length <= kApart || !is_packet_size(length)) return std::nullopt;
  return length - kApart;
}

// The first packet of a group that has one, and has been looked at.
PacketItem take_first(GroupItem& group) {
  const std::byte* const at = group.ends.data();
  const auto total = wire::load_be16(at + 2);
  const std::size_t size = *between(at);
  const PacketItem item{
      .tag = *tag(at),
      .offset = 0,
      .total = total,
      .bytes = group.between.first(size),
      .front = group.ends.subspan(PacketItem::kSize, GroupItem::kFront),
      .vcrc = group.ends.subspan(PacketItem::kSize + GroupItem::kFront, wire::kVcrcSize)};
  --group.packets;
  group.ends = group.ends.subspan(GroupItem::kEnds);
  group.between = group.between.subspan(size);
  return item;
}

// Takes one item from the front: nothing when it cannot be.
class ItemReader {
 public:
  explicit ItemReader(Bytes bytes) : cursor_(bytes) {}
  [[nodiscard]] Bytes rest() const { return cursor_.rest(); }
  [[nodiscard]] bool at_end() const {
    return cursor_.remaining() == 0 || type() == ItemType::kFill;
  }

  // The next one where that is a whole packet, as most are, without making an Item of it.
  [[nodiscard]] std::optional<PacketItem> take_packet() {
    const Bytes rest = cursor_.rest();
    if (rest.size() < PacketItem::kSize || type() != ItemType::kPacket) return std::nullopt;
    const std::size_t length = wire::load_be16(rest.data() + 2);
    const auto of = tag(rest.data());
    if (!of || length > rest.size() - PacketItem::kSize || !is_packet_size(length)) {
      return std::nullopt;
    }
    cursor_ = ByteCursor(rest.subspan(PacketItem::kSize + length));
    return PacketItem{.tag = *of,
                      .offset = 0,
                      .total = static_cast<std::uint16_t>(length),
                      .bytes = rest.subspan(PacketItem::kSize, length)};
  }

  [[nodiscard]] std::optional<GroupItem> take_group() {
    if (at_end() || type() != ItemType::kGroup) return std::nullopt;
    ByteCursor cursor = cursor_;
    const auto head = cursor.take(GroupItem::kSize);
    if (!head) return std::nullopt;
    const std::size_t packets = wire::load_be16(head->data() + 2);
    const auto ends = cursor.take(packets * GroupItem::kEnds);
    if (!ends || packets == 0) return std::nullopt;
    std::size_t sum = 0;
    for (std::size_t at = 0; at < ends->size(); at += GroupItem::kEnds) {
      const auto size = between(ends->data() + at);
      if (!size) return std::nullopt;
      sum += *size;
    }
    const auto middles = cursor.take(sum);
    if (!middles) return std::nullopt;
    cursor_ = cursor;
    return GroupItem{.packets = packets, .ends = *ends, .between = *middles};
  }

  // A group is none of those that this gives.
  [[nodiscard]] std::optional<Item> take() {
    if (at_end()) return std::nullopt;
    switch (type()) {
      case ItemType::kFill:
      case ItemType::kGroup:
        break;
      case ItemType::kPacket:
        return take_packet();
      case ItemType::kSegment:
        return segment();
      case ItemType::kManagement:
        return management();
      case ItemType::kCredit:
        return credit();
      case ItemType::kAcknowledge:
        return acknowledge();
      case ItemType::kHello:
        return hello();
      case ItemType::kRefusal:
        return refusal();
      case ItemType::kEnd:
        if (!cursor_.take(EndItem::kSize)) return std::nullopt;
        return EndItem{};
      case ItemType::kRepair:
        return repair();
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] ItemType type() const {
    return static_cast<ItemType>(wire::load_u8(cursor_.rest().data()));
  }
  std::optional<Item> segment() {
    const auto head = cursor_.take(PacketItem::kSegmentSize);
    if (!head) return std::nullopt;
    const auto of = tag(head->data());
    const std::uint16_t length = wire::load_be16(head->data() + 2);
    const std::uint16_t offset = wire::load_be16(head->data() + 12);
    const std::uint16_t total = wire::load_be16(head->data() + 14);
    const auto bytes = cursor_.take(length);
    if (!of || !bytes || length == 0 || !is_packet_size(total)) return std::nullopt;
    if (std::size_t{offset} + length > total) return std::nullopt;
    return PacketItem{.tag = *of, .offset = offset, .total = total, .bytes = *bytes};
  }

  std::optional<Item> management() {
    const auto head = cursor_.take(ManagementItem::kSize);
    if (!head) return std::nullopt;
    const std::uint16_t length = wire::load_be16(head->data() + 2);
    const auto bytes = cursor_.take(length);
    if (!bytes || length < link::kShortestPacket ||
        length > link::longest_packet(link::kManagementMtu)) {
      return std::nullopt;
    }
    return ManagementItem{.packet = *bytes};
  }

  std::optional<Item> credit() {
    const auto item = cursor_.take(CreditItem::kSize);
    if (!item) return std::nullopt;
    const std::byte* const at = item->data();
    const auto vl = data_vl(wire::load_u8(at + 1));
    if (!vl) return std::nullopt;
    return CreditItem{.credit = {.vl = *vl,
                                 .packets = wire::load_be32(at + 4),
                                 .sent = wire::load_be64(at + 12),
                                 .limit = wire::load_be64(at + 20)},
                      .settled = wire::load_be32(at + 8)};
  }

  std::optional<Item> acknowledge() {
    const auto head = cursor_.take(AcknowledgeItem::kSize);
    if (!head) return std::nullopt;
    const std::size_t count = wire::load_u8(head->data() + 1);
    const auto ranges = cursor_.take(count * AcknowledgeItem::kRangeSize);
    if (!ranges || count > AcknowledgeItem::kMostRanges) return std::nullopt;
    return AcknowledgeItem{.ranges = *ranges};
  }

  static bool can_be(const FecCode& code) {
    if (!code.any()) return code.repairs == 0;
    return code.frames <= FecCode::kMostFrames && code.repairs != 0 &&
           code.repairs <= FecCode::kMostRepairs;
  }

  std::optional<Item> hello() {
    const auto item = cursor_.take(Hello::kSize);
    if (!item) return std::nullopt;
    const std::byte* const at = item->data();
    const std::uint8_t flags = wire::load_u8(at + 1);
    const std::uint8_t mode = wire::load_u8(at + 2);
    const std::uint8_t scale = wire::load_u8(at + 4);
    Hello hello{.own = wire::load_be64(at + 8),
                .wants_answer = (flags & kWantsAnswer) != 0,
                .recovery = (flags & kFrameRecovery) != 0,
                .options = (flags & kFrameOptions) != 0,
                .groups = (flags & kFrameGroups) != 0,
                .mode = static_cast<TunnelMode>(mode),
                .data_vls = wire::load_u8(at + 3),
                .fec = {.frames = wire::load_u8(at + 5), .repairs = wire::load_u8(at + 6)},
                .block = {},
                .longest_frame = wire::load_be32(at + 16),
                .silence_ms = wire::load_be32(at + 20),
                .receive_room = wire::load_be32(at + 24),
                .capacity = {}};
    const bool known_mode = hello.mode >= TunnelMode::kBridge && hello.mode <= kLastMode;
    const bool lanes = hello.data_vls >= 1 && hello.data_vls <= kLanes;
    if (hello.own == 0 || !known_mode || !lanes || scale > BlockSize::kMostScale) {
      return std::nullopt;
    }
    if (!can_be(hello.fec)) return std::nullopt;
    hello.block = BlockSize(scale);
    for (std::size_t vl = 0; vl < kLanes; ++vl) {
      hello.capacity[vl] = wire::load_be64(at + 32 + 8 * vl);
      if (hello.capacity[vl] > kMostBlocks) return std::nullopt;
    }
    return hello;
  }

  std::optional<Item> refusal() {
    const auto item = cursor_.take(RefusalItem::kSize);
    if (!item) return std::nullopt;
    const std::uint8_t why = wire::load_u8(item->data() + 1);
    if (why < 1 || why > kLastRefusal) return std::nullopt;
    return RefusalItem{.why = static_cast<Refusal>(why)};
  }

  std::optional<Item> repair() {
    const auto head = cursor_.take(RepairItem::kSize);
    if (!head) return std::nullopt;
    const std::byte* const at = head->data();
    const auto symbol = cursor_.take(wire::load_be16(at + 2));
    if (!symbol) return std::nullopt;
    const RepairItem item{.index = wire::load_u8(at + 1),
                          .back = wire::load_be32(at + 4),
                          .members = wire::load_be64(at + 8),
                          .check = wire::load_be32(at + 16),
                          .symbol = *symbol};
    // The first one is one of them, and all of them left before this.
    const bool members = (item.members & 1) != 0 &&
                         static_cast<std::uint32_t>(std::bit_width(item.members)) <= item.back;
    const std::size_t least = RepairItem::kLengthSize + FrameHead::kSize;
    if (item.index >= FecCode::kMostRepairs || !members || symbol->size() < least) {
      return std::nullopt;
    }
    return item;
  }

  ByteCursor cursor_;
};

// Nothing else, to the last byte.
bool is_credit(Bytes items) {
  ItemReader reader(items);
  while (!reader.rest().empty()) {
    const auto item = reader.take();
    if (!item || !std::holds_alternative<CreditItem>(*item)) return false;
  }
  return true;
}

}  // namespace

void FrameHead::write(MutableBytes out) const {
  assert(out.size() >= kSize);
  std::byte* const at = out.data();
  wire::store_u8(at, kVersion);
  wire::store_u8(at + 1, static_cast<std::uint8_t>(type));
  wire::store_u8(at + 2, port_state);
  wire::store_u8(at + 3, port_downs);
  wire::store_be32(at + 4, open);
  wire::store_be64(at + 8, epoch);
  wire::store_be64(at + 16, sequence);
  wire::store_be64(at + 24, acknowledged);
}

AcknowledgeItem::Range AcknowledgeItem::at(std::size_t index) const {
  const std::byte* const at = ranges.subspan(index * kRangeSize, kRangeSize).data();
  return {.offset = wire::load_be32(at), .length = wire::load_be32(at + 4)};
}

void write_packet_item(const PacketTag& tag, std::uint16_t length, MutableBytes out) {
  begin(ItemType::kPacket, tag.vl.value(), out, PacketItem::kSize);
  wire::store_be16(out.data() + 2, length);
  wire::store_be32(out.data() + 4, tag.sequence);
  wire::store_be32(out.data() + 8, tag.position);
}

void write_segment_item(const PacketTag& tag, std::uint16_t offset, std::uint16_t length,
                        std::uint16_t total, MutableBytes out) {
  assert(out.size() >= PacketItem::kSegmentSize);
  write_packet_item(tag, length, out);
  wire::store_u8(out.data(), static_cast<std::uint8_t>(ItemType::kSegment));
  wire::store_be16(out.data() + 12, offset);
  wire::store_be16(out.data() + 14, total);
}

void write_group_item(std::uint16_t packets, MutableBytes out) {
  begin(ItemType::kGroup, 0, out, GroupItem::kSize);
  wire::store_be16(out.data() + 2, packets);
}

void write_management_item(std::uint16_t length, MutableBytes out) {
  begin(ItemType::kManagement, 0, out, ManagementItem::kSize);
  wire::store_be16(out.data() + 2, length);
}

void write_credit_item(const CreditItem& item, MutableBytes out) {
  begin(ItemType::kCredit, item.credit.vl.value(), out, CreditItem::kSize);
  wire::store_be16(out.data() + 2, 0);
  wire::store_be32(out.data() + 4, item.credit.packets);
  wire::store_be32(out.data() + 8, item.settled);
  wire::store_be64(out.data() + 12, item.credit.sent);
  wire::store_be64(out.data() + 20, item.credit.limit);
}

void write_acknowledge_item(std::uint8_t ranges, MutableBytes out) {
  begin(ItemType::kAcknowledge, ranges, out, AcknowledgeItem::kSize);
}

void write_range(const AcknowledgeItem::Range& range, MutableBytes out) {
  assert(out.size() >= AcknowledgeItem::kRangeSize);
  wire::store_be32(out.data(), range.offset);
  wire::store_be32(out.data() + 4, range.length);
}

void write_hello_item(const Hello& hello, MutableBytes out) {
  const auto flags = static_cast<std::uint8_t>(
      (hello.wants_answer ? kWantsAnswer : 0) | (hello.recovery ? kFrameRecovery : 0) |
      (hello.options ? kFrameOptions : 0) | (hello.groups ? kFrameGroups : 0));
  begin(ItemType::kHello, flags, out, Hello::kSize);
  std::byte* const at = out.data();
  wire::store_u8(at + 2, static_cast<std::uint8_t>(hello.mode));
  wire::store_u8(at + 3, hello.data_vls);
  wire::store_u8(at + 4, hello.block.scale());
  wire::store_u8(at + 5, hello.fec.frames);
  wire::store_u8(at + 6, hello.fec.repairs);
  wire::store_u8(at + 7, 0);
  wire::store_be64(at + 8, hello.own);
  wire::store_be32(at + 16, hello.longest_frame);
  wire::store_be32(at + 20, hello.silence_ms);
  wire::store_be32(at + 24, hello.receive_room);
  wire::store_be32(at + 28, 0);
  for (std::size_t vl = 0; vl < kLanes; ++vl)
    wire::store_be64(at + 32 + 8 * vl, hello.capacity[vl]);
}

void write_refusal_item(Refusal why, MutableBytes out) {
  begin(ItemType::kRefusal, static_cast<std::uint8_t>(why), out, RefusalItem::kSize);
  wire::store_be16(out.data() + 2, 0);
}

void write_end_item(MutableBytes out) {
  begin(ItemType::kEnd, 0, out, EndItem::kSize);
  wire::store_be16(out.data() + 2, 0);
}

void write_repair_item(const RepairItem& item, MutableBytes out) {
  begin(ItemType::kRepair, item.index, out, RepairItem::kSize);
  wire::store_be16(out.data() + 2, static_cast<std::uint16_t>(item.symbol.size()));
  wire::store_be32(out.data() + 4, item.back);
  wire::store_be64(out.data() + 8, item.members);
  wire::store_be32(out.data() + 16, item.check);
}

tl::expected<FrameView, FrameError> FrameView::parse(Bytes frame, Bytes beside) {
  if (frame.empty()) return tl::unexpected(FrameError::kMalformed);
  if (wire::load_u8(frame.data()) != FrameHead::kVersion) {
    return tl::unexpected(FrameError::kVersion);
  }
  if (frame.size() < FrameHead::kSize) return tl::unexpected(FrameError::kMalformed);
  const std::byte* const at = frame.data();
  const FrameHead head{.type = static_cast<FrameType>(wire::load_u8(at + 1)),
                       .port_state = wire::load_u8(at + 2),
                       .port_downs = wire::load_u8(at + 3),
                       .open = wire::load_be32(at + 4),
                       .epoch = wire::load_be64(at + 8),
                       .sequence = wire::load_be64(at + 16),
                       .acknowledged = wire::load_be64(at + 24)};
  if (head.type != FrameType::kSession && head.type != FrameType::kTraffic) {
    return tl::unexpected(FrameError::kMalformed);
  }
  const Bytes items = frame.subspan(FrameHead::kSize);
  ItemReader reader(items);
  while (!reader.at_end()) {
    if (!reader.take_packet() && !reader.take_group() && !reader.take()) {
      return tl::unexpected(FrameError::kMalformed);
    }
  }
  const bool session = head.type == FrameType::kSession;
  if (session ? !beside.empty() : !is_credit(beside)) {
    return tl::unexpected(FrameError::kMalformed);
  }
  return FrameView(head, items, beside);
}

std::optional<PacketItem> FrameView::next_packet() {
  if (group_.packets != 0) return take_first(group_);
  ItemReader reader(rest_);
  auto packet = reader.take_packet();
  if (!packet) {
    if (const auto group = reader.take_group()) {
      group_ = *group;
      packet = take_first(group_);
    }
  }
  rest_ = reader.rest();
  return packet;
}

std::optional<Item> FrameView::next() {
  if (const auto packet = next_packet()) return *packet;
  if (ItemReader(rest_).at_end()) rest_ = std::exchange(beside_, {});
  ItemReader reader(rest_);
  auto item = reader.take();
  rest_ = reader.rest();
  return item;
}

}  // namespace weft::wan
