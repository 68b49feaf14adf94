// SPDX-License-Identifier: Apache-2.0
// The two parts of a lab, in one thread and in real time.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "daemon/lab/part_links.h"
#include "fabric/lab_file.h"
#include "io/clock.h"
#include "io/system_entropy.h"
#include "io/unix_socket.h"

namespace weft::daemon {

inline constexpr Duration kPartLinksPatience = 20s;

inline std::string lab_text(const std::string& left, const std::string& right) {
  return "[part]\nleft = {" + left + "}\nright = {" + right +
         "}\n[switch]\ns1 = { ports = 4 }\ns2 = { ports = 4, part = 'right' }\n"
         "[[link]]\nends = ['s1:1', 's2:1']\n[[link]]\nends = ['s2:2', 's1:2']\n";
}

// What instances of services in a part hear, and tell whoever comes.
class PartMemory final : public PartRecordUser {
 public:
  struct Heard {
    std::uint64_t service = 0;
    std::uint32_t which = 0;
    std::vector<std::byte> record{};
    friend bool operator==(const Heard&, const Heard&) = default;
  };
  void part_came(PartRecordSink& part) override {
    ++came;
    for (const Heard& each : known)
      part.tell({.service = each.service, .which = each.which, .record = each.record});
  }
  void record_came(const PartRecord& record) override {
    heard.push_back({.service = record.service,
                     .which = record.which,
                     .record = {record.record.begin(), record.record.end()}});
  }
  int came = 0;
  std::vector<Heard> known;
  std::vector<Heard> heard;
};

class RunningPart {
 public:
  RunningPart(const std::string& text, const std::string& runtime, const std::string& part) {
    const fabric::Lab lab = fabric::parse_lab(text, "lab.toml").value();
    const LabPaths paths = lab_paths(runtime, lab.name, part).value();
    std::filesystem::create_directories(paths.directory);
    reactor_ = std::move(io::Reactor::create(0us).value());
    fabric_ = std::make_unique<fabric::Fabric>(lab, fabric::FabricLimits{}, lab.find_part(part));
    auto links = PartLinks::open(*fabric_, paths, *reactor_, entropy_);
    EXPECT_TRUE(links) << links.error().message;
    links_ = std::move(*links);
    links_->set_record_user(memory);
    fabric_->start(io::now());
    links_->start(io::now());
  }

  void turn() {
    const Time now = io::now();
    links_->poll(now);
    fabric_->run(now);
    links_->flush();
    ASSERT_TRUE(reactor_->run_once(0ns));
  }
  // As a daemon that has nothing to do: false when there was something all the same.
  bool sleep(Duration longest) {
    if (!links_->sleep()) return false;
    EXPECT_TRUE(reactor_->run_once(longest));
    links_->awake();
    return true;
  }

  [[nodiscard]] link::PortPhysicalState state(std::size_t link) {
    return fabric_->end(link, fabric_->has_end(link, 0) ? 0 : 1).link().physical_state();
  }
  [[nodiscard]] bool all_up() {
    return state(0) == link::PortPhysicalState::kLinkUp &&
           state(1) == link::PortPhysicalState::kLinkUp;
  }
  [[nodiscard]] bool all_down() {
    return state(0) != link::PortPhysicalState::kLinkUp &&
           state(1) != link::PortPhysicalState::kLinkUp;
  }
  [[nodiscard]] std::uint64_t counter(std::string_view name) const {
    for (const CounterValue& each : links_->counters()) {
      if (each.name == name) return each.value;
    }
    ADD_FAILURE() << name;
    return 0;
  }
  // Something is to be done at a certain time, and not only when somebody comes.
  [[nodiscard]] bool has_timer() { return reactor_->timers().next_wakeup().has_value(); }
  fabric::Fabric& fabric() { return *fabric_; }
  PartLinks& links() { return *links_; }
  void tell(const PartMemory::Heard& what) {
    links_->tell({.service = what.service, .which = what.which, .record = what.record});
  }

  PartMemory memory;

 private:
  io::SystemEntropy entropy_;
  std::unique_ptr<io::Reactor> reactor_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::unique_ptr<PartLinks> links_;
};

class Parts : public ::testing::Test {
 protected:
  Parts() {
    std::string pattern = "/tmp/weft-parts-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    text = lab_text("", "");
  }
  ~Parts() override {
    left.reset();
    right.reset();
    std::filesystem::remove_all(directory);
  }

  void start_left() { left = std::make_unique<RunningPart>(text, directory, "left"); }
  void start_right() { right = std::make_unique<RunningPart>(text, directory, "right"); }
  void await(const std::function<bool()>& what) {
    const Time end = io::now() + kPartLinksPatience;
    while (!what()) {
      ASSERT_LT(io::now(), end);
      for (RunningPart* const part : {left.get(), right.get()}) {
        if (part != nullptr) part->turn();
      }
    }
  }
  void await_up() {
    await([this] { return left->all_up() && right->all_up(); });
  }
  [[nodiscard]] std::string socket_of(const std::string& part) const {
    return directory + "/labs/lab@" + part + "/parts";
  }

  std::string directory;
  std::string text;
  std::unique_ptr<RunningPart> left, right;
};

}  // namespace weft::daemon
