// SPDX-License-Identifier: Apache-2.0
#include "port/ring/link_frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "wire/bth.h"
#include "wire/link_crc.h"
#include "wire/packet.h"

namespace weft::port {
namespace {

std::vector<std::byte> some_bytes(std::size_t size, std::uint64_t seed = 1) {
  Random random(seed);
  std::vector<std::byte> out(size);
  for (std::byte& byte : out)
    byte = static_cast<std::byte>(random.next());
  return out;
}

Route local_route() {
  Route route;
  route.lrh.sl = Sl{3};
  route.lrh.dlid = Lid{0x12};
  route.lrh.slid = Lid{0x21};
  return route;
}

Route global_route() {
  Route route = local_route();
  route.lrh.next_header = wire::Lnh::iba_global;
  route.grh = wire::Grh{.traffic_class = 0x5A,
                        .flow_label = 0xABCDE,
                        .hop_limit = 7,
                        .sgid = Gid{{0xFE, 0x80, 1}},
                        .dgid = Gid{{0xFF, 0x12, 2}}};
  return route;
}

// A packet of an opcode without extended headers.
hca::OutPacket model(std::size_t payload) {
  hca::OutPacket packet;
  wire::Bth bth;
  bth.opcode = wire::Opcode::rc_send_only;
  bth.pad_count = wire::pad_count_for(payload);
  bth.pkey = kDefaultPKey;
  bth.dest_qp = Qpn{0x123456};
  bth.psn = Psn{77};
  bth.write(packet.header);
  packet.header_length = wire::Bth::kSize;
  packet.pad = bth.pad_count;
  packet.payload_length = static_cast<std::uint32_t>(payload);
  return packet;
}

struct Written {
  ring::SendSlot slot{};
  std::vector<std::byte> block = std::vector<std::byte>(ring::kBlock);

  [[nodiscard]] Bytes header() const { return Bytes(slot.header).first(slot.header_size); }
  [[nodiscard]] Bytes payload() const { return Bytes(block).first(slot.payload_size); }
  [[nodiscard]] Bytes trailer() const { return Bytes(slot.trailer).first(slot.trailer_size); }
  [[nodiscard]] std::vector<std::byte> all() const {
    std::vector<std::byte> out;
    for (const Bytes part : {header(), payload(), trailer()})
      out.insert(out.end(), part.begin(), part.end());
    wire::seal_link_packet(out);
    return out;
  }
  [[nodiscard]] LinkPieces pieces() const {
    return {.header = header(), .payload = payload(), .trailer = trailer()};
  }
};

Written write_frame(const Route& route, Bytes message) {
  Written out;
  const std::size_t cut = message.size() / 3;
  const std::array<Bytes, 2> pieces{message.first(cut), message.subspan(cut)};
  write_link_packet(route, model(message.size()), pieces, out.block, out.slot);
  return out;
}

TEST(LinkFrame, PacketsOfEveryLengthAreWhatTheWalkerAndTheCrcsTakeForRight) {
  for (const Route& route : {local_route(), global_route()}) {
    for (const std::size_t size :
         {0u, 1u, 2u, 3u, 4u, 8u, 67u, 68u, 69u, 107u, 108u, 109u, 256u, 1021u, 4095u, 4096u}) {
      const auto message = some_bytes(size);
      const auto packet = write_frame(route, message).all();
      const auto walked = wire::walk_link_packet(packet);
      ASSERT_TRUE(walked) << size << ": " << wire::text(walked.error().error);
      EXPECT_TRUE(wire::check_link_crcs(packet).good()) << size;
      EXPECT_EQ(walked->lrh.dlid, route.lrh.dlid);
      EXPECT_EQ(walked->lrh.slid, route.lrh.slid);
      EXPECT_EQ(walked->lrh.sl, route.lrh.sl);
      EXPECT_EQ(walked->lrh.vl, Vl{0});
      EXPECT_EQ(walked->transport->bth.dest_qp, Qpn{0x123456});
      EXPECT_TRUE(std::equal(message.begin(), message.end(), walked->transport->payload.begin(),
                             walked->transport->payload.end()));
      if (route.grh) {
        EXPECT_EQ(walked->grh->dgid, route.grh->dgid);
        EXPECT_EQ(walked->grh->flow_label, route.grh->flow_label);
        EXPECT_EQ(walked->grh->hop_limit, route.grh->hop_limit);
      }
    }
  }
}

TEST(LinkFrame, ShortMessagesNeedNoBlock) {
  const Route route = local_route();
  EXPECT_TRUE(route.fits_header(model(108)));
  EXPECT_FALSE(route.fits_header(model(109)));
  EXPECT_EQ(write_frame(route, some_bytes(108)).slot.payload_size, 0u);
  EXPECT_EQ(write_frame(route, some_bytes(109)).slot.payload_size, 109u);
  EXPECT_TRUE(global_route().fits_header(model(68)));
  EXPECT_FALSE(global_route().fits_header(model(69)));
}

TEST(LinkFrame, PacketsAreJoinedHoweverTheyAreCut) {
  const auto packet = write_frame(global_route(), some_bytes(301)).all();
  LinkFrame frame;
  for (std::size_t header = 60; header <= 128; ++header) {
    for (const std::size_t trailer : {0u, 2u, 3u, 5u, 6u, 9u}) {
      const Bytes all = packet;
      const LinkPieces pieces{.header = all.first(header),
                              .payload = all.subspan(header, all.size() - header - trailer),
                              .trailer = all.last(trailer)};
      ASSERT_EQ(join_link_packet(pieces, frame), FrameVerdict::kGood);
      EXPECT_TRUE(std::equal(packet.begin(), packet.end(), frame.all().begin(), frame.all().end()));
    }
  }
}

TEST(LinkFrame, APacketThatIsAllHeaderIsJoined) {
  const auto packet = write_frame(local_route(), some_bytes(8)).all();
  LinkFrame frame;
  EXPECT_EQ(join_link_packet({.header = packet}, frame), FrameVerdict::kGood);
  EXPECT_EQ(check_link_packet(packet), FrameVerdict::kGood);
}

TEST(LinkFrame, EveryBitThatTheIcrcCoversCounts) {
  const auto good = write_frame(local_route(), some_bytes(125)).all();
  // What hops may change, and the VCRC, are none of the ICRC's business.
  const auto is_free = [&](std::size_t byte, int bit) {
    return (byte == 0 && bit >= 4) || byte == 8 + wire::Bth::kUncoveredByte ||
           byte >= good.size() - wire::kVcrcSize;
  };
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      auto packet = good;
      packet[byte] ^= std::byte{1} << bit;
      LinkFrame frame;
      const Bytes all = packet;
      const LinkPieces pieces{.header = all.first(20),
                              .payload = all.subspan(20, all.size() - 26),
                              .trailer = all.last(6)};
      const FrameVerdict verdict = join_link_packet(pieces, frame);
      EXPECT_EQ(verdict == FrameVerdict::kGood, is_free(byte, bit)) << byte << "/" << bit;
      EXPECT_EQ(check_link_packet(packet) == FrameVerdict::kGood, is_free(byte, bit));
    }
  }
}

TEST(LinkFrame, WhatIsTooShortOrOfAnotherLengthIsMalformed) {
  const auto packet = write_frame(global_route(), some_bytes(64)).all();
  LinkFrame frame;
  GrhArea grh{};
  const Bytes all = packet;
  for (std::size_t size = 0; size < all.size(); ++size) {
    EXPECT_EQ(check_link_packet(all.first(size)), FrameVerdict::kMalformed);
    const std::size_t header = std::min<std::size_t>(size, 128);
    const LinkPieces pieces{.header = all.first(header),
                            .payload = all.subspan(header, size - header)};
    EXPECT_EQ(join_link_packet(pieces, frame), FrameVerdict::kMalformed);
    EXPECT_EQ(join_unsealed_packet(pieces, frame), FrameVerdict::kMalformed);
    EXPECT_FALSE(datagram_in_place(pieces, 0, frame, grh));
  }
  EXPECT_EQ(join_link_packet({.header = all.first(59), .payload = all.subspan(59)}, frame),
            FrameVerdict::kMalformed)
      << "the ICRC of a packet begins with all that it masks";
}

TEST(LinkFrame, APacketThatIsNotSealedIsJoinedAsItIsAndMayBeSealedThen) {
  for (const std::size_t size : {0u, 5u, 108u, 301u, 4096u}) {
    const Written written = write_frame(global_route(), some_bytes(size));
    EXPECT_EQ(written.slot.unsealed, 1);
    LinkFrame frame;
    ASSERT_EQ(join_unsealed_packet(written.pieces(), frame), FrameVerdict::kGood);
    wire::seal_link_packet(frame.all());
    const auto sealed = written.all();
    EXPECT_TRUE(std::equal(sealed.begin(), sealed.end(), frame.all().begin(), frame.all().end()));
  }
}

TEST(LinkFrame, ADatagramInPlaceSaysWhatAJoinedOneDoes) {
  for (const Route& route : {local_route(), global_route()}) {
    for (const std::size_t size : {109u, 110u, 111u, 112u, 1021u, 4096u}) {
      const Written written = write_frame(route, some_bytes(size));
      LinkFrame frame;
      GrhArea grh{};
      const auto in_place = datagram_in_place(written.pieces(), 1, frame, grh);
      ASSERT_TRUE(in_place) << size;
      const auto all = written.all();
      GrhArea other{};
      const hca::InDatagram joined = link_datagram(all, 1, other);
      const auto payload = in_place->payload({}, 0);
      ASSERT_TRUE(payload);
      EXPECT_EQ(payload->data(), written.block.data()) << "nobody has copied it";
      std::vector<std::byte> transport(in_place->transport.begin(), in_place->transport.end());
      transport.insert(transport.end(), payload->begin(), payload->end());
      EXPECT_TRUE(std::equal(transport.begin(), transport.end(), joined.transport.begin()));
      EXPECT_EQ(transport.size() + wire::pad_count_for(size), joined.transport.size());
      EXPECT_EQ(in_place->slid, joined.slid);
      EXPECT_EQ(in_place->dlid, joined.dlid);
      EXPECT_EQ(in_place->path_bits, joined.path_bits);
      EXPECT_EQ(in_place->source, joined.source);
      EXPECT_EQ(in_place->network_header != nullptr, joined.network_header != nullptr);
      EXPECT_EQ(grh, other);
    }
  }
}

// What is cut anywhere else is joined: a queue pair takes its headers from one stretch.
TEST(LinkFrame, OnlyWhatIsCutBetweenHeadersAndPayloadIsADatagramInPlace) {
  const Written written = write_frame(local_route(), some_bytes(301));  // 3 pad bytes
  const auto all = written.all();
  const auto cut = [&](std::size_t header, std::size_t trailer) {
    LinkFrame frame;
    GrhArea grh{};
    const Bytes bytes = all;
    const LinkPieces pieces{.header = bytes.first(header),
                            .payload = bytes.subspan(header, bytes.size() - header - trailer),
                            .trailer = bytes.last(trailer)};
    const bool in_place = datagram_in_place(pieces, 0, frame, grh).has_value();
    EXPECT_EQ(join_unsealed_packet(pieces, frame) == FrameVerdict::kGood, header >= 20);
    return in_place;
  };
  EXPECT_TRUE(cut(20, 9));
  EXPECT_FALSE(cut(19, 9));
  EXPECT_FALSE(cut(21, 9));
  EXPECT_FALSE(cut(20, 8));
  EXPECT_FALSE(cut(20, 6));
  EXPECT_FALSE(cut(20, 0));
  Written of_peers = written;
  of_peers.slot.header[8] = static_cast<std::byte>(wire::Opcode::weft_rc_acknowledge);
  LinkFrame frame;
  GrhArea grh{};
  EXPECT_FALSE(datagram_in_place(of_peers.pieces(), 0, frame, grh));
}

TEST(LinkFrame, ADatagramSaysWhereItCameFrom) {
  std::array<std::byte, hca::kGrhArea> grh{};
  const auto local = write_frame(local_route(), some_bytes(10)).all();
  const hca::InDatagram by_lid = link_datagram(local, 1, grh);
  EXPECT_FALSE(by_lid.global);
  EXPECT_EQ(by_lid.network_header, nullptr);
  EXPECT_EQ(by_lid.slid, Lid{0x21});
  EXPECT_EQ(by_lid.dlid, Lid{0x12});
  EXPECT_EQ(by_lid.sl, Sl{3});
  EXPECT_EQ(by_lid.path_bits, 0);
  EXPECT_EQ(by_lid.transport.size(), wire::Bth::kSize + 12u);
  EXPECT_EQ(link_datagram(local, 2, grh).path_bits, 2);

  const auto global = write_frame(global_route(), some_bytes(10)).all();
  const hca::InDatagram by_gid = link_datagram(global, 0, grh);
  EXPECT_TRUE(by_gid.global);
  ASSERT_EQ(by_gid.network_header, &grh);
  EXPECT_EQ(wire::Grh::parse(grh)->sgid, global_route().grh->sgid);
  EXPECT_EQ(by_gid.source, global_route().grh->sgid);
  EXPECT_EQ(by_gid.destination, global_route().grh->dgid);
  EXPECT_TRUE(by_gid.multicast);
  EXPECT_EQ(by_gid.traffic_class, 0x5A);
  EXPECT_EQ(by_gid.transport.size(), wire::Bth::kSize + 12u);
}

}  // namespace
}  // namespace weft::port
