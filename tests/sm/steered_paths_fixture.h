// SPDX-License-Identifier: Apache-2.0
// A lab with two ends and two nodes for services, its subnet manager, and whoever asks for paths
// there.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "administrator_question.h"
#include "running_lab.h"
#include "sa_records.h"
#include "sm/subnet_management.h"
#include "wire/sa/inform_info.h"
#include "wire/sa/path_record.h"
#include "wire/sm/notice.h"

namespace weft::sm {

inline constexpr std::uint64_t kSteeredPathsPrefix = 0xFE80'0000'0000'0000;
inline constexpr std::uint64_t kSteeredPathsEnds =
    wire::PathRecord::kHasSgid | wire::PathRecord::kHasDgid;

// A node that manages, two with applications, and two for services at different switches. What
// crosses to the second one is of 2 KiB.
inline constexpr const char* kSteeredPathsLab = R"(
[switch]
s1 = { ports = 8 }
s2 = { ports = 8, mtu = 2048 }
[node]
m = {}
a = {}
b = {}
fw1 = {}
fw2 = {}
[[link]]
ends = ["m:1", "s1:1"]
[[link]]
ends = ["a:1", "s1:2"]
[[link]]
ends = ["b:1", "s1:3"]
[[link]]
ends = ["fw1:1", "s1:4"]
[[link]]
ends = ["fw2:1", "s2:1"]
[[link]]
name = "trunk"
ends = ["s1:8", "s2:8"]
)";

class SteeredPaths : public ::testing::Test, private mgmt::MadClient {
 protected:
  void begin(SteeringOptions steering, const std::string& partitions = {}) {
    ManagerOptions options{.steering = std::move(steering)};
    if (!partitions.empty()) options.setup.partitions = *Partitions::parse(partitions, "p");
    management = std::make_unique<SubnetManagement>(port("m"), options);
    management->on_event([this](const ManagerEvent& event) { events.push_back(event.text); });
    const auto started = management->start();
    ASSERT_TRUE(started) << started.error().message;
    management->sweep();
    run_for(1s);
  }

  Guid guid(const std::string& node) {
    return running.fabric.find_node(node)->node_info(1).port_guid;
  }
  Gid gid(const std::string& node) { return make_gid(kSteeredPathsPrefix, guid(node)); }
  Lid lid(const std::string& node) {
    return running.fabric.find_node(node)->port(1).port_info().lid;
  }

  void run_for(Duration time) {
    const Time end = running.now + time;
    for (;;) {
      step();
      Time next = running.fabric.deadline().value_or(Time::max());
      next = std::min(next, management->deadline().value_or(Time::max()));
      if (next > end) break;
      running.now = std::max(running.now, next);
    }
    running.now = end;
  }

  struct Asked {
    std::uint64_t more = 0;  // components besides both GIDs
    wire::PathRecord record{};
  };
  // What `asker` is told of the path between two nodes; nothing: the status is in status_.
  std::vector<wire::PathRecord> ask(const std::string& asker, const std::string& from,
                                    const std::string& to) {
    return ask(asker, from, to, Asked{});
  }
  std::vector<wire::PathRecord> ask(const std::string& asker, const std::string& from,
                                    const std::string& to, Asked asked) {
    asked.record.sgid = gid(from);
    asked.record.dgid = gid(to);
    return ask(asker, wire::MadMethod::kGetTable, wire::SaAttribute::kPathRecord,
               kSteeredPathsEnds | asked.more, bytes_of(asked.record));
  }
  std::vector<wire::PathRecord> ask(const std::string& asker, wire::MadMethod method,
                                    wire::SaAttribute attribute, std::uint64_t mask,
                                    const std::vector<std::byte>& data) {
    if (!agents_.contains(asker)) {
      mgmt::AgentRequest request{.mgmt_class = wire::MgmtClass::kSubnAdm,
                                 .class_version = wire::kSaClassVersion,
                                 .rmpp = true};
      request.methods.set(static_cast<std::size_t>(wire::MadMethod::kReport));
      agents_.emplace(asker, *port(asker).add_agent(request, *this));
    }
    paths_.clear();
    status_ = 0xFFFF;
    ask_administrator(running, asker, agents_.at(asker),
                      {.method = method,
                       .attribute = attribute,
                       .mask = mask,
                       .record = data,
                       .number = ++last_question_});
    run_for(500ms);
    return paths_;
  }

  // Where a packet for a LID arrives, of the nodes with services.
  std::string arrives(Lid to) {
    const auto count = [&](const char* node) {
      return running.count(node, fabric::NodeCounter::kNotMine);
    };
    const std::uint64_t first = count("fw1");
    const std::uint64_t second = count("fw2");
    running.inject("a", {.slid = lid("a"), .dlid = to});
    return count("fw1") > first ? "fw1" : count("fw2") > second ? "fw2" : "";
  }
  void plug(const std::string& link, bool plugged) {
    running.fabric.link(*running.fabric.find_link(link)).set_plugged(plugged, running.now);
  }

  DataService service(const std::string& name, std::vector<std::string> at, Lid first) {
    DataService made{.name = name, .instances = {{}}};
    for (const std::string& node : at) {
      made.instances.front().push_back({.port = guid(node), .lids = {first}});
      first = Lid{static_cast<std::uint16_t>(first.value() + 1)};
    }
    return made;
  }
  PathRule through(const std::string& service, EndMatch from = {}, EndMatch to = {}) {
    return {.from = std::move(from),
            .to = std::move(to),
            .action = PathAction::kThrough,
            .through = {service},
            .symmetric = true};
  }
  EndMatch at(const std::string& node) { return {.ports = {guid(node)}}; }

  fabric::RunningLab running{fabric::lab_of(kSteeredPathsLab)};
  std::unique_ptr<SubnetManagement> management;
  std::vector<std::string> events;
  std::vector<wire::Notice> notices;
  std::uint16_t status_ = 0xFFFF;  // of the last answer

 private:
  mgmt::MadPort& port(const std::string& node) {
    return running.fabric.find_node(node)->management().mad_port(1);
  }
  void step() {
    for (bool again = true; again;) {
      running.settle();
      again = management->run(running.now);
      if (again) running.fabric.find_node("m")->management_used();
    }
  }
  void received(mgmt::AgentId, const mgmt::ReceivedMad& mad) override {
    const auto header = *wire::MadHeader::parse(mad.mad);
    const Bytes data = mad.mad.subspan(wire::SaHeader::kDataOffset);
    if (header.method == wire::MadMethod::kReport)
      return notices.push_back(*wire::Notice::parse(data));
    status_ = header.status;
    if (header.attribute_id == static_cast<std::uint16_t>(wire::SaAttribute::kInformInfo)) return;
    for (std::size_t i = 0; i + wire::PathRecord::kSize <= data.size();
         i += wire::PathRecord::kSize)
      paths_.push_back(*wire::PathRecord::parse(data.subspan(i)));
  }
  void finished(mgmt::AgentId, std::uint64_t, Bytes, mgmt::MadResult) override {}

  std::map<std::string, mgmt::AgentId> agents_;
  std::uint64_t last_question_ = 0;
  std::vector<wire::PathRecord> paths_;
};

}  // namespace weft::sm
