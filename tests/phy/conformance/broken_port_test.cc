// SPDX-License-Identifier: Apache-2.0
// The judge finds what is wrong with a port, and says which requirement that is of.
#include "broken_port.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "findings.h"
#include "phy/conformance/conformance.h"
#include "wire/endian.h"
#include "wire/sm/smp.h"

namespace weft::phy::conformance {
namespace {

using test::Breaks;
using test::failed;
using test::Ids;
using test::kBothRoles;
using test::make_broken;
using wire::MadBuffer;

constexpr std::size_t kWordsAt = 64;  // of the message, in its MAD

Ids failures_of(const Breaks& breaks) {
  return failed(run_conformance(make_broken(breaks), kBothRoles, {}).findings);
}

std::uint32_t word_at(const MadBuffer& mad, std::size_t offset) {
  return wire::load_be32(mad.data() + kWordsAt + offset);
}
MadBuffer with_word(MadBuffer mad, std::size_t offset, std::uint32_t word) {
  wire::store_be32(mad.data() + kWordsAt + offset, word);
  return mad;
}
bool is_answer(const MadBuffer& mad) {
  return (word_at(mad, 0) >> 31) != 0;
}
bool is_result(const MadBuffer& mad) {
  return (word_at(mad, 0) >> 30 & 1) != 0;
}

// All messages of the port, changed.
Breaks changed(const std::function<MadBuffer(MadBuffer)>& change) {
  return {.sends = [change](const MadBuffer& mad) { return std::vector{change(mad)}; }};
}
Breaks with_byte(std::size_t at, std::uint8_t value) {
  return changed([=](MadBuffer mad) {
    mad[at] = std::byte{value};
    return mad;
  });
}
// What the port is told is changed on its way.
Breaks mishears(const std::function<MadBuffer(MadBuffer)>& change) {
  return {.hears = [change](const MadBuffer& mad) { return std::optional(change(mad)); }};
}

// Once a peer that keeps to the specification drops all that it hears, there is no exchange left to
// find fault with.
TEST(BrokenPort, with_a_wrong_header_fails_in_that_alone) {
  EXPECT_EQ(failures_of(with_byte(1, 0x01)), Ids{"class"});
  EXPECT_EQ(failures_of(with_byte(3, 0x01)), Ids{"method"});
  EXPECT_EQ(failures_of(with_byte(17, 0xCA)), Ids{"attribute"});
  EXPECT_EQ(failures_of(with_byte(23, 0xCA)), Ids{"modifier"});
  EXPECT_EQ(failures_of(with_byte(33, 0x01)), Ids{"lids"});
}

TEST(BrokenPort, with_wrong_fields_fails_in_those) {
  EXPECT_EQ(failures_of(with_byte(kWordsAt + 1, 0x10)), Ids{"reserved"});
  EXPECT_EQ(failures_of(with_byte(kWordsAt + 63, 0x01)), Ids{"reserved"});
  EXPECT_EQ(failures_of(with_byte(kWordsAt + 7, 0x89)), Ids{"bandwidth"});
  // Who says it wants none, or too many, does not keep to it either.
  for (const std::uint32_t iterations : {0U, 10U}) {
    EXPECT_EQ(failures_of(changed([=](MadBuffer mad) {
                const bool counts = !is_result(mad) && (word_at(mad, 0) >> 29 & 1) == 0;
                return counts ? with_word(mad, 12, iterations) : mad;
              })).count("iterations"),
              1U);
  }
  EXPECT_EQ(failures_of(changed([](MadBuffer mad) {
              return is_result(mad) && (word_at(mad, 0) & 1) != 0 ? with_word(mad, 12, 9) : mad;
            })),
            (Ids{"chosen-iteration", "chosen-works"}));
  EXPECT_EQ(failures_of(changed([](MadBuffer mad) {
              const bool that = is_answer(mad) && is_result(mad);
              return that ? with_word(mad, 0, word_at(mad, 0) & ~(1U << 29)) : mad;
            })),
            (Ids{"no-sweep-set", "repeats-result"}));
}

TEST(BrokenPort, that_says_something_else_in_its_answers_fails_in_that) {
  EXPECT_EQ(failures_of(changed([](MadBuffer mad) {
              const bool that = is_answer(mad) && !is_result(mad);
              return that ? with_word(mad, 8, word_at(mad, 8) + 1) : mad;
            })),
            Ids{"repeats-capabilities"});
  EXPECT_EQ(failures_of(changed([](MadBuffer mad) {
              const bool that = is_answer(mad) && is_result(mad);
              return that ? with_word(mad, 12, word_at(mad, 12) == 0 ? 1 : 0) : mad;
            })),
            Ids{"repeats-result"});
}

TEST(BrokenPort, that_does_not_say_something_fails_in_that) {
  const auto without = [](bool answers, bool results) {
    return Breaks{.sends = [=](const MadBuffer& mad) {
      const bool drops = is_answer(mad) == answers && is_result(mad) == results;
      return drops ? std::vector<MadBuffer>{} : std::vector{mad};
    }};
  };
  EXPECT_EQ(failures_of(without(true, false)), Ids{"acknowledges"});
  EXPECT_EQ(failures_of(without(true, true)), Ids{"acknowledges-result"});
  EXPECT_TRUE(failures_of(without(false, false)).count("advertises"));
  EXPECT_TRUE(failures_of(without(false, true)).count("advertises-result"));
}

TEST(BrokenPort, that_counts_wrongly_fails_in_that) {
  EXPECT_EQ(failures_of({.sends =
                             [copy = 0](const MadBuffer& mad) mutable {
                               return ++copy % 4 == 0 ? std::vector{mad, mad} : std::vector{mad};
                             }}),
            Ids{"burst"});
  EXPECT_EQ(failures_of({.options = [](NegotiationOptions& o) { o.burst_len = 3; }}), Ids{"burst"});
  EXPECT_EQ(failures_of({.options = [](NegotiationOptions& o) { o.max_retry = 3; }}),
            (Ids{"polling", "retries"}));
  EXPECT_EQ(failures_of({.options = [](NegotiationOptions& o) { o.max_retry = 6; }}),
            Ids{"retries"});
  EXPECT_EQ(failures_of({.options = [](NegotiationOptions& o) { o.xmit_time_out = 900us; }}),
            Ids{"xmit-time-out"});
  EXPECT_EQ(failures_of({.options = [](NegotiationOptions& o) { o.ddr_time_out = 300ms; }}),
            Ids{"ddr-time-out"});
  EXPECT_EQ(failures_of({.options = [](NegotiationOptions& o) { o.ddr_time_out = 500ms; }}),
            Ids{"ddr-time-out"});
}

TEST(BrokenPort, that_mishears_its_peer_fails_in_what_comes_of_it) {
  // NoSweep is not seen: it sweeps.
  const Ids sweeps = failures_of(
      mishears([](MadBuffer mad) { return with_word(mad, 0, word_at(mad, 0) & ~(1U << 29)); }));
  EXPECT_TRUE(sweeps.count("skips-sweep"));
  // The longer duration of the peer is not seen, nor its larger number of iterations.
  EXPECT_EQ(failures_of(mishears([](MadBuffer mad) {
              return is_result(mad) ? mad : with_word(mad, 8, std::min(500U, word_at(mad, 8)));
            })),
            Ids{"sweep-duration"});
  const Ids shorter = failures_of(mishears([](MadBuffer mad) {
    const bool counts = !is_result(mad) && (word_at(mad, 0) >> 29 & 1) == 0;
    return counts ? with_word(mad, 12, std::min(3U, word_at(mad, 12))) : mad;
  }));
  EXPECT_TRUE(shorter.count("sweep-iterations"));
  EXPECT_TRUE(shorter.count("sweep-duration"));
  // Another choice than the peer's.
  EXPECT_EQ(failures_of(mishears([](MadBuffer mad) {
              return is_result(mad) ? with_word(mad, 12, (word_at(mad, 12) + 1) % 3) : mad;
            })),
            Ids{"transmits-as-chosen"});
  // A bandwidth that is never wrong, and iterations that are never none.
  EXPECT_EQ(failures_of(mishears([](MadBuffer mad) {
              return with_word(mad, 4, 5000);
            })).count("forbidden-fields"),
            1U);
  // 5G = 0 is not seen.
  const Ids capable = failures_of(mishears(
      [](MadBuffer mad) { return is_result(mad) ? mad : with_word(mad, 0, word_at(mad, 0) | 1); }));
  EXPECT_TRUE(capable.count("not-capable"));
}

TEST(BrokenPort, that_does_not_hear_acknowledgements_fails_in_going_on_asking) {
  EXPECT_EQ(failures_of({.hears = [](MadBuffer mad) -> std::optional<MadBuffer> {
              if (is_answer(mad)) return std::nullopt;
              return mad;
            }}),
            Ids{"answered"});
}

TEST(BrokenPort, whose_serdes_does_something_else_fails_in_that) {
  // It always sends with one configuration.
  const Ids stuck = failures_of({.transmit = [](unsigned) { return 0U; }});
  EXPECT_EQ(stuck, Ids{"sweep-in-turn"});
  // It takes what has errors for good.
  EXPECT_TRUE(failures_of({.measures = [](LaneMeasurement seen) {
                return LaneMeasurement{true, 0, seen.eye};
              }}).count("chosen-works"));
  // It says it has found none.
  EXPECT_TRUE(failures_of({.measures = [](LaneMeasurement) {
                return LaneMeasurement{};
              }}).count("chosen-works"));
}

TEST(BrokenPort, that_receives_with_something_else_at_ddr_fails_in_that) {
  // In each of three iterations five on four lanes, the first of four twice; then the chosen ones.
  EXPECT_TRUE(failures_of({.receive = [told = 0](unsigned configuration) mutable {
                return ++told > 3 * 5 * 4 ? (configuration + 1) % 4 : configuration;
              }}).count("receives-as-found"));
}

TEST(BrokenPort, whose_line_goes_elsewhere_fails_in_that) {
  const auto instead = [](LinkSpeed speed, LineUse use, LinkSpeed other, LineUse other_use) {
    return Breaks{.line = [=](LinkSpeed s, LineUse u) {
      return std::optional(s == speed && u == use ? std::pair{other, other_use} : std::pair{s, u});
    }};
  };
  EXPECT_TRUE(failures_of(instead(LinkSpeed::kDdr, LineUse::kIdle, LinkSpeed::kSdr, LineUse::kIdle))
                  .count("sweeps"));
  EXPECT_TRUE(
      failures_of(instead(LinkSpeed::kDdr, LineUse::kTrain, LinkSpeed::kSdr, LineUse::kTrain))
          .count("goes-to-ddr"));
  // From the sweep to DDR at once.
  EXPECT_TRUE(failures_of({.line = [swept = false](LinkSpeed speed, LineUse use) mutable {
                if (speed == LinkSpeed::kSdr && swept) speed = LinkSpeed::kDdr;
                swept = use == LineUse::kIdle;
                return std::optional(std::pair{speed, use});
              }}).count("returns"));
}

TEST(BrokenPort, that_tells_a_subnet_manager_something_else_fails_in_that) {
  EXPECT_EQ(failures_of({.polling = [](bool) { return false; }}), Ids{"polling"});
  EXPECT_EQ(failures_of({.speeds =
                             [](PortSpeeds) {
                               return PortSpeeds{3, 3, 1};
                             }}),
            Ids{"port-info"});
  EXPECT_EQ(failures_of({.speeds =
                             [](PortSpeeds speeds) {
                               return PortSpeeds{3, 1, speeds.active};
                             }}),
            Ids{"port-info"});
}

}  // namespace
}  // namespace weft::phy::conformance
