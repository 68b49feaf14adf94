// SPDX-License-Identifier: Apache-2.0
#include "hca/pieces.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "fixture.h"

namespace weft::hca::test {
namespace {

using Verdict = PacketJoiner::Verdict;

struct PiecePacket {
  std::vector<std::byte> bytes;  // from BTH to pad
  Psn psn;
};

PiecePacket some_packet(Random& random, std::uint32_t psn, std::size_t payload) {
  const std::uint8_t pad = static_cast<std::uint8_t>((4 - payload % 4) % 4);
  PiecePacket packet{.bytes = std::vector<std::byte>(wire::Bth::kSize + payload + pad),
                     .psn = Psn{psn}};
  for (std::byte& byte : packet.bytes)
    byte = static_cast<std::byte>(random.next());
  std::fill(packet.bytes.end() - pad, packet.bytes.end(), std::byte{});
  wire::Bth{.opcode = wire::Opcode::rc_send_only, .pad_count = pad, .psn = packet.psn}.write(
      packet.bytes);
  return packet;
}

// What goes to the wire for it, cut, without the BTHs.
std::vector<std::vector<std::byte>> cut(PacketCutter& cutter, const PiecePacket& packet,
                                        std::size_t gathered = 700) {
  Burst burst;
  OutPacket& out = burst.open();
  const std::size_t header = 28;  // BTH and RETH
  std::copy_n(packet.bytes.begin(), header, out.header.begin());
  out.header_length = header;
  out.pad = wire::Bth::parse(packet.bytes)->pad_count;
  const Bytes payload = Bytes(packet.bytes).subspan(header, packet.bytes.size() - header - out.pad);
  for (std::size_t at = 0; at < payload.size(); at += gathered)
    burst.add_piece(out, payload.subspan(at, std::min(gathered, payload.size() - at)));
  burst.close(out, 4);
  cutter.cut(burst);
  RecordingSink sink;
  sink.send(burst);
  std::vector<std::vector<std::byte>> pieces;
  for (const auto& datagram : sink.datagrams()) {
    EXPECT_LE(datagram.size(), kNarrowPacket);
    EXPECT_EQ(wire::Bth::parse(datagram)->psn, packet.psn);
    pieces.emplace_back(datagram.begin() + wire::Bth::kSize, datagram.end());
  }
  return pieces;
}

TEST(Pieces, MakeUpThePacketThatWasCut) {
  Random random(1);
  PacketCutter cutter;
  PacketJoiner joiner;
  for (std::size_t payload = 1217; payload <= 4120; payload += 97) {
    const PiecePacket packet = some_packet(random, 7, payload);
    auto pieces = cut(cutter, packet, 1 + random.below(2000));
    ASSERT_EQ(pieces.size(), (packet.bytes.size() + kPieceBytes - 1) / kPieceBytes);
    while (pieces.size() > 1) {
      const auto any = pieces.begin() + static_cast<std::ptrdiff_t>(random.below(pieces.size()));
      ASSERT_EQ(joiner.add(packet.psn, *any), Verdict::kIncomplete);
      if (random.chance(0.3)) {
        ASSERT_EQ(joiner.add(packet.psn, *any), Verdict::kIncomplete) << "it came twice";
      }
      pieces.erase(any);
    }
    ASSERT_EQ(joiner.add(packet.psn, pieces[0]), Verdict::kWhole);
    ASSERT_TRUE(std::ranges::equal(joiner.whole(), packet.bytes)) << payload;
  }
}

TEST(Pieces, OfSeveralPacketsMayBeMixed) {
  Random random(2);
  PacketCutter cutter;
  PacketJoiner joiner;
  std::vector<PiecePacket> packets;
  std::vector<std::vector<std::vector<std::byte>>> pieces;
  for (std::uint32_t i = 0; i < 10; ++i) {
    packets.push_back(some_packet(random, i / 2, 2000));  // two transmissions of each
    pieces.push_back(cut(cutter, packets.back()));
  }
  for (std::size_t i = 0; i < packets.size(); ++i)
    EXPECT_EQ(joiner.add(packets[i].psn, pieces[i][0]), Verdict::kIncomplete);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    ASSERT_EQ(joiner.add(packets[i].psn, pieces[i][1]), Verdict::kWhole) << i;
    EXPECT_TRUE(std::ranges::equal(joiner.whole(), packets[i].bytes)) << i;
  }
}

TEST(Pieces, ThatWaitTooLongGiveWayToOthers) {
  Random random(3);
  PacketCutter cutter;
  PacketJoiner joiner;
  const PiecePacket first = some_packet(random, 0, 2000);
  const auto lost = cut(cutter, first);
  EXPECT_EQ(joiner.add(first.psn, lost[0]), Verdict::kIncomplete);
  for (std::uint32_t i = 1; i < 1000; ++i) {
    const PiecePacket packet = some_packet(random, i, 2000);
    EXPECT_EQ(joiner.add(packet.psn, cut(cutter, packet)[0]), Verdict::kIncomplete);
  }
  EXPECT_EQ(joiner.add(first.psn, lost[1]), Verdict::kIncomplete) << "the other is forgotten";
  const PiecePacket last = some_packet(random, 1000, 2000);
  const auto pieces = cut(cutter, last);
  EXPECT_EQ(joiner.add(last.psn, pieces[0]), Verdict::kIncomplete);
  EXPECT_EQ(joiner.add(last.psn, pieces[1]), Verdict::kWhole);
}

TEST(Pieces, OfTheOldestPacketGiveWayFirst) {
  Random random(5);
  PacketCutter cutter;
  PacketJoiner joiner;
  std::vector<std::vector<std::byte>> others;  // the second piece of each
  const auto begin = [&](std::uint32_t psn) {
    const PiecePacket packet = some_packet(random, psn, 2000);
    auto pieces = cut(cutter, packet);
    EXPECT_EQ(joiner.add(packet.psn, pieces[0]), Verdict::kIncomplete);
    others.push_back(std::move(pieces[1]));
  };
  for (std::uint32_t i = 0; i < 16; ++i)
    begin(i);
  // The room of the first one is the newest's now.
  EXPECT_EQ(joiner.add(Psn{0}, others[0]), Verdict::kWhole);
  begin(16);
  begin(17);
  EXPECT_EQ(joiner.add(Psn{16}, others[16]), Verdict::kWhole);
  for (std::uint32_t i = 2; i < 16; ++i)
    EXPECT_EQ(joiner.add(Psn{i}, others[i]), Verdict::kWhole) << i;
  EXPECT_EQ(joiner.add(Psn{1}, others[1]), Verdict::kIncomplete);
}

TEST(Pieces, AreNotJoinedWithThoseOfAPacketOfLongAgo) {
  Random random(6);
  PacketJoiner joiner;
  const auto first_of = [&random](PacketCutter cutter, std::uint32_t psn) {
    return cut(cutter, some_packet(random, psn, 2000));
  };
  ASSERT_EQ(joiner.add(Psn{7}, first_of({}, 7)[0]), Verdict::kIncomplete);
  PacketCutter cutter;
  for (std::uint32_t i = 0; i < 4096; ++i) {
    const PiecePacket packet = some_packet(random, 8 + i, 2000);
    const auto pieces = cut(cutter, packet);
    ASSERT_EQ(joiner.add(packet.psn, pieces[0]), Verdict::kIncomplete);
    ASSERT_EQ(joiner.add(packet.psn, pieces[1]), Verdict::kWhole);
  }
  // PSN, number and length are those of the first one.
  EXPECT_EQ(joiner.add(Psn{7}, first_of({}, 7)[1]), Verdict::kIncomplete);
}

TEST(Pieces, OfAnotherShapeAreMalformed) {
  Random random(4);
  PacketCutter cutter;
  PacketJoiner joiner;
  const PiecePacket packet = some_packet(random, 0, 4000);
  const auto good = cut(cutter, packet);
  const auto expect_malformed = [&](std::vector<std::byte> piece, const char* why) {
    EXPECT_EQ(joiner.add(packet.psn, piece), Verdict::kMalformed) << why;
  };
  expect_malformed({}, "empty");
  expect_malformed({good[0].begin(), good[0].begin() + 7}, "no room for its header");
  for (const std::size_t size : {good[0].size() - 4, good[0].size() + 4}) {
    auto other = good[0];
    other.resize(size);
    expect_malformed(other, "another length");
  }
  const auto changed = [&](const wire::WeftPiece& which) {
    auto piece = good[0];
    which.write(piece);
    return piece;
  };
  expect_malformed(changed({.offset = 1, .length = 1000}), "an offset that is none");
  expect_malformed(changed({.offset = 302, .length = 302}), "beyond the packet");
  expect_malformed(changed({.offset = 0, .length = 0xFFFF}), "longer than any packet");
  expect_malformed(changed({.offset = 0, .length = 0}), "of nothing");
  auto reserved = good[0];
  reserved[7] = std::byte{1};
  expect_malformed(reserved, "a reserved bit");
  for (std::size_t i = 0; i + 1 < good.size(); ++i)
    EXPECT_EQ(joiner.add(packet.psn, good[i]), Verdict::kIncomplete);
  EXPECT_EQ(joiner.add(packet.psn, good.back()), Verdict::kWhole);
}

}  // namespace
}  // namespace weft::hca::test
