// SPDX-License-Identifier: Apache-2.0
// Any frames in any layers, any kind of line, any bit errors, octets too few or too many, and cuts:
// what comes is a part of what was sent, in its order and each frame exact, what is lost is
// counted, and a line that is good again brings everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "line_world.h"
#include "sim/seeds.h"

namespace weft::wan {
namespace {

// What a receiving end counts when it has lost a packet, or may have.
constexpr auto kLosses = std::to_array<std::string_view>({"bad_crc",
                                                          "bad_length",
                                                          "too_long",
                                                          "discarded_cells",
                                                          "sync_losses",
                                                          "skipped_octets",
                                                          "gfp_rx_type_wrong",
                                                          "gfp_rx_extension_wrong",
                                                          "gfp_rx_invalid",
                                                          "gfp_rx_fcs_wrong",
                                                          "gfp_rx_other_payload",
                                                          "gfp_rx_fcs_mismatch",
                                                          "gfp_rx_extension_mismatch",
                                                          "gfp_rx_user_mismatch",
                                                          "gfp_rx_too_long",
                                                          "gfp_rx_not_descrambled",
                                                          "gfp_rx_frames_cut",
                                                          "gfp_rx_frames_unconfirmed",
                                                          "gfp_rx_sync_losses",
                                                          "ppp_rx_too_short",
                                                          "ppp_rx_too_long",
                                                          "ppp_rx_fcs_wrong",
                                                          "ppp_rx_aborted",
                                                          "ppp_rx_address_wrong",
                                                          "ppp_rx_protocol_wrong",
                                                          "ppp_rx_interrupted",
                                                          "ppp_rx_not_open",
                                                          "ethernet_runts",
                                                          "ethernet_bad_preambles",
                                                          "ethernet_bad_fcs",
                                                          "ethernet_overlong",
                                                          "pcs_error_words",
                                                          "pcs_bad_frames",
                                                          "pcs_overlong",
                                                          "pcs_lock_lost"});

std::uint64_t losses(const LineWorld::End& end) {
  std::uint64_t sum = 0;
  for (const CounterValue& counter : end.channel->counters()) {
    if (std::ranges::find(kLosses, counter.name) != kLosses.end()) sum += counter.value;
  }
  return sum;
}

bool is_part(const std::vector<LineWorld::Packet>& came,
             const std::vector<LineWorld::Packet>& sent) {
  auto at = sent.begin();
  for (const LineWorld::Packet& packet : came) {
    at = std::find(at, sent.end(), packet);
    if (at == sent.end()) return false;
    ++at;
  }
  return true;
}

// How bad a line is, drawn once for each direction.
class Harm {
 public:
  explicit Harm(std::uint64_t seed)
      : random_(seed),
        how_often_(random_.chance(0.1) ? 0 : 0.01 + 0.3 * random_.chance(0.3)),
        only_bits_(random_.chance(0.3)) {}

  void spoil(std::vector<std::byte>& octets) {
    if (octets.empty() || !random_.chance(how_often_)) return;
    const auto at = octets.begin() + static_cast<std::ptrdiff_t>(random_.below(octets.size()));
    const auto size = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(random_.between(1, 60)),
                                               octets.end() - at);
    switch (only_bits_ ? 0 : random_.below(5)) {
      case 0:
        for (std::uint64_t bits = random_.between(1, 3); bits > 0; --bits)
          octets[random_.below(octets.size())] ^= static_cast<std::byte>(1U << random_.below(8));
        break;
      case 1:
        octets.erase(at, at + size);
        break;
      case 2:
        octets.insert(at, static_cast<std::size_t>(size), static_cast<std::byte>(random_.next()));
        break;
      case 3:
        std::generate(at, at + size, [this] { return static_cast<std::byte>(random_.next()); });
        break;
      default:
        octets.erase(at, octets.end());
    }
  }

 private:
  Random random_;
  const double how_often_;
  const bool only_bits_;
};

// What is around frames, at each end of a line.
class Layers {
 public:
  explicit Layers(std::string_view text)
      : stacks_{make(text, here(is_ipv4(text))), make(text, there(is_ipv4(text)))} {}

  [[nodiscard]] LineWorld::Packet put_on(std::size_t end, Bytes frame) const {
    return wrapped(stacks_[end], frame);
  }
  // Of packets that came to an end, the frames; all others are counted.
  [[nodiscard]] std::vector<LineWorld::Packet> take_off(
      std::size_t end, const std::vector<LineWorld::Packet>& came) {
    Stack& stack = stacks_[end];
    const std::uint64_t before = refused(stack);
    std::vector<LineWorld::Packet> frames;
    for (const LineWorld::Packet& packet : came) {
      const auto frame = stack.unwrap(packet);
      if (frame) frames.emplace_back(frame->bytes.begin(), frame->bytes.end());
    }
    EXPECT_EQ(refused(stack) - before, came.size() - frames.size());
    return frames;
  }

 private:
  static Stack make(std::string_view text, const Ends& ends) {
    return std::move(Stack::parse(LineStack::parse(text)->packets(), ends, true).value());
  }
  static std::uint64_t refused(const Stack& stack) {
    std::uint64_t sum = 0;
    for (const CounterValue& counter : stack.refused().snapshot())
      sum += counter.value;
    return sum;
  }

  std::array<Stack, 2> stacks_;
};

class LineNoise : public ::testing::TestWithParam<const char*> {
 protected:
  static bool is(std::string_view name) {
    return std::string_view(GetParam()).find(name) != std::string_view::npos;
  }
  static std::size_t shortest() { return is("ethernet/10g") ? 60 : 1; }
  // An STM-64 needs many octets for a few frames.
  static std::uint64_t rate() { return is("10gbase-w") ? 50'000'000 : 2'000'000; }
  static std::uint64_t usual_seeds() { return is("10gbase-w") ? 1 : 4; }
  // The frames that each end sends.
  static std::array<std::vector<LineWorld::Packet>, 2> give(LineWorld& world, const Layers& layers,
                                                            std::size_t count) {
    std::array<std::vector<LineWorld::Packet>, 2> frames;
    for (std::size_t end = 0; end < 2; ++end) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t most = world.random() % 8 == 0 ? 4000 : 200;
        frames[end].push_back(world.make_packet(shortest() + world.random() % most));
        world.ends[end].waiting.push_back(layers.put_on(end, frames[end].back()));
      }
    }
    return frames;
  }
};

TEST_P(LineNoise, LeavesAPartInOrderEachExactAndCountsWhatIsLost) {
  for (const std::uint64_t seed : sim::seeds(usual_seeds())) {
    SCOPED_TRACE(sim::how_to_replay(seed, "*LineNoise.*"));
    LineWorld world(GetParam(), static_cast<std::uint32_t>(seed), rate());
    Layers layers(GetParam());
    ASSERT_TRUE(world.run_until_up(20s));
    std::array harm{Harm(2 * seed), Harm(2 * seed + 1)};
    world.spoil = [&](std::size_t from, std::vector<std::byte>& octets) {
      harm[from].spoil(octets);
    };
    const auto sent = give(world, layers, 100);
    const std::array before{losses(world.ends[0]), losses(world.ends[1])};
    world.run(150ms);
    world.spoil = {};
    // An end sees only in the frames that follow that octets were lost at the very end, and is down
    // from then on.
    world.run(100ms);
    ASSERT_TRUE(world.run_until_up(40s));
    // What an end kept while the other one was not there goes now.
    world.run(300ms);
    for (std::size_t end = 0; end < 2; ++end) {
      const auto came = layers.take_off(end, world.ends[end].came);
      EXPECT_TRUE(world.ends[1 - end].waiting.empty());
      EXPECT_TRUE(is_part(came, sent[1 - end]));
      const std::uint64_t lost =
          losses(world.ends[end]) - before[end] + world.ends[end].came.size() - came.size();
      if (came.size() != sent[1 - end].size()) {
        EXPECT_GT(lost, 0U);
      }
    }
    EXPECT_TRUE(world.up());
    // The first one behind what was cut off may be taken for its rest.
    (void)give(world, layers, 1);
    world.run(20ms);
    for (LineWorld::End& end : world.ends)
      end.came.clear();
    const auto last = give(world, layers, 5);
    world.run(50ms);
    EXPECT_TRUE(layers.take_off(0, world.ends[0].came) == last[1]);
    EXPECT_TRUE(layers.take_off(1, world.ends[1].came) == last[0]);
  }
}

INSTANTIATE_TEST_SUITE_P(Stacks, LineNoise,
                         ::testing::Values("ipv6/aal5", "gfp", "ethernet/gfp", "ipv6/ppp", "ppp",
                                           "ipv6/aal5/stm1", "gfp/stm4", "ipv6/ppp/stm1",
                                           "udp/ipv6/ppp/stm1", "udp/ipv4/aal5", "mpls/ppp",
                                           "ipv6/mpls/gfp", "ethernet/10gbase-r",
                                           "udp/ipv6/ethernet/10gbase-r", "ethernet/10gbase-w"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::ranges::replace_if(
                               name, [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace weft::wan
