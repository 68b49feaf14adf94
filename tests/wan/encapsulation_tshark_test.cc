// SPDX-License-Identifier: Apache-2.0
// What tshark, which nobody here wrote, reads in what each stack writes.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "encapsulation_stage.h"
#include "io/pcapng_writer.h"

namespace weft::wan {
namespace {

class TsharkTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v tshark >/dev/null") != 0) GTEST_SKIP() << "tshark is missing";
    std::string name = std::filesystem::temp_directory_path() / "weft-tshark.XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // These fields of the packet, with blanks between them, as tshark prints them.
  std::string fields(Bytes packet, const std::string& names) {
    const std::string path = folder_ / "packet.pcapng";
    auto file = io::PcapngFile::create(
        path, std::array{io::CaptureInterface{.name = "wan", .description = {}}});
    EXPECT_TRUE(file) << file.error().message;
    const std::array<Bytes, 1> data{packet};
    EXPECT_TRUE(file->write({.timestamp = 1s, .data = data, .comment = {}}));
    EXPECT_TRUE(file->flush());
    std::string command = "tshark -r " + path + " -o udp.check_checksum:TRUE" +
                          " -o ip.check_checksum:TRUE -T fields -E separator=/s";
    for (std::size_t at = 0; at < names.size();) {
      const std::size_t end = std::min(names.find(' ', at), names.size());
      command += " -e " + names.substr(at, end - at);
      at = end + 1;
    }
    std::FILE* const output = popen((command + " 2>/dev/null").c_str(), "r");
    std::string text;
    for (int c = std::fgetc(output); c != EOF && c != '\n'; c = std::fgetc(output))
      text += static_cast<char>(c);
    EXPECT_EQ(pclose(output), 0) << command;
    return text;
  }

  std::filesystem::path folder_;
};

std::vector<std::byte> packet_of(std::string_view stack, std::string_view options = "") {
  return wrapped(stack_of(stack, here(is_ipv4(stack))),
                 bytes_of("01 02 03 04 05 06 07 08 09 0a 0b"), bytes_of(options), 0xBA);
}

TEST_F(TsharkTest, ReadsUdpInIpv6) {
  EXPECT_EQ(fields(packet_of("udp/ipv6/ethernet"),
                   "frame.protocols ipv6.src ipv6.dst ipv6.plen ipv6.tclass.dscp ipv6.tclass.ecn "
                   "ipv6.flow ipv6.hlim udp.srcport udp.dstport udp.length udp.checksum.status "
                   "data.data"),
            "eth:ethertype:ipv6:udp:data fd00::1 fd00::2 19 46 2 0x012345 64 4000 5000 19 1 "
            "0102030405060708090a0b");
}

TEST_F(TsharkTest, ReadsUdpInIpv4) {
  EXPECT_EQ(fields(packet_of("udp/ipv4/ethernet"),
                   "frame.protocols ip.src ip.dst ip.len ip.dsfield.dscp ip.dsfield.ecn "
                   "ip.checksum.status ip.flags.df udp.length udp.checksum.status data.data"),
            "eth:ethertype:ip:udp:data 192.0.2.1 192.0.2.2 39 46 2 1 1 19 1 "
            "0102030405060708090a0b");
}

TEST_F(TsharkTest, ReadsAFrameInIpv6AndInEthernet) {
  EXPECT_EQ(fields(packet_of("ipv6/ethernet"), "frame.protocols ipv6.nxt data.data"),
            "eth:ethertype:ipv6:data 253 0102030405060708090a0b");
  EXPECT_EQ(fields(packet_of("ethernet"), "eth.src eth.dst eth.type data.data"),
            "02:00:00:00:00:01 02:00:00:00:00:02 0x88b5 0102030405060708090a0b");
}

TEST_F(TsharkTest, ReadsLabelsOfMpls) {
  EXPECT_EQ(fields(packet_of("udp/ipv6/mpls/ethernet"),
                   "frame.protocols mpls.label mpls.exp mpls.bottom mpls.ttl udp.checksum.status "
                   "data.data"),
            "eth:ethertype:mpls:ipv6:udp:data 100016,300 5,5 0,1 64,64 1 0102030405060708090a0b");
  EXPECT_EQ(fields(packet_of("mpls/ethernet"), "eth.type mpls.label mpls.bottom"),
            "0x8847 100016,300 0,1");
}

TEST_F(TsharkTest, ReadsCreditInAnExperimentalDestinationOption) {
  EXPECT_EQ(fields(packet_of("udp/options/ipv6/ethernet", "63 72 65 64 69 74"),
                   "frame.protocols ipv6.dstopts.nxt ipv6.dstopts.len_oct ipv6.opt.experimental "
                   "udp.checksum.status data.data"),
            "eth:ethertype:ipv6:ipv6.dstopts:udp:data 17 16 637265646974 1 "
            "0102030405060708090a0b");
}

}  // namespace
}  // namespace weft::wan
