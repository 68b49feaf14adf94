// SPDX-License-Identifier: Apache-2.0
#include "wan/dccp/ack_vector.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace weft::wan::dccp {
namespace {

// "state x count" from the newest back.
std::string words(const AckRecord& record) {
  std::vector<std::byte> cells(600);
  cells.resize(record.write(cells));
  std::string out;
  for_each_run(record.newest(), cells, [&](Sequence, std::size_t count, Arrival state) {
    out += std::to_string(static_cast<int>(state)) + 'x' + std::to_string(count) + ' ';
  });
  return out;
}

AckRecord record_of(std::initializer_list<std::uint64_t> sequences) {
  AckRecord record;
  record.begin(Sequence(100));
  for (const std::uint64_t sequence : sequences)
    record.receive(Sequence(sequence), false);
  return record;
}

TEST(AckRecord, TellsRunsFromTheNewestBack) {
  EXPECT_EQ(words(record_of({100, 101, 102})), "0x3 ");
  EXPECT_EQ(words(record_of({100, 101, 104})), "0x1 3x2 0x2 ");
  EXPECT_EQ(words(record_of({100, 104, 102})), "0x1 3x1 0x1 3x1 0x1 ");
  EXPECT_EQ(words(record_of({100, 104, 102, 103, 101})), "0x5 ");
  AckRecord marked = record_of({100, 101});
  marked.receive(Sequence(102), true);
  EXPECT_EQ(words(marked), "1x1 0x2 ");
  marked.pass(Sequence(104));
  EXPECT_EQ(words(marked), "3x2 1x1 0x2 ");
}

TEST(AckRecord, SaysOfEachPacketOnceThatItIsNew) {
  AckRecord record = record_of({100, 103});
  EXPECT_FALSE(record.receive(Sequence(100), false));
  EXPECT_FALSE(record.receive(Sequence(103), false));
  EXPECT_TRUE(record.receive(Sequence(101), false));
  EXPECT_FALSE(record.receive(Sequence(101), false));
  EXPECT_FALSE(record.receive(Sequence(99), false));
  record.told(Sequence(102));
  EXPECT_FALSE(record.receive(Sequence(102), false));
  EXPECT_EQ(words(record), "0x1 ");
  record.told(Sequence(103));
  EXPECT_EQ(words(record), "");
  EXPECT_FALSE(record.receive(Sequence(103), false));
  EXPECT_TRUE(record.receive(Sequence(104), false));
}

TEST(AckRecord, SplitsLongRunsIntoCells) {
  AckRecord record;
  record.begin(Sequence(0));
  for (std::uint64_t i = 0; i < 130; ++i)
    record.receive(Sequence(i), false);
  EXPECT_EQ(record.cells(), 3u);
  EXPECT_EQ(words(record), "0x64 0x64 0x2 ");
  std::array<std::byte, 2> few;
  EXPECT_EQ(record.write(few), 2u);
}

TEST(AckRecord, IsBoundedWhateverComes) {
  AckRecord record;
  record.begin(Sequence(0));
  for (std::uint64_t i = 0; i < 100'000; i += 2)
    EXPECT_TRUE(record.receive(Sequence(i), false));
  EXPECT_LE(record.cells(), AckRecord::kMostRuns);
  EXPECT_FALSE(record.receive(Sequence(1), false));
  EXPECT_TRUE(record.receive(Sequence(99'997), false));
}

// A map of each packet, for as long as it is remembered.
TEST(AckRecord, AgreesWithAListOfPackets) {
  Random random(7);
  for (int round = 0; round < 20; ++round) {
    AckRecord record;
    const Sequence first(Sequence::kMask - 50);  // round the circle
    record.begin(first);
    std::map<std::uint64_t, Arrival> model;
    std::uint64_t newest = 0;  // one beyond
    std::uint64_t oldest = 0;
    for (int step = 0; step < 400; ++step) {
      if (random.chance(0.1) && newest != 0) {
        const std::uint64_t told = random.below(newest);
        record.told(first + told);
        oldest = std::max(oldest, told + 1);
        continue;
      }
      const std::uint64_t at = newest < 8 || random.chance(0.6) ? newest + random.below(4)
                                                                : newest - 1 - random.below(8);
      const bool marked = random.chance(0.1);
      const bool is_new = at >= oldest && !model.contains(at);
      EXPECT_EQ(record.receive(first + at, marked), is_new) << at;
      if (is_new) model[at] = marked ? Arrival::kMarked : Arrival::kReceived;
      newest = std::max(newest, at + 1);
    }
    std::vector<std::byte> cells(500);
    cells.resize(record.write(cells));
    std::uint64_t at = newest;
    for_each_run(record.newest(), cells, [&](Sequence, std::size_t count, Arrival state) {
      for (std::size_t i = 0; i < count; ++i) {
        --at;
        EXPECT_EQ(model.contains(at) ? model[at] : Arrival::kMissing, state) << at;
      }
    });
    EXPECT_EQ(at, std::min(oldest, newest));
  }
}

}  // namespace
}  // namespace weft::wan::dccp
