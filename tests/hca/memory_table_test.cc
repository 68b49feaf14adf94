// SPDX-License-Identifier: Apache-2.0
#include "hca/memory_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include "base/random.h"

namespace weft::hca::test {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

class Memory : public ::testing::Test {
 protected:
  MemoryRegion describe(std::uint32_t access = kLocalWrite, std::uint64_t iova = 0x10000) {
    return {.base = bytes.data(), .iova = iova, .length = bytes.size(), .access = access, .pd = 3};
  }
  std::vector<std::byte> bytes = std::vector<std::byte>(1000);
  SeededEntropy entropy{Random(1)};
  MemoryTable table{entropy};
};

TEST_F(Memory, IsFoundByItsKeyWithinItsBoundsDomainAndRights) {
  const MemoryRegion r = *table.add(describe(kLocalWrite | kRemoteRead));
  RegionPin pin(table);
  EXPECT_EQ(pin.resolve(r.key, 3, 0x10000, 1000, 0), bytes.data());
  EXPECT_EQ(pin.resolve(r.key, 3, 0x10000 + 999, 1, kLocalWrite), bytes.data() + 999);
  EXPECT_EQ(pin.resolve(r.key, 3, 0x10000 + 1000, 0, 0), bytes.data() + 1000);
  EXPECT_EQ(pin.resolve(r.key, 3, 0x10000 + 1, 1000, 0), nullptr) << "one byte too far";
  EXPECT_EQ(pin.resolve(r.key, 3, 0x10000 + 1001, 0, 0), nullptr);
  EXPECT_EQ(pin.resolve(r.key, 3, 0x10000 - 1, 1, 0), nullptr) << "one byte before";
  EXPECT_EQ(pin.resolve(r.key, 3, 0x10000 + 8, kMost, 0), nullptr) << "a length that wraps";
  EXPECT_EQ(pin.resolve(r.key, 4, 0x10000, 1, 0), nullptr) << "another domain's";
  EXPECT_EQ(pin.resolve(r.key, 3, 0x10000, 1, kRemoteWrite), nullptr) << "a right it lacks";
  EXPECT_EQ(pin.resolve(r.key ^ 1, 3, 0x10000, 1, 0), nullptr);
  EXPECT_EQ(pin.resolve(0, 3, 0x10000, 1, 0), nullptr);
}

TEST_F(Memory, RefusesRangesThatWrapAndRightsThatContradict) {
  MemoryRegion r = describe();
  r.iova = kMost - 10;
  EXPECT_EQ(table.add(r).error().code, std::errc::invalid_argument);
  r = describe();
  r.length = kMost;
  EXPECT_EQ(table.add(r).error().code, std::errc::invalid_argument);
  EXPECT_FALSE(table.add(describe(kRemoteWrite)));
  EXPECT_FALSE(table.add(describe(kRemoteAtomic)));
  EXPECT_FALSE(table.add(describe(1u << 30)));
  EXPECT_TRUE(table.add(describe(kRemoteRead)));
  EXPECT_TRUE(table.add(describe(kRemoteWrite | kLocalWrite)));
  EXPECT_EQ(table.size(), 2u);
}

TEST_F(Memory, IsGoneAfterItsRemoval) {
  const MemoryRegion r = *table.add(describe());
  ASSERT_TRUE(table.remove(r.key));
  EXPECT_EQ(table.size(), 0u);
  RegionPin pin(table);
  EXPECT_EQ(pin.resolve(r.key, 3, 0x10000, 1, 0), nullptr);
  EXPECT_EQ(table.remove(r.key).error().code, std::errc::invalid_argument);
  EXPECT_FALSE(table.remove(0));
  EXPECT_FALSE(table.remove(12345));
}

TEST_F(Memory, IsNotTakenForWhatWasThereBefore) {
  RegionPin pin(table);
  RegionPinSet pins(table);
  const auto found = [&](std::uint32_t key) {
    const bool both = pin.resolve(key, 3, 0x10000, 1, 0) != nullptr &&
                      pins.resolve(key, 3, 0x10000, 1, 0) != nullptr;
    pin.release();
    pins.release();
    return both;
  };
  std::uint32_t gone = 0;
  for (int i = 0; i < 100; ++i) {
    const MemoryRegion r = *table.add(describe());
    EXPECT_FALSE(found(gone));
    EXPECT_TRUE(found(r.key));
    EXPECT_TRUE(found(r.key));
    ASSERT_TRUE(table.remove(r.key));
    EXPECT_FALSE(found(r.key));
    gone = r.key;
  }
}

TEST_F(Memory, NeverReusesAKeySoon) {
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 4000; ++i) {
    const MemoryRegion r = *table.add(describe());
    EXPECT_TRUE(seen.insert(r.key).second) << "a key came back after " << i << " registrations";
    ASSERT_TRUE(table.remove(r.key));
  }
}

TEST_F(Memory, HasKeysThatDoNotTellTheNextOne) {
  std::vector<std::uint32_t> keys;
  for (int i = 0; i < 5000; ++i)
    keys.push_back(table.add(describe())->key);
  EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), keys.size());
  // Of 5,000 keys, each bit is set in about half, and differences hardly repeat.
  for (unsigned bit = 0; bit < 32; ++bit) {
    const auto ones = std::count_if(keys.begin(), keys.end(),
                                    [=](std::uint32_t k) { return (k >> bit & 1) != 0; });
    EXPECT_NEAR(static_cast<double>(ones), 2500, 250) << "bit " << bit;
  }
  std::set<std::uint32_t> differences;
  for (std::size_t i = 1; i < keys.size(); ++i)
    differences.insert(keys[i] - keys[i - 1]);
  EXPECT_GT(differences.size(), 4950u);
  SeededEntropy other_entropy{Random(2)};
  MemoryTable other(other_entropy);
  EXPECT_NE(other.add(describe())->key, keys[0]);
}

TEST_F(Memory, ListsWhatIsRegistered) {
  const MemoryRegion a = *table.add(describe());
  const MemoryRegion b = *table.add(describe(kRemoteRead));
  const MemoryRegion c = *table.add(describe());
  ASSERT_TRUE(table.remove(a.key));
  const auto all = table.snapshot();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].key, b.key);
  EXPECT_EQ(all[0].access, kRemoteRead);
  EXPECT_EQ(all[1].key, c.key);
}

TEST_F(Memory, IsNotRemovedWhileItIsPinned) {
  const MemoryRegion r = *table.add(describe());
  std::atomic<bool> removed{false};
  RegionPinSet pins(table);
  ASSERT_NE(pins.resolve(r.key, 3, 0x10000, 1, 0), nullptr);
  ASSERT_NE(pins.resolve(r.key, 3, 0x10001, 1, 0), nullptr);
  EXPECT_EQ(pins.size(), 1u) << "each region once";
  std::thread remover([&] {
    EXPECT_TRUE(table.remove(r.key));
    removed = true;
  });
  // Once the removal has begun nobody finds the region any more, not even who holds it.
  RegionPin probe(table);
  while (table.size() != 0)
    std::this_thread::yield();
  EXPECT_EQ(probe.resolve(r.key, 3, 0x10000, 1, 0), nullptr);
  EXPECT_EQ(pins.resolve(r.key, 3, 0x10000, 1, 0), nullptr);
  EXPECT_FALSE(removed);
  pins.release();
  remover.join();
  EXPECT_TRUE(removed);
}

TEST_F(Memory, SurvivesLookUpsWhileOthersRegisterAndDeregister) {
  constexpr int kRounds = 300;
  constexpr std::size_t kSlots = 8;
  std::array<std::atomic<std::uint32_t>, kSlots> keys{};
  std::atomic<int> owners{2};
  std::atomic<std::uint64_t> found{0};
  // Each owner writes its memory when nobody may read it, and clears it after removal.
  const auto own = [&](std::size_t first) {
    std::vector<std::uint64_t> mine(kSlots);
    // Until the others have come to run, too.
    for (int round = 0; round < kRounds || found == 0; ++round) {
      const std::size_t i = first + static_cast<std::size_t>(round) % (kSlots / 2);
      mine[i] = 0xC0FFEE;
      const MemoryRegion r = *table.add({.base = std::bit_cast<std::byte*>(&mine[i]),
                                         .iova = 0,
                                         .length = 8,
                                         .access = 0,
                                         .pd = 3});
      keys[i] = r.key;
      std::this_thread::yield();
      ASSERT_TRUE(table.remove(r.key));
      mine[i] = 0xDEAD;
    }
    --owners;
  };
  const auto look = [&] {
    RegionPin pin(table);
    RegionPinSet set(table);
    while (owners > 0) {
      for (const auto& key : keys) {
        for (const std::byte* at : {pin.resolve(key, 3, 0, 8, 0), set.resolve(key, 3, 0, 8, 0)}) {
          if (at == nullptr) continue;
          std::uint64_t value = 0;
          std::memcpy(&value, at, 8);
          EXPECT_EQ(value, 0xC0FFEEu);
          ++found;
        }
        pin.release();
        set.release();
      }
    }
  };
  std::vector<std::thread> threads;
  threads.emplace_back(own, 0);
  threads.emplace_back(own, kSlots / 2);
  threads.emplace_back(look);
  threads.emplace_back(look);
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_GT(found.load(), 0u);
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace weft::hca::test
