// SPDX-License-Identifier: Apache-2.0
// Where the components of the administrator's records are.
#include "wire/sa/sa_layout.h"

#include <gtest/gtest.h>

#include <vector>

#include "wire/endian.h"
#include "wire/sa/multi_path_record.h"
#include "wire/sa/rate.h"
#include "wire/sa/service_record.h"
#include "wire/sm/node_info.h"
#include "wire/sm/port_info.h"

namespace weft::wire {
namespace {

std::vector<const SaLayout*> all() {
  return {&kNodeRecord,      &kPortInfoRecord,  &kSlToVlRecord, &kSwitchInfoRecord,
          &kLinearRecord,    &kMulticastRecord, &kSmInfoRecord, &kLinkRecord,
          &kGuidInfoRecord,  &kServiceRecord,   &kPKeyRecord,   &kVlArbitrationRecord,
          &kInformInfoRecord};
}

// Each bit of a component counts for that component, and for no other.
TEST(SaLayout, ComparesEachComponentAndNothingElse) {
  for (const SaLayout* layout : all()) {
    SCOPED_TRACE(static_cast<int>(layout->attribute));
    std::vector<std::byte> question(layout->size);
    const std::vector<std::byte> record(layout->size);
    for (std::size_t i = 0; i < layout->components.size(); ++i) {
      const SaComponent& component = layout->components[i];
      ASSERT_LE(component.at + component.width, layout->size * 8);
      for (unsigned bit = component.at; bit < component.at + component.width; ++bit) {
        question[bit / 8] = static_cast<std::byte>(0x80u >> bit % 8);
        EXPECT_FALSE(matches(*layout, std::uint64_t{1} << i, question, record)) << i;
        EXPECT_TRUE(matches(*layout, ~(std::uint64_t{1} << i), question, record)) << i;
        question[bit / 8] = std::byte{};
      }
    }
  }
}

// The numbers of components, by fields that attributes put where they are.
TEST(SaLayout, HasTheFieldsOfAttributesWhereTheyAre) {
  const std::vector<std::byte> zero(kPortInfoRecord.size);
  const auto expect_port = [&](unsigned component, const PortInfo& info) {
    std::vector<std::byte> record(kPortInfoRecord.size);
    info.write(MutableBytes(record).subspan(4));
    EXPECT_FALSE(matches(kPortInfoRecord, std::uint64_t{1} << component, zero, record))
        << component;
    EXPECT_TRUE(matches(kPortInfoRecord, ~(std::uint64_t{1} << component), zero, record))
        << component;
  };
  expect_port(3, {.mkey = 1});
  expect_port(7, {.capability_mask = 2});
  expect_port(15, {.state = PortState::kActive});
  expect_port(16, {.physical_state = PortPhysicalState::kLinkUp});
  expect_port(20, {.lmc = 5});
  expect_port(23, {.neighbor_mtu = 4});
  expect_port(31, {.mtu_cap = 4});
  expect_port(34, {.operational_vls = 3});
  expect_port(38, {.filter_raw_outbound = true});
  expect_port(42, {.guid_cap = 1});
  expect_port(45, {.subnet_timeout = 18});
  expect_port(49, {.overrun_errors = 8});
  expect_port(53, {.capability_mask2 = 1});
  expect_port(57, {.link_speed_ext_enabled = 31});
  const std::vector<std::byte> nothing(kNodeRecord.size);
  const auto expect_node = [&](unsigned component, const NodeInfo& info) {
    std::vector<std::byte> record(kNodeRecord.size);
    NodeInfo plain = info;
    plain.base_version = 0;
    plain.class_version = 0;
    plain.write(MutableBytes(record).subspan(4));
    EXPECT_FALSE(matches(kNodeRecord, std::uint64_t{1} << component, nothing, record)) << component;
    EXPECT_TRUE(matches(kNodeRecord, ~(std::uint64_t{1} << component), nothing, record))
        << component;
  };
  expect_node(4, {.type = NodeType::kSwitch});
  expect_node(8, {.port_guid = Guid{5}});
  expect_node(12, {.local_port = 3});
  expect_node(13, {.vendor_id = 0xABCDEF});
}

TEST(SaRate, IsThatOfLanesAndSpeed) {
  EXPECT_EQ(rate_code({.link_width_active = 1, .link_speed_active = 1}), 2);
  EXPECT_EQ(rate_code({.link_width_active = 2, .link_speed_active = 1}), 3);
  EXPECT_EQ(rate_code({.link_width_active = 2, .link_speed_active = 4}), 7);
  EXPECT_EQ(rate_code({.link_width_active = 8, .link_speed_active = 4}), 10);
  EXPECT_EQ(rate_code({.link_width_active = 2, .link_speed_active = 4, .link_speed_ext_active = 1}),
            12);
  EXPECT_EQ(rate_code({.link_width_active = 2, .link_speed_active = 4, .link_speed_ext_active = 2}),
            16);
  EXPECT_EQ(rate_code({.link_width_active = 16, .link_speed_ext_active = 4}), 16);
  EXPECT_EQ(rate_code({}), 0);
  EXPECT_EQ(rate_mbps(2), 2'500u);
  EXPECT_EQ(rate_mbps(18), 300'000u);
  EXPECT_EQ(rate_mbps(63), 0u);
}

TEST(MultiPath, SaysOfEachPathWhatPathRecordsSay) {
  constexpr std::uint64_t kLife = std::uint64_t{1} << 15;
  constexpr std::uint64_t kPKey = std::uint64_t{1} << 7;
  EXPECT_EQ(MultiPathRecord::path_mask(kLife), PathRecord::kHasLife);
  EXPECT_EQ(MultiPathRecord::path_mask(kPKey), PathRecord::kHasPKey);
  EXPECT_EQ(MultiPathRecord::path_mask(std::uint64_t{3} << 19), 0u);
  std::vector<std::byte> bytes(200);
  store_u8(bytes.data() + 15, 6);
  store_u8(bytes.data() + 16, 5);
  const auto record = MultiPathRecord::parse(bytes);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->sgids.size(), 6u);
  EXPECT_EQ(record->dgids.size(), 5u);
  store_u8(bytes.data() + 16, 6);
  EXPECT_FALSE(MultiPathRecord::parse(bytes));
}

}  // namespace
}  // namespace weft::wire
