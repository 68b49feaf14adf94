// SPDX-License-Identifier: Apache-2.0
// A subnet administrator that is asked whatever comes, and told of traps, by ports that come and
// go. Each question has one answer at most, and groups keep their order: members are ports of the
// subnet, MLIDs are of one group each, and a group that nobody made to last has a member. GUIDs are
// of one port each.
#include <cstdint>
#include <memory>
#include <set>

#include "../tests/mgmt/model_node.h"
#include "input.h"
#include "mgmt/node_management.h"
#include "sm/sa/administrator.h"
#include "wire/sa/member_record.h"

namespace {

using namespace weft;
using namespace weft::mgmt;
using fuzz::Input;
using fuzz::require;
using wire::MadBuffer;
using wire::MadMethod;
using wire::SaAttribute;

constexpr std::uint64_t kPrefix = 0xFE80'0000'0000'0000;
constexpr std::size_t kHosts = 4;
constexpr std::size_t kMostMembers = 8;
constexpr std::size_t kMostAliases = 4;

class Outlet final : public MadOutlet {
 public:
  void send(const MadEnvelope&, wire::MadBytes mad) override {
    const auto header = *wire::MadHeader::parse(mad);
    if (header.mgmt_class != wire::MgmtClass::kSubnAdm) return;
    const auto bits = static_cast<std::uint8_t>(header.method);
    if ((bits & wire::kResponseBit) != 0) ++answers;
  }
  std::uint64_t answers = 0;  // and segments of long ones
};

// A switch, and those of the hosts that are there, with LIDs from 1 on. The upper bits of
// `present`: what another manager has left at one of them.
sm::Subnet subnet_of(std::uint8_t present) {
  sm::Subnet subnet;
  const auto add = [&](wire::NodeType type, std::uint8_t ports, std::uint64_t guid) {
    const auto index = static_cast<std::uint32_t>(subnet.nodes.size());
    sm::SubnetNode& node = subnet.nodes.emplace_back();
    node.info.type = type;
    node.info.ports = ports;
    node.info.node_guid = Guid{guid};
    node.ports.resize(ports + 1u);
    subnet.by_guid.emplace(guid, index);
    return index;
  };
  const auto info = [](Lid lid) {
    return wire::PortInfo{.lid = lid,
                          .link_width_active = 2,
                          .state = wire::PortState::kActive,
                          .link_speed_active = 4,
                          .neighbor_mtu = 4,
                          .mtu_cap = 4,
                          .guid_cap = 12};
  };
  const std::uint32_t sw = add(wire::NodeType::kSwitch, kHosts, 0x5000);
  subnet.nodes[sw].switch_info = wire::SwitchInfo{.linear_cap = 64, .multicast_cap = 3};
  subnet.nodes[sw].ports[0].guid = Guid{0x5000};
  subnet.nodes[sw].ports[0].info = info(Lid{1});
  for (unsigned i = 0; i < kHosts; ++i) {
    if ((present >> i & 1) == 0) continue;
    const std::uint32_t host = add(wire::NodeType::kChannelAdapter, 1, 0x1000 * (i + 1));
    sm::SubnetPort& port = subnet.nodes[host].ports[1];
    port.guid = Guid{0x1000 * (i + 1) + 1};
    port.info = info(Lid{static_cast<std::uint16_t>(i + 2)});
    const std::uint64_t left = present >> 6u;
    if (left != 0 && (present >> 4u & 3u) == i) {
      port.tables.guids.resize(2);
      port.tables.guids[0] = wire::GuidBlock{{port.guid, Guid{left}, Guid{0x1001}}};
    }
    port.peer = sm::PortRef{sw, static_cast<std::uint8_t>(i + 1)};
    subnet.nodes[sw].ports[i + 1].info = info({});
    subnet.nodes[sw].ports[i + 1].peer = sm::PortRef{host, 1};
  }
  return subnet;
}

sm::Routes routes() {
  sm::Routes routes(1, kHosts + 2);
  for (unsigned i = 0; i < kHosts; ++i)
    routes.set_port(0, Lid{static_cast<std::uint16_t>(i + 2)}, static_cast<std::uint8_t>(i + 1));
  routes.set_port(0, Lid{1}, 0);
  return routes;
}

class Fuzzer {
 public:
  explicit Fuzzer(Input& input) : input_(input) {
    model_.infos[1].lid = Lid{2};
    administrator_ = std::make_unique<sm::Administrator>(
        management_.mad_port(1), sm::AdministratorOptions{.groups = {.most_members = kMostMembers},
                                                          .services = 4,
                                                          .aliases = kMostAliases,
                                                          .subscriptions = 4,
                                                          .answer = 4096,
                                                          .queue = 4,
                                                          .ports_waiting = 4});
    require(administrator_->start().has_value());
    change(0xF);
  }

  void run() {
    while (!input_.empty()) {
      switch (input_.one_of(9)) {
        case 0:
          change(input_.byte());
          break;
        case 1:
          now_ += std::chrono::milliseconds(input_.word());
          break;
        case 2:
          administrator_->set_master(!input_.rarely());
          break;
        case 3:
          trap();
          break;
        default:
          ask();
      }
      turn();
      look();
    }
  }

 private:
  void change(std::uint8_t present) {
    administrator_->subnet_changed(subnet_of(present), routes(), kPrefix, now_);
  }

  // Of a port that may be there or not.
  void trap() {
    std::array<std::byte, wire::Notice::kSize> bytes{};
    const Bytes some = input_.some();
    std::copy_n(some.begin(), std::min(some.size(), bytes.size()), bytes.begin());
    administrator_->take_trap({.notice = *wire::Notice::parse(bytes),
                               .from = Lid{input_.one_of(8)},
                               .transaction_id = input_.byte()});
  }

  // Mostly of an attribute that there is, about ports and groups that there may be.
  void ask() {
    constexpr SaAttribute kAll[]{
        SaAttribute::kMemberRecord,     SaAttribute::kMemberRecord,    SaAttribute::kPathRecord,
        SaAttribute::kServiceRecord,    SaAttribute::kInformInfo,      SaAttribute::kNodeRecord,
        SaAttribute::kMultiPathRecord,  SaAttribute::kPortInfoRecord,  SaAttribute::kGuidInfoRecord,
        SaAttribute::kInformInfoRecord, SaAttribute::kMulticastRecord, SaAttribute::kClassPortInfo};
    constexpr MadMethod kMethods[]{MadMethod::kGet,      MadMethod::kSet,
                                   MadMethod::kGetTable, MadMethod::kGetMulti,
                                   MadMethod::kDelete,   MadMethod::kGetTraceTable};
    const std::uint8_t which = input_.byte();
    auto attribute = which < std::size(kAll) ? kAll[which] : static_cast<SaAttribute>(which);
    MadBuffer mad{};
    wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnAdm,
                    .class_version = wire::kSaClassVersion,
                    .method = kMethods[input_.one_of(std::size(kMethods))],
                    .transaction_id = ++transaction_,
                    .attribute_id = static_cast<std::uint16_t>(attribute),
                    .attribute_modifier = input_.rarely() ? 0x8000'0000 : 0}
        .write(mad);
    wire::SaHeader{.sm_key = input_.one_of(3),
                   .component_mask = input_.rarely() ? ~std::uint64_t{0} : input_.number()}
        .write(mad);
    const MutableBytes data = MutableBytes(mad).subspan(wire::SaHeader::kDataOffset);
    if (attribute == SaAttribute::kMemberRecord) {
      member().write(data);
    } else if (attribute == SaAttribute::kGuidInfoRecord) {
      wire::store_be16(data.data(), input_.one_of(8));
      wire::store_u8(data.data() + 2, input_.one_of(3));
      for (std::size_t i = 0; i < wire::GuidBlock::kEntries; ++i)
        wire::store_be64(data.data() + 8 + 8 * i, some_guid().value());
    } else {
      const Bytes some = input_.some();
      std::copy_n(some.begin(), std::min(some.size(), data.size()), data.begin());
    }
    const MadEnvelope envelope{.port = 1,
                               .slid = Lid{input_.one_of(8)},
                               .dlid = Lid{2},
                               .source_qp = kQp1,
                               .dest_qp = kQp1,
                               .qkey = kGsiQKey};
    management_.receive(envelope, mad, now_);
  }

  // Of a host, or one that a host may be given.
  Guid some_guid() {
    const std::uint8_t which = input_.one_of(10);
    return which < 5 ? Guid{0x1000u * (which + 1u) + 1} : Guid{which - 5u};
  }

  wire::MemberRecord member() {
    return {.mgid = input_.rarely() ? Gid{}
                                    : sm::make_gid(0xFF12'401B'FFFF'0000, Guid{input_.one_of(4)}),
            .port_gid = sm::make_gid(kPrefix, some_guid()),
            .qkey = QKey{input_.one_of(2)},
            .mtu = {.selector = static_cast<wire::SaValue::Selector>(input_.one_of(4)),
                    .value = input_.one_of(8)},
            .pkey = kDefaultPKey,
            .rate = {.selector = static_cast<wire::SaValue::Selector>(input_.one_of(4)),
                     .value = input_.one_of(24)},
            .join_state = input_.one_of(16)};
  }

  void turn() {
    management_.run(now_);
    administrator_->run(now_);
    management_.run(now_);
  }

  void look() const {
    std::set<Lid> mlids;
    std::size_t members = 0;
    for (const auto& [mgid, group] : administrator_->groups().groups()) {
      require(mlids.insert(group.like.mlid).second);
      require(group.like.mlid.value() >= 0xC000 && group.like.mlid.value() < 0xC003);
      require(!group.members.empty());
      for (const auto& [gid, member] : group.members) {
        require(administrator_->view().end_of(gid) != sm::SubnetView::kNobody);
        require(member.join_state != 0);
      }
      members += group.members.size();
    }
    require(members <= kMostMembers);
    const sm::SubnetView& view = administrator_->view();
    require(view.aliases().size() <= kMostAliases);
    for (const auto& [port, guids] : view.aliases().ports()) {
      const std::uint32_t end = view.end_of(port);
      require(end != sm::SubnetView::kNobody && view.ends()[end].guid == port);
      require(guids.size() <= view.port_of(view.ends()[end]).info->guid_cap);
      for (const Guid guid : guids)
        require(guid == Guid{} || view.end_of(guid) == end);
    }
    require(administrator_->groups().forwarding().size() == mlids.size());
  }

  Input& input_;
  Time now_{std::chrono::hours(1)};
  Outlet outlet_;
  test::ModelNode model_{wire::NodeType::kChannelAdapter, 1, 0x1000, "fuzzed"};
  NodeManagement management_{model_, outlet_};
  std::unique_ptr<sm::Administrator> administrator_;
  std::uint64_t transaction_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(Bytes(reinterpret_cast<const std::byte*>(data), size));
  Fuzzer(input).run();
  return 0;
}
