// SPDX-License-Identifier: Apache-2.0
#include "wan/sealed_path.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "seal_fixture.h"
#include "wan/frame.h"

namespace weft::wan::test {
namespace {

class Wire final : public Path {
 public:
  [[nodiscard]] bool established() const override { return up; }
  [[nodiscard]] bool ready() const override { return up; }
  [[nodiscard]] std::size_t longest_frame() const override { return longest; }
  [[nodiscard]] std::size_t options_room() const override { return 248; }
  void send(std::span<const OutFrame> frames, Time now) override {
    for (const OutFrame& frame : frames) {
      Buffer whole;
      for (const Bytes part : frame.parts)
        whole.insert(whole.end(), part.begin(), part.end());
      EXPECT_EQ(whole.size(), frame.size);
      sent.push_back(whole);
      options.assign(frame.options.begin(), frame.options.end());
    }
    sent_at = now;
  }

  bool up = true;
  std::size_t longest = 1472;
  std::vector<Buffer> sent;
  Buffer options;  // beside the last one
  Time sent_at{};
};

// One end of two, of which the first is the one that knows first that both have new keys.
struct SealedEnd {
  explicit SealedEnd(const SealedPath::Options& options = {}) : path(wire, options) {}

  Buffer seal(const Buffer& frame, Time now = {}) {
    const Bytes part = frame;
    const OutFrame out{.parts = std::span(&part, 1), .size = frame.size()};
    wire.sent.clear();
    path.send(std::span(&out, 1), now);
    EXPECT_EQ(wire.sent.size(), 1u);
    return wire.sent.empty() ? Buffer() : wire.sent.front();
  }
  // "" where it was refused.
  Buffer open(const Buffer& datagram, Time now = {}) {
    const auto came = path.receive(datagram, now);
    newest = came && came->newest;
    return came ? Buffer(came->frame.begin(), came->frame.end()) : Buffer();
  }
  [[nodiscard]] std::uint64_t count(std::string_view name) const {
    const auto counters = path.counters();
    const auto found = std::ranges::find(counters, name, &CounterValue::name);
    EXPECT_NE(found, counters.end()) << name;
    return found == counters.end() ? 0 : found->value;
  }

  Wire wire;
  SealedPath path;
  bool newest = false;
};

struct SealedEnds {
  explicit SealedEnds(const SealedPath::Options& options = {}) : one(options), other(options) {}

  void agree(std::uint64_t name, Time now = {}) {
    one.path.take(keys(name, 0), now);
    other.path.take(keys(name, 1), now);
    one.path.use(name, now);
  }
  SealKeys keys(std::uint64_t name, std::uint64_t from) {
    auto outgoing = std::make_unique<Keys>(name << 1 | from);
    auto incoming = std::make_unique<Keys>(name << 1 | (1 - from));
    live = {outgoing->live, incoming->live};
    return {.name = name, .outgoing = std::move(outgoing), .incoming = std::move(incoming)};
  }

  SealedEnd one, other;
  std::array<std::shared_ptr<int>, 2> live;
};

const Buffer kSealedFrame = some_bytes(100, 7);

TEST(SealedPath, SendsEachFrameAsADatagramThatTheOtherEndOpens) {
  SealedEnds ends;
  ends.agree(1);
  for (int round = 0; round < 3; ++round) {
    ends.one.wire.sent.clear();
    std::vector<Buffer> frames;
    std::vector<std::array<Bytes, 3>> parts;
    std::vector<OutFrame> out;
    for (std::uint64_t i = 0; i < 20; ++i)
      frames.push_back(some_bytes(i * 37 + 50 * static_cast<std::uint64_t>(round), i));
    parts.reserve(frames.size());
    for (const Buffer& frame : frames) {
      const std::size_t cut = frame.size() / 3;
      parts.push_back({Bytes(frame).first(cut), Bytes(), Bytes(frame).subspan(cut)});
      out.push_back({.parts = parts.back(), .size = frame.size()});
    }
    ends.one.path.send(out, Time{} + 5s);
    ASSERT_EQ(ends.one.wire.sent.size(), frames.size());
    EXPECT_EQ(ends.one.wire.sent_at, Time{} + 5s);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const Buffer& datagram = ends.one.wire.sent[i];
      EXPECT_EQ(datagram.size(), frames[i].size() + SealedPath::kOverhead);
      EXPECT_TRUE(ends.other.path.knows(datagram));
      EXPECT_EQ(ends.other.open(datagram), frames[i]) << i;
      EXPECT_TRUE(ends.other.newest);
    }
  }
}

// So that packets can stay where the network has put them.
TEST(SealedPath, OpensADatagramWhereItLiesInTheLanding) {
  SealedEnds ends;
  ends.agree(1);
  Landing landing;
  ends.other.path.set_landing(landing);
  const auto land = [&](const Buffer& datagram) {
    const MutableBytes room = landing.room();
    std::ranges::copy(datagram, room.begin());
    landing.landed(datagram.size());
    return room.first(datagram.size());
  };
  const Buffer datagram = ends.one.seal(kSealedFrame);
  const MutableBytes there = land(datagram);
  const auto came = ends.other.path.receive(there, {});
  ASSERT_TRUE(came);
  EXPECT_EQ(came->frame.data(), there.data() + SealedPath::kHead + SealHeader::kSize);
  EXPECT_TRUE(std::ranges::equal(came->frame, kSealedFrame));
  const BufferRef owner = landing.owner(came->frame);
  EXPECT_TRUE(owner);
  // The same once more, and one that is forged, leave it alone.
  EXPECT_FALSE(ends.other.path.receive(land(datagram), {}));
  Buffer forged = ends.one.seal(kSealedFrame);
  forged.back() ^= std::byte{1};
  EXPECT_FALSE(ends.other.path.receive(land(forged), {}));
  EXPECT_TRUE(std::ranges::equal(came->frame, kSealedFrame));
  const auto elsewhere = ends.other.path.receive(ends.one.seal(kSealedFrame), {});
  ASSERT_TRUE(elsewhere) << "what has not landed is opened as well";
  EXPECT_FALSE(landing.owner(elsewhere->frame));
}

TEST(SealedPath, CarriesSoMuchLessThanThePathBelowIt) {
  SealedEnds ends;
  EXPECT_EQ(ends.one.path.longest_frame(), 1472 - SealedPath::kOverhead);
  ends.one.wire.longest = 65'507;
  EXPECT_EQ(ends.one.path.longest_frame(), kLongestFrame);
  ends.one.wire.longest = 3;
  EXPECT_EQ(ends.one.path.longest_frame(), 0u);
}

TEST(SealedPath, IsEstablishedWhenBothTheKeysAndThePathBelowItAre) {
  SealedEnds ends;
  EXPECT_TRUE(ends.one.path.needs_keys());
  EXPECT_FALSE(ends.one.path.established());
  EXPECT_TRUE(ends.one.path.ready());
  ends.agree(1);
  EXPECT_TRUE(ends.one.path.established());
  EXPECT_FALSE(ends.other.path.established()) << "nobody has told it that its keys are known";
  EXPECT_EQ(ends.other.open(ends.one.seal(kSealedFrame)), kSealedFrame);
  EXPECT_TRUE(ends.other.path.established());
  ends.one.wire.up = false;
  EXPECT_FALSE(ends.one.path.established() || ends.one.path.ready());
}

TEST(SealedPath, LosesAndCountsFramesWithoutKeys) {
  SealedEnd end;
  const Bytes part = kSealedFrame;
  const OutFrame out{.parts = std::span(&part, 1), .size = kSealedFrame.size()};
  end.path.send(std::span(&out, 1), {});
  EXPECT_TRUE(end.wire.sent.empty());
  EXPECT_EQ(end.count("wan_seal_no_keys"), 1u);
}

TEST(SealedPath, RefusesAndCountsWhatTheOtherEndHasNotSealed) {
  SealedEnds ends;
  ends.agree(1);
  const Buffer good = ends.one.seal(kSealedFrame);
  Buffer plain = some_bytes(200, 1);
  plain.front() = std::byte{FrameHead::kVersion};
  EXPECT_EQ(ends.other.open(plain), Buffer());
  EXPECT_EQ(ends.other.open(Buffer(good.begin(), good.begin() + SealedPath::kOverhead - 1)),
            Buffer());
  EXPECT_EQ(ends.other.open({}), Buffer());
  EXPECT_FALSE(ends.other.path.knows({}));
  EXPECT_FALSE(ends.other.path.knows(Bytes(good).first(SealedPath::kOverhead - 1)));
  EXPECT_EQ(ends.other.count("wan_open_not_sealed"), 3u);
  Buffer of_others = good;
  of_others[7] ^= std::byte{1};
  EXPECT_FALSE(ends.other.path.knows(of_others));
  EXPECT_EQ(ends.other.open(of_others), Buffer());
  EXPECT_EQ(ends.other.count("wan_open_unknown_keys"), 1u);
  for (std::size_t at = SealedPath::kHead + SealHeader::kSize; at < good.size(); ++at) {
    Buffer changed = good;
    changed[at] ^= std::byte{0x10};
    EXPECT_EQ(ends.other.open(changed), Buffer()) << at;
  }
  EXPECT_EQ(ends.other.count("wan_open_forged"), kSealedFrame.size() + Aead::kTagBytes);
  EXPECT_EQ(ends.one.open(good), Buffer()) << "its own, sent back to it";
  EXPECT_FALSE(ends.other.path.established()) << "none of these says that the other end has keys";
  EXPECT_EQ(ends.other.open(good), kSealedFrame);
  EXPECT_EQ(ends.other.open(good), Buffer());
  EXPECT_EQ(ends.other.count("wan_open_replayed"), 1u);
}

TEST(SealedPath, CoversWhatGoesBesideADatagram) {
  SealedEnds ends;
  ends.agree(1);
  const Buffer beside = some_bytes(56, 3);
  EXPECT_EQ(ends.one.path.options_room(), 248u) << "as the path below it";
  const Bytes part = kSealedFrame;
  const OutFrame out{.parts = std::span(&part, 1), .size = kSealedFrame.size(), .options = beside};
  ends.one.path.send(std::span(&out, 1), {});
  ASSERT_EQ(ends.one.wire.sent.size(), 1u);
  EXPECT_EQ(ends.one.wire.options, beside) << "in the clear";
  const Buffer& datagram = ends.one.wire.sent.front();
  EXPECT_EQ(datagram.size(), kSealedFrame.size() + SealedPath::kOverhead);
  EXPECT_FALSE(ends.other.path.receive(datagram, {})) << "taken away";
  EXPECT_FALSE(ends.other.path.receive(datagram, {}, Bytes(beside).first(28)));
  for (std::size_t at = 0; at < beside.size(); ++at) {
    Buffer changed = beside;
    changed[at] ^= std::byte{1};
    EXPECT_FALSE(ends.other.path.receive(datagram, {}, changed)) << at;
  }
  EXPECT_EQ(ends.other.count("wan_open_forged"), 2 + beside.size());
  const auto came = ends.other.path.receive(datagram, {}, beside);
  ASSERT_TRUE(came);
  EXPECT_TRUE(std::ranges::equal(came->frame, kSealedFrame));
  const Buffer plain = ends.one.seal(kSealedFrame);
  EXPECT_FALSE(ends.other.path.receive(plain, {}, beside)) << "put beside it by somebody";
  EXPECT_EQ(ends.other.open(plain), kSealedFrame);
}

TEST(SealedPath, SaysWhichDatagramIsTheNewest) {
  SealedEnds ends;
  ends.agree(1);
  const Buffer first = ends.one.seal(kSealedFrame), second = ends.one.seal(kSealedFrame);
  EXPECT_EQ(ends.other.open(second), kSealedFrame);
  EXPECT_TRUE(ends.other.newest);
  EXPECT_EQ(ends.other.open(first), kSealedFrame);
  EXPECT_FALSE(ends.other.newest);
  const Buffer late = ends.one.seal(kSealedFrame);
  ends.agree(2);
  EXPECT_EQ(ends.other.open(ends.one.seal(kSealedFrame)), kSealedFrame);
  EXPECT_TRUE(ends.other.newest);
  EXPECT_EQ(ends.other.open(late), kSealedFrame);
  EXPECT_FALSE(ends.other.newest) << "of the keys before";
}

// An end that does not know yet that the other one has its new keys goes on with those before.
TEST(SealedPath, ChangesKeysWithoutALoss) {
  SealedEnds ends({.old_time = 10s});
  ends.agree(1);
  EXPECT_EQ(ends.other.open(ends.one.seal(kSealedFrame)), kSealedFrame);
  const Buffer late = ends.one.seal(kSealedFrame);
  const Buffer later = ends.one.seal(kSealedFrame);
  const auto before = ends.live;
  ends.agree(2, Time{} + 1s);
  EXPECT_EQ(ends.one.open(ends.other.seal(kSealedFrame)), kSealedFrame) << "with the keys before";
  EXPECT_EQ(ends.other.open(ends.one.seal(kSealedFrame), Time{} + 2s), kSealedFrame)
      << "with the new ones";
  EXPECT_EQ(ends.one.open(ends.other.seal(kSealedFrame), Time{} + 2s), kSealedFrame);
  EXPECT_EQ(ends.other.count("wan_open_unknown_keys"), 0u);
  EXPECT_EQ(ends.other.open(ends.one.seal(kSealedFrame), Time{} + 5s), kSealedFrame);
  EXPECT_EQ(ends.other.open(late, Time{} + 12s - 1ns), kSealedFrame);
  EXPECT_EQ(ends.other.open(later, Time{} + 12s), Buffer());
  EXPECT_EQ(ends.other.count("wan_open_unknown_keys"), 1u);
  EXPECT_EQ(ends.other.count("wan_opened"), 4u) << "those of keys that are gone count too";
  EXPECT_EQ(ends.other.count("wan_seal_keys"), 2u);
  for (const auto& key : before)
    EXPECT_EQ(*key, 0) << "it is still in memory";
}

TEST(SealedPath, GoesOnWithKeysThatBothHaveWhenNewOnesAreNeverUsed) {
  SealedEnds ends;
  ends.agree(1);
  EXPECT_EQ(ends.other.open(ends.one.seal(kSealedFrame)), kSealedFrame);
  for (std::uint64_t name = 2; name < 10; ++name)
    ends.other.path.take(ends.keys(name, 1), {});
  EXPECT_EQ(ends.one.open(ends.other.seal(kSealedFrame)), kSealedFrame);
  EXPECT_EQ(ends.other.open(ends.one.seal(kSealedFrame)), kSealedFrame);
  // Of those that wait to be used, the first ones are gone.
  EXPECT_EQ(*ends.live[0], 0);
  ends.one.path.take(ends.keys(9, 0), {});
  ends.one.path.use(9, {});
  EXPECT_EQ(ends.other.open(ends.one.seal(kSealedFrame)), kSealedFrame);
}

// Each end has begun with other keys, and takes the other's: both stay.
TEST(SealedPath, BearsThatTheEndsUseDifferentKeys) {
  SealedEnds ends({.old_time = 10s});
  ends.one.path.take(ends.keys(1, 0), {});
  ends.other.path.take(ends.keys(2, 1), {});
  ends.one.path.take(ends.keys(2, 0), {});
  ends.other.path.take(ends.keys(1, 1), {});
  ends.one.path.use(2, {});
  ends.other.path.use(1, {});
  for (Time now{}; now < Time{} + 60s; now += 1s) {
    EXPECT_EQ(ends.other.open(ends.one.seal(kSealedFrame, now), now), kSealedFrame);
    EXPECT_EQ(ends.one.open(ends.other.seal(kSealedFrame, now), now), kSealedFrame);
  }
}

TEST(SealedPath, TakesTheNextEpochWhenAKeyIsOldEnough) {
  SealedEnds ends({.epoch_time = 5s, .old_time = 1s});
  ends.agree(1);
  const Time begin{};
  EXPECT_EQ(ends.other.open(ends.one.seal(kSealedFrame, begin), begin), kSealedFrame);
  const Buffer late = ends.one.seal(kSealedFrame, begin + 5s - 1ns);
  EXPECT_EQ(ends.one.count("wan_seal_rotated"), 0u);
  EXPECT_EQ(ends.other.open(ends.one.seal(kSealedFrame, begin + 5s), begin + 5s), kSealedFrame);
  EXPECT_EQ(ends.one.count("wan_seal_rotated"), 1u);
  EXPECT_EQ(ends.other.count("wan_open_rotated"), 1u);
  EXPECT_EQ(ends.other.open(late, begin + 6s - 1ns), kSealedFrame);
  EXPECT_EQ(ends.other.open(ends.one.seal(kSealedFrame, begin + 10s - 1ns), begin + 10s),
            kSealedFrame);
  EXPECT_EQ(ends.one.count("wan_seal_rotated"), 1u);
  // Who hears nothing any more does not keep the key of the epoch before for that.
  EXPECT_EQ(*ends.live[1], 1);
  ends.other.open(ends.one.seal(kSealedFrame, begin + 10s), begin + 10s);
  EXPECT_EQ(*ends.live[1], 2);
  ends.other.seal(kSealedFrame, begin + 11s);
  EXPECT_EQ(*ends.live[1], 1);
}

TEST(SealedPath, AsksForKeysWhenThoseThatItHasEnd) {
  SealedEnds ends({.limits = {.datagrams = 1}});
  auto keys = std::make_unique<Keys>(1);
  keys->end = 2;  // epochs
  ends.one.path.take(
      {.name = 5, .outgoing = std::move(keys), .incoming = std::make_unique<Keys>(2)}, {});
  ends.one.path.use(5, {});
  ends.one.seal(kSealedFrame);
  ends.one.seal(kSealedFrame);
  EXPECT_TRUE(ends.one.path.established());
  const Bytes part = kSealedFrame;
  const OutFrame out{.parts = std::span(&part, 1), .size = kSealedFrame.size()};
  ends.one.path.send(std::span(&out, 1), {});
  EXPECT_TRUE(ends.one.path.needs_keys());
  EXPECT_FALSE(ends.one.path.established());
  ends.agree(6);
  EXPECT_TRUE(ends.one.path.established());
  EXPECT_EQ(ends.other.open(ends.one.seal(kSealedFrame)), kSealedFrame);
}

TEST(SealedPath, AsksForKeysWhenTooMuchWasForgedWithThem) {
  SealedEnds ends({.limits = {.forged = 3}});
  ends.agree(1);
  EXPECT_EQ(ends.other.open(ends.one.seal(kSealedFrame)), kSealedFrame);
  Buffer forged = ends.one.seal(kSealedFrame);
  forged.back() ^= std::byte{1};
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(ends.other.open(forged), Buffer());
  EXPECT_TRUE(ends.other.path.established());
  EXPECT_EQ(ends.other.open(ends.one.seal(kSealedFrame)), Buffer());
  EXPECT_TRUE(ends.other.path.needs_keys());
  ends.agree(2);
  EXPECT_EQ(ends.other.open(ends.one.seal(kSealedFrame)), kSealedFrame);
  EXPECT_TRUE(ends.other.path.established());
}

}  // namespace
}  // namespace weft::wan::test
