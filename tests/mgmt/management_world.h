// SPDX-License-Identifier: Apache-2.0
// Nodes under management in virtual time, on a subnet that loses, repeats and reorders datagrams.
// What a switch would do is left out: every LID reaches its node.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "mad_fixture.h"
#include "mgmt/node_management.h"
#include "sim/scheduler.h"

namespace weft::mgmt::test {

struct SubnetFaults {
  double loss = 0;
  double duplicate = 0;
  Duration delay = 20us;  // one way
  Duration jitter = 0us;  // up to that much more for each by itself, so that they overtake
};

class ManagementWorld;

// An adapter of one port.
class ManagedHost final : public MadOutlet {
 public:
  ManagedHost(ManagementWorld& world, Lid own, Lid manager)
      : world_(world),
        node(wire::NodeType::kChannelAdapter, 1, 0x1000'0000u + own.value(), "host"),
        management(node, *this) {
    wire::PortInfo& info = node.infos[1];
    info.lid = own;
    info.master_sm_lid = manager;
    info.state = wire::PortState::kActive;
    info.subnet_timeout = 14;  // 67 ms
  }
  void send(const MadEnvelope& envelope, wire::MadBytes mad) override;
  // A call to its management; its timer is set anew afterwards.
  template <class Call>
  void call(Call&& what) {
    what(management);
    after_call();
  }
  void after_call();
  [[nodiscard]] Lid lid() const { return node.infos[1].lid; }

 private:
  ManagementWorld& world_;
  std::optional<Time> wake_at_;

 public:
  ModelNode node;
  NodeManagement management;
};

class ManagementWorld {
 public:
  ManagementWorld(std::uint64_t seed, const SubnetFaults& faults)
      : random_(seed), faults_(faults) {}

  // LIDs count from 1, where the subnet's manager is.
  ManagedHost& add() {
    const auto lid = static_cast<std::uint16_t>(hosts_.size() + 1);
    return *hosts_.emplace_back(std::make_unique<ManagedHost>(*this, Lid{lid}, Lid{1}));
  }
  void carry(const MadEnvelope& envelope, wire::MadBytes mad) {
    ++sent;
    const std::size_t to = envelope.dlid.value() - 1u;
    ASSERT_LT(to, hosts_.size());
    if (random_.chance(faults_.loss)) return;
    const int copies = random_.chance(faults_.duplicate) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      MadBuffer held;
      std::copy(mad.begin(), mad.end(), held.begin());
      MadEnvelope arrived = envelope;
      arrived.port = 1;
      const auto most = static_cast<std::uint64_t>(faults_.jitter.count());
      scheduler.after(faults_.delay + Duration(random_.below(most + 1)), [=, this] {
        note(arrived, held);
        hosts_[to]->call(
            [&](NodeManagement& node) { node.receive(arrived, held, scheduler.now()); });
      });
    }
  }
  // A fingerprint of all that has arrived, and when.
  std::uint64_t trace = 0;
  std::uint64_t sent = 0;
  sim::Scheduler scheduler;
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] std::vector<std::unique_ptr<ManagedHost>>& hosts() { return hosts_; }

 private:
  void note(const MadEnvelope& envelope, const MadBuffer& mad) {
    mix(static_cast<std::uint64_t>(scheduler.now().time_since_epoch().count()));
    mix(envelope.slid.value() * 65536u + envelope.dlid.value());
    for (std::size_t at = 0; at < 64; at += 8)
      mix(wire::load_be64(mad.data() + at));
  }
  void mix(std::uint64_t value) { trace = Random(trace ^ value).next(); }

  Random random_;
  SubnetFaults faults_;
  std::vector<std::unique_ptr<ManagedHost>> hosts_;
};

inline void ManagedHost::send(const MadEnvelope& envelope, wire::MadBytes mad) {
  world_.carry(envelope, mad);
}

inline void ManagedHost::after_call() {
  const std::optional<Time> deadline = management.deadline();
  if (!deadline) return;
  const Time when = std::max(*deadline, world_.scheduler.now());
  if (wake_at_ && *wake_at_ <= when) return;
  wake_at_ = when;
  world_.scheduler.at(when, [this, when] {
    if (wake_at_ != when) return;
    wake_at_.reset();
    call([&](NodeManagement& node) { node.run(world_.scheduler.now()); });
  });
}

}  // namespace weft::mgmt::test
