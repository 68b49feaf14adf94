// SPDX-License-Identifier: Apache-2.0
// A lab in virtual time with Weft's subnet manager at one of its nodes, or at several.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "running_lab.h"
#include "sm/subnet_manager.h"

namespace weft::sm {

class ManagedLab {
 public:
  struct Place {
    std::string node;
    ManagerOptions options{};
    SubnetStore* store = nullptr;  // what it remembers by
  };

  explicit ManagedLab(fabric::Lab lab, const std::string& node, ManagerOptions options = {},
                      SubnetStore* store = nullptr)
      : ManagedLab(std::move(lab),
                   {{.node = node, .options = std::move(options), .store = store}}) {}
  // All of them there from the beginning; start() or stop() others later.
  ManagedLab(fabric::Lab lab, std::vector<Place> places)
      : running(std::move(lab)), places_(std::move(places)), managers(places_.size()) {
    for (std::size_t i = 0; i < places_.size(); ++i)
      start(i);
    manager = managers.front().get();
  }

  // A manager begins, as a process does; or is not there any more, from one moment to the next.
  void start(std::size_t i) {
    ManagerOptions options = places_[i].options;
    options.own_port = own_port(i);
    SubnetStore* const store = places_[i].store;
    managers[i] = std::make_unique<SubnetManager>(
        node_of(i).management().mad_port(options.own_port), options,
        LidPlan(store != nullptr ? store->load().lids : std::map<Guid, LidRange>{}));
    managers[i]->record_to(store);
    EXPECT_TRUE(managers[i]->start());
    if (on_event) {
      managers[i]->on_event([this, i](const ManagerEvent& event) { on_event(i, event); });
    }
    node_of(i).management().set_subnet_manager(options.own_port, true, running.now);
    if (i == 0) manager = managers[0].get();
  }
  void stop(std::size_t i) {
    managers[i].reset();
    node_of(i).management().set_subnet_manager(own_port(i), false, running.now);
    if (i == 0) manager = nullptr;
  }

  // One sweep of the first, from its beginning to its end.
  const SweepReport& sweep() {
    manager->sweep();
    const std::uint64_t before = manager->sweeps();
    for (int round = 0; manager->sweeps() == before && round < 1'000'000; ++round) {
      step();
      const auto deadline = next();
      if (deadline && manager->sweeps() == before) running.now = std::max(running.now, *deadline);
    }
    EXPECT_GT(manager->sweeps(), before) << "never ends";
    step();
    return manager->report();
  }
  // The managers do what they do by themselves.
  void run_for(Duration time) {
    const Time end = running.now + time;
    for (;;) {
      step();
      const Time when = next().value_or(Time::max());
      if (when > end) break;
      running.now = std::max(running.now, when);
    }
    running.now = end;
    step();
  }

  [[nodiscard]] Lid lid(const std::string& name, std::uint8_t port = 1) {
    const fabric::Node& node = *running.fabric.find_node(name);
    return node.port(node.kind() == fabric::NodeKind::kSwitch ? 0 : port).port_info().lid;
  }
  [[nodiscard]] bool is_active(std::size_t link) {
    const auto active = [&](std::size_t side) {
      return running.fabric.end(link, side).link().state() == wire::PortState::kActive;
    };
    return active(0) && active(1);
  }
  [[nodiscard]] std::size_t active_links() {
    std::size_t count = 0;
    for (std::size_t i = 0; i < running.fabric.link_count(); ++i)
      count += is_active(i);
    return count;
  }
  // A packet from one adapter arrives at another: there is no queue pair for it.
  [[nodiscard]] bool reaches(const std::string& from, const std::string& to) {
    const auto before = running.count(to, fabric::NodeCounter::kNoQueuePair);
    running.inject(from, {.slid = lid(from), .dlid = lid(to)});
    return running.count(to, fabric::NodeCounter::kNoQueuePair) == before + 1;
  }
  [[nodiscard]] const std::string& place(std::size_t i) const { return places_[i].node; }
  [[nodiscard]] const ManagerOptions& options(std::size_t i) const { return places_[i].options; }
  [[nodiscard]] wire::SmState state(std::size_t i) const { return managers[i]->state(); }
  [[nodiscard]] std::uint8_t own_port(std::size_t i) {
    const bool is_switch = node_of(i).kind() == fabric::NodeKind::kSwitch;
    return is_switch ? std::uint8_t{0} : places_[i].options.own_port;
  }

  fabric::RunningLab running;
  SubnetManager* manager = nullptr;                                // the first
  std::function<void(std::size_t, const ManagerEvent&)> on_event;  // for those that start later
  std::function<void()> watch;                                     // after every step of the fabric

 private:
  fabric::Node& node_of(std::size_t i) { return *running.fabric.find_node(places_[i].node); }
  std::optional<Time> next() {
    std::optional<Time> first = running.fabric.deadline();
    for (const auto& each : managers) {
      const auto when = each ? each->deadline() : std::nullopt;
      if (when) first = std::min(first.value_or(*when), *when);
    }
    return first;
  }
  std::uint64_t sent() {
    std::uint64_t count = 0;
    for (const auto& each : managers)
      count += each ? each->smps().sent + each->smps().requests + each->sweeps() : 0;
    return count;
  }
  void run_managers() {
    for (std::size_t i = 0; i < managers.size(); ++i) {
      if (!managers[i]) continue;
      managers[i]->run(running.now);
      node_of(i).management_used();
    }
  }
  // All that happens without time passing.
  void step() {
    for (std::uint64_t before = ~std::uint64_t{0}; before != sent();) {
      before = sent();
      run_managers();
      settle();
      run_managers();
    }
  }
  void settle() {
    if (!watch) return running.settle();
    for (int round = 0; round < 10'000; ++round) {
      const auto deadline = running.fabric.deadline();
      if (!deadline || *deadline > running.now) return;
      running.fabric.run(running.now);
      watch();
    }
    FAIL() << "never comes to rest";
  }

  std::vector<Place> places_;

 public:
  std::vector<std::unique_ptr<SubnetManager>> managers;  // null: it is not there
};

}  // namespace weft::sm
