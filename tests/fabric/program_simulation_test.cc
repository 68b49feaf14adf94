// SPDX-License-Identifier: Apache-2.0
// Programs on the nodes of a lab in virtual time: several on a node, slow ones and ones that end,
// while links go down and come back and lose packets, as each seed likes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <tuple>

#include "fabric_capture.h"
#include "running_lab.h"
#include "sim/seeds.h"
#include "some_lab.h"
#include "test_program.h"
#include "text_file.h"

namespace weft::fabric {
namespace {

std::string replay(std::uint64_t seed) {
  const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
  return sim::how_to_replay(seed, std::string(info->test_suite_name()) + "." + info->name());
}

// A packet as its receiver sees it. Packets of a flow are numbered.
struct Seen {
  Qpn source, dest;
  Lid slid, dlid;
  Sl sl;
  Psn psn;
};

Seen seen(const std::vector<std::byte>& packet) {
  const wire::Lrh lrh = *wire::Lrh::parse(packet);
  const wire::Bth bth = *wire::Bth::parse(Bytes(packet).subspan(wire::Lrh::kSize));
  const wire::Deth deth =
      *wire::Deth::parse(Bytes(packet).subspan(wire::Lrh::kSize + wire::Bth::kSize));
  return {deth.src_qp, bth.dest_qp, lrh.slid, lrh.dlid, lrh.sl, bth.psn};
}

class Stage {
 public:
  Stage(std::uint64_t seed, bool faults)
      : random_(seed), faults_(faults), lab_(*some_lab(random_)) {
    lab_.bring_up();
    for (const auto& [guid, node] : lab_.nodes) {
      if (node.info.type == wire::NodeType::kChannelAdapter) hosts_.push_back(node.description);
    }
    for (int i = 0; i < 6; ++i)
      attach();
  }

  void act() {
    const auto number = random_.below(100);
    if (faults_ && number < 4) return flap();
    if (faults_ && number < 7) return degrade();
    if (faults_ && number < 9) return replace();
    if (number < 25) return lab_.run_for(some_time(2'000'000));
    if (number < 30) return make_slow();
    if (number < 40) return take_some();
    send();
  }

  // All that is on its way arrives or is given up.
  void end() {
    for (const auto& program : programs_)
      program->room = SIZE_MAX;
    heal();
    for (int round = 0; round < 100; ++round) {
      for (const auto& program : programs_) {
        if (program->attached()) program->attachment().resume(lab_.now);
      }
      lab_.run_for(100ms);
    }
    EXPECT_EQ(lab_.fabric.packets_in_use(), 0u);
  }

  // Each packet of a flow comes at most once, and after those that were sent before it.
  void check_order() const {
    std::map<std::tuple<Qpn, Qpn, Lid, Lid, Sl>, Psn> last;
    for (const auto& program : programs_) {
      for (const auto& packet : program->taken) {
        const Seen one = seen(packet);
        const auto [entry, is_first] =
            last.emplace(std::tuple(one.source, one.dest, one.slid, one.dlid, one.sl), one.psn);
        EXPECT_TRUE(is_first || Psn::diff(one.psn, entry->second) > 0);
        entry->second = one.psn;
      }
    }
  }

  [[nodiscard]] std::uint64_t taken() const {
    std::uint64_t packets = 0;
    for (const auto& program : programs_)
      packets += program->taken.size();
    return packets;
  }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] Fabric& fabric() { return lab_.fabric; }
  [[nodiscard]] Ends ends() const { return ends_of(lab_.fabric); }
  [[nodiscard]] std::uint64_t overruns() const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < lab_.fabric.node_count(); ++i) {
      const Node& node = lab_.fabric.node(i);
      for (unsigned port = 1; port <= node.port_count(); ++port)
        count += node.port(static_cast<mgmt::PortNumber>(port))
                     .link()
                     .counters()
                     .get(link::PortCounter::kRxOverrun);
    }
    return count;
  }

 private:
  Duration some_time(std::uint64_t below) {
    return Duration(static_cast<std::int64_t>(random_.below(below)));
  }
  TestProgram& some_program() { return *programs_[random_.below(programs_.size())]; }

  void attach() {
    programs_.push_back(
        std::make_unique<TestProgram>(lab_.fabric, hosts_[random_.below(hosts_.size())]));
  }
  // A program ends, and another one comes.
  void replace() {
    TestProgram& program = some_program();
    if (program.attached()) program.detach();
    attach();
  }
  void make_slow() { some_program().room = random_.below(20); }
  void take_some() {
    TestProgram& program = some_program();
    if (program.room == SIZE_MAX || !program.attached()) return;
    program.take_more(random_.below(200), lab_.now);
  }
  void flap() {
    link::Link& cable = lab_.fabric.link(random_.below(lab_.fabric.link_count()));
    cable.set_plugged(!cable.plugged(), lab_.now);
    lab_.settle();
    if (random_.chance(0.7)) heal_states();
  }
  // Nothing that makes a second packet of one, or lets one overtake another.
  void degrade() {
    link::Emulation emulation = some_emulation(random_);
    emulation.duplicate = 0;
    emulation.reorder = 0;
    lab_.fabric.link(random_.below(lab_.fabric.link_count())).set_emulation(emulation, lab_.now);
  }
  void heal() {
    for (std::size_t i = 0; i < lab_.fabric.link_count(); ++i) {
      lab_.fabric.link(i).set_emulation({}, lab_.now);
      if (!lab_.fabric.link(i).plugged()) lab_.fabric.link(i).set_plugged(true, lab_.now);
    }
    lab_.run_for(10ms);
    heal_states();
  }
  // As a subnet manager does with a link that has come back.
  void heal_states() {
    for (const auto state : {link::PortState::kArmed, link::PortState::kActive}) {
      for (std::size_t link = 0; link < lab_.fabric.link_count(); ++link) {
        for (const std::size_t side : {0U, 1U})
          lab_.fabric.end(link, side).link().set_state(state, lab_.now);
      }
      lab_.run_for(1ms);
    }
  }

  void send() {
    TestProgram& from = some_program();
    TestProgram& to = some_program();
    if (!from.attached()) return;
    Datagram datagram = from.to(to);
    datagram.sl = Sl{static_cast<std::uint8_t>(random_.below(3))};
    for (auto left = random_.between(1, 60); left > 0; --left) {
      datagram.psn = ++next_;
      datagram.payload = 4 * random_.below(512);
      if (from.send(datagram, lab_.now) == Sent::kNotNow) return;
      ++sent_;
    }
  }

  Random random_;
  const bool faults_;
  RunningLab lab_;
  std::vector<std::string> hosts_;
  std::vector<std::unique_ptr<TestProgram>> programs_;
  Psn next_{};
  std::uint64_t sent_ = 0;
};

TEST(ProgramSimulation, KeepsOrderAndLosesNothingWithoutACountedReason) {
  for (const std::uint64_t seed : sim::seeds(60)) {
    SCOPED_TRACE(replay(seed));
    Stage stage(seed, true);
    for (int action = 0; action < 300; ++action)
      stage.act();
    stage.end();
    stage.check_order();
    // Management packets are lost as well, so at least as many.
    EXPECT_GE(stage.ends().arrived + stage.ends().dropped, stage.sent());
    EXPECT_LE(stage.taken(), stage.sent());
    EXPECT_EQ(stage.overruns(), 0u) << "credit was exceeded";
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(ProgramSimulation, CountsEveryPacketOnceOnLinksThatStayUp) {
  for (const std::uint64_t seed : sim::seeds(60)) {
    SCOPED_TRACE(replay(seed));
    Stage stage(seed, false);
    const std::uint64_t before = stage.ends().arrived + stage.ends().dropped;
    for (int action = 0; action < 300; ++action)
      stage.act();
    stage.end();
    stage.check_order();
    EXPECT_EQ(stage.ends().arrived + stage.ends().dropped - before, stage.sent());
    EXPECT_EQ(stage.overruns(), 0u) << "credit was exceeded";
    if (::testing::Test::HasFailure()) return;
  }
}

// Programs, faults of links and management alike.
TEST(ProgramSimulation, GivesTwoRunsOfOneSeedTheSameCaptureByteByByte) {
  std::size_t busy = 0;
  for (const std::uint64_t seed : sim::seeds(10)) {
    SCOPED_TRACE(replay(seed));
    std::array<std::string, 3> captures;
    for (std::size_t run = 0; run < captures.size(); ++run) {
      // The third one is of another seed.
      Stage stage(run == 2 ? seed + 1 : seed, true);
      const std::string path =
          ::testing::TempDir() + "/weft-capture-" + std::to_string(::getpid()) + ".pcapng";
      {
        const FabricCapture capture(stage.fabric(), path);
        for (int action = 0; action < 150; ++action)
          stage.act();
        stage.end();
      }
      captures[run] = read_text(path);
      std::filesystem::remove(path);
    }
    EXPECT_TRUE(captures[0] == captures[1]);
    // Where all programs are on one node, none of their packets is on a link.
    if (captures[0].size() > 10'000) {
      ++busy;
      EXPECT_FALSE(captures[0] == captures[2]);
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(busy, 0u);
}

}  // namespace
}  // namespace weft::fabric
