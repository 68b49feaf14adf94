// SPDX-License-Identifier: Apache-2.0
// Where the lines of firewalls go, and how many of them; and their rules, read anew.
#include "daemon/service/firewall_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../service/firewall_world.h"
#include "daemon/service/firewall_rules.h"
#include "daemon/service/service_maker.h"
#include "io/log.h"
#include "io/system_entropy.h"

namespace weft::daemon {
namespace {

namespace fw = service::firewall;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class FirewallLogs : public ::testing::Test {
 protected:
  FirewallLogs() : rules_(::testing::TempDir() + "weft-log-" + std::to_string(getpid())) {}
  ~FirewallLogs() override { std::filesystem::remove(rules_); }

  void write_rules(const std::string& rules) const {
    std::ofstream(rules_) << "table t { chain forward { hook forward; policy drop;\n" + rules +
                                 "\n} }\n";
  }
  MadeService made(bool dry_run = false) {
    fabric::LabService kind;
    kind.name = "wall";
    kind.type = "firewall";
    kind.rules = rules_;
    kind.dry_run = dry_run;
    auto made = make_service(fabric::Lab{}, kind, {.node = "fw", .port = 2}, entropy, log);
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }
  static service::Verdict handle(MadeService& made, Time now) {
    auto bytes = service::test::make(service::test::datagram(service::test::Buffer(8)));
    service::Packet packet(bytes, {});
    return made.service->handle(packet, now);
  }

  const std::string rules_;
  io::SystemEntropy entropy;
  std::vector<std::string> lines;
  bool takes_lines = true;
  FirewallLog log{[this](std::string_view line) {
    if (takes_lines) lines.emplace_back(line);
    return takes_lines;
  }};
};

TEST_F(FirewallLogs, CallTheFirewallAndKeepTheLastLines) {
  write_rules("log prefix \"odd \"");
  MadeService wall = made();
  Time now(1h);
  EXPECT_FALSE(wall.describe().contains("log"));
  for (std::size_t i = 0; i < FirewallLines::kKept + 5; ++i, now += 1s)
    EXPECT_EQ(handle(wall, now).action(), service::Verdict::Action::kDrop);
  ASSERT_THAT(lines, SizeIs(FirewallLines::kKept + 5));
  EXPECT_THAT(lines.back(), StartsWith("odd wall at fw:2: line 2 of forward: drop (policy) 1:"));
  const nlohmann::json kept = wall.describe()["log"];
  ASSERT_THAT(kept, SizeIs(FirewallLines::kKept));
  EXPECT_EQ(kept.back()["line"], lines.back());
  EXPECT_GT(kept.back()["time"], 1'700'000'000);
}

// However many firewalls there are, and however long it goes on.
TEST_F(FirewallLogs, AreBoundedForTheWholeProcess) {
  write_rules("log");
  std::vector<MadeService> walls;
  for (int i = 0; i < 20; ++i)
    walls.push_back(made());
  Time now(1h);
  for (int second = 0; second < 100; ++second, now += 1s) {
    for (MadeService& wall : walls) {
      for (int i = 0; i < 20; ++i)
        static_cast<void>(handle(wall, now));
    }
  }
  EXPECT_THAT(lines, SizeIs(FirewallLog::kAtOnce + 99));
  EXPECT_THAT(lines.back(), HasSubstr(" lines before it left out"));
}

TEST_F(FirewallLogs, CountWhatNobodyTakes) {
  write_rules("log");
  MadeService wall = made();
  takes_lines = false;
  static_cast<void>(handle(wall, Time(1h)));
  EXPECT_FALSE(wall.describe().contains("log"));
  takes_lines = true;
  static_cast<void>(handle(wall, Time(2h)));
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("; 1 lines before it left out"));
}

TEST_F(FirewallLogs, SayWhatADryRunWouldDo) {
  write_rules("log");
  MadeService wall = made(true);
  EXPECT_EQ(handle(wall, Time(1h)).action(), service::Verdict::Action::kForward);
  EXPECT_THAT(lines.at(0), HasSubstr(": would drop (policy) "));
  EXPECT_EQ(wall.firewall->would_drop(), 1u);
}

// A daemon must not stand still because nobody reads what it says.
TEST(TryLog, WaitsForNobody) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const int own = ::dup(STDERR_FILENO);
  ::dup2(pipe[1], STDERR_FILENO);
  const bool first = io::try_log("something");
  std::array<char, 4096> bytes{};
  const ssize_t read = ::read(pipe[0], bytes.data(), bytes.size());
  while (::write(pipe[1], bytes.data(), bytes.size()) > 0) {
  }
  // As others have it: who writes waits.
  ::fcntl(pipe[1], F_SETFL, 0);
  const bool full = io::try_log("something");
  ::close(pipe[0]);
  const bool gone = io::try_log("something");
  ::dup2(own, STDERR_FILENO);
  ::close(own);
  ::close(pipe[1]);
  EXPECT_TRUE(first);
  EXPECT_EQ(std::string(bytes.data(), static_cast<std::size_t>(read)), "weft: something\n");
  EXPECT_FALSE(full);
  EXPECT_FALSE(gone);
}

TEST_F(FirewallLogs, AreOfRulesThatAreReadAnewOnlyIfTheyAreRight) {
  fabric::LabService kind;
  kind.name = "wall";
  kind.type = "firewall";
  EXPECT_THAT(read_programs_anew(kind, 1).error().message, "wall has no file of rules");
  kind.rules = rules_;
  EXPECT_THAT(read_programs_anew(kind, 1).error().message, HasSubstr("No such file"));
  write_rules("slid 0x10000 accept");
  EXPECT_THAT(read_programs_anew(kind, 1).error().message, StartsWith(rules_ + ":2:6: want a LID"));
  write_rules("slid 1 accept\nslid 2 accept");
  const auto programs = read_programs_anew(kind, 3);
  ASSERT_TRUE(programs) << programs.error().message;
  ASSERT_THAT(*programs, SizeIs(3));
  for (const fw::Program& program : *programs)
    EXPECT_EQ(program.rule(1).line, 3u);
  kind.type = "monitor";
  EXPECT_EQ(read_programs_anew(kind, 1).error().message,
            "wall has no file of rules: it is a monitor");
  EXPECT_EQ(to_string(FirewallReload{.rules = 1, .connections = 1, .forgotten = 0}),
            "1 rule; 1 connection goes on, 0 are forgotten");
  EXPECT_EQ(to_string(FirewallReload{.rules = 2, .connections = 0, .forgotten = 1}),
            "2 rules; 0 connections go on, 1 is forgotten");
}

}  // namespace
}  // namespace weft::daemon
