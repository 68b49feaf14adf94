// SPDX-License-Identifier: Apache-2.0
// The formats of management: attributes byte for byte as the standard lays them out, and genuine
// datagrams of a fabric of 2008.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "capture.h"
#include "wire/class_port_info.h"
#include "wire/mad.h"
#include "wire/packet.h"
#include "wire/rmpp.h"
#include "wire/sa/inform_info.h"
#include "wire/sa/member_record.h"
#include "wire/sa/node_record.h"
#include "wire/sa/path_record.h"
#include "wire/sa/port_info_record.h"
#include "wire/sa/sa_header.h"
#include "wire/sa/service_record.h"
#include "wire/sa/trace_record.h"
#include "wire/sm/bad_key.h"
#include "wire/sm/node_info.h"
#include "wire/sm/notice.h"
#include "wire/sm/port_info.h"
#include "wire/sm/sm_info.h"
#include "wire/sm/smp.h"
#include "wire/sm/switch_info.h"
#include "wire/sm/tables.h"

namespace weft::wire {
namespace {

// The datagrams of a class in the capture, in order.
std::vector<MadBuffer> genuine(MgmtClass mgmt_class) {
  std::vector<MadBuffer> all;
  for (const test::CapturedPacket& packet : test::link_packets()) {
    const auto walked = walk_link_packet(packet.bytes);
    if (!walked || !walked->transport || walked->payload.size() != kMadSize) continue;
    if (walked->transport->bth.dest_qp.value() > 1) continue;
    if (load_u8(walked->payload.data() + 1) != static_cast<std::uint8_t>(mgmt_class)) continue;
    MadBuffer& mad = all.emplace_back();
    std::copy(walked->payload.begin(), walked->payload.end(), mad.begin());
  }
  return all;
}

// Every field comes back from where it was put: parse after write, from bytes that no field is
// indifferent to.
template <class Value>
void expect_round_trip() {
  std::minstd_rand random(7);
  for (int i = 0; i < 200; ++i) {
    std::array<std::byte, Value::kSize> bytes;
    for (std::byte& byte : bytes)
      byte = static_cast<std::byte>(random());
    const Value value = *Value::parse(bytes);
    std::array<std::byte, Value::kSize> written;
    written.fill(std::byte{0xA5});
    value.write(written);
    EXPECT_EQ(*Value::parse(written), value);
    std::array<std::byte, Value::kSize> again;
    Value::parse(written)->write(again);
    EXPECT_EQ(again, written);
  }
  EXPECT_FALSE(Value::parse(std::array<std::byte, Value::kSize - 1>{}));
}

// Bytes that differ when each field has another value, the reserved ones zero.
template <class Value>
std::array<std::byte, Value::kSize> written(const Value& value) {
  std::array<std::byte, Value::kSize> bytes;
  bytes.fill(std::byte{0xFF});
  value.write(bytes);
  return bytes;
}

template <class... T>
std::vector<std::byte> bytes_of(T... values) {
  return {static_cast<std::byte>(values)...};
}

TEST(ManagementFormats, ComeBackFromTheirBytes) {
  expect_round_trip<NodeInfo>();
  expect_round_trip<NodeDescription>();
  expect_round_trip<SwitchInfo>();
  expect_round_trip<PortInfo>();
  expect_round_trip<GuidBlock>();
  expect_round_trip<PKeyBlock>();
  expect_round_trip<SlToVl>();
  expect_round_trip<VlArbitrationBlock>();
  expect_round_trip<LinearBlock>();
  expect_round_trip<MulticastBlock>();
  expect_round_trip<SmInfo>();
  expect_round_trip<Notice>();
  expect_round_trip<BadMkeyDetails>();
  expect_round_trip<BadKeyDetails>();
  expect_round_trip<BadPkeyAtSwitchDetails>();
  expect_round_trip<ClassPortInfo>();
  expect_round_trip<PathRecord>();
  expect_round_trip<InformInfo>();
  expect_round_trip<MemberRecord>();
  expect_round_trip<NodeRecord>();
  expect_round_trip<PortInfoRecord>();
  expect_round_trip<ServiceRecord>();
  expect_round_trip<TraceRecord>();
}

TEST(ManagementFormats, HaveNodeInfoInItsPlaces) {
  const auto bytes = written(NodeInfo{.base_version = 1,
                                      .class_version = 2,
                                      .type = NodeType::kSwitch,
                                      .ports = 36,
                                      .system_image_guid = Guid{0x1011'1213'1415'1617},
                                      .node_guid = Guid{0x2021'2223'2425'2627},
                                      .port_guid = Guid{0x3031'3233'3435'3637},
                                      .partition_cap = 0x4041,
                                      .device_id = 0x5051,
                                      .revision = 0x6061'6263,
                                      .local_port = 7,
                                      .vendor_id = 0x70'71'72});
  EXPECT_EQ((std::vector<std::byte>(bytes.begin(), bytes.end())),
            bytes_of(1, 2, 2, 36, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x20, 0x21, 0x22,
                     0x23, 0x24, 0x25, 0x26, 0x27, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37,
                     0x40, 0x41, 0x50, 0x51, 0x60, 0x61, 0x62, 0x63, 7, 0x70, 0x71, 0x72));
}

TEST(ManagementFormats, HaveSwitchInfoInItsPlaces) {
  const auto bytes = written(SwitchInfo{.linear_cap = 0x0102,
                                        .random_cap = 0x0304,
                                        .multicast_cap = 0x0506,
                                        .linear_top = Lid{0x0708},
                                        .default_port = 9,
                                        .default_multicast_primary_port = 10,
                                        .default_multicast_not_primary_port = 11,
                                        .life_time = 18,
                                        .port_state_change = true,
                                        .optimized_sl_to_vl = 1,
                                        .lids_per_port = 0x0C0D,
                                        .partition_enforcement_cap = 0x0E0F,
                                        .inbound_enforcement_cap = true,
                                        .filter_raw_inbound_cap = true,
                                        .enhanced_port0 = true,
                                        .multicast_top = Lid{0xC123}});
  EXPECT_EQ((std::vector<std::byte>(bytes.begin(), bytes.end())),
            bytes_of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0x95, 0x0C, 0x0D, 0x0E, 0x0F, 0xA8, 0, 0xC1,
                     0x23));
}

TEST(ManagementFormats, HavePortInfoInItsPlaces) {
  PortInfo info;
  info.mkey = 0x0102'0304'0506'0708;
  info.gid_prefix = 0x1112'1314'1516'1718;
  info.lid = Lid{0x2122};
  info.master_sm_lid = Lid{0x2324};
  info.capability_mask = 0x3132'3334;
  info.diag_code = 0x4142;
  info.mkey_lease_period = 0x4344;
  info.local_port = 28;
  info.link_width_enabled = 29;
  info.link_width_supported = 30;
  info.link_width_active = 31;
  info.link_speed_supported = 7;
  info.state = PortState::kArmed;
  info.physical_state = PortPhysicalState::kLinkUp;
  info.link_down_default = PortPhysicalState::kPolling;
  info.mkey_protect = 2;
  info.lmc = 5;
  info.link_speed_active = 4;
  info.link_speed_enabled = 6;
  info.neighbor_mtu = 5;
  info.master_sm_sl = Sl{9};
  info.vl_cap = 4;
  info.init_type = 3;
  info.vl_high_limit = 38;
  info.vl_arbitration_high_cap = 39;
  info.vl_arbitration_low_cap = 40;
  info.init_type_reply = 2;
  info.mtu_cap = 5;
  info.vl_stall_count = 7;
  info.hoq_life = 18;
  info.operational_vls = 3;
  info.enforce_partition_inbound = true;
  info.filter_raw_outbound = true;
  info.mkey_violations = 0x5152;
  info.pkey_violations = 0x5354;
  info.qkey_violations = 0x5556;
  info.guid_cap = 50;
  info.client_reregister = true;
  info.multicast_pkey_trap_suppression = 1;
  info.subnet_timeout = 18;
  info.response_time = 16;
  info.local_phy_errors = 8;
  info.overrun_errors = 7;
  info.max_credit_hint = 0x6162;
  info.link_round_trip_latency = 0x63'64'65;
  info.capability_mask2 = 0x7172;
  info.link_speed_ext_active = 1;
  info.link_speed_ext_supported = 2;
  info.link_speed_ext_enabled = 31;
  const auto bytes = written(info);
  EXPECT_EQ((std::vector<std::byte>(bytes.begin(), bytes.end())),
            bytes_of(0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x11, 0x12, 0x13, 0x14, 0x15,
                     0x16, 0x17, 0x18, 0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34, 0x41, 0x42,
                     0x43, 0x44, 28, 29, 30, 31, 0x73, 0x52, 0x85, 0x46, 0x59, 0x43, 38, 39, 40,
                     0x25, 0xF2, 0x39, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 50, 0xB2, 16, 0x87, 0x61,
                     0x62, 0, 0x63, 0x64, 0x65, 0x71, 0x72, 0x12, 31));
}

TEST(ManagementFormats, HaveTheFirstServiceLevelInTheHighNibble) {
  SlToVl map;
  for (std::size_t sl = 0; sl < 16; ++sl)
    map.vls[sl] = Vl{static_cast<std::uint8_t>(15 - sl)};
  const auto bytes = written(map);
  EXPECT_EQ((std::vector<std::byte>(bytes.begin(), bytes.end())),
            bytes_of(0xFE, 0xDC, 0xBA, 0x98, 0x76, 0x54, 0x32, 0x10));
}

TEST(ManagementFormats, HaveTheRmppHeaderInItsPlaces) {
  MadBuffer mad{};
  const RmppHeader header{.version = 1,
                          .type = RmppType::kData,
                          .response_time = 31,
                          .flags = kRmppActive | kRmppLast,
                          .status = RmppStatus::kBadType,
                          .segment = 0x0102'0304,
                          .length_or_window = 0x0506'0708};
  header.write(mad);
  EXPECT_EQ((std::vector<std::byte>(mad.begin() + 24, mad.begin() + 36)),
            bytes_of(1, 1, 0xFD, 121, 1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(RmppHeader::parse(mad), header);
  EXPECT_FALSE(RmppHeader::parse(Bytes(mad).first(35)));
  EXPECT_EQ(rmpp_data_offset(MgmtClass::kSubnAdm), 56u);
  EXPECT_EQ(rmpp_data_offset(MgmtClass::kDeviceMgt), 64u);
  EXPECT_EQ(rmpp_data_offset(static_cast<MgmtClass>(0x30)), 40u);
  EXPECT_EQ(rmpp_data_offset(static_cast<MgmtClass>(0x09)), std::nullopt);
  EXPECT_EQ(rmpp_data_offset(MgmtClass::kPerf), std::nullopt);
}

TEST(ManagementFormats, TakeNamesOfAnyLength) {
  EXPECT_EQ(NodeDescription("").to_string(), "");
  EXPECT_EQ(NodeDescription("spine-1").to_string(), "spine-1");
  EXPECT_EQ(NodeDescription(std::string(64, 'x')).to_string(), std::string(64, 'x'));
  EXPECT_EQ(NodeDescription(std::string(90, 'x')).to_string(), std::string(64, 'x'));
}

TEST(ManagementFormats, HaveMcMemberRecordInItsPlaces) {
  std::array<std::uint8_t, 16> mgid{0xFF, 0x12}, port{0xFE, 0x80};
  mgid[15] = 1;
  port[15] = 2;
  using enum SaValue::Selector;
  const auto bytes = written(MemberRecord{.mgid = Gid(mgid),
                                          .port_gid = Gid(port),
                                          .qkey = QKey{0x0102'0304},
                                          .mlid = Lid{0xC005},
                                          .mtu = {.selector = kExactly, .value = 4},
                                          .traffic_class = 6,
                                          .pkey = PKey{0x8788},
                                          .rate = {.selector = kAbove, .value = 9},
                                          .packet_life = {.selector = kLargest, .value = 0x3F},
                                          .sl = Sl{10},
                                          .flow_label = 0xBCDEF,
                                          .hop_limit = 11,
                                          .scope = 5,
                                          .join_state = MemberRecord::kFullMember,
                                          .proxy_join = true});
  EXPECT_EQ((std::vector<std::byte>(bytes.begin(), bytes.end())),
            bytes_of(0xFF, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFE, 0x80, 0, 0, 0, 0,
                     0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 3, 4, 0xC0, 5, 0x84, 6, 0x87, 0x88, 9,
                     0xFF, 0xAB, 0xCD, 0xEF, 11, 0x51, 0x80, 0, 0));
}

// As tshark reads them.
TEST(ManagementFormats, HaveTraceRecordInItsPlaces) {
  const auto bytes = written(TraceRecord{.gid_prefix = 0x0102'0304'0506'0708,
                                         .id_generation = 0x090A,
                                         .node_type = NodeType::kSwitch,
                                         .node = 0x1011'1213'1415'1617,
                                         .chassis = 0x2021'2223'2425'2627,
                                         .entry_port_id = 0x3031'3233'3435'3637,
                                         .exit_port_id = 0x4041'4243'4445'4647,
                                         .entry_port = 0x50,
                                         .exit_port = 0x51});
  EXPECT_EQ(
      (std::vector<std::byte>(bytes.begin(), bytes.end())),
      bytes_of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 2, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
               0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35,
               0x36, 0x37, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x50, 0x51, 0, 0));
}

// The facts of this exchange were read with tshark.
TEST(GenuineManagement, AsksForTheManagerByADirectedRouteAndBringsItsAnswerBack) {
  const std::vector<MadBuffer> all = genuine(MgmtClass::kSubnDirected);
  ASSERT_GE(all.size(), 2u);
  const MadBuffer& request = all[0];
  const MadBuffer& answer = all[1];
  const MadHeader asked = *MadHeader::parse(request);
  EXPECT_EQ(asked.method, MadMethod::kGet);
  EXPECT_EQ(asked.class_version, kSmClassVersion);
  EXPECT_EQ(asked.attribute_id, static_cast<std::uint16_t>(SmAttribute::kSmInfo));
  EXPECT_EQ(MadHeader::parse(answer)->method, MadMethod::kGetResponse);
  EXPECT_EQ(MadHeader::parse(answer)->transaction_id, asked.transaction_id);
  EXPECT_FALSE(smp::returning(request));
  EXPECT_TRUE(smp::returning(answer));
  for (const MadBuffer* mad : {&request, &answer}) {
    EXPECT_EQ(smp::hop_count(*mad), 2);
    EXPECT_EQ(smp::hop_pointer(*mad), 1);
    EXPECT_EQ(smp::dr_slid(*mad), kPermissiveLid);
    EXPECT_EQ(smp::dr_dlid(*mad), kPermissiveLid);
    EXPECT_EQ(smp::initial_path(*mad, 0), 0);
    EXPECT_EQ(smp::initial_path(*mad, 1), 2);
    EXPECT_EQ(smp::initial_path(*mad, 2), 3);
  }
  EXPECT_EQ(smp::return_path(answer, 1), 6);
  EXPECT_EQ(smp::return_path(answer, 2), 1);
  const SmInfo info = *SmInfo::parse(smp::data(MadBytes(answer)));
  EXPECT_EQ(info.state, SmState::kMaster);
  EXPECT_EQ(info.priority, 0);
}

// So were these.
TEST(GenuineManagement, AsksTheAdministratorForAPath) {
  const std::vector<MadBuffer> all = genuine(MgmtClass::kSubnAdm);
  ASSERT_GE(all.size(), 2u);
  bool asked = false;
  bool answered = false;
  for (const MadBuffer& mad : all) {
    const MadHeader header = *MadHeader::parse(mad);
    const SaHeader sa = *SaHeader::parse(mad);
    EXPECT_EQ(header.class_version, kSaClassVersion);
    EXPECT_EQ(RmppHeader::parse(mad)->version, 0);  // one datagram: no RMPP
    EXPECT_FALSE(RmppHeader::parse(mad)->active());
    if (header.attribute_id != 0x35) continue;
    if (header.method == MadMethod::kGet) {
      asked = true;
      EXPECT_EQ(sa.component_mask, 0x340Cu);
      EXPECT_EQ(sa.attribute_offset, 0);
    } else if (header.method == MadMethod::kGetResponse) {
      answered = true;
      EXPECT_EQ(sa.attribute_offset, 8);
      const Bytes data = Bytes(mad).subspan(SaHeader::kDataOffset, PathRecord::kSize);
      const PathRecord path = *PathRecord::parse(data);
      using enum SaValue::Selector;
      EXPECT_EQ(path.dgid.bytes()[15], 0x95);
      EXPECT_EQ(path.sgid.bytes()[15], 0x36);
      EXPECT_EQ(path.dlid, Lid{2});
      EXPECT_EQ(path.slid, Lid{4});
      EXPECT_TRUE(path.reversible);
      EXPECT_EQ(path.pkey, kDefaultPKey);
      EXPECT_EQ(path.mtu, (SaValue{.selector = kExactly, .value = 4}));
      EXPECT_EQ(path.rate, (SaValue{.selector = kExactly, .value = 3}));
      EXPECT_EQ(path.packet_life, (SaValue{.selector = kExactly, .value = 18}));
      EXPECT_TRUE(std::ranges::equal(written(path), data));
    }
  }
  EXPECT_TRUE(asked);
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace weft::wire
