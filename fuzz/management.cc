// SPDX-License-Identifier: Apache-2.0
// The management of a switch and two channel adapters, and programs at the adapters' MAD layers,
// under datagrams that strangers make up, on a subnet that loses, repeats and changes them. They
// may refuse and drop; what they may not do is to ask a node for ports and blocks that it does not
// have, to change anything on a Get or on what they answer with an error, to end a request twice or
// never, to send without end, or to be left with anything but traps when programs are gone and time
// has passed.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "../tests/mgmt/model_node.h"
#include "input.h"
#include "mgmt/node_management.h"
#include "wire/endian.h"
#include "wire/rmpp.h"
#include "wire/sa/sa_header.h"
#include "wire/sm/smp.h"

namespace {

using namespace weft;
using namespace weft::mgmt;
using fuzz::Input;
using fuzz::require;
using wire::MadBuffer;
using wire::MadMethod;
using wire::MgmtClass;

constexpr std::size_t kNodes = 3;  // the last is the switch
constexpr std::size_t kMostInFlight = 64;
constexpr std::size_t kMostAtOnce = 20'000;  // sent in one step: windows of all messages

struct Flying {
  std::size_t to;
  MadEnvelope envelope;
  MadBuffer mad;
};

class Node final : public MadOutlet, public MadClient {
 public:
  Node(std::size_t number, std::vector<Flying>& network)
      : model(number == 2 ? wire::NodeType::kSwitch : wire::NodeType::kChannelAdapter,
              number == 2 ? 3 : 2, 0x1000 * (number + 1), "fuzzed"),
        management(model, *this),
        network_(network) {
    if (number == 2) management.set_io_controllers({{Guid{0x11}, "one"}, {Guid{0x12}, "another"}});
    for (wire::PortInfo& info : model.infos) {
      info.lid = Lid{static_cast<std::uint16_t>(number * 4 + 4)};
      info.lmc = number == 1 ? 1 : 0;
      info.master_sm_lid = Lid{4};
      info.state = wire::PortState::kActive;
    }
  }
  // By its LID, or along a directed route to a neighbour: 1 and 2 of the switch lead to the
  // adapters.
  void send(const MadEnvelope& envelope, wire::MadBytes mad) override {
    require(++sent <= kMostAtOnce);
    require(envelope.port <= model.node.ports);
    if (network_.size() == kMostInFlight) return;
    std::size_t to = envelope.dlid.value() / 4 - 1u;
    if (envelope.dlid == wire::kPermissiveLid) {
      to = model.node.type == wire::NodeType::kSwitch ? envelope.port - 1u : 2;
    }
    if (to >= kNodes) return;
    Flying& flying = network_.emplace_back();
    flying.to = to;
    flying.envelope = envelope;
    flying.envelope.port = 1;
    std::copy(mad.begin(), mad.end(), flying.mad.begin());
  }
  void received(AgentId agent, const ReceivedMad& mad) override {
    require(agents.contains(agent));
    require(mad.mad.size() >= wire::MadHeader::kSize);
    if (mad.cookie) require(open.erase(*mad.cookie) == 1);
  }
  void finished(AgentId agent, std::uint64_t cookie, Bytes mad, MadResult) override {
    require(agents.contains(agent));
    require(mad.size() >= wire::MadHeader::kSize);
    require(open.erase(cookie) == 1);
  }

  test::ModelNode model;
  NodeManagement management;
  std::map<AgentId, AgentRequest> agents;
  std::map<std::uint64_t, AgentId> open;  // requests that have not ended, by cookie
  std::size_t sent = 0;

 private:
  std::vector<Flying>& network_;
};

class Fuzzer {
 public:
  explicit Fuzzer(Input& input) : input_(input) {
    for (std::size_t i = 0; i < kNodes; ++i)
      nodes_[i] = std::make_unique<Node>(i, network_);
  }

  void run() {
    while (!input_.empty()) {
      for (const auto& node : nodes_)
        node->sent = 0;
      step();
    }
    finish();
  }

 private:
  void step() {
    switch (input_.one_of(12)) {
      case 0:
      case 1:
        return make_up();
      case 2:
      case 3:
      case 4:
        return deliver();
      case 5:
        return lose();
      case 6:
        return repeat();
      case 7:
        return register_agent();
      case 8:
        return leave();
      case 9:
        return ask();
      case 10:
        return pass_time();
      default:
        return happen();
    }
  }
  Node& some_node() { return *nodes_[input_.one_of(kNodes)]; }
  Node& adapter() { return *nodes_[input_.one_of(2)]; }

  MgmtClass some_class() {
    constexpr std::array kClasses{MgmtClass::kSubnLid,   MgmtClass::kSubnDirected,
                                  MgmtClass::kSubnAdm,   MgmtClass::kPerf,
                                  MgmtClass::kDeviceMgt, static_cast<MgmtClass>(0x30)};
    const std::uint8_t pick = input_.one_of(kClasses.size() + 1);
    return pick < kClasses.size() ? kClasses[pick] : static_cast<MgmtClass>(input_.byte());
  }
  MadMethod some_method() {
    constexpr std::array kMethods{MadMethod::kGet,         MadMethod::kSet,
                                  MadMethod::kTrapRepress, MadMethod::kGetTable,
                                  MadMethod::kGetMulti,    MadMethod::kGetTableResponse,
                                  MadMethod::kGetResponse};
    const std::uint8_t pick = input_.one_of(kMethods.size() + 1);
    return pick < kMethods.size() ? kMethods[pick] : static_cast<MadMethod>(input_.byte());
  }
  std::uint16_t some_attribute(MgmtClass mgmt_class) {
    const std::uint8_t pick = input_.byte();
    if (mgmt_class == MgmtClass::kPerf)
      return pick & 1 ? 0x10 + (pick >> 1) % 3 : pick & 2 ? 0x1D : pick;
    return pick < 0x80 ? 0x10 + pick % 0x13 : pick;
  }
  std::uint32_t some_modifier() {
    switch (input_.one_of(5)) {
      case 0:
        return 0;
      case 1:
        return input_.one_of(8);
      case 2:
        return std::uint32_t{input_.one_of(6)} << 16 | input_.one_of(6);
      case 3:
        return std::uint32_t{input_.one_of(6)} << 28 | input_.one_of(40);
      default:
        return input_.number();
    }
  }

  MadBuffer some_mad() {
    MadBuffer mad{};
    const MgmtClass mgmt_class = some_class();
    const bool sa = mgmt_class == MgmtClass::kSubnAdm;
    wire::MadHeader{.base_version = static_cast<std::uint8_t>(input_.rarely() ? input_.byte() : 1),
                    .mgmt_class = mgmt_class,
                    .class_version = static_cast<std::uint8_t>(input_.rarely() ? input_.byte()
                                                               : sa            ? 2
                                                                               : 1),
                    .method = some_method(),
                    .transaction_id = std::uint64_t{input_.one_of(4)} << 32 | input_.one_of(4),
                    .attribute_id = some_attribute(mgmt_class),
                    .attribute_modifier = some_modifier()}
        .write(mad);
    const bool smp = mgmt_class == MgmtClass::kSubnLid || mgmt_class == MgmtClass::kSubnDirected;
    if (smp) {
      wire::smp::set_mkey(mad, input_.one_of(3));
      wire::smp::set_dr_lids(mad, input_.rarely() ? Lid{8} : wire::kPermissiveLid,
                             input_.rarely() ? Lid{8} : wire::kPermissiveLid);
      if (mgmt_class == MgmtClass::kSubnDirected) {
        const std::uint8_t hops = input_.rarely() ? input_.byte() : input_.one_of(4);
        wire::smp::set_hop_count(mad, hops);
        wire::smp::set_hop_pointer(mad, input_.rarely() ? input_.byte() : input_.one_of(5));
        if (input_.one_of(4) == 0) wire::store_u8(mad.data() + 4, 0x80);
        for (std::size_t hop = 1; hop < 5; ++hop) {
          wire::smp::set_initial_path(mad, hop, input_.one_of(5));
          wire::smp::set_return_path(mad, hop, input_.one_of(5));
        }
      }
    } else if (wire::rmpp_data_offset(mgmt_class)) {
      wire::RmppHeader{.version = 1,
                       .type = static_cast<wire::RmppType>(input_.one_of(6)),
                       .flags = static_cast<std::uint8_t>(input_.one_of(8)),
                       .status = static_cast<wire::RmppStatus>(input_.rarely() ? input_.byte() : 0),
                       .segment = input_.one_of(8),
                       .length_or_window = input_.byte()}
          .write(mad);
    }
    const Bytes data = input_.some();
    std::copy_n(data.begin(), std::min<std::size_t>(data.size(), 64), mad.begin() + 64);
    return mad;
  }

  // As a port has it, but for some bytes: most of others are refused for their first field.
  void almost_port_info(const Node& node, MadBuffer& mad) {
    wire::PortInfo info = node.model.infos[1];
    info.state = wire::PortState::kNoChange;
    info.physical_state = wire::PortPhysicalState::kNoChange;
    const MutableBytes data = MutableBytes(mad).subspan(64, wire::PortInfo::kSize);
    info.write(data);
    for (unsigned left = input_.one_of(4); left > 0; --left) {
      data[input_.one_of(wire::PortInfo::kSize)] = static_cast<std::byte>(input_.byte());
    }
  }

  void make_up() {
    Node& node = some_node();
    MadBuffer mad = some_mad();
    const bool smp = (wire::load_u8(mad.data() + 1) & 0x7F) == 1;
    if (smp && wire::load_be16(mad.data() + 16) == 0x15) almost_port_info(node, mad);
    Qpn qpn = smp ? kQp0 : kQp1;
    if (input_.rarely()) qpn = kQp0;
    MadEnvelope envelope{
        .port = static_cast<PortNumber>(1 + input_.one_of(node.model.node.ports)),
        .slid = Lid{static_cast<std::uint16_t>(input_.one_of(4) * 4 + 4)},
        .dlid = Lid{static_cast<std::uint16_t>(node.model.infos[1].lid.value() + input_.one_of(2))},
        .source_qp = qpn,
        .dest_qp = qpn,
        .qkey = smp ? QKey{} : kGsiQKey};
    if (input_.rarely()) envelope.grh = wire::Grh{.sgid = Gid{{0xFE, 0x80}}};
    const int sets = node.model.sets;
    const std::uint64_t refused = node.management.counters().get(ManagementCounter::kDroppedMkey);
    const std::size_t flying = network_.size();
    node.management.receive(envelope, mad, now_);
    // A wrong key is counted in the port, and begins a lease, which may end at any time.
    violated_ =
        violated_ || node.management.counters().get(ManagementCounter::kDroppedMkey) != refused;
    if (violated_ || node.model.sets == sets) return;
    require(wire::MadHeader::parse(mad)->method == MadMethod::kSet);
    for (std::size_t i = flying; i < network_.size(); ++i) {
      const auto answer = *wire::MadHeader::parse(network_[i].mad);
      if (answer.method == MadMethod::kGetResponse) require((answer.status & 0x1C) == 0);
    }
  }

  void deliver() {
    if (network_.empty()) return;
    const std::size_t which = input_.byte() % network_.size();
    Flying flying = network_[which];
    network_.erase(network_.begin() + static_cast<std::ptrdiff_t>(which));
    if (input_.rarely()) {
      std::byte& byte = flying.mad[input_.byte()];
      byte ^= static_cast<std::byte>(input_.byte());
    }
    nodes_[flying.to]->management.receive(flying.envelope, flying.mad, now_);
  }
  void lose() {
    if (!network_.empty()) network_.pop_back();
  }
  void repeat() {
    if (network_.empty() || network_.size() == kMostInFlight) return;
    const Flying flying = network_[input_.byte() % network_.size()];
    network_.push_back(flying);
  }

  void register_agent() {
    Node& node = adapter();
    AgentRequest request{.mgmt_class = some_class(), .class_version = 1};
    if (request.mgmt_class == MgmtClass::kSubnAdm) request.class_version = 2;
    if (input_.byte() & 1) request.methods.set(static_cast<std::size_t>(some_method()) & 0x7F);
    if (input_.byte() & 1) request.methods.set(static_cast<std::size_t>(some_method()) & 0x7F);
    request.rmpp = (input_.byte() & 1) != 0;
    if (node.agents.size() == 6) return;
    const auto id = node.management.mad_port(1).add_agent(request, node);
    if (id) node.agents.emplace(*id, request);
  }
  AgentId some_agent(const Node& node) {
    if (node.agents.empty()) return AgentId{input_.byte()};
    return std::next(node.agents.begin(), input_.one_of(static_cast<unsigned>(node.agents.size())))
        ->first;
  }
  void leave() {
    Node& node = adapter();
    const AgentId agent = some_agent(node);
    require(node.management.mad_port(1).remove_agent(agent) == (node.agents.erase(agent) == 1));
    std::erase_if(node.open, [&](const auto& request) { return request.second == agent; });
  }
  void ask() {
    Node& node = adapter();
    const AgentId agent = some_agent(node);
    const auto known = node.agents.find(agent);
    const MadBuffer mad = some_mad();
    std::vector<std::byte> message(mad.begin(), mad.end());
    if (known != node.agents.end() && !input_.rarely()) {
      wire::store_u8(message.data() + 1, static_cast<std::uint8_t>(known->second.mgmt_class));
    }
    const auto mgmt_class = static_cast<MgmtClass>(wire::load_u8(message.data() + 1));
    const bool smp = mgmt_class == MgmtClass::kSubnLid || mgmt_class == MgmtClass::kSubnDirected;
    if (input_.byte() & 1) message.resize(input_.word() % 20'000);
    const std::uint64_t cookie = ++last_cookie_;
    const bool directed = mgmt_class == MgmtClass::kSubnDirected;
    MadRequest request{
        .to = {.lid = directed ? wire::kPermissiveLid
                               : Lid{static_cast<std::uint16_t>(input_.one_of(3) * 4 + 4)},
               .path_bits = input_.one_of(2),
               .qpn = smp ? kQp0 : kQp1,
               .qkey = smp ? QKey{} : kGsiQKey,
               .pkey_index = static_cast<std::uint16_t>(input_.rarely() ? input_.word() : 0)},
        .mad = message,
        .timeout = std::chrono::milliseconds(input_.byte()),
        .retries = input_.one_of(3),
        .cookie = cookie};
    MadPort& port = node.management.mad_port(1);
    // Whether it will be told of, cancel() says.
    node.open.emplace(cookie, agent);
    if (!port.send(agent, request, now_)) {
      node.open.erase(cookie);
      return;
    }
    if (input_.rarely()) {
      port.cancel(agent, cookie);
      node.open.erase(cookie);
      return;
    }
    // Only what waits, for an answer or for acknowledgements, is told of.
    const bool rmpp = known->second.rmpp && wire::rmpp_data_offset(mgmt_class) &&
                      wire::RmppHeader::parse(message) &&
                      wire::RmppHeader::parse(message)->active();
    const auto method = wire::load_u8(message.data() + 3);
    const bool answer = (method & 0x80) != 0 || method == 0x07;
    if (!rmpp && (answer || request.timeout == Duration::zero())) node.open.erase(cookie);
  }

  void pass_time() {
    now_ += std::chrono::milliseconds(std::int64_t{1} << input_.one_of(16));
    for (const auto& node : nodes_) {
      node->management.run(now_);
      const auto deadline = node->management.deadline();
      // In the past only for what it has sent to itself.
      require(!deadline || *deadline > now_ || *deadline == Time{});
    }
  }
  void happen() {
    Node& node = some_node();
    const auto port = static_cast<PortNumber>(1 + input_.one_of(node.model.node.ports));
    switch (input_.one_of(6)) {
      case 0:
        if (node.model.node.type == wire::NodeType::kSwitch) {
          node.management.link_state_changed(now_);
        }
        break;
      case 1:
        node.management.description_changed(now_);
        break;
      case 2:
        node.management.key_violated(port, {.key = input_.byte()}, now_);
        break;
      case 3: {
        const bool is_switch = node.model.node.type == wire::NodeType::kSwitch;
        node.management.set_subnet_manager(is_switch ? PortNumber{0} : port,
                                           (input_.byte() & 1) != 0, now_);
        break;
      }
      case 4:
        node.management.buffer_overrun(port, now_);
        break;
      default:
        node.model.infos[port].mkey = input_.one_of(3);
        node.model.infos[port].mkey_protect = input_.one_of(4);
        node.model.infos[port].mkey_lease_period = input_.one_of(3);
    }
  }

  // Nobody sends any more: every request ends, and then nothing is left but traps without a manager
  // to repress them, which those without a manager's LID do not have either.
  void finish() {
    network_.clear();
    for (int turn = 0; turn < 200; ++turn) {
      now_ += 1h;
      for (const auto& node : nodes_) {
        node->sent = 0;
        node->management.run(now_);
      }
      network_.clear();
    }
    for (const auto& node : nodes_) {
      require(node->open.empty());
      MadPort& port = node->management.mad_port(node == nodes_[2] ? 0 : 1);
      require(!port.deadline());
      for (const auto& agent : node->agents)
        require(port.remove_agent(agent.first));
    }
  }

  Input& input_;
  std::vector<Flying> network_;
  std::array<std::unique_ptr<Node>, kNodes> nodes_;
  Time now_{};
  std::uint64_t last_cookie_ = 0;
  bool violated_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  Fuzzer(input).run();
  return 0;
}
