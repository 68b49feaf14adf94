// SPDX-License-Identifier: Apache-2.0
// The parts of a lab are not harmed by who makes no sense.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/plain_bytes.h"
#include "carrier/ring_memory.h"
#include "daemon/lab/part_links.h"
#include "daemon/lab/ring_protocol.h"
#include "io/pass_descriptor.h"
#include "io/shared_mapping.h"
#include "io/unix_socket.h"
#include "part_links_fixture.h"
#include "service/service.h"

namespace weft::daemon {
namespace {

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

TEST_F(Parts, TakeNoRecordThatIsTooLongOrHasNoBeginning) {
  start_left();
  const RingMessage head{.action = RingAction::kRecord, .attempt = 2, .link = 7};
  const Bytes begin = plain::bytes_of(head);
  std::vector<std::byte> record(begin.begin(), begin.end());
  const std::vector<std::byte> part(begin.begin(), begin.end() - 1);
  record.resize(record.size() + service::Host::kMostRecord);
  const std::vector<std::byte> longer(record.size() + 1, std::byte{0});
  for (const auto& nonsense : {part, longer}) {
    auto socket = io::connect_unix(socket_of("left"), io::UnixKind::kSeqPacket, 1s).value();
    const int fd = socket.get();
    LinkStranger stranger(std::move(socket));
    stranger.say(hello_of("lab", "right", "left"));
    await([&] { return stranger.hear().has_value(); });
    left->memory.heard.clear();
    ASSERT_TRUE(io::send_message(fd, record));
    await([&] { return left->memory.heard.size() == 1; });
    EXPECT_EQ(left->memory.heard[0].service, 7u);
    EXPECT_EQ(left->memory.heard[0].which, 2u);
    EXPECT_EQ(left->memory.heard[0].record.size(), service::Host::kMostRecord);
    ASSERT_TRUE(io::send_message(fd, nonsense));
    await([&] {
      const auto answer = stranger.hear();
      return answer && answer->empty();
    });
    EXPECT_EQ(left->memory.heard.size(), 1u);
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
