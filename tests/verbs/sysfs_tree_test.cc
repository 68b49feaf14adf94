// SPDX-License-Identifier: Apache-2.0
#include "verbs/sysfs_tree.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "verbs/port_rate.h"

namespace weft::verbs {
namespace {

namespace fs = std::filesystem;

class SysfsTree : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "weft-tree-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  [[nodiscard]] std::string text(const fs::path& path) const {
    std::ifstream file(root_ / path);
    std::string line;
    std::getline(file, line);
    return file ? line : "(no file)";
  }

  static TreeDevice device(const std::string& interface) {
    TreeDevice out;
    out.device = {"weft_" + interface, interface, 1, Guid{0x0102'0304'0506'0708}};
    out.port.state = port::LinkState::kActive;
    out.port.link_up = true;
    out.port.rate_mbps = 10'000;
    out.port.gids = {{Gid::from_ipv4(0x7F000001), 1}};
    out.port.pkeys = {kDefaultPKey};
    return out;
  }

  fs::path root_;
};

TEST_F(SysfsTree, ReadsAsTheKernelWouldWriteIt) {
  const std::vector<TreeDevice> devices{device("eth0"), device("lo")};
  ASSERT_TRUE(write_sysfs_tree(root_, devices));
  const fs::path at = "sys/class/infiniband/weft_lo";
  EXPECT_EQ(text(at / "node_type"), "1: CA");
  EXPECT_EQ(text(at / "node_guid"), "0102:0304:0506:0708");
  EXPECT_EQ(text(at / "ports/1/state"), "4: ACTIVE");
  EXPECT_EQ(text(at / "ports/1/phys_state"), "5: LinkUp");
  EXPECT_EQ(text(at / "ports/1/rate"), "10 Gb/sec (1X QDR)");
  EXPECT_EQ(text(at / "ports/1/link_layer"), "Ethernet");
  EXPECT_EQ(text(at / "ports/1/gids/0"), "0000:0000:0000:0000:0000:ffff:7f00:0001");
  EXPECT_EQ(text(at / "ports/1/gid_attrs/types/0"), "RoCE v2");
  EXPECT_EQ(text(at / "ports/1/gid_attrs/ndevs/0"), "lo");
  EXPECT_EQ(text(at / "ports/1/pkeys/0"), "0xffff");
  EXPECT_EQ(fs::read_symlink(root_ / at / "device/net/lo"), "/sys/class/net/lo");
  EXPECT_EQ(text("sys/class/infiniband_verbs/uverbs1/ibdev"), "weft_lo");
  EXPECT_TRUE(fs::is_character_file(root_ / "dev/infiniband/uverbs1"));
}

TEST_F(SysfsTree, LeavesTheClassOfDevicesToWhoWritesTheAdapterOfANode) {
  const std::vector<host::DeviceInfo> devices{{"weft0", "", 0, Guid{1}}};
  fs::create_directories(root_ / "sys/class/infiniband/weft0");
  fs::create_directories(root_ / "sys/class/infiniband_verbs/uverbs1");
  ASSERT_TRUE(write_verbs_nodes(root_, devices));
  EXPECT_EQ(text("sys/class/infiniband_verbs/uverbs0/ibdev"), "weft0");
  EXPECT_EQ(text("sys/class/infiniband_verbs/abi_version"), "6");
  EXPECT_TRUE(fs::is_character_file(root_ / "dev/infiniband/uverbs0"));
  EXPECT_FALSE(fs::exists(root_ / "sys/class/infiniband_verbs/uverbs1"));
  EXPECT_TRUE(fs::exists(root_ / "sys/class/infiniband/weft0"));
}

TEST_F(SysfsTree, ForgetsTheDevicesOfAnEarlierOne) {
  ASSERT_TRUE(write_sysfs_tree(root_, std::vector{device("eth0"), device("lo")}));
  ASSERT_TRUE(write_sysfs_tree(root_, std::vector{device("lo")}));
  EXPECT_FALSE(fs::exists(root_ / "sys/class/infiniband/weft_eth0"));
  EXPECT_FALSE(fs::exists(root_ / "dev/infiniband/uverbs1"));
}

TEST_F(SysfsTree, NamesThePathThatCouldNotBeWritten) {
  const fs::path file = root_ / "in_the_way";
  std::ofstream(file) << "a file";
  const auto written = write_sysfs_tree(file, std::vector{device("lo")});
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("in_the_way"), std::string::npos);
}

TEST(LinkRate, NeverClaimsMoreThanTheInterfaceCanDo) {
  EXPECT_EQ(link_rate(0).name, "1X SDR");
  EXPECT_EQ(link_rate(1'000).name, "1X SDR");
  EXPECT_EQ(link_rate(10'000).name, "1X QDR");
  EXPECT_EQ(link_rate(24'999).name, "4X DDR");
  EXPECT_EQ(link_rate(100'000).name, "4X EDR");
  EXPECT_EQ(link_rate(1'000'000).name, "8X NDR");
  for (const std::uint64_t rate : {2'500U, 14'000U, 400'000U})
    EXPECT_EQ(link_rate(rate).mbps, rate);
  EXPECT_EQ(to_string(link_rate(0)), "2.5 Gb/sec (1X SDR)");
}

}  // namespace
}  // namespace weft::verbs
