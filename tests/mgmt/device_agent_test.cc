// SPDX-License-Identifier: Apache-2.0
// The device management agent: what a node that is an I/O unit says of its controllers.
#include <gtest/gtest.h>

#include "mad_fixture.h"
#include "wire/class_port_info.h"
#include "wire/device_management.h"

namespace weft::mgmt::test {
namespace {

using wire::DeviceAttribute;
using wire::NodeType;

MadBuffer device(MadMethod method, DeviceAttribute attribute, std::uint32_t modifier = 0,
                 std::uint8_t version = 1) {
  return make_mad(MgmtClass::kDeviceMgt, version, method, static_cast<std::uint16_t>(attribute),
                  modifier);
}

struct DeviceUnit : ManagedFixture {
  DeviceUnit() : ManagedFixture(NodeType::kSwitch, 3) {
    node.infos[0].lid = Lid{5};
    management.set_io_controllers(
        {{Guid{0x11}, "first"}, {Guid{0x12}, std::string(70, 'x')}, {Guid{0x13}, ""}});
  }
};

std::string text_at(Bytes data, std::size_t at, std::size_t size) {
  return {reinterpret_cast<const char*>(data.data() + at), size};
}

TEST(DeviceAgent, SaysWhichSlotsHaveControllers) {
  DeviceUnit unit;
  const SentMad answer = unit.ask(device(MadMethod::kGet, DeviceAttribute::kIoUnitInfo));
  ASSERT_EQ(answer.status(), MadStatus::kOk);
  EXPECT_EQ(answer.envelope.dest_qp, kQp1);
  EXPECT_EQ(wire::load_u8(answer.data().data() + 2), 3);
  EXPECT_EQ(wire::load_be32(answer.data().data() + 4), 0x1110'0000u);
}

TEST(DeviceAgent, ShowsEachController) {
  DeviceUnit unit;
  unit.node.node.vendor_id = 0x02C903;
  unit.node.node.device_id = 0x1234;
  SentMad answer = unit.ask(device(MadMethod::kGet, DeviceAttribute::kIoControllerProfile, 1));
  ASSERT_EQ(answer.status(), MadStatus::kOk);
  EXPECT_EQ(wire::load_be64(answer.data().data()), 0x11u);
  EXPECT_EQ(wire::load_be32(answer.data().data() + 8), 0x02C903u << 8);
  EXPECT_EQ(wire::load_be32(answer.data().data() + 12), 0x1234u);
  EXPECT_EQ(wire::load_be16(answer.data().data() + 28), 0xFFFF);
  EXPECT_EQ(wire::load_u8(answer.data().data() + 54), 0) << "services";
  EXPECT_EQ(text_at(answer.data(), 64, 7), std::string("first\0\0", 7));
  answer = unit.ask(device(MadMethod::kGet, DeviceAttribute::kIoControllerProfile, 2));
  EXPECT_EQ(wire::load_be64(answer.data().data()), 0x12u);
  EXPECT_EQ(text_at(answer.data(), 64, 65), std::string(64, 'x') + '\0') << "what is beyond";
  for (const std::uint32_t slot : {0u, 4u, 0x10001u}) {
    EXPECT_EQ(
        unit.ask(device(MadMethod::kGet, DeviceAttribute::kIoControllerProfile, slot)).status(),
        MadStatus::kInvalidValue);
  }
}

TEST(DeviceAgent, HasNoServices) {
  DeviceUnit unit;
  const auto services = [&](std::uint32_t modifier) {
    return unit.ask(device(MadMethod::kGet, DeviceAttribute::kServiceEntries, modifier)).status();
  };
  EXPECT_EQ(services(0x0003'0300), wire::kNoServiceEntries);
  EXPECT_EQ(services(0x0004'0300), MadStatus::kInvalidValue);
  EXPECT_EQ(services(0), MadStatus::kInvalidValue);
}

// As who looks for controllers does it, before all else.
TEST(DeviceAgent, KeepsWhereTrapsWouldGoAndNothingElse) {
  DeviceUnit unit;
  MadBuffer set = device(MadMethod::kSet, DeviceAttribute::kClassPortInfo);
  std::fill(set.begin() + 64, set.end(), std::byte{0x5A});
  ASSERT_EQ(unit.ask(set).status(), MadStatus::kOk);
  const SentMad answer = unit.ask(device(MadMethod::kGet, DeviceAttribute::kClassPortInfo));
  ASSERT_EQ(answer.status(), MadStatus::kOk);
  EXPECT_EQ(wire::ClassPortInfo::parse(answer.data())->class_version, 1);
  EXPECT_EQ(text_at(answer.data(), 8, 24), std::string(24, '\0')) << "it redirects nobody";
  EXPECT_EQ(text_at(answer.data(), 32, 41), std::string(40, '\x5A') + '\0');
}

TEST(DeviceAgent, RefusesWhatItDoesNotHave) {
  DeviceUnit unit;
  const auto status = [&](const MadBuffer& mad) { return unit.ask(mad).status(); };
  EXPECT_EQ(status(device(MadMethod::kSet, DeviceAttribute::kIoUnitInfo)),
            MadStatus::kBadMethodAttribute);
  EXPECT_EQ(status(device(MadMethod::kGet, DeviceAttribute{0x20})), MadStatus::kBadMethodAttribute);
  EXPECT_EQ(status(device(MadMethod::kGet, DeviceAttribute::kIoUnitInfo, 0, 2)),
            MadStatus::kBadVersion);
}

TEST(DeviceAgent, IsNotThereWhereThereAreNoControllers) {
  DeviceUnit unit;
  unit.management.set_io_controllers({});
  EXPECT_EQ(unit.ask(device(MadMethod::kGet, DeviceAttribute::kIoUnitInfo)).status(),
            MadStatus::kBadMethodAttribute);
}

}  // namespace
}  // namespace weft::mgmt::test
