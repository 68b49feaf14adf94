// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "cell_stage.h"
#include "sim/seeds.h"
#include "wan/line/atm/aal5_reassembler.h"
#include "wan/line/atm/cell_delineation.h"
#include "wan/line/atm/cell_source.h"

namespace weft::wan::atm {
namespace {

constexpr Channel kOther{.vpi = 1, .vci = 40};

struct KeptPdus final : Aal5Sink {
  void pdu(const Channel& channel, Bytes payload, std::uint8_t user_to_user) override {
    channels.push_back(channel);
    pdus.emplace_back(payload.begin(), payload.end());
    last_user_to_user = user_to_user;
  }
  std::vector<Channel> channels;
  std::vector<Octets> pdus;
  std::uint8_t last_user_to_user = 0;
};

Octets cells_of(const Channel& channel, Bytes head, Bytes body, std::uint8_t user_to_user = 0) {
  Aal5Segmenter segmenter({.channel = channel});
  segmenter.begin(head, body, user_to_user);
  Octets cells(segmenter.left() * kCellSize);
  EXPECT_EQ(segmenter.put(cells) * kCellSize, cells.size());
  return cells;
}

class Reassembly : public testing::Test {
 protected:
  void put(Bytes cells, Aal5Reassembler& to) {
    for (; !cells.empty(); cells = cells.subspan(kCellSize))
      to.take({.header = read_header(cells), .first = cells.data() + kHeaderSize, .count = 1},
              ++cell_time_, kept_);
  }
  std::uint64_t cell_time_ = 0;
  KeptPdus kept_;
};

TEST(Segmentation, MakesTheCellOfTheVector) {
  const Octets pdu =
      from_hex("aaaa0300000008004500002000010000401166ca0a0000010a00000212345678000c0000deadbeef");
  EXPECT_EQ(to_hex(cells_of(kChannel, {}, pdu)),
            "00000642e2aaaa0300000008004500002000010000401166ca0a0000010a00000212345678000c0000"
            "deadbeef0000002873b833c7");
  EXPECT_EQ(cells_of(kChannel, llc_snap(0x0800), Bytes(pdu).subspan(8)),
            cells_of(kChannel, {}, pdu));
}

TEST(Segmentation, IsTheSameInAnyPiecesAndWithAnyHead) {
  Random random(5);
  for (std::size_t size = 1; size < 400; ++size) {
    const Octets whole = random_octets(random, size);
    const Octets cells = cells_of(kChannel, {}, whole, 7);
    ASSERT_EQ(cells.size(), cells_for(size) * kCellSize);
    const std::size_t head = random.below(std::min<std::size_t>(size, 40) + 1);
    Aal5Segmenter segmenter({.channel = kChannel});
    segmenter.begin(Bytes(whole).first(head), Bytes(whole).subspan(head), 7);
    Octets pieces(cells.size());
    for (std::size_t at = 0; at < pieces.size();)
      at += kCellSize * segmenter.put(MutableBytes(pieces).subspan(
                            at, std::min(pieces.size() - at, (1 + random.below(3)) * kCellSize)));
    ASSERT_EQ(pieces, cells) << size << " " << head;
  }
}

TEST_F(Reassembly, BringsBackEveryLength) {
  Random random(6);
  Aal5Reassembler in({});
  in.open(kChannel);
  for (const std::size_t size : {1UL, 39UL, 40UL, 41UL, 48UL, 88UL, 89UL, 2048UL, 65535UL}) {
    const Octets pdu = random_octets(random, size);
    put(cells_of(kChannel, {}, pdu, static_cast<std::uint8_t>(size)), in);
    ASSERT_FALSE(kept_.pdus.empty());
    EXPECT_EQ(kept_.pdus.back(), pdu);
    EXPECT_EQ(kept_.last_user_to_user, static_cast<std::uint8_t>(size));
  }
  EXPECT_EQ(in.counters().get(Aal5Counter::kPdus), 9U);
  EXPECT_EQ(in.kept(), 0U);
}

// Whether cells come one by one or many at once, all is as it was, and counted as it was.
TEST_F(Reassembly, DoesTheSameWithRunsOfCells) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "Reassembly.DoesTheSame*"));
    Random random(seed);
    const Aal5Limits limits{.longest_payload = 1 + random.below(500),
                            .most_kept = 1 + random.below(800)};
    Octets cells;
    for (int i = 0; i < 50; ++i) {
      const Octets more = cells_of(kChannel, {}, random_octets(random, 1 + random.below(600)));
      cells.insert(cells.end(), more.begin(), more.end());
      if (random.chance(0.1)) cells.erase(cells.end() - kCellSize, cells.end());
    }
    Aal5Reassembler one(limits);
    Aal5Reassembler many(limits);
    one.open(kChannel);
    many.open(kChannel);
    kept_.pdus.clear();
    put(cells, one);
    KeptPdus kept;
    for (Bytes rest(cells); !rest.empty();) {
      std::size_t count = 1;
      while (
          rest.size() > count * kCellSize &&
          std::ranges::equal(rest.first(kHeaderSize), rest.subspan(count * kCellSize, kHeaderSize)))
        ++count;
      many.take({.header = read_header(rest), .first = rest.data() + kHeaderSize, .count = count},
                1, kept);
      rest = rest.subspan(count * kCellSize);
    }
    EXPECT_EQ(kept.pdus, kept_.pdus);
    EXPECT_EQ(format_counters(one.counters().snapshot()),
              format_counters(many.counters().snapshot()));
    EXPECT_EQ(one.kept(), many.kept());
  }
}

TEST_F(Reassembly, KeepsConnectionsApart) {
  Random random(7);
  Aal5Reassembler in({});
  in.open(kChannel);
  in.open(kOther);
  const Octets first = random_octets(random, 1000);
  const Octets second = random_octets(random, 1000);
  const Octets a = cells_of(kChannel, {}, first);
  const Octets b = cells_of(kOther, {}, second);
  const Octets c = cells_of({.vpi = 9, .vci = 99}, {}, second);
  for (std::size_t at = 0; at < a.size(); at += kCellSize) {
    put(Bytes(a).subspan(at, kCellSize), in);
    put(Bytes(b).subspan(at, kCellSize), in);
    put(Bytes(c).subspan(at, kCellSize), in);
  }
  EXPECT_EQ(kept_.pdus, (std::vector<Octets>{first, second}));
  EXPECT_EQ(kept_.channels, (std::vector<Channel>{kChannel, kOther}));
  EXPECT_EQ(in.counters().get(Aal5Counter::kUnknownCells), cells_for(1000));
}

TEST_F(Reassembly, CountsWhyAPduIsDroppedAndTakesTheNextOne) {
  Random random(8);
  const Octets pdu = random_octets(random, 200);
  const auto count_of = [&](Octets cells, const Aal5Limits& limits, Aal5Counter counter) {
    Aal5Reassembler in(limits);
    in.open(kChannel);
    put(cells, in);
    EXPECT_EQ(in.kept(), 0U);
    const std::size_t before = kept_.pdus.size();
    put(cells_of(kChannel, {}, Bytes(pdu).first(30)), in);
    EXPECT_EQ(kept_.pdus.size(), before + 1);
    return in.counters().get(counter);
  };
  const Octets good = cells_of(kChannel, {}, pdu);
  Octets cells = good;
  cells[100] ^= std::byte{1};
  EXPECT_EQ(count_of(cells, {}, Aal5Counter::kBadCrc), 1U);
  cells = good;
  cells.erase(cells.begin() + kCellSize, cells.begin() + 2 * kCellSize);
  EXPECT_EQ(count_of(cells, {}, Aal5Counter::kBadCrc), 1U);
  EXPECT_EQ(count_of(good, {.longest_payload = 100}, Aal5Counter::kTooLong), 1U);
  EXPECT_EQ(count_of(good, {.longest_payload = 199}, Aal5Counter::kTooLong), 1U);
  EXPECT_EQ(count_of(good, {.most_kept = 3 * kPayloadSize}, Aal5Counter::kNoRoom), 1U);
  EXPECT_EQ(count_of(good, {}, Aal5Counter::kPdus), 2U);
}

// A CRC that is right over a length that is not.
Octets with_length(std::uint16_t length) {
  Octets pdu(kPayloadSize);
  pdu[42] = static_cast<std::byte>(length >> 8);
  pdu[43] = static_cast<std::byte>(length);
  std::uint32_t crc = 0xFFFF'FFFF;
  for (std::size_t bit = 0; bit < 8 * 44; ++bit) {
    const bool in = (std::to_integer<unsigned>(pdu[bit / 8]) >> (7 - bit % 8) & 1U) != 0;
    crc = crc << 1 ^ ((crc >> 31 != 0) != in ? 0x04C1'1DB7 : 0);
  }
  for (unsigned byte = 0; byte < 4; ++byte)
    pdu[44 + byte] = static_cast<std::byte>(~crc >> (24 - 8 * byte));
  Octets cell(kCellSize);
  write_header({.channel = kChannel, .payload_type = kLastOfPdu}, cell);
  std::ranges::copy(pdu, cell.begin() + kHeaderSize);
  return cell;
}

TEST_F(Reassembly, TakesALengthOfZeroForAnAbortAndNoOtherThatDoesNotFit) {
  Aal5Reassembler in({});
  in.open(kChannel);
  put(with_length(0), in);
  EXPECT_EQ(in.counters().get(Aal5Counter::kAborted), 1U);
  put(with_length(41), in);
  put(with_length(65535), in);
  EXPECT_EQ(in.counters().get(Aal5Counter::kBadLength), 2U);
  put(with_length(40), in);
  EXPECT_EQ(kept_.pdus.size(), 1U);
}

TEST_F(Reassembly, DropsWhatIsNotFinishedInTimeOrClosed) {
  Random random(9);
  Aal5Reassembler in({.patience = 10});
  in.open(kChannel);
  in.open(kOther);
  const Octets pdu = random_octets(random, 200);
  put(Bytes(cells_of(kChannel, {}, pdu)).first(2 * kCellSize), in);
  in.expire(cell_time_ + 10);
  EXPECT_EQ(in.kept(), 2 * kPayloadSize);
  in.expire(cell_time_ + 11);
  EXPECT_EQ(in.counters().get(Aal5Counter::kTimedOut), 1U);
  EXPECT_EQ(in.kept(), 0U);
  put(Bytes(cells_of(kOther, {}, pdu)).first(kCellSize), in);
  in.close(kOther);
  EXPECT_EQ(in.counters().get(Aal5Counter::kClosed), 1U);
  EXPECT_EQ(in.kept(), 0U);
  put(Bytes(cells_of(kOther, {}, pdu)), in);
  EXPECT_EQ(in.counters().get(Aal5Counter::kUnknownCells), cells_for(200));
}

TEST_F(Reassembly, MergesTwoPdusWhoseBorderIsLostAndCountsThemAsOne) {
  Random random(10);
  Aal5Reassembler in({});
  in.open(kChannel);
  Octets cells = cells_of(kChannel, {}, random_octets(random, 200));
  cells.resize(cells.size() - kCellSize);
  const Octets next = cells_of(kChannel, {}, random_octets(random, 100));
  cells.insert(cells.end(), next.begin(), next.end());
  put(cells, in);
  EXPECT_TRUE(kept_.pdus.empty());
  EXPECT_EQ(in.counters().get(Aal5Counter::kBadCrc), 1U);
}

// The whole way: packets, PDUs, cells, a line with errors, and back.
class Way final : CellSink, Aal5Sink {
 public:
  explicit Way(bool scrambled) : delineation(*this, scrambled) { reassembler.open(kChannel); }
  void take_cells(const CellRun& run) override {
    if (run.header.is_user_data()) {
      reassembler.take(run, delineation.cell_times(), *this);
    } else {
      ++not_user_data;
    }
  }
  void pdu(const Channel&, Bytes payload, std::uint8_t) override {
    const auto read = read_llc_snap(payload);
    if (read && read->ether_type == 0x88B5)
      packets.emplace_back(read->packet.begin(), read->packet.end());
    else
      ++of_others;
  }
  CellDelineation delineation;
  Aal5Reassembler reassembler{{}};
  std::vector<Octets> packets;
  int of_others = 0;
  int not_user_data = 0;
};

std::uint64_t noticed(const Way& way) {
  std::uint64_t all = way.delineation.counters().get(CellCounter::kDiscardedCells) +
                      way.delineation.counters().get(CellCounter::kSyncLosses) +
                      way.reassembler.counters().get(Aal5Counter::kUnknownCells) +
                      static_cast<std::uint64_t>(way.of_others + way.not_user_data);
  for (const Aal5Counter counter : {Aal5Counter::kBadCrc, Aal5Counter::kBadLength,
                                    Aal5Counter::kTooLong, Aal5Counter::kAborted}) {
    all += way.reassembler.counters().get(counter);
  }
  return all;
}

void spoil(Octets& line, Random& random, std::size_t from) {
  const auto place = [&] {
    return line.begin() + static_cast<std::ptrdiff_t>(from + random.below(line.size() - from));
  };
  for (std::uint64_t errors = random.below(10); errors > 0; --errors)
    *place() ^= static_cast<std::byte>(1U << random.below(8));
  // Not whole cells, which a line does not lose: no one could notice.
  const auto slip = [&] { return kCellSize * random.below(9) + 1 + random.below(kCellSize - 1); };
  if (random.chance(0.5)) line.insert(place(), slip(), std::byte{0x55});
  if (random.chance(0.5)) {
    const auto at = place();
    line.erase(at, at + std::min(static_cast<std::ptrdiff_t>(slip()), line.end() - at));
  }
}

TEST(Aal5Way, BringsASubsetInOrderEachExactAndNoticesEveryLoss) {
  std::uint64_t lost = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "Aal5Way.BringsASubset*"));
    Random random(seed);
    QueuedPackets packets;
    const bool scrambled = random.chance(0.5);
    PacketCells cells(packets, {.channel = kChannel}, 0x88B5);
    CellSource source({&cells}, scrambled);
    Octets line(kCellSize * 1000);
    source.fill(MutableBytes(line).first(8 * kCellSize));
    for (int i = 0; i < 100; ++i)
      packets.packets.push_back(random_octets(random, 1 + random.below(600)));
    source.fill(MutableBytes(line).subspan(8 * kCellSize));
    ASSERT_EQ(packets.at, packets.packets.size());
    const bool spoiled = seed % 5 != 0;
    if (spoiled) spoil(line, random, 8 * kCellSize);

    Way way(scrambled);
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t size = std::min<std::size_t>(1 + random.below(3000), line.size() - at);
      way.delineation.take(Bytes(line).subspan(at, size));
      at += size;
    }
    std::size_t next = 0;
    for (const Octets& packet : way.packets) {
      while (next < packets.packets.size() && packets.packets[next] != packet)
        ++next;
      ASSERT_LT(next++, packets.packets.size()) << "this was not sent, or not then";
    }
    const std::size_t missing = packets.packets.size() - way.packets.size();
    EXPECT_TRUE(spoiled || missing == 0);
    EXPECT_TRUE(missing == 0 || noticed(way) != 0);
    lost += missing;
  }
  EXPECT_GT(lost, 0U);
}

TEST(LlcSnap, IsReadAsItIsWrittenAndRefusesOthers) {
  const auto header = llc_snap(0x86DD);
  EXPECT_EQ(to_hex(header), "aaaa0300000086dd");
  Octets payload(header.begin(), header.end());
  payload.push_back(std::byte{9});
  const auto read = read_llc_snap(payload);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ether_type, 0x86DD);
  EXPECT_EQ(to_hex(read->packet), "09");
  EXPECT_FALSE(read_llc_snap(Bytes(payload).first(7)));
  EXPECT_FALSE(read_llc_snap(from_hex("fefe0300000008000000")));
}

}  // namespace
}  // namespace weft::wan::atm
