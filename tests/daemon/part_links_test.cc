// SPDX-License-Identifier: Apache-2.0
// The parts of a lab, in one thread and in real time: they find each other, lose each other, and
// are not harmed by who makes no sense.
#include "daemon/lab/part_links.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/plain_bytes.h"
#include "carrier/ring_memory.h"
#include "daemon/lab/ring_protocol.h"
#include "fabric/lab_file.h"
#include "io/clock.h"
#include "io/pass_descriptor.h"
#include "io/shared_mapping.h"
#include "io/system_entropy.h"
#include "io/unix_socket.h"

namespace weft::daemon {
namespace {

constexpr Duration kPartLinksPatience = 20s;

std::string lab_text(const std::string& left, const std::string& right) {
  return "[part]\nleft = {" + left + "}\nright = {" + right +
         "}\n[switch]\ns1 = { ports = 4 }\ns2 = { ports = 4, part = 'right' }\n"
         "[[link]]\nends = ['s1:1', 's2:1']\n[[link]]\nends = ['s2:2', 's1:2']\n";
}

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

TEST_F(Parts, FindEachOtherWhicheverComesFirst) {
  start_left();
  start_right();
  await_up();
  left.reset();
  await([this] { return right->all_down(); });
  start_left();
  await_up();
  right.reset();
  await([this] { return left->all_down(); });
  EXPECT_EQ(left->links().report()[0]["connected"], 0);
  start_right();
  await_up();
  EXPECT_EQ(left->links().report()[0]["connected"], 2);
  EXPECT_EQ(left->links().report(0)["carrier"], "rings");
}

TEST_F(Parts, CallEachOtherOnlyAsLongAsOneIsMissing) {
  start_right();
  EXPECT_TRUE(right->has_timer());
  start_left();
  await_up();
  await([this] { return !right->has_timer(); });
  left.reset();
  await([this] { return right->all_down(); });
  EXPECT_TRUE(right->has_timer());
  start_left();
  await_up();
  await([this] { return !right->has_timer(); });
}

TEST_F(Parts, OnTwoMachinesFindEachOtherOverUdp) {
  text = lab_text("address = '127.0.0.1:18519'", "address = '127.0.0.2:18519'");
  start_right();
  start_left();
  await_up();
  EXPECT_FALSE(std::filesystem::exists(socket_of("left"))) << "nobody on this machine is expected";
  right.reset();
  await([this] { return left->all_down(); });
  start_right();
  await_up();
  EXPECT_EQ(left->links().report(0)["carrier"], "udp");
}

TEST_F(Parts, HaveTheLinksOfEachOtherTrainAsBothCan) {
  text += "width = '1x'\n";
  start_left();
  start_right();
  await_up();
  EXPECT_EQ(left->fabric().end(0, 0).port_info().link_width_active, 2) << "4x";
  EXPECT_EQ(right->fabric().end(1, 0).port_info().link_width_active, 1) << "1x";
}

// What a subnet manager sets at one end holds at both, from when the link trains anew.
TEST_F(Parts, HaveTheLinksOfEachOtherTrainAsBothMay) {
  constexpr std::uint8_t k1x = 1;
  constexpr std::uint8_t kSdr = 1;
  for (const bool over_udp : {false, true}) {
    if (over_udp) text = lab_text("address = '127.0.0.1:18521'", "address = '127.0.0.2:18521'");
    start_left();
    start_right();
    await_up();
    fabric::NodePort& here = left->fabric().end(0, 0);
    fabric::NodePort& there = right->fabric().end(0, 1);
    EXPECT_EQ(here.port_info().link_width_active, 2) << "4x";
    wire::PortInfo info = there.port_info();
    info.link_width_enabled = k1x;
    info.link_speed_enabled = kSdr;
    info.link_speed_ext_enabled = 0;
    there.set_port_info(info, io::now());
    EXPECT_EQ(here.port_info().link_width_active, 2) << "not trained anew";
    there.link().set_physical_state(link::PortPhysicalState::kPolling, io::now());
    await([&here] { return here.port_info().link_width_active == k1x; });
    await_up();
    for (const fabric::NodePort* const end : {&here, &there}) {
      EXPECT_EQ(end->port_info().link_width_active, k1x);
      EXPECT_EQ(end->port_info().link_speed_active, kSdr);
      EXPECT_EQ(end->port_info().link_speed_ext_active, 0);
    }
    left.reset();
    right.reset();
  }
}

TEST_F(Parts, PullACableForEachOther) {
  start_left();
  start_right();
  await_up();
  for (RunningPart* const part : {left.get(), right.get()}) {
    part->fabric().link(0).set_plugged(false, io::now());
    await([this] {
      return left->state(0) != link::PortPhysicalState::kLinkUp &&
             right->state(0) != link::PortPhysicalState::kLinkUp;
    });
    EXPECT_EQ(left->state(1), link::PortPhysicalState::kLinkUp) << "the other one stays";
    part->fabric().link(0).set_plugged(true, io::now());
    await_up();
  }
}

TEST_F(Parts, AreWokenByEachOther) {
  start_left();
  start_right();
  await_up();
  await([this] { return left->sleep(0ns); });
  right->fabric().link(0).set_plugged(false, io::now());
  right->turn();
  const Time begin = io::now();
  left->sleep(kPartLinksPatience);
  left->turn();
  EXPECT_LT(io::now() - begin, kPartLinksPatience) << "nobody woke it";
}

// Somebody at the socket of a part.
class LinkStranger {
 public:
  explicit LinkStranger(const std::string& path)
      : socket_(io::connect_unix(path, io::UnixKind::kSeqPacket, 1s).value()) {}
  explicit LinkStranger(io::UniqueFd socket) : socket_(std::move(socket)) {}

  template <class Message>
  void say(const Message& message, std::span<const int> files = {}) {
    EXPECT_TRUE(io::send_message(socket_.get(), plain::bytes_of(message), files));
  }
  // Nothing: there is nothing to read just now; empty: the part has closed.
  std::optional<std::vector<std::byte>> hear() {
    std::array<std::byte, 512> buffer{};
    char probe = 0;
    if (recv(socket_.get(), &probe, 1, MSG_PEEK | MSG_DONTWAIT) < 0) return std::nullopt;
    const auto message = io::receive_message(socket_.get(), buffer);
    if (!message || !*message) return std::vector<std::byte>{};
    return std::vector<std::byte>(buffer.begin(),
                                  buffer.begin() + static_cast<std::ptrdiff_t>((*message)->size));
  }

 private:
  io::UniqueFd socket_;
};

RingHello hello_of(const std::string& lab, const std::string& from, const std::string& to) {
  RingHello out;
  lab.copy(out.lab, sizeof out.lab - 1);
  from.copy(out.from, sizeof out.from - 1);
  to.copy(out.to, sizeof out.to - 1);
  return out;
}

TEST_F(Parts, TellWhoeverIsNoneOfThemWhyNot) {
  start_left();
  start_right();
  await_up();
  RingHello newer = hello_of("lab", "right", "left");
  newer.version = kRingVersion + 1;
  const std::array refused{
      std::pair{newer, "the other part is of another version of Weft"},
      std::pair{hello_of("other", "right", "left"), "this is part left of lab lab"},
      std::pair{hello_of("lab", "right", "right"), "this is part left of lab lab"},
      std::pair{hello_of("lab", "left", "left"),
                "part left has no links to part left, or expects to be called by it: the lab files "
                "differ"}};
  for (const auto& [hello, why] : refused) {
    LinkStranger stranger(socket_of("left"));
    stranger.say(hello);
    std::optional<std::vector<std::byte>> answer;
    await([&] { return (answer = stranger.hear()).has_value(); });
    const auto welcome = plain::read<RingWelcome>(*answer);
    ASSERT_TRUE(welcome);
    EXPECT_NE(welcome->error, 0);
    EXPECT_STREQ(welcome->message, why);
  }
  EXPECT_TRUE(left->all_up() && right->all_up());
}

TEST_F(Parts, EndConnectionsThatBeginWithNonsense) {
  start_left();
  LinkStranger stranger(socket_of("left"));
  stranger.say(std::uint64_t{7});
  await([&] {
    const auto answer = stranger.hear();
    return answer && answer->empty();
  });
  EXPECT_EQ(left->counter("parts_nonsense"), 1u);
}

// Whoever is let in as part right, and then does what no part does, is disconnected; the real one
// is let in after it.
TEST_F(Parts, EndConnectionsThatGoOnWithNonsense) {
  start_left();
  const std::uint64_t link = number_of_link(left->fabric().lab(), 0);
  const std::array<RingMessage, 3> nonsense{
      RingMessage{.action = RingAction{0}, .attempt = 1, .link = link},
      RingMessage{.action = RingAction::kOpen, .attempt = 1, .link = link},
      RingMessage{.action = RingAction{99}, .attempt = 1, .link = link}};
  for (const RingMessage& message : nonsense) {
    LinkStranger stranger(socket_of("left"));
    stranger.say(hello_of("lab", "right", "left"));
    await([&] { return stranger.hear().has_value(); });
    stranger.say(RingMessage{.action = RingAction::kSeek, .attempt = 1, .link = link ^ 1});
    stranger.say(message);
    await([&] {
      const auto answer = stranger.hear();
      return answer && answer->empty();
    });
  }
  start_right();
  await_up();
}

// What a part says in the memory of a link is believed no more than what it says at the socket.
TEST_F(Parts, EndConnectionsWhoseMemoryMakesNoSense) {
  start_left();
  const std::uint64_t link = number_of_link(left->fabric().lab(), 0);
  auto socket = io::connect_unix(socket_of("left"), io::UnixKind::kSeqPacket, 1s).value();
  const int fd = socket.get();
  LinkStranger stranger(std::move(socket));
  stranger.say(hello_of("lab", "right", "left"));
  await([&] { return stranger.hear().has_value(); });
  stranger.say(RingMessage{.action = RingAction::kSeek, .attempt = 1, .link = link});
  std::array<std::byte, 512> buffer{};
  std::array<io::UniqueFd, 2> files;
  await([&] {
    char probe = 0;
    return recv(fd, &probe, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  });
  ASSERT_TRUE(io::receive_message(fd, buffer, files));
  const auto open = plain::read<RingMessage>(buffer);
  EXPECT_EQ(open->action, RingAction::kOpen);
  EXPECT_EQ(open->attempt, 1u);
  EXPECT_FALSE(
      io::SharedMapping::map(files[0].get(), sizeof(carrier::RingMemory), io::Access::kWrite))
      << "the memory that the other part writes to";
  auto mapped =
      io::SharedMapping::map(files[1].get(), sizeof(carrier::RingMemory), io::Access::kWrite);
  ASSERT_TRUE(mapped);
  await([this] { return left->state(0) == link::PortPhysicalState::kLinkUp; });
  static_cast<carrier::RingMemory*>(mapped->begin())->written.store(3);
  await([&] {
    const auto answer = stranger.hear();
    return answer && answer->empty();
  });
  EXPECT_EQ(left->counter("ring_lies"), 1u);
  await([this] { return left->all_down(); });
  start_right();
  await_up();
}

// Of a listening part that gives files which are no memory of a link.
TEST_F(Parts, TakeNoFilesThatAnybodyCouldResize) {
  start_right();
  std::filesystem::create_directories(directory + "/labs/lab@left");
  const auto listener = io::listen_unix(socket_of("left"), io::UnixKind::kSeqPacket).value();
  const std::uint64_t link = number_of_link(right->fabric().lab(), 0);
  for (int round = 0; round < 2; ++round) {
    std::optional<io::UniqueFd> taken;
    await([&] {
      auto accepted = io::accept_unix(listener.get(), true);
      if (accepted && *accepted) taken = std::move(**accepted);
      return taken.has_value();
    });
    LinkStranger impostor(std::move(*taken));
    impostor.say(RingWelcome{});
    std::optional<std::vector<std::byte>> heard;
    std::uint32_t attempt = 0;
    await([&] {
      heard = impostor.hear();
      const auto message = heard ? plain::read<RingMessage>(*heard) : std::nullopt;
      const bool seeks = message && heard->size() == sizeof *message &&
                         message->action == RingAction::kSeek && message->link == link;
      if (seeks) attempt = message->attempt;
      return seeks;
    });
    const RingMessage open{.action = RingAction::kOpen, .attempt = attempt, .link = link};
    const io::UniqueFd soft(memfd_create("soft", MFD_CLOEXEC));
    ASSERT_EQ(ftruncate(soft.get(), sizeof(carrier::RingMemory)), 0);
    const std::array<int, 2> files{soft.get(), soft.get()};
    impostor.say(open, round == 0 ? std::span<const int>(files) : std::span<const int>{});
    await([&] {
      heard = impostor.hear();
      return heard && heard->empty();
    });
    EXPECT_TRUE(right->all_down());
  }
  std::filesystem::remove(socket_of("left"));
  start_left();
  await_up();
}

}  // namespace
}  // namespace weft::daemon
