// SPDX-License-Identifier: Apache-2.0
// Runs itself in a network namespace of its own, where the interfaces are known.
#include "host/device_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace weft::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A process cannot leave its namespace again: this is for a whole test program.
bool enter_namespace() {
  static const bool entered = [] {
    const uid_t uid = getuid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << uid << " 1";
    return true;
  }();
  return entered;
}

// True when every command of `batch` worked.
bool ip(const std::string& batch) {
  FILE* pipe = popen("ip -batch - 2>/dev/null", "w");
  if (pipe == nullptr) return false;
  std::fputs(batch.c_str(), pipe);
  return pclose(pipe) == 0;
}

class DeviceList : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!enter_namespace()) GTEST_SKIP() << "no user namespaces here";
    if (!add_interfaces("dummy") && !add_interfaces("bridge")) {
      GTEST_SKIP() << "neither dummy interfaces nor bridges here";
    }
  }
  static bool add_interfaces(const std::string& type) {
    return ip("link add dm0 address 00:11:22:33:44:55 type " + type +
              "\nlink add dm1 address 02:00:00:00:00:01 type " + type + "\nlink add dm2 type " +
              type + "\n");
  }
  void TearDown() override { ip("link del dm0\nlink del dm1\nlink del dm2\nlink set lo down\n"); }

  static std::vector<std::string> names(const Config& config = {}) {
    const auto devices = list_devices(config);
    std::vector<std::string> out;
    if (devices) {
      for (const DeviceInfo& device : *devices)
        out.push_back(device.name);
    }
    return out;
  }
};

TEST_F(DeviceList, HasLoopbackEvenWhereNothingIsUp) {
  EXPECT_THAT(names(), ElementsAre("weft_lo"));
}

TEST_F(DeviceList, LeavesOutInterfacesThatAreDownOrHaveNoAddress) {
  ASSERT_TRUE(
      ip("address add 10.1.0.1/24 dev dm0\n"
         "link set dm1 addrgenmode none\n"
         "link set dm1 up\n"
         "address add 10.3.0.1/24 dev dm2\n"
         "link set dm2 up\n"));
  EXPECT_THAT(names(), ElementsAre("weft_dm2", "weft_lo"));
}

TEST_F(DeviceList, PutsTheDefaultRouteFirstAndLoopbackLast) {
  ASSERT_TRUE(
      ip("link set lo up\n"
         "link set dm0 up\naddress add 10.1.0.1/24 dev dm0\n"
         "link set dm1 up\naddress add 10.2.0.1/24 dev dm1\n"
         "link set dm2 up\naddress add 10.3.0.1/24 dev dm2\n"
         "route add default via 10.3.0.2\n"));
  EXPECT_THAT(names(), ElementsAre("weft_dm2", "weft_dm0", "weft_dm1", "weft_lo"));
}

TEST_F(DeviceList, CountsAnInterfaceWithAnIpv6AddressOnly) {
  ASSERT_TRUE(
      ip("link set dm0 addrgenmode none\n"
         "link set dm0 up\naddress add fd00::1/64 dev dm0 nodad\n"));
  EXPECT_THAT(names(), ElementsAre("weft_dm0", "weft_lo"));
}

TEST_F(DeviceList, OffersOneInterfaceWhenAskedTo) {
  ASSERT_TRUE(ip("link set dm0 up\naddress add 10.1.0.1/24 dev dm0\n"));
  Config config;
  config.interface = "dm0";
  EXPECT_THAT(names(config), ElementsAre("weft_dm0"));
}

TEST_F(DeviceList, NamesTheInterfacesThereAreWhenAskedForAnother) {
  ASSERT_TRUE(ip("link set dm0 up\naddress add 10.1.0.1/24 dev dm0\n"));
  Config config;
  config.interface = "dm1";
  const auto devices = list_devices(config);
  ASSERT_FALSE(devices);
  EXPECT_EQ(devices.error().code, std::errc::no_such_device);
  EXPECT_THAT(devices.error().message, HasSubstr("dm1"));
  EXPECT_THAT(devices.error().message, HasSubstr("there are dm0, lo"));
}

TEST_F(DeviceList, MakesNodeGuidsFromMacAddressesWithTheLocalBitInverted) {
  ASSERT_TRUE(
      ip("link set dm0 up\naddress add 10.1.0.1/24 dev dm0\n"
         "link set dm1 up\naddress add 10.2.0.1/24 dev dm1\n"));
  const auto devices = list_devices({});
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 3u);
  EXPECT_EQ((*devices)[0].node_guid.value(), 0x021122FFFE334455u);
  EXPECT_EQ((*devices)[1].node_guid.value(), 0x000000FFFE000001u);
}

TEST_F(DeviceList, GivesLoopbackALocallyAdministeredGuidThatStays) {
  const auto once = list_devices({});
  const auto again = list_devices({});
  ASSERT_TRUE(once && again);
  const std::uint64_t guid = once->back().node_guid.value();
  EXPECT_EQ(guid, again->back().node_guid.value());
  EXPECT_NE(guid, 0u);
  EXPECT_EQ(guid >> 56 & 0x03, 0u) << "in an assigned or a group address's space";
}

TEST_F(DeviceList, TellsTheKernelsIndex) {
  const auto devices = list_devices({});
  ASSERT_TRUE(devices);
  EXPECT_EQ(devices->back().interface, "lo");
  EXPECT_EQ(devices->back().ifindex, 1u);
}

}  // namespace
}  // namespace weft::host
