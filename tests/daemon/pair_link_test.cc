// SPDX-License-Identifier: Apache-2.0
// What threads of a data service tell each other, and the other one of a pair.
#include "daemon/service/pair_link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "await.h"
#include "daemon/service/record_queue.h"
#include "in_a_directory.h"
#include "io/clock.h"
#include "io/reactor.h"
#include "wire/endian.h"

namespace weft::daemon {
namespace {

std::vector<std::byte> record_of(std::uint64_t number) {
  std::vector<std::byte> record(8);
  wire::store_le64(record.data(), number);
  return record;
}

TEST(RecordQueue, KeepsTheOrderOfEachTeller) {
  constexpr std::uint64_t kEach = 20'000;
  RecordQueue queue;
  std::vector<std::thread> tellers;
  for (std::size_t service = 0; service < 3; ++service) {
    tellers.emplace_back([&queue, service] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        while (!queue.push(service, record_of(i)))
          std::this_thread::yield();
      }
    });
  }
  std::array<std::uint64_t, 3> next{};
  while (std::ranges::any_of(next, [](std::uint64_t count) { return count < kEach; })) {
    queue.take([&](const RecordQueue::Record& record) {
      ASSERT_EQ(record.view().size(), 8u);
      ASSERT_EQ(wire::load_le64(record.bytes.data()), next.at(record.service)++);
    });
  }
  for (std::thread& teller : tellers)
    teller.join();
}

TEST(RecordQueue, IsBoundedAndTakesNoRecordThatIsTooLong) {
  RecordQueue queue;
  EXPECT_FALSE(queue.push(0, std::vector<std::byte>(service::Host::kMostRecord + 1)));
  for (std::size_t i = 0; i < RecordQueue::kMost; ++i)
    ASSERT_TRUE(queue.push(0, record_of(i)));
  EXPECT_FALSE(queue.push(0, record_of(0)));
  EXPECT_EQ(queue.lost(), 2u);
  std::size_t taken = 0;
  queue.take([&](const RecordQueue::Record&) { ++taken; });
  EXPECT_EQ(taken, RecordQueue::kMost);
  EXPECT_TRUE(queue.push(0, record_of(0)));
}

class Pair : public InADirectory {
 protected:
  struct Member {
    Member(const std::string& directory, const std::string& own, const std::string& other)
        : reactor(*io::Reactor::create(0us)) {
      auto opened = PairLink::open({.lab = directory, .node = own}, other, *reactor,
                                   [this](std::size_t service, Bytes record) {
                                     services.push_back(service);
                                     numbers.push_back(wire::load_le64(record.data()));
                                   });
      if (opened) link = std::move(*opened);
    }
    void turn() { ASSERT_TRUE(reactor->run_once(1ms)); }
    std::unique_ptr<io::Reactor> reactor;
    std::unique_ptr<PairLink> link;
    std::vector<std::size_t> services;
    std::vector<std::uint64_t> numbers;
  };
};

TEST_F(Pair, TellsTheOtherOneWhateverThreadItIs) {
  Member first(directory_, "fw1", "fw2");
  ASSERT_TRUE(first.link);
  first.link->run(io::now());
  EXPECT_FALSE(first.link->is_connected());
  EXPECT_TRUE(first.link->tell(0, record_of(1))) << "nobody is there to whom it matters";
  Member second(directory_, "fw2", "fw1");
  first.link->run(io::now() + PairLink::kPause);
  ASSERT_TRUE(first.link->is_connected());
  constexpr std::uint64_t kEach = 500;
  std::vector<std::thread> tellers;
  for (std::size_t service = 0; service < 2; ++service) {
    tellers.emplace_back([&first, service] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        while (!first.link->tell(service, record_of(i)))
          std::this_thread::yield();
      }
    });
  }
  while (second.numbers.size() < 2 * kEach)
    second.turn();
  for (std::thread& teller : tellers)
    teller.join();
  std::array<std::uint64_t, 2> next{};
  for (std::size_t i = 0; i < second.numbers.size(); ++i)
    EXPECT_EQ(second.numbers[i], next.at(second.services[i])++);
}

TEST_F(Pair, FindsTheOtherOneAgain) {
  Member first(directory_, "fw1", "fw2");
  auto second = std::make_unique<Member>(directory_, "fw2", "fw1");
  Time now = io::now();
  first.link->run(now);
  ASSERT_TRUE(first.link->is_connected());
  second->turn();
  second.reset();
  await([&] { return first.link->tell(0, record_of(1)) && !first.link->is_connected(); });
  second = std::make_unique<Member>(directory_, "fw2", "fw1");
  first.link->run(now += PairLink::kPause);
  ASSERT_TRUE(first.link->is_connected());
  ASSERT_TRUE(first.link->tell(7, record_of(2)));
  while (second->numbers.empty())
    second->turn();
  EXPECT_EQ(second->numbers, std::vector<std::uint64_t>{2});
}

TEST_F(Pair, IsOfTwoNodesAndEachMemberOnce) {
  Member first(directory_, "fw1", "fw2");
  auto reactor = *io::Reactor::create(0us);
  const umad::Place place{.lab = directory_, .node = "fw1"};
  const auto again = PairLink::open(place, "fw2", *reactor, {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, std::errc::address_in_use);
  EXPECT_FALSE(PairLink::open(place, "fw1", *reactor, {}));
  EXPECT_FALSE(PairLink::open(place, "../fw2", *reactor, {}));
}

}  // namespace
}  // namespace weft::daemon
