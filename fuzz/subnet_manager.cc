// SPDX-License-Identifier: Apache-2.0
// A subnet manager at an adapter, on a subnet of a switch and two adapters that loses, repeats and
// changes what is sent, where nodes lie about what they are, and strangers send SMInfo and traps.
// It may find, leave out and report what it likes; what it may not do is to lose or repeat the end
// of a request, to send without end, or not to come to rest when the subnet behaves again: then it
// looks at the subnet now and then, and waits for nothing in between.
#include "sm/subnet_manager.h"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>

#include "../tests/mgmt/model_node.h"
#include "input.h"
#include "mgmt/node_management.h"
#include "wire/endian.h"
#include "wire/sm/smp.h"

namespace {

using namespace weft;
using namespace weft::mgmt;
using fuzz::Input;
using fuzz::require;
using wire::MadBuffer;
using wire::MadMethod;
using wire::MgmtClass;

constexpr std::size_t kNodes = 3;  // two adapters at ports 1 and 2 of the switch, which is the last
constexpr std::size_t kSwitch = 2;
constexpr std::size_t kMostInFlight = 256;
constexpr std::uint64_t kMostInPeace = 200'000;  // packets in ten minutes
constexpr std::size_t kData = wire::smp::kDataOffset;
constexpr std::uint64_t kOtherKey = 7;  // that the manager knows

struct Flying {
  std::size_t to;
  MadEnvelope envelope;
  MadBuffer mad;
};
using Network = std::deque<Flying>;

class Node final : public MadOutlet {
 public:
  Node(std::size_t number, Network& network)
      : model(number == kSwitch ? wire::NodeType::kSwitch : wire::NodeType::kChannelAdapter,
              number == kSwitch ? 3 : 1, 0x1000 * (number + 1), "fuzzed"),
        management(model, *this),
        number_(number),
        network_(network) {
    if (number == kSwitch) {
      model.infos[3].state = wire::PortState::kDown;
      model.infos[3].physical_state = wire::PortPhysicalState::kPolling;
    }
  }
  void send(const MadEnvelope& envelope, wire::MadBytes mad) override {
    if (network_.size() == kMostInFlight) return;
    const bool is_switch = number_ == kSwitch;
    std::size_t port = envelope.port;
    if (is_switch && port == 0) port = model.linear(0).ports.at(envelope.dlid.value() % 64);
    const std::size_t to = is_switch ? port - 1u : kSwitch;
    if (to >= kNodes || (is_switch && to == kSwitch)) return;
    Flying& flying = network_.emplace_back();
    flying.to = to;
    flying.envelope = envelope;
    flying.envelope.port = static_cast<PortNumber>(is_switch ? 1 : number_ + 1);
    std::copy(mad.begin(), mad.end(), flying.mad.begin());
  }

  test::ModelNode model;
  NodeManagement management;

 private:
  const std::size_t number_;
  Network& network_;
};

class Fuzzer {
 public:
  explicit Fuzzer(Input& input) : input_(input) {
    for (std::size_t i = 0; i < kNodes; ++i)
      nodes_[i] = std::make_unique<Node>(i, network_);
    sm::ManagerOptions options{.mastership = {.priority = 3}};
    const std::uint8_t keys = input_.byte();
    if (keys & 1) options.setup.mkey = 1;
    if (keys & 2) {
      nodes_[1]->model.infos[1].mkey = kOtherKey;
      nodes_[1]->model.infos[1].mkey_protect = keys >> 2 & 3;
      options.mkeys.put(Guid{0x2001}, kOtherKey);
    }
    if (input_.byte() & 1) options.mastership.sm_key = 1;
    manager_ = std::make_unique<sm::SubnetManager>(nodes_[0]->management.mad_port(1), options);
    manager_->on_event([](const sm::ManagerEvent& event) { require(!event.text.empty()); });
    require(manager_->start().has_value());
    nodes_[0]->management.set_subnet_manager(1, true, now_);
    manager_->sweep();
  }

  void run() {
    while (!input_.empty()) {
      step();
      turn();
    }
    rest();
  }

 private:
  void step() {
    switch (input_.one_of(14)) {
      case 0:
        return change();
      case 1:
      case 2:
        return lie();
      case 3:
        if (!network_.empty()) network_.pop_front();
        return;
      case 4:
        if (!network_.empty() && network_.size() < kMostInFlight) {
          network_.push_back(Flying(network_.front()));
        }
        return;
      case 5:
      case 6:
        return make_up();
      case 7:
        now_ += std::chrono::milliseconds(input_.byte());
        return;
      case 8:
        return flap();
      case 9:
        return manager_->sweep();
      default:
        for (unsigned count = input_.byte(); count > 0; --count) {
          deliver();
          turn();
        }
        return;
    }
  }

  // Everybody does what there is to do.
  void turn() {
    for (int i = 0; i < 4; ++i) {
      for (const auto& node : nodes_)
        node->management.run(now_);
      manager_->run(now_);
    }
  }
  void deliver() {
    if (network_.empty()) return;
    const Flying next = network_.front();
    network_.pop_front();
    const Node& to = *nodes_[next.to];
    const std::size_t port = next.to == kSwitch ? next.envelope.port : 1u;
    if (to.model.infos[port].physical_state != wire::PortPhysicalState::kLinkUp) return;
    nodes_[next.to]->management.receive(next.envelope, next.mad, now_);
  }

  void change() {
    if (network_.empty()) return;
    network_.front().mad[input_.byte()] ^= static_cast<std::byte>(input_.byte());
  }
  // The next answer says something else.
  void lie() {
    for (Flying& flying : network_) {
      if ((wire::load_u8(flying.mad.data() + 3) & wire::kResponseBit) == 0) continue;
      const std::size_t at = kData + input_.one_of(wire::smp::kDataSize);
      const Bytes data = input_.some();
      const std::size_t room = kData + wire::smp::kDataSize - at;
      std::copy_n(data.begin(), std::min(data.size(), room),
                  flying.mad.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    }
  }
  void make_up() {
    constexpr std::array kMethods{MadMethod::kGet, MadMethod::kSet, MadMethod::kTrap,
                                  MadMethod::kGetResponse};
    const bool directed = (input_.byte() & 1) != 0;
    const MadMethod method = kMethods.at(input_.one_of(kMethods.size()));
    const bool trap = method == MadMethod::kTrap;
    MadBuffer mad{};
    wire::MadHeader{.mgmt_class = directed ? MgmtClass::kSubnDirected : MgmtClass::kSubnLid,
                    .class_version = 1,
                    .method = method,
                    .transaction_id = std::uint64_t{input_.one_of(4)} << 32 | input_.byte(),
                    .attribute_id = static_cast<std::uint16_t>(trap ? 2 : 0x20),
                    .attribute_modifier = input_.one_of(8)}
        .write(mad);
    wire::smp::set_mkey(mad, input_.one_of(3));
    if (directed) {
      wire::smp::set_dr_lids(mad, wire::kPermissiveLid, wire::kPermissiveLid);
      wire::smp::set_hop_count(mad, 2);
      wire::smp::set_hop_pointer(mad, 2);
      wire::smp::set_initial_path(mad, 1, 1);
      wire::smp::set_initial_path(mad, 2, 1);
      wire::smp::set_return_path(mad, 1, input_.one_of(4));
    }
    if (trap) {
      const unsigned number = input_.one_of(24);
      wire::Notice notice{
          .type = wire::NoticeType::kUrgent,
          .producer = 2,
          .trap = static_cast<wire::TrapNumber>(number < 20 ? 128 + number : 236 + number)};
      const Bytes details = input_.some();
      std::copy_n(details.begin(), std::min(details.size(), notice.details.size()),
                  notice.details.begin());
      notice.write(MutableBytes(mad).subspan(kData));
    } else {
      wire::SmInfo{.guid = Guid{0x1001u * input_.one_of(4)},
                   .sm_key = input_.one_of(3),
                   .activity = input_.byte(),
                   .priority = input_.one_of(16),
                   .state = static_cast<wire::SmState>(input_.one_of(5))}
          .write(MutableBytes(mad).subspan(kData));
    }
    const Lid lid{static_cast<std::uint16_t>(input_.word())};
    nodes_[0]->management.receive(
        {.port = 1,
         .slid = directed ? wire::kPermissiveLid : lid,
         .dlid = directed ? wire::kPermissiveLid : nodes_[0]->model.infos[1].lid,
         .source_qp = kQp0,
         .dest_qp = kQp0},
        mad, now_);
  }
  // The link of one of the adapters.
  void flap() {
    const std::size_t adapter = input_.one_of(2);
    for (wire::PortInfo* info :
         {&nodes_[adapter]->model.infos[1], &nodes_[kSwitch]->model.infos[adapter + 1]}) {
      const bool is_up = info->physical_state == wire::PortPhysicalState::kLinkUp;
      plug(*info, !is_up);
    }
    nodes_[kSwitch]->model.switches.port_state_change = true;
    nodes_[kSwitch]->management.link_state_changed(now_);
  }
  static void plug(wire::PortInfo& info, bool up) {
    info.physical_state = up ? wire::PortPhysicalState::kLinkUp : wire::PortPhysicalState::kPolling;
    info.state = up ? wire::PortState::kInitialize : wire::PortState::kDown;
  }

  // Ten minutes of a subnet that does what it should. What has become of it, it does not say: it
  // may have been given to another manager, by a key that nobody knows.
  void rest() {
    const Time end = now_ + std::chrono::minutes(10);
    std::uint64_t delivered = 0;
    bool was_at_rest = false;  // in the last minute
    while (now_ < end) {
      for (; !network_.empty(); turn()) {
        deliver();
        require(++delivered < kMostInPeace);
      }
      turn();
      if (!network_.empty()) continue;
      was_at_rest = was_at_rest || (now_ >= end - std::chrono::minutes(1) && all_ended());
      Time next = end;
      for (const auto& node : nodes_)
        next = std::min(next, node->management.deadline().value_or(end));
      next = std::min(next, manager_->deadline().value_or(end));
      require(++delivered < kMostInPeace);
      now_ = std::max(now_ + Duration{1}, next);
    }
    require(was_at_rest || all_ended());  // one that waits for nobody may have no last minute
    if (manager_->deadline()) require(all_ended());
  }
  [[nodiscard]] bool all_ended() const {
    const sm::SmpCounts& counts = manager_->smps();
    const std::uint64_t ended = counts.answered + counts.refused + counts.timed_out;
    require(ended <= counts.sent);
    return ended == counts.sent;
  }

  Input& input_;
  Network network_;
  std::array<std::unique_ptr<Node>, kNodes> nodes_;
  std::unique_ptr<sm::SubnetManager> manager_;
  Time now_{std::chrono::seconds(1)};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  Fuzzer(input).run();
  return 0;
}
