// SPDX-License-Identifier: Apache-2.0
#include "wan/frame.h"

#include <gtest/gtest.h>

#include "../link/rig.h"
#include "wan/encapsulation/options_layer.h"
#include "wan/frame_builder.h"

namespace weft::wan {
namespace {

std::vector<std::byte> bytes_built(const FrameBuilder& frame) {
  std::vector<std::byte> out;
  for (const Bytes part : frame.parts())
    out.insert(out.end(), part.begin(), part.end());
  return out;
}

std::vector<std::byte> hex(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int value : values)
    out.push_back(std::byte(static_cast<std::uint8_t>(value)));
  return out;
}

class Frames : public ::testing::Test {
 protected:
  link::PacketPtr packet(std::size_t payload) {
    return pool.copy(link::make_packet({.payload = payload}));
  }
  template <class T>
  T only(const std::vector<std::byte>& bytes) {
    auto view = FrameView::parse(bytes);
    EXPECT_TRUE(view);
    const auto item = view->next();
    EXPECT_TRUE(item && std::holds_alternative<T>(*item));
    EXPECT_FALSE(view->next());
    return std::get<T>(*item);
  }
  BufferPool payloads{link::PacketPool::kPayloadBlock, 100};
  link::PacketPool pool{100, payloads};
  FrameBuilder frame;
};

// docs/range-extension.md has these bytes as tables.
TEST_F(Frames, HaveTheBytesOfTheTable) {
  frame.begin(1000);
  ASSERT_TRUE(frame.add(CreditItem{.credit = {.vl = Vl{3},
                                              .packets = 0x01020304,
                                              .sent = 0x1112131415161718,
                                              .limit = 0x2122232425262728},
                                   .settled = 0x05060708}));
  frame.add(std::vector<AcknowledgeItem::Range>{{0x31, 0x32}});
  ASSERT_TRUE(frame.add(Refusal::kMode));
  ASSERT_TRUE(frame.add_end());
  frame.finish({.type = FrameType::kTraffic,
                .port_state = 4,
                .port_downs = 9,
                .open = 0x41424344,
                .epoch = 0x5152535455565758,
                .sequence = 0x6162636465666768,
                .acknowledged = 0x7172737475767778});
  EXPECT_EQ(bytes_built(frame),
            hex({1,    2,    4,    9,    0x41, 0x42, 0x43, 0x44, 0x51, 0x52, 0x53, 0x54,
                 0x55, 0x56, 0x57, 0x58, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68,
                 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78,                       // head
                 4,    3,    0,    0,    1,    2,    3,    4,    5,    6,    7,    8,  // credit
                 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,                       //
                 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,                       //
                 5,    1,    0,    0,    0,    0x31, 0,    0,    0,    0x32,  // acknowledge
                 7,    2,    0,    0,                                         // refusal
                 8,    0,    0,    0}));                                      // end
  EXPECT_EQ(frame.size(), bytes_built(frame).size());
}

TEST_F(Frames, CarryPacketsAsTheyAreWithoutCopyingPayloads) {
  const auto sent = packet(2000);
  frame.begin(9000);
  const PacketTag tag{.vl = Vl{7}, .sequence = 0x01020304, .position = 0x05060708};
  ASSERT_TRUE(frame.add(tag, *sent, 0, sent->size()));
  frame.finish({});
  const auto bytes = bytes_built(frame);
  EXPECT_EQ(std::vector<std::byte>(bytes.begin() + 32, bytes.begin() + 44),
            hex({1, 7, 2026 >> 8, 2026 & 255, 1, 2, 3, 4, 5, 6, 7, 8}));
  const auto item = only<PacketItem>(bytes);
  EXPECT_TRUE(item.whole());
  const auto original = link::make_packet({.payload = 2000});
  EXPECT_TRUE(std::equal(item.bytes.begin(), item.bytes.end(), original.begin(), original.end()));
  EXPECT_EQ(frame.parts()[1].data(), sent->payload().data());
  EXPECT_EQ(frame.parts().size(), 3);
}

// Both ways to read them give the same, whatever stands between them.
TEST_F(Frames, GiveWholePacketsByThemselves) {
  const auto sent = packet(2000);
  frame.begin(9000);
  ASSERT_TRUE(frame.add({.vl = Vl{1}, .sequence = 5}, *sent, 0, sent->size()));
  ASSERT_TRUE(frame.add(CreditItem{}));
  ASSERT_TRUE(frame.add({.vl = Vl{2}, .sequence = 6}, *sent, 0, sent->size()));
  ASSERT_TRUE(frame.add({.vl = Vl{2}, .sequence = 7}, *sent, 0, 100));
  frame.finish({});
  const auto bytes = bytes_built(frame);
  auto quick = FrameView::parse(bytes);
  auto slow = FrameView::parse(bytes);
  ASSERT_TRUE(quick && slow);
  for (const std::uint32_t sequence : {5u, 0u, 6u, 7u}) {
    const auto item = slow->next();
    ASSERT_TRUE(item);
    const auto* const expected = std::get_if<PacketItem>(&*item);
    const auto packet = quick->next_packet();
    ASSERT_EQ(packet.has_value(), expected != nullptr && expected->whole());
    if (!packet) {
      EXPECT_TRUE(quick->next());
      continue;
    }
    EXPECT_EQ(packet->tag.sequence, sequence);
    EXPECT_EQ(packet->tag.vl, expected->tag.vl);
    EXPECT_TRUE(packet->whole());
    EXPECT_EQ(packet->bytes.data(), expected->bytes.data());
    EXPECT_EQ(packet->bytes.size(), expected->bytes.size());
  }
  EXPECT_FALSE(quick->next_packet());
  EXPECT_FALSE(quick->next());
}

// Of a packet that came whole, in however many stretches.
std::vector<std::byte> joined(const PacketItem& item) {
  std::vector<std::byte> out(item.front.begin(), item.front.end());
  out.insert(out.end(), item.bytes.begin(), item.bytes.end());
  out.insert(out.end(), item.vcrc.begin(), item.vcrc.end());
  return out;
}

TEST_F(Frames, HaveTheEndsOfPacketsTogetherInAGroup) {
  const auto first = packet(2000), second = packet(1000), small = packet(64);
  frame.begin(9000, 0, true);
  ASSERT_TRUE(frame.add({.vl = Vl{7}, .sequence = 0x01020304, .position = 0x05060708}, *first, 0,
                        first->size()));
  ASSERT_TRUE(frame.add({.vl = Vl{2}, .sequence = 9, .position = 10}, *second, 0, second->size()));
  ASSERT_TRUE(frame.add({.vl = Vl{2}, .sequence = 10, .position = 30}, *small, 0, small->size()));
  ASSERT_TRUE(frame.add({.vl = Vl{2}, .sequence = 11, .position = 32}, *first, 0, first->size()));
  ASSERT_TRUE(frame.add(CreditItem{}));
  frame.finish({});
  const auto bytes = bytes_built(frame);
  EXPECT_EQ(frame.size(), bytes.size());
  const auto at = [&](std::size_t from, std::size_t count) {
    const auto begin = bytes.begin() + static_cast<long>(from);
    return std::vector<std::byte>(begin, begin + static_cast<long>(count));
  };
  const auto original = link::make_packet({.payload = 2000});
  const auto shorter = link::make_packet({.payload = 1000});
  constexpr std::size_t kEnds = 12 + 128 + 2;
  const auto expect_ends = [&](std::size_t from, const std::vector<std::byte>& head,
                               const std::vector<std::byte>& whole) {
    EXPECT_EQ(at(from, 12), head);
    EXPECT_EQ(at(from + 12, 128), std::vector<std::byte>(whole.begin(), whole.begin() + 128));
    EXPECT_EQ(at(from + 140, 2), std::vector<std::byte>(whole.end() - 2, whole.end()));
  };
  EXPECT_EQ(at(32, 4), hex({10, 0, 0, 2}));
  expect_ends(36, hex({1, 7, 2026 >> 8, 2026 & 255, 1, 2, 3, 4, 5, 6, 7, 8}), original);
  expect_ends(36 + kEnds, hex({1, 2, 1026 >> 8, 1026 & 255, 0, 0, 0, 9, 0, 0, 0, 10}), shorter);
  const std::size_t behind = 36 + 2 * kEnds + (2026 - 130) + (1026 - 130);
  EXPECT_EQ(at(behind, 4), hex({1, 2, 0, 90})) << "which is copied, and ends the group";
  EXPECT_EQ(at(behind + 12 + 90, 4), hex({10, 0, 0, 1}));

  ASSERT_EQ(frame.parts().size(), 6);
  EXPECT_EQ(frame.parts()[1].data(), first->payload().data());
  EXPECT_EQ(frame.parts()[2].data(), second->payload().data());
  EXPECT_EQ(frame.parts()[4].data(), first->payload().data());

  auto view = FrameView::parse(bytes);
  ASSERT_TRUE(view);
  const std::vector<std::vector<std::byte>> sent{original, shorter,
                                                 link::make_packet({.payload = 64}), original};
  const std::array<std::uint32_t, 4> sequences{0x01020304, 9, 10, 11};
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const auto item = i % 2 == 0 ? view->next_packet()
                                 : std::optional(std::get<PacketItem>(view->next().value()));
    ASSERT_TRUE(item);
    EXPECT_TRUE(item->whole());
    EXPECT_EQ(item->grouped(), i != 2);
    EXPECT_EQ(item->tag.sequence, sequences[i]);
    EXPECT_EQ(item->total, sent[i].size());
    EXPECT_EQ(joined(*item), sent[i]);
  }
  EXPECT_FALSE(view->next_packet());
  EXPECT_TRUE(std::holds_alternative<CreditItem>(view->next().value()));
  EXPECT_FALSE(view->next());
}

// A group takes four bytes more than its packets would by themselves.
TEST_F(Frames, HaveNoGroupWhereAPacketFitsOnlyByItself) {
  const auto sent = packet(2000);
  const std::size_t alone = FrameHead::kSize + PacketItem::kSize + sent->size();
  for (std::size_t more = 0; more <= GroupItem::kSize; ++more) {
    frame.begin(alone + more, 0, true);
    ASSERT_TRUE(frame.add({.vl = Vl{1}}, *sent, 0, sent->size()));
    frame.finish({});
    EXPECT_LE(frame.size(), alone + more);
    EXPECT_EQ(only<PacketItem>(bytes_built(frame)).grouped(), more == GroupItem::kSize);
  }
}

TEST_F(Frames, AreRefusedAsAWholeWhereAGroupIsCutOrCannotBe) {
  const auto sent = packet(400);
  frame.begin(2000, 0, true);
  for (std::uint32_t i = 0; i < 2; ++i)
    ASSERT_TRUE(frame.add({.vl = Vl{1}, .sequence = i}, *sent, 0, sent->size()));
  frame.finish({});
  const auto whole = bytes_built(frame);
  for (std::size_t length = 33; length < whole.size(); ++length)
    EXPECT_FALSE(FrameView::parse(Bytes(whole).first(length)));
  const auto with = [&](std::size_t at, std::size_t value) {
    auto bytes = whole;
    bytes[at] = std::byte(static_cast<std::uint8_t>(value >> 8));
    bytes[at + 1] = std::byte(static_cast<std::uint8_t>(value));
    return FrameView::parse(bytes).has_value();
  };
  constexpr std::size_t kGroup = FrameHead::kSize, kSecond = kGroup + 4 + GroupItem::kEnds;
  EXPECT_TRUE(with(kGroup + 2, 2));
  auto empty = std::vector(whole.begin(), whole.begin() + kGroup + GroupItem::kSize);
  empty[kGroup + 3] = std::byte{0};
  EXPECT_FALSE(FrameView::parse(empty)) << "of no packets";
  EXPECT_FALSE(with(kGroup + 2, 3));
  EXPECT_FALSE(with(kSecond, 2 << 8 | 1)) << "a piece in it";
  EXPECT_FALSE(with(kSecond, 1 << 8 | 15)) << "no data lane";
  EXPECT_FALSE(with(kSecond + 2, 130)) << "nothing between the ends";
  EXPECT_FALSE(with(kSecond + 2, sent->size() + 1));
  EXPECT_FALSE(with(kSecond + 2, 0xFFFF));
}

TEST_F(Frames, CarryPacketsInPieces) {
  const auto sent = packet(2000);
  const auto original = link::make_packet({.payload = 2000});
  std::vector<std::byte> together(original.size());
  for (std::size_t offset = 0; offset < sent->size();) {
    frame.begin(kLeastFrame);
    const std::size_t length = frame.fitting(sent->size() - offset, offset == 0);
    ASSERT_GT(length, 0);
    ASSERT_TRUE(frame.add({.vl = Vl{1}}, *sent, offset, length));
    frame.finish({});
    EXPECT_LE(frame.size(), kLeastFrame);
    const auto bytes = bytes_built(frame);
    const auto item = only<PacketItem>(bytes);
    EXPECT_FALSE(item.whole());
    EXPECT_EQ(item.offset, offset);
    EXPECT_EQ(item.total, sent->size());
    std::copy(item.bytes.begin(), item.bytes.end(),
              together.begin() + static_cast<long>(item.offset));
    offset += length;
  }
  EXPECT_EQ(together, original);
}

TEST_F(Frames, CarryAHello) {
  Hello hello{.own = 0x0102030405060708,
              .wants_answer = true,
              .recovery = true,
              .options = true,
              .groups = true,
              .mode = TunnelMode::kRouter,
              .data_vls = 8,
              .fec = {.frames = 10, .repairs = 2},
              .block = BlockSize{5},
              .longest_frame = 9000,
              .silence_ms = 3000,
              .receive_room = 8'000'001,
              .capacity = {}};
  for (std::uint64_t vl = 0; vl < 8; ++vl)
    hello.capacity[vl] = 1000 + vl;
  frame.begin(kLeastFrame);
  ASSERT_TRUE(frame.add(hello));
  frame.finish({.type = FrameType::kSession});
  EXPECT_EQ(only<Hello>(bytes_built(frame)), hello);
}

// A system call takes no more than so many parts, however short the packets are that programs make.
TEST_F(Frames, AreOfFewPartsHoweverManyPacketsTheyHold) {
  for (const std::size_t payload : {4u, 8u, 256u, 260u, 364u, 2000u}) {
    const auto bytes_sent = link::make_packet({.payload = payload});
    const Bytes whole(bytes_sent);
    const std::size_t header = whole.size() - payload - 6;
    const bool groups = payload == 364;
    const auto sent =
        groups ? pool.copy(whole)
               : pool.refer(whole.first(header), whole.subspan(header, payload), {}, whole.last(6));
    frame.begin(kLongestFrame, 0, groups);
    std::uint32_t packets = 0;
    while (frame.add({.vl = Vl{1}, .sequence = packets}, *sent, 0, sent->size()))
      ++packets;
    frame.finish({});
    EXPECT_LE(frame.parts().size(), FrameBuilder::kMostParts) << packets << " of " << payload;
    const auto bytes = bytes_built(frame);
    auto view = FrameView::parse(bytes);
    ASSERT_TRUE(view);
    while (view->next())
      --packets;
    EXPECT_EQ(packets, 0u) << payload;
  }
}

TEST_F(Frames, TakeNothingThatDoesNotFit) {
  frame.begin(kLeastFrame);
  const auto large = packet(4096);
  EXPECT_FALSE(frame.add({}, *large, 0, large->size()));
  while (frame.add(CreditItem{})) {
  }
  EXPECT_LT(frame.room(), CreditItem::kSize);
  frame.finish({});
  EXPECT_TRUE(FrameView::parse(bytes_built(frame)));
}

CreditItem credit_of(std::uint8_t lane) {
  return {.credit = {.vl = Vl{lane}, .packets = 1U + lane, .sent = 2U + lane, .limit = 3U + lane},
          .settled = 4U + lane};
}

TEST_F(Frames, HaveTheirCreditBesideThemWhereThereIsRoomForOptions) {
  const auto sent = packet(64);
  frame.begin(kLeastFrame, OutPacket::kMostOptions);
  std::uint8_t lanes = 0;
  for (; frame.takes_credit(); ++lanes) {
    ASSERT_TRUE(frame.add(credit_of(lanes)));
    EXPECT_EQ(frame.room() + FrameHead::kSize + OptionsLayer::header_size(frame.options().size()),
              kLeastFrame);
  }
  EXPECT_EQ(lanes, 8);
  EXPECT_FALSE(frame.add(credit_of(0)));
  ASSERT_TRUE(frame.add({.vl = Vl{1}}, *sent, 0, sent->size()));
  frame.finish({});
  const auto bytes = bytes_built(frame);
  EXPECT_EQ(bytes.size(), FrameHead::kSize + PacketItem::kSize + sent->size());
  const std::vector<std::byte> beside(frame.options().begin(), frame.options().end());
  auto view = FrameView::parse(bytes, beside);
  ASSERT_TRUE(view);
  EXPECT_TRUE(std::holds_alternative<PacketItem>(view->next().value()));
  for (std::uint8_t lane = 0; lane < lanes; ++lane) {
    const auto item = std::get<CreditItem>(view->next().value());
    EXPECT_EQ(item.credit.vl, Vl{lane});
    EXPECT_EQ(item.credit.packets, 1U + lane);
    EXPECT_EQ(item.credit.limit, 3U + lane);
  }
  EXPECT_EQ(view->next(), std::nullopt);

  frame.begin(kLeastFrame, OutPacket::kMostOptions);
  EXPECT_TRUE(frame.options().empty()) << "of the frame before";
  const auto large = packet(340);
  ASSERT_TRUE(frame.add({.vl = Vl{1}}, *large, 0, large->size()));
  while (frame.takes_credit())
    ASSERT_TRUE(frame.add(credit_of(0)));
  EXPECT_LT(frame.options().size(), 4 * CreditItem::kSize) << "there is no room for the header";
}

TEST_F(Frames, AreRefusedAsAWholeWithWhatIsNoCreditBesideThem) {
  frame.begin(kLeastFrame, OutPacket::kMostOptions);
  for (std::uint8_t lane = 0; lane < 3; ++lane)
    ASSERT_TRUE(frame.add(credit_of(lane)));
  frame.finish({});
  const auto bytes = bytes_built(frame);
  const std::vector<std::byte> beside(frame.options().begin(), frame.options().end());
  for (std::size_t length = 0; length <= beside.size(); ++length) {
    EXPECT_EQ(FrameView::parse(bytes, Bytes(beside).first(length)).has_value(),
              length % CreditItem::kSize == 0);
  }
  const auto with = [&](std::size_t at, std::uint8_t value) {
    auto changed = beside;
    changed[at] = std::byte{value};
    return FrameView::parse(bytes, changed).has_value();
  };
  EXPECT_TRUE(with(4, 77));
  EXPECT_FALSE(with(29, 15)) << "no data lane";
  EXPECT_FALSE(with(28, 0)) << "nothing fills up options";
  std::vector<std::byte> end(EndItem::kSize);
  write_end_item(end);
  EXPECT_FALSE(FrameView::parse(bytes, end)) << "an end of the session, whole";
  frame.finish({.type = FrameType::kSession});
  EXPECT_FALSE(FrameView::parse(bytes_built(frame), beside)) << "before there is a session";
  EXPECT_TRUE(FrameView::parse(bytes_built(frame)));
}

TEST_F(Frames, AreRefusedAsAWholeWhereTheyAreCutOrAnItemCannotBe) {
  const auto sent = packet(64);
  frame.begin(2000);
  ASSERT_TRUE(frame.add({.vl = Vl{1}}, *sent, 0, sent->size()));
  ASSERT_TRUE(frame.add(CreditItem{}));
  ASSERT_TRUE(frame.add({.vl = Vl{1}}, *sent, 10, 30));
  ASSERT_TRUE(frame.add_management(*sent));
  frame.finish({});
  const auto whole = bytes_built(frame);
  ASSERT_TRUE(FrameView::parse(whole));
  const std::set<std::size_t> ends{32, 32 + 102, 32 + 102 + 28, 32 + 102 + 28 + 46, whole.size()};
  for (std::size_t length = 0; length <= whole.size(); ++length)
    EXPECT_EQ(FrameView::parse(Bytes(whole).first(length)).has_value(), ends.contains(length));
  const auto with = [&](std::size_t at, int value) {
    auto bytes = whole;
    bytes[at] = std::byte(static_cast<std::uint8_t>(value));
    return FrameView::parse(bytes);
  };
  EXPECT_EQ(with(0, 2).error(), FrameError::kVersion);
  EXPECT_EQ(with(1, 3).error(), FrameError::kMalformed) << "the type";
  EXPECT_FALSE(with(32, 10)) << "an item's type";
  EXPECT_FALSE(with(33, 15)) << "no data lane";
  EXPECT_FALSE(with(32 + 102 + 28 + 15, 35)) << "a piece beyond the end of its packet";
}

TEST_F(Frames, EndWhereTheNetworkHasFilledThemUp) {
  frame.begin(kLeastFrame);
  ASSERT_TRUE(frame.add_end());
  frame.finish({});
  auto bytes = bytes_built(frame);
  bytes.resize(60);
  only<EndItem>(bytes);
}

TEST(FrameEpoch, IsAnotherOneWithEachEndAndDirection) {
  EXPECT_NE(frame_epoch(1, 2), frame_epoch(2, 1));
  EXPECT_NE(frame_epoch(1, 2), frame_epoch(1, 3));
  EXPECT_NE(frame_epoch(1, 2), frame_epoch(3, 2));
}

TEST(AheadOf, CountsAcrossTheEndOf32Bits) {
  EXPECT_EQ(ahead_of(5, 7), 2);
  EXPECT_EQ(ahead_of(0, 0xFFFFFFFF), -1);
  EXPECT_EQ(ahead_of(0x1'FFFF'FFFF, 3), 4);
}

}  // namespace
}  // namespace weft::wan
