// SPDX-License-Identifier: Apache-2.0
#include "wire/link_patch.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "wire/bth.h"
#include "wire/crc.h"
#include "wire/deth.h"
#include "wire/grh.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace weft::wire {
namespace {

constexpr std::size_t kBehindLrh = Lrh::kSize;

// A sealed packet of random bytes with this opcode.
std::vector<std::byte> random_packet(Random& random, Opcode opcode, bool global,
                                     std::size_t payload) {
  const std::uint8_t pad = pad_count_for(payload);
  const std::size_t transport = Bth::kSize + info(opcode).headers_size + payload + pad + kIcrcSize;
  const std::size_t before = kBehindLrh + (global ? Grh::kSize : 0);
  std::vector<std::byte> bytes(before + transport + kVcrcSize);
  for (std::byte& byte : bytes)
    byte = static_cast<std::byte>(random.next());
  Lrh{.vl = Vl{static_cast<std::uint8_t>(random.below(8))},
      .sl = Sl{static_cast<std::uint8_t>(random.below(16))},
      .next_header = global ? Lnh::iba_global : Lnh::iba_local,
      .dlid = Lid{static_cast<std::uint16_t>(random.next())},
      .packet_words = static_cast<std::uint16_t>((before + transport) / 4),
      .slid = Lid{static_cast<std::uint16_t>(random.next())}}
      .write(bytes);
  if (global) {
    Grh grh = *Grh::parse(Bytes(bytes).subspan(kBehindLrh));
    grh.ip_version = Grh::kIpVersion;
    grh.next_header = Grh::kNextHeaderIba;
    grh.payload_length = static_cast<std::uint16_t>(transport);
    grh.write(MutableBytes(bytes).subspan(kBehindLrh));
  }
  Bth bth = *Bth::parse(Bytes(bytes).subspan(before));
  bth.opcode = opcode;
  bth.pad_count = pad;
  bth.transport_version = 0;
  bth.write(MutableBytes(bytes).subspan(before));
  seal_link_packet(bytes);
  return bytes;
}

Gid random_gid(Random& random) {
  std::array<std::uint8_t, 16> bytes;
  for (std::uint8_t& byte : bytes)
    byte = static_cast<std::uint8_t>(random.next());
  return Gid{bytes};
}

void change_something(LinkPatch& patch, Random& random, bool global, Opcode opcode,
                      std::size_t payload_at, std::size_t payload) {
  const bool datagram = info(opcode).has(kDeth);
  switch (random.below(11)) {
    case 0:
      return patch.set_vl(Vl{static_cast<std::uint8_t>(random.next())});
    case 1:
      return patch.set_sl(Sl{static_cast<std::uint8_t>(random.next())});
    case 2:
      return patch.set_dlid(Lid{static_cast<std::uint16_t>(random.next())});
    case 3:
      return patch.set_route(Sl{static_cast<std::uint8_t>(random.next())},
                             Lid{static_cast<std::uint16_t>(random.next())},
                             Lid{static_cast<std::uint16_t>(random.next())});
    case 4:
      return patch.set_pkey(PKey{static_cast<std::uint16_t>(random.next())});
    case 5:
      return patch.set_dest_qp(Qpn{static_cast<std::uint32_t>(random.next())});
    case 6:
      if (datagram) patch.set_qkey(QKey{static_cast<std::uint32_t>(random.next())});
      return;
    case 7:
      if (datagram) patch.set_source_qp(Qpn{static_cast<std::uint32_t>(random.next())});
      return;
    case 8:
      if (global) patch.set_dgid(random_gid(random));
      return;
    case 9:
      if (global) patch.set_hop_limit(static_cast<std::uint8_t>(random.next()));
      return;
    default: {
      std::vector<std::byte> bytes(random.below(payload + 1));
      for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random.next());
      return patch.write(payload_at + random.below(payload - bytes.size() + 1), bytes);
    }
  }
}

TEST(LinkPatch, GivesTheCrcsThatThePacketWouldHaveHadFromItsSender) {
  Random random(7);
  const std::array opcodes{Opcode::rc_send_only,   Opcode::ud_send_only,
                           Opcode::rd_send_only,   Opcode::uc_write_first,
                           Opcode::rc_acknowledge, Opcode::xrc_write_only_imm};
  for (int turn = 0; turn < 20'000; ++turn) {
    const Opcode opcode = opcodes[random.below(opcodes.size())];
    const bool global = random.chance(0.5);
    const std::size_t payload =
        info(opcode).has_payload ? random.below(turn % 16 == 0 ? 4097 : 64) : 0;
    std::vector<std::byte> bytes = random_packet(random, opcode, global, payload);
    LinkPatch patch(bytes);
    const std::size_t payload_at = link_headers_size(bytes) + info(opcode).headers_size;
    for (std::uint64_t changes = random.below(5); changes > 0; --changes)
      change_something(patch, random, global, opcode, payload_at, payload);
    if (random.chance(0.5)) patch.finish();
    ASSERT_TRUE(patch.finish_checked()) << "turn " << turn;
    std::vector<std::byte> anew = bytes;
    seal_link_packet(anew);
    ASSERT_EQ(bytes, anew) << "turn " << turn;
  }
}

TEST(LinkPatch, SaysWhatWasChanged) {
  Random random(1);
  std::vector<std::byte> bytes = random_packet(random, Opcode::ud_send_only, true, 100);
  LinkPatch patch(bytes);
  EXPECT_EQ(patch.changed(), 0);
  patch.set_dlid(Lid{3});
  EXPECT_EQ(patch.changed(), LinkPatch::kLrh);
  patch.set_dgid({});
  EXPECT_EQ(patch.changed(), LinkPatch::kLrh | LinkPatch::kGrh);
  patch.set_pkey(PKey{3});
  EXPECT_EQ(patch.changed(), LinkPatch::kLrh | LinkPatch::kGrh | LinkPatch::kPKey);
  patch.set_source_qp(Qpn{9});
  EXPECT_EQ(patch.changed() & LinkPatch::kTransport, LinkPatch::kTransport);
  EXPECT_EQ(patch.changed() & LinkPatch::kPayload, 0);
  patch.write(link_headers_size(bytes) + Deth::kSize, std::array{std::byte{1}});
  EXPECT_EQ(patch.changed() & LinkPatch::kPayload, LinkPatch::kPayload);
}

TEST(LinkPatch, LeavesTheIcrcOfAGlobalPacketWhenTheLrhAloneChanges) {
  Random random(2);
  std::vector<std::byte> bytes = random_packet(random, Opcode::rc_send_only, true, 100);
  const std::uint32_t icrc = walk_link_packet(bytes)->transport->icrc;
  LinkPatch patch(bytes);
  patch.set_route(Sl{4}, Lid{9}, Lid{8});
  patch.set_vl(Vl{2});
  ASSERT_TRUE(patch.finish_checked());
  EXPECT_EQ(walk_link_packet(bytes)->transport->icrc, icrc);
  EXPECT_EQ(walk_link_packet(bytes)->lrh.dlid, Lid{9});
}

TEST(LinkPatch, KeepsACorruptPacketCorrupt) {
  Random random(3);
  for (const bool global : {false, true}) {
    std::vector<std::byte> bytes = random_packet(random, Opcode::rc_send_only, global, 100);
    bytes[bytes.size() - 20] ^= std::byte{4};
    LinkPatch patch(bytes);
    patch.set_route(Sl{4}, Lid{9}, Lid{8});
    patch.set_pkey(PKey{0x8001});
    EXPECT_FALSE(patch.finish_checked());
    const LinkCrcCheck check = check_link_crcs(bytes);
    EXPECT_FALSE(check.icrc_good || check.vcrc_good);
    bytes[bytes.size() - 20] ^= std::byte{4};
    EXPECT_TRUE(check_link_crcs(bytes).good());
  }
}

TEST(LinkPatch, CorrectsTheVcrcOfRawPackets) {
  std::vector<std::byte> bytes(kBehindLrh + 64 + kVcrcSize);
  Lrh{.next_header = Lnh::raw_ipv6,
      .dlid = Lid{1},
      .packet_words = (kBehindLrh + 64) / 4,
      .slid = Lid{2}}
      .write(bytes);
  seal_link_packet(bytes);
  LinkPatch patch(bytes);
  patch.set_route(Sl{4}, Lid{9}, Lid{8});
  patch.set_vl(Vl{5});
  patch.write(20, std::array<std::byte, 12>{std::byte{7}, std::byte{8}});
  EXPECT_TRUE(patch.finish_checked());
}

TEST(RewritePKey, IsWhatASealedPacketWithThatKeyHas) {
  Random random(4);
  for (const bool global : {false, true}) {
    std::vector<std::byte> bytes = random_packet(random, Opcode::rc_send_only, global, 4096);
    const Bytes headers = Bytes(bytes).first(link_headers_size(bytes));
    const PKey before = Bth::parse(headers.last(Bth::kSize))->pkey;
    const std::uint32_t icrc = walk_link_packet(bytes)->transport->icrc;
    rewrite_pkey(bytes, PKey{0x8123});
    EXPECT_TRUE(check_link_crcs(bytes).good());
    EXPECT_EQ(walk_link_packet(bytes)->transport->bth.pkey, PKey{0x8123});
    const std::size_t behind = bytes.size() - kVcrcSize - kIcrcSize - headers.size();
    EXPECT_EQ(walk_link_packet(bytes)->transport->icrc,
              icrc ^ pkey_change(before, PKey{0x8123}, behind).icrc);
  }
}

TEST(LrhChange, IsWhatAPatchOfTheLrhDoes) {
  Random random(5);
  for (int turn = 0; turn < 1000; ++turn) {
    const bool global = turn % 2 == 0;
    std::vector<std::byte> bytes =
        random_packet(random, Opcode::rc_send_only, global, random.below(4097));
    const std::uint64_t before = load_le64(bytes.data());
    LrhView lrh(bytes);
    lrh.set_vl(Vl{static_cast<std::uint8_t>(random.next())});
    lrh.set_dlid(Lid{static_cast<std::uint16_t>(random.next())});
    lrh.set_slid(Lid{static_cast<std::uint16_t>(random.next())});
    const std::size_t covered = bytes.size() - kVcrcSize - kIcrcSize;
    const CrcChange change = lrh_change(before, load_le64(bytes.data()), covered, global);
    std::byte* const icrc = bytes.data() + covered;
    store_le32(icrc, load_le32(icrc) ^ change.icrc);
    store_le16(icrc + kIcrcSize,
               static_cast<std::uint16_t>(load_le16(icrc + kIcrcSize) ^ change.vcrc));
    ASSERT_TRUE(check_link_crcs(bytes).good()) << turn;
  }
}

}  // namespace
}  // namespace weft::wire
