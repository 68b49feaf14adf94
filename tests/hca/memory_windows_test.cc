// SPDX-License-Identifier: Apache-2.0
// Memory windows (IBA 10.6.7) and regions that are changed in place.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "base/random.h"
#include "hca/memory_table.h"

namespace weft::hca::test {
namespace {

constexpr PdHandle kWindowsPd = 3;
constexpr Qpn kQp{77};
constexpr std::uint64_t kIova = 0x10000;
constexpr std::uint32_t kRw = kRemoteRead | kRemoteWrite;

RKey with_low(RKey key, std::uint32_t low) {
  return RKey{(key.value() & ~0xFFu) | (low & 0xFF)};
}

class Windows : public ::testing::Test {
 protected:
  MemoryRegion add_region(std::uint32_t access = kLocalWrite | kWindowBind,
                          PdHandle pd = kWindowsPd) {
    return *table.add(
        {.base = bytes.data(), .iova = kIova, .length = bytes.size(), .access = access, .pd = pd});
  }
  // [100, 300) of the region.
  WindowBinding binding(RKey window, std::uint32_t low = 1) {
    return {.region_lkey = region.key,
            .address = kIova + 100,
            .length = 200,
            .access = kRw,
            .window = window,
            .new_key = with_low(window, low)};
  }
  std::byte* find(RKey key, std::uint64_t address = kIova + 100, std::uint64_t length = 1,
                  std::uint32_t access = kRemoteRead, Qpn qpn = kQp, PdHandle pd = kWindowsPd) {
    RegionPin pin(table);
    std::byte* const one = pin.resolve(key.value(), pd, address, length, access, qpn);
    RegionPinSet set(table);
    EXPECT_EQ(set.resolve(key.value(), pd, address, length, access, qpn), one);
    EXPECT_EQ(set.size(), one == nullptr ? set.size() : 1u);
    return one;
  }

  std::vector<std::byte> bytes = std::vector<std::byte>(1000);
  SeededEntropy entropy{Random(1)};
  MemoryTable table{entropy};
  MemoryRegion region = add_region();
  RKey type1 = *table.add_window(WindowType::kType1, kWindowsPd);
  RKey type2 = *table.add_window(WindowType::kType2, kWindowsPd);
};

constexpr std::errc kInvalid = std::errc::invalid_argument;

TEST_F(Windows, GiveRemoteRightsThatTheirRegionDoesNot) {
  EXPECT_EQ(find(type2), nullptr) << "bound to nothing yet";
  const RKey key = with_low(type2, 1);
  ASSERT_EQ(table.bind_window(binding(type2), kWindowsPd, kQp), std::errc{});
  EXPECT_EQ(find(key), bytes.data() + 100);
  EXPECT_EQ(find(key, kIova + 100, 200, kRw), bytes.data() + 100);
  EXPECT_EQ(find(key, kIova + 300, 0), bytes.data() + 300);
  EXPECT_EQ(find(RKey{region.key}), nullptr) << "the region itself is not open to peers";
  EXPECT_EQ(find(key, kIova + 99), nullptr) << "the region has it, the window has not";
  EXPECT_EQ(find(key, kIova + 101, 200), nullptr);
  EXPECT_EQ(find(key, kIova + 100, 1, kRemoteAtomic), nullptr);
  EXPECT_EQ(find(key, kIova + 100, 1, kRemoteRead, kQp, kWindowsPd + 1), nullptr)
      << "another domain's";
  EXPECT_EQ(find(with_low(type2, 2)), nullptr) << "not the key that was chosen";
}

TEST_F(Windows, AreNoLocalKeys) {
  ASSERT_EQ(table.bind_window(binding(type2), kWindowsPd, kQp), std::errc{});
  const RKey key = with_low(type2, 1);
  EXPECT_EQ(find(key, kIova + 100, 1, 0), nullptr);
  EXPECT_EQ(find(key, kIova + 100, 1, kLocalWrite), nullptr);
  RegionPin pin(table);
  ASSERT_NE(pin.resolve(key.value(), kWindowsPd, kIova + 100, 1, kRemoteRead, kQp), nullptr);
  EXPECT_EQ(pin.resolve(key.value(), kWindowsPd, kIova + 100, 1, 0, kQp), nullptr)
      << "not even while a peer's use of it is held";
}

TEST_F(Windows, OfType2BelongToTheQueuePairThatBoundThem) {
  ASSERT_EQ(table.bind_window(binding(type2), kWindowsPd, kQp), std::errc{});
  EXPECT_EQ(find(with_low(type2, 1), kIova + 100, 1, kRemoteRead, Qpn{78}), nullptr);
  EXPECT_EQ(find(with_low(type2, 1), kIova + 100, 1, kRemoteRead, Qpn{}), nullptr);
  ASSERT_EQ(table.bind_window(binding(type1), kWindowsPd, kQp), std::errc{});
  EXPECT_NE(find(with_low(type1, 1), kIova + 100, 1, kRemoteRead, Qpn{78}), nullptr)
      << "those of type 1 belong to the domain";
}

TEST_F(Windows, AreBoundOnlyAsTheStandardAllows) {
  const auto bind = [&](auto&& change, RKey window) {
    WindowBinding b = binding(window);
    change(b);
    return table.bind_window(b, kWindowsPd, kQp);
  };
  const std::uint32_t elsewhere = add_region(kLocalWrite | kWindowBind, kWindowsPd + 1).key;
  const std::uint32_t unbindable = add_region(kLocalWrite).key;
  const std::uint32_t read_only = add_region(kWindowBind).key;
  const std::uint32_t zero_based = add_region(kLocalWrite | kWindowBind | kZeroBased).key;
  for (const RKey window : {type1, type2}) {
    EXPECT_EQ(table.bind_window(binding(window), kWindowsPd + 1, kQp), kInvalid) << "its domain";
    EXPECT_EQ(bind([&](auto& b) { b.region_lkey = elsewhere; }, window), kInvalid);
    EXPECT_EQ(bind([&](auto& b) { b.region_lkey = unbindable; }, window), kInvalid);
    EXPECT_EQ(bind([&](auto& b) { b.region_lkey = read_only; }, window), kInvalid);
    EXPECT_EQ(bind([&](auto& b) { b.region_lkey = zero_based; }, window), kInvalid);
    EXPECT_EQ(bind([&](auto& b) { b.region_lkey = b.window.value(); }, window), kInvalid);
    EXPECT_EQ(bind([&](auto& b) { b.region_lkey = 0; }, window), kInvalid);
    EXPECT_EQ(bind([&](auto& b) { b.address = kIova - 1; }, window), kInvalid);
    EXPECT_EQ(bind([&](auto& b) { b.address = kIova + 801; }, window), kInvalid);
    EXPECT_EQ(bind([&](auto& b) { b.length = ~std::uint64_t{0}; }, window), kInvalid);
    EXPECT_EQ(bind([&](auto& b) { b.access = 1u << 20; }, window), kInvalid);
    EXPECT_EQ(bind([&](auto& b) { b.new_key = RKey{b.window.value() ^ 0x100}; }, window), kInvalid);
    EXPECT_EQ(bind([&](auto& b) { b.window = RKey{region.key}; }, window), kInvalid);
    EXPECT_EQ(find(with_low(window, 1)), nullptr) << "nothing has happened";
  }
  EXPECT_EQ(bind([](auto& b) { b.length = 0; }, type2), kInvalid);
  EXPECT_EQ(bind([](auto& b) { b.access |= kZeroBased; }, type1), kInvalid) << "o10-36.2.2";
  EXPECT_EQ(bind([&](auto& b) { b.region_lkey = read_only, b.access = kRemoteRead; }, type2),
            std::errc{});
  EXPECT_EQ(bind([](auto&) {}, type2), kInvalid) << "bound already";
  EXPECT_NE(find(with_low(type2, 1)), nullptr) << "and still bound to what it was";
}

TEST_F(Windows, CountTheirAddressesFromZeroIfAsked) {
  WindowBinding b = binding(type2);
  b.access |= kZeroBased;
  ASSERT_EQ(table.bind_window(b, kWindowsPd, kQp), std::errc{});
  EXPECT_EQ(find(b.new_key, 0, 200), bytes.data() + 100);
  EXPECT_EQ(find(b.new_key, 1, 200), nullptr);
  EXPECT_EQ(find(b.new_key, kIova + 100), nullptr);
}

TEST_F(Windows, OfType1MoveWithEveryBindAndGoWithAnEmptyOne) {
  ASSERT_EQ(table.bind_window(binding(type1, 1), kWindowsPd, kQp), std::errc{});
  WindowBinding again = binding(type1, 2);
  again.address += 300;
  ASSERT_EQ(table.bind_window(again, kWindowsPd, kQp), std::errc{});
  EXPECT_EQ(find(with_low(type1, 1)), nullptr) << "the old key is worth nothing";
  EXPECT_EQ(find(again.new_key, kIova + 400), bytes.data() + 400);
  WindowBinding none = binding(type1, 3);
  none.length = 0;
  none.region_lkey = 0;
  ASSERT_EQ(table.bind_window(none, kWindowsPd, kQp), std::errc{});
  EXPECT_EQ(find(again.new_key, kIova + 400), nullptr);
  EXPECT_EQ(find(none.new_key), nullptr);
  EXPECT_TRUE(table.remove(region.key)) << "nothing is bound to it any more";
}

TEST_F(Windows, OfType1AreDrawnADifferentKeyEachTime) {
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 256; ++i) {
    const RKey key = *table.draw_window_key(type1);
    EXPECT_EQ(key.value() >> 8, type1.value() >> 8);
    EXPECT_TRUE(seen.insert(key.value()).second);
  }
  EXPECT_FALSE(table.draw_window_key(RKey{region.key}));
}

TEST_F(Windows, OfType2AreInvalidatedByTheirQueuePairWithTheirKeyOnly) {
  const RKey key = with_low(type2, 1);
  EXPECT_EQ(table.invalidate(key, kWindowsPd, kQp), kInvalid) << "free already";
  ASSERT_EQ(table.bind_window(binding(type2), kWindowsPd, kQp), std::errc{});
  ASSERT_EQ(table.bind_window(binding(type1), kWindowsPd, kQp), std::errc{});
  EXPECT_EQ(table.invalidate(with_low(type2, 2), kWindowsPd, kQp), kInvalid);
  EXPECT_EQ(table.invalidate(key, kWindowsPd + 1, kQp), kInvalid);
  EXPECT_EQ(table.invalidate(key, kWindowsPd, Qpn{78}), kInvalid);
  EXPECT_EQ(table.invalidate(with_low(type1, 1), kWindowsPd, kQp), kInvalid) << "o10-37.2.26";
  EXPECT_EQ(table.invalidate(RKey{region.key}, kWindowsPd, kQp), kInvalid) << "a region";
  EXPECT_NE(find(key), nullptr);
  EXPECT_EQ(table.invalidate(key, kWindowsPd, kQp), std::errc{});
  EXPECT_EQ(find(key), nullptr);
  EXPECT_EQ(table.invalidate(key, kWindowsPd, kQp), kInvalid);
  EXPECT_EQ(table.bind_window(binding(key, 2), kWindowsPd, Qpn{78}), std::errc{})
      << "free for whoever binds it next";
  EXPECT_NE(find(with_low(type2, 2), kIova + 100, 1, kRemoteRead, Qpn{78}), nullptr);
}

TEST_F(Windows, KeepTheirRegionRegistered) {
  ASSERT_EQ(table.bind_window(binding(type1), kWindowsPd, kQp), std::errc{});
  ASSERT_EQ(table.bind_window(binding(type2), kWindowsPd, kQp), std::errc{});
  EXPECT_EQ(table.remove(region.key).error().code, std::errc::device_or_resource_busy);
  EXPECT_EQ(table.change(region.key, {.pd = 9}).error().code, std::errc::device_or_resource_busy);
  ASSERT_EQ(table.invalidate(with_low(type2, 1), kWindowsPd, kQp), std::errc{});
  EXPECT_EQ(table.remove(region.key).error().code, std::errc::device_or_resource_busy);
  ASSERT_TRUE(table.remove_window(type1));
  EXPECT_EQ(table.window_count(), 1u);
  EXPECT_TRUE(table.remove(region.key));
}

TEST_F(Windows, AreGoneAfterTheirRemoval) {
  ASSERT_EQ(table.bind_window(binding(type2), kWindowsPd, kQp), std::errc{});
  ASSERT_TRUE(table.remove_window(type2));
  EXPECT_EQ(find(with_low(type2, 1)), nullptr);
  EXPECT_EQ(table.bind_window(binding(type2), kWindowsPd, kQp), kInvalid);
  EXPECT_EQ(table.remove_window(type2).error().code, kInvalid);
  EXPECT_EQ(table.remove_window(RKey{}).error().code, kInvalid);
}

TEST_F(Windows, OfAQueuePairThatIsNoMoreAreUnbound) {
  ASSERT_EQ(table.bind_window(binding(type1), kWindowsPd, kQp), std::errc{});
  ASSERT_EQ(table.bind_window(binding(type2), kWindowsPd, kQp), std::errc{});
  table.unbind_windows_of(Qpn{78});
  EXPECT_NE(find(with_low(type2, 1)), nullptr);
  table.unbind_windows_of(kQp);
  EXPECT_EQ(find(with_low(type2, 1)), nullptr);
  EXPECT_NE(find(with_low(type1, 1)), nullptr) << "it belongs to no queue pair";
}

TEST_F(Windows, NeverShareAKeyWithARegion) {
  std::set<std::uint32_t> names;
  for (int i = 0; i < 3000; ++i)
    EXPECT_TRUE(
        names.insert(table.add_window(WindowType::kType2, kWindowsPd)->value() >> 8).second);
  // Of 40,000 keys about 7 would fall on a name by chance.
  for (int i = 0; i < 40'000; ++i) {
    const MemoryRegion other = add_region();
    ASSERT_FALSE(names.contains(other.key >> 8));
    ASSERT_TRUE(table.remove(other.key));
  }
  // And the other way round: names keep off 60,000 regions, of which one name in 280 has a key.
  std::set<std::uint32_t> taken;
  for (int i = 0; i < 60'000; ++i)
    taken.insert(add_region().key >> 8);
  for (int i = 0; i < 3000; ++i)
    ASSERT_FALSE(taken.contains(table.add_window(WindowType::kType1, kWindowsPd)->value() >> 8));
}

TEST_F(Windows, WaitForNoBurstButForEveryCopy) {
  ASSERT_EQ(table.bind_window(binding(type2), kWindowsPd, kQp), std::errc{});
  const RKey key = with_low(type2, 1);
  RegionPinSet burst(table);
  ASSERT_NE(burst.resolve(key.value(), kWindowsPd, kIova + 100, 1, kRemoteRead, kQp), nullptr);
  ASSERT_NE(burst.resolve(key.value(), kWindowsPd, kIova + 101, 1, kRemoteRead, kQp), nullptr);
  EXPECT_EQ(burst.size(), 1u);
  ASSERT_EQ(table.invalidate(key, kWindowsPd, kQp), std::errc{})
      << "though the burst is on its way";
  EXPECT_EQ(burst.resolve(key.value(), kWindowsPd, kIova + 100, 1, kRemoteRead, kQp), nullptr);
  std::atomic<bool> removed{false};
  std::thread remover([&] {
    EXPECT_TRUE(table.remove(region.key));
    removed = true;
  });
  while (table.size() != 0)
    std::this_thread::yield();
  EXPECT_FALSE(removed) << "the memory itself stays until the burst is gone";
  burst.release();
  remover.join();

  region = add_region();
  ASSERT_EQ(table.bind_window(binding(type2, 2), kWindowsPd, kQp), std::errc{});
  RegionPin copy(table);
  ASSERT_NE(copy.resolve(with_low(type2, 2).value(), kWindowsPd, kIova + 100, 1, kRemoteWrite, kQp),
            nullptr);
  std::atomic<bool> begun{false};
  std::atomic<bool> unbound{false};
  std::thread unbinder([&] {
    begun = true;
    EXPECT_EQ(table.invalidate(with_low(type2, 2), kWindowsPd, kQp), std::errc{});
    unbound = true;
  });
  RegionPin probe(table);
  while (!begun || probe.resolve(with_low(type2, 2).value(), kWindowsPd, kIova + 100, 1,
                                 kRemoteWrite, kQp) != nullptr) {
    probe.release();
    std::this_thread::yield();
  }
  EXPECT_FALSE(unbound);
  copy.release();
  unbinder.join();
}

TEST_F(Windows, SurviveLookUpsWhileOthersBindAndInvalidate) {
  constexpr int kRounds = 2000;
  std::array<std::vector<std::uint64_t>, 2> memory{std::vector<std::uint64_t>(1),
                                                   std::vector<std::uint64_t>(1)};
  std::array<std::atomic<std::uint32_t>, 2> keys{};
  std::atomic<int> owners{2};
  std::atomic<std::uint64_t> found{0};
  const auto own = [&](std::size_t i) {
    const MemoryRegion mine = *table.add({.base = std::bit_cast<std::byte*>(memory[i].data()),
                                          .iova = 0,
                                          .length = 8,
                                          .access = kLocalWrite | kWindowBind,
                                          .pd = kWindowsPd});
    const RKey window = *table.add_window(WindowType::kType2, kWindowsPd);
    for (int round = 0; round < kRounds; ++round) {
      const RKey key = with_low(window, static_cast<std::uint32_t>(round));
      memory[i][0] = 0xC0FFEE;
      const WindowBinding b{.region_lkey = mine.key,
                            .address = 0,
                            .length = 8,
                            .access = kRemoteRead,
                            .window = window,
                            .new_key = key};
      ASSERT_EQ(table.bind_window(b, kWindowsPd, kQp), std::errc{});
      keys[i] = key.value();
      std::this_thread::yield();
      ASSERT_EQ(table.invalidate(key, kWindowsPd, kQp), std::errc{});
      memory[i][0] = 0xDEAD;
    }
    EXPECT_TRUE(table.remove(mine.key));
    --owners;
  };
  const auto look = [&] {
    RegionPin pin(table);
    while (owners > 0) {
      for (const auto& key : keys) {
        const std::byte* at = pin.resolve(key, kWindowsPd, 0, 8, kRemoteRead, kQp);
        if (at == nullptr) continue;
        std::uint64_t value = 0;
        std::memcpy(&value, at, 8);
        EXPECT_EQ(value, 0xC0FFEEu);
        ++found;
        pin.release();
      }
    }
  };
  std::vector<std::thread> threads;
  threads.emplace_back(own, 0);
  threads.emplace_back(own, 1);
  threads.emplace_back(look);
  threads.emplace_back(look);
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_GT(found.load(), 0u);
}

class Changing : public Windows {};

TEST_F(Changing, KeepsTheKeyAndWhatIsNotGiven) {
  std::vector<std::byte> other(50);
  const MemoryRegion moved = *table.change(
      region.key, {.range = RegionChange::Range{.base = other.data(), .iova = 7, .length = 50}});
  EXPECT_EQ(moved.key, region.key);
  EXPECT_EQ(moved.access, region.access);
  RegionPin pin(table);
  EXPECT_EQ(pin.resolve(region.key, kWindowsPd, 7, 50, kLocalWrite), other.data());
  EXPECT_EQ(pin.resolve(region.key, kWindowsPd, kIova, 1, 0), nullptr);
  pin.release();
  ASSERT_TRUE(table.change(region.key, {.pd = 9}));
  EXPECT_EQ(pin.resolve(region.key, kWindowsPd, 7, 1, 0), nullptr);
  EXPECT_EQ(pin.resolve(region.key, 9, 7, 1, 0), other.data());
  pin.release();
  ASSERT_TRUE(table.change(region.key, {.access = kRemoteRead}));
  EXPECT_EQ(pin.resolve(region.key, 9, 7, 1, kLocalWrite), nullptr);
  EXPECT_EQ(pin.resolve(region.key, 9, 7, 1, kRemoteRead), other.data());
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.snapshot().front().access, kRemoteRead);
}

TEST_F(Changing, LeavesTheRegionAloneWhenItIsRefused) {
  EXPECT_EQ(table.change(region.key, {.access = kRemoteWrite}).error().code, kInvalid);
  EXPECT_EQ(table.change(region.key, {.range = RegionChange::Range{.iova = 2, .length = ~0ull}})
                .error()
                .code,
            kInvalid);
  EXPECT_EQ(table.change(region.key ^ 1, {.pd = 9}).error().code, kInvalid);
  EXPECT_EQ(table.change(0, {.pd = 9}).error().code, kInvalid);
  RegionPin pin(table);
  EXPECT_EQ(pin.resolve(region.key, kWindowsPd, kIova, 1000, kLocalWrite), bytes.data());
}

TEST_F(Changing, WaitsForWhoUsesTheRegionAsItWas) {
  RegionPinSet pins(table);
  ASSERT_NE(pins.resolve(region.key, kWindowsPd, kIova, 1, 0), nullptr);
  std::atomic<bool> changed{false};
  std::thread changer([&] {
    EXPECT_TRUE(table.change(region.key, {.pd = 9}));
    changed = true;
  });
  while (table.size() != 0)
    std::this_thread::yield();
  EXPECT_FALSE(table.change(region.key, {.pd = 9})) << "one at a time";
  EXPECT_FALSE(table.remove(region.key));
  EXPECT_FALSE(changed);
  pins.release();
  changer.join();
  EXPECT_TRUE(table.remove(region.key));
}

TEST_F(Changing, GivesZeroBasedRegionsAddressesFromZero) {
  const MemoryRegion zero = add_region(kZeroBased);
  EXPECT_EQ(zero.iova, 0u);
  RegionPin pin(table);
  EXPECT_EQ(pin.resolve(zero.key, kWindowsPd, 0, 1000, 0), bytes.data());
  pin.release();
  EXPECT_EQ(table.change(region.key, {.access = kZeroBased})->iova, 0u);
}

}  // namespace
}  // namespace weft::hca::test
