// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "dccp_stage.h"
#include "wan/dccp/dccp_options.h"

namespace weft::wan::dccp {
namespace {

std::vector<std::byte> written(const Packet& packet, const Gid& source, const Gid& destination) {
  std::vector<std::byte> out(header_bytes(packet.header, packet.options.size()));
  const std::array<Bytes, 1> data{packet.data};
  write(packet.header, packet.options, data, source, destination, out);
  out.insert(out.end(), packet.data.begin(), packet.data.end());
  return out;
}

// What options say, written again one by one, without what fills them up.
std::vector<std::byte> options_again(Bytes options) {
  OptionReader reader(options);
  OptionWriter writer(Header::kMostBytes);
  while (const auto option = reader.next())
    EXPECT_TRUE(writer.put(option->type, option->value, option->mandatory));
  EXPECT_FALSE(reader.malformed());
  return {writer.bytes().begin(), writer.bytes().end()};
}

TEST(DccpHeader, ReadsAndWritesGenuinePacketsToTheByte) {
  std::set<PacketType> types;
  std::set<unsigned> coverages;
  for (const Genuine& one : genuine("dccp_ipv6_cscov.pcap")) {
    const auto packet = parse(one.bytes, one.source, one.destination);
    ASSERT_TRUE(packet) << one.where;
    types.insert(packet->header.type);
    coverages.insert(packet->header.coverage);
    EXPECT_EQ(written(*packet, one.source, one.destination), one.bytes) << one.where;
    // Linux fills up at the end alone, or in front of what is mandatory.
    EXPECT_LE(options_again(packet->options).size(), packet->options.size()) << one.where;
  }
  EXPECT_EQ(types, (std::set{PacketType::kRequest, PacketType::kResponse, PacketType::kAck,
                             PacketType::kDataAck, PacketType::kReset}));
  EXPECT_EQ(coverages, (std::set<unsigned>{0, 1, 3}));
}

TEST(DccpHeader, KnowsWhichGenuineChecksumsAnAddressTranslatorHasBroken) {
  const Gid right = Gid::from_ipv4(0xC0A8011F);  // 192.168.1.31
  std::set<PacketType> types;
  for (const Genuine& one : genuine("dccp_ipv4_excerpt.pcap")) {
    const auto packet = parse(one.bytes, one.source, one.destination);
    if (one.source != right) {
      ASSERT_FALSE(packet) << one.where;
      EXPECT_EQ(packet.error(), HeaderRefusal::kChecksum) << one.where;
      continue;
    }
    ASSERT_TRUE(packet) << one.where;
    types.insert(packet->header.type);
    EXPECT_EQ(written(*packet, one.source, one.destination), one.bytes) << one.where;
  }
  EXPECT_TRUE(types.contains(PacketType::kData));
  EXPECT_TRUE(types.contains(PacketType::kClose));
}

TEST(DccpHeader, ReadsTheFieldsOfAGenuineRequestAndResponse) {
  const auto packets = genuine("dccp_ipv6_cscov.pcap");
  const auto request = parse(packets[0].bytes, packets[0].source, packets[0].destination);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->header.type, PacketType::kRequest);
  EXPECT_EQ(request->header.source_port, 0x847A);
  EXPECT_EQ(request->header.destination_port, 5001);
  EXPECT_EQ(request->header.sequence, Sequence(0x1c5f0c1ff1ad));
  EXPECT_EQ(request->header.service_code, 0x49424E44u);
  EXPECT_FALSE(request->header.acknowledged);
  const auto response = parse(packets[1].bytes, packets[1].source, packets[1].destination);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->header.acknowledged, Sequence(0x1c5f0c1ff1ad));
  EXPECT_EQ(response->header.service_code, 0x49424E44u);
  const auto reset = parse(packets[50].bytes, packets[50].source, packets[50].destination);
  ASSERT_TRUE(reset);
  EXPECT_EQ(reset->header.reset_code, ResetCode::kAborted);
}

// Any bit but those that are reserved, and, with coverage, of what is not covered.
TEST(DccpHeader, NoticesEachBitThatIsWrong) {
  for (const Genuine& one : genuine("dccp_ipv6_cscov.pcap")) {
    const std::size_t coverage = std::to_integer<std::size_t>(one.bytes[5]) & 15;
    const std::size_t offset = std::to_integer<std::size_t>(one.bytes[4]) * 4;
    const std::size_t covered = coverage == 0 ? one.bytes.size() : offset + 4 * (coverage - 1);
    for (std::size_t bit = 0; bit < one.bytes.size() * 8; ++bit) {
      auto bytes = one.bytes;
      bytes[bit / 8] ^= std::byte(1U << bit % 8);
      const auto packet = parse(bytes, one.source, one.destination);
      EXPECT_EQ(packet.has_value(), bit / 8 >= covered) << one.where << ' ' << bit;
      if (packet && bit / 8 < covered) return;
    }
  }
}

TEST(DccpHeader, RefusesWhatCannotBe) {
  const Genuine one = genuine("dccp_ipv6_cscov.pcap")[3];  // a DataAck
  const auto refusal = [&](std::size_t at, unsigned value) {
    auto bytes = one.bytes;
    bytes[at] = static_cast<std::byte>(value);
    const auto packet = parse(bytes, one.source, one.destination);
    return packet ? std::optional<HeaderRefusal>() : packet.error();
  };
  EXPECT_EQ(refusal(8, 10 << 1 | 1), HeaderRefusal::kType);
  EXPECT_EQ(refusal(8, 5 << 1), HeaderRefusal::kNumbers);  // a CloseReq with short numbers
  EXPECT_EQ(refusal(4, 5), HeaderRefusal::kOffset);
  EXPECT_EQ(refusal(4, 200), HeaderRefusal::kOffset);
  EXPECT_EQ(refusal(5, 15), HeaderRefusal::kCoverage);
  EXPECT_EQ(refusal(6, 0), HeaderRefusal::kChecksum);
  for (std::size_t size = 0; size < 24; ++size)
    EXPECT_FALSE(parse(Bytes(one.bytes).first(size), one.source, one.destination));
}

TEST(DccpHeader, WritesEachTypeAsItReadsIt) {
  for (unsigned type = 0; type < 10; ++type) {
    for (const bool extended : {true, false}) {
      Header header{.source_port = 1,
                    .destination_port = 2,
                    .cc_value = 9,
                    .type = static_cast<PacketType>(type),
                    .extended = extended,
                    .sequence = Sequence(0x123456789A),
                    .acknowledged = {},
                    .service_code = 0x57454654,
                    .reset_code = ResetCode::kTooBusy,
                    .reset_data = {1, 2, 3}};
      if (!extended && (type < 2 || type > 4)) continue;
      if (has_acknowledgement(header.type)) header.acknowledged = Sequence(0xFEDCBA987654);
      const std::array options{std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}};
      const std::array data{std::byte{7}};
      const Packet packet{.header = header, .options = options, .data = data};
      const auto bytes = written(packet, address(0), address(1));
      const auto read = parse(bytes, address(0), address(1));
      ASSERT_TRUE(read) << type;
      const std::uint64_t mask = extended ? Sequence::kMask : 0xFF'FFFF;
      EXPECT_EQ(read->header.sequence, Sequence(header.sequence.value() & mask));
      EXPECT_EQ(read->header.cc_value, 9);
      EXPECT_EQ(read->data.size(), 1u);
      EXPECT_EQ(written(*read, address(0), address(1)), bytes);
    }
  }
}

TEST(DccpOptions, EndAtWhatIsMalformed) {
  const auto read = [](std::vector<unsigned> values) {
    std::vector<std::byte> bytes;
    for (const unsigned value : values)
      bytes.push_back(static_cast<std::byte>(value));
    OptionReader reader(bytes);
    std::string types;
    while (const auto option = reader.next()) {
      types += std::to_string(static_cast<unsigned>(option->type)) +
               (option->mandatory ? "!" : "") + ':' + std::to_string(option->value.size()) + ' ';
    }
    return types + (reader.malformed() ? "bad" : "");
  };
  EXPECT_EQ(read({0, 0, 38, 3, 0, 2, 0}), "38:1 2:0 ");
  EXPECT_EQ(read({1, 32, 4, 1, 2}), "32!:2 ");
  EXPECT_EQ(read({2, 38}), "2:0 bad");
  EXPECT_EQ(read({2, 38, 1, 0}), "2:0 bad");
  EXPECT_EQ(read({2, 38, 4, 0}), "2:0 bad");
  EXPECT_EQ(read({1}), "bad");
  EXPECT_EQ(read({1, 1, 2}), "bad");
  EXPECT_EQ(read({1, 0, 2}), "bad");
  EXPECT_EQ(read({200, 2}), "200:0 ");
}

TEST(DccpSequence, GoesRoundInACircle) {
  const Sequence last(Sequence::kMask);
  EXPECT_EQ((last + 1).value(), 0u);
  EXPECT_EQ((last + 3).after(last), 3);
  EXPECT_EQ(last.after(last + 3), -3);
  EXPECT_EQ(Sequence(5) - 6, last);
  EXPECT_EQ(Sequence(std::uint64_t{1} << 47).after(Sequence(1)), (std::int64_t{1} << 47) - 1);
}

}  // namespace
}  // namespace weft::wan::dccp
