// SPDX-License-Identifier: Apache-2.0
// LAN ports on the nodes of a lab that runs in this process, by the clock, with its own subnet
// manager: each has an interface in a network namespace of its own.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "../fabric/running_lab.h"
#include "../io/network_namespace.h"
#include "daemon/lab/lab_manager.h"
#include "daemon/lan/lan_driver.h"
#include "io/clock.h"
#include "io/reactor.h"
#include "io/system_entropy.h"

namespace weft::daemon {

class LanLab : public testing::Test {
 protected:
  static constexpr Duration kLong = 10s;

  struct Host {
    std::string node;
    std::unique_ptr<io::Elsewhere> place;
    std::unique_ptr<LanDriver> driver;
    bool paused = false;  // nobody runs the driver

    [[nodiscard]] LanReport report() const { return driver->report(); }
    [[nodiscard]] std::uint64_t count(std::string_view name) const {
      const LanReport all = driver->report();
      for (const auto* values : {&all.frames, &all.packets, &all.datagrams}) {
        for (const CounterValue& value : *values)
          if (value.name == name) return value.value;
      }
      ADD_FAILURE() << "no counter " << name;
      return 0;
    }
  };

  explicit LanLab(const char* text = fabric::kFourNodes) : lab_(fabric::lab_of(text)) {
    lab_.now = io::now();
  }
  void SetUp() override {
    if (access("/dev/net/tun", R_OK | W_OK) != 0) GTEST_SKIP() << "/dev/net/tun is missing";
    if (io::Elsewhere().path().empty()) GTEST_SKIP() << "there is no namespace to be had";
    manager_ = std::move(*LabManager::open(lab_.fabric));
    manager_->start(lab_.now);
  }
  void TearDown() override { hosts_.clear(); }

  Expected<void> open(Host& host, LanDriverOptions options) {
    options.node = host.node;
    options.interface = "lan0";
    options.network_namespace = host.place->path();
    auto driver = LanDriver::open(
        options, {lab_.fabric, *reactor_, entropy_, connections_, turns_[host.node]});
    if (!driver) return tl::unexpected(driver.error());
    host.driver = std::move(*driver);
    return {};
  }
  // With 10.9.0.N, the next N from 1 on.
  Host& add(const std::string& node, const LanDriverOptions& options = {}) {
    Host& host = hosts_.emplace_back(Host{node, std::make_unique<io::Elsewhere>(), nullptr, false});
    const auto opened = open(host, options);
    EXPECT_TRUE(opened) << opened.error().message;
    EXPECT_TRUE(until([&] { return host.report().state == LanState::kUp; }));
    EXPECT_EQ(run(host, "ip address add 10.9.0." + std::to_string(hosts_.size()) + "/24 dev lan0"),
              0);
    return host;
  }
  bool all_know_all() {
    return std::ranges::all_of(
        hosts_, [&](const Host& host) { return host.report().peers.size() == hosts_.size() - 1; });
  }

  // One turn of the lab, as its daemon takes it.
  void turn() {
    const Time now = lab_.now = io::now();
    bool worked = work(now);
    const auto deadline = lab_.fabric.deadline();
    if (deadline && *deadline <= now) {
      lab_.fabric.run(now);
      manager_->run(now);
      worked = true;
    }
    worked = work(now) || worked;
    EXPECT_TRUE(reactor_->run_once(worked ? 0ns : Duration(1ms)));
    if (manager_->deadline().value_or(Time::max()) <= now) manager_->run(now);
  }
  bool until(const std::function<bool()>& done, Duration most = kLong) {
    const Time end = io::now() + most;
    while (!done()) {
      if (io::now() > end) return false;
      turn();
    }
    return true;
  }
  // A command of a shell in a host's namespace, while the lab runs; its exit status.
  int run(const Host& host, const std::string& command) {
    auto done = start(host, command);
    EXPECT_TRUE(until([&] { return done.wait_for(0s) == std::future_status::ready; }, 60s));
    return done.get();
  }
  static std::future<int> start(const Host& host, const std::string& command) {
    return std::async(std::launch::async, [whole = host.place->enter() + command] {
      return std::system(whole.c_str());
    });
  }

  fabric::RunningLab lab_;
  io::SystemEntropy entropy_;
  std::unique_ptr<io::Reactor> reactor_ = std::move(*io::Reactor::create(0us));
  std::unique_ptr<LabManager> manager_;
  ConnectionManagers connections_{lab_.fabric, *reactor_, entropy_};
  std::map<std::string, LanTurns> turns_;  // of each node, for one may be paused
  std::deque<Host> hosts_;

 private:
  bool work(Time now) {
    bool worked = false;
    for (Host& host : hosts_)
      worked = (!host.paused && turns_[host.node].work(now, true)) || worked;
    return worked;
  }
};

}  // namespace weft::daemon
