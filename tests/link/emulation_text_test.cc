// SPDX-License-Identifier: Apache-2.0
#include "link/emulation_text.h"

#include <gtest/gtest.h>

namespace weft::link {
namespace {

Emulation parsed(std::string_view list, const Emulation& base = {}) {
  const auto emulation = parse_emulation(list, base);
  EXPECT_TRUE(emulation) << emulation.error().message;
  return emulation.value_or(Emulation{});
}

std::string refusal(std::string_view list) {
  const auto emulation = parse_emulation(list, {});
  EXPECT_FALSE(emulation) << list;
  return emulation ? "" : emulation.error().message;
}

TEST(EmulationText, ReadsAListOfSettings) {
  const Emulation emulation = parsed("loss=1%,delay=2ms,rate=2.5Gb/s,bit_errors=1e-9,seed=7");
  EXPECT_DOUBLE_EQ(emulation.loss, 0.01);
  EXPECT_EQ(emulation.delay, 2ms);
  EXPECT_EQ(emulation.rate_bytes_per_s, 312'500'000u);
  EXPECT_DOUBLE_EQ(emulation.bit_errors, 1e-9);
  EXPECT_EQ(emulation.seed, 7u);
}

TEST(EmulationText, ChangesOnlyWhatTheListNames) {
  const Emulation before = parsed("loss=0.5,delay=3us");
  const Emulation after = parsed("delay=4us", before);
  EXPECT_DOUBLE_EQ(after.loss, 0.5);
  EXPECT_EQ(after.delay, 4us);
  EXPECT_EQ(parsed("none", before), Emulation{});
  EXPECT_EQ(parsed("none,loss=0.5", before), parsed("loss=0.5"));
  EXPECT_EQ(parsed("", before), before);
}

TEST(EmulationText, IsWrittenSoThatItReadsBackTheSame) {
  for (const char* list : {"rate=2.5Gb/s", "rate=1kb/s", "delay=1ns", "delay=1.5ms", "delay=3s",
                           "loss=0.001,credit_loss=0.25,bit_errors=1e-12,duplicate=1,reorder=0.1",
                           "rate=100Mb/s,delay=20us,loss=0.05,seed=9223372036854775807",
                           "drain=1Gb/s", "loss=0.05,flap=10s,outage=500ms,seed=2"}) {
    EXPECT_EQ(to_string(parsed(list)), list);
  }
  EXPECT_EQ(to_string(Emulation{}), "");
}

TEST(EmulationText, RefusesWithTheWordAndTheChoices) {
  EXPECT_EQ(refusal("los=1%"),
            "los=1%: there is no such setting; there are rate, delay, loss, credit_loss, "
            "bit_errors, duplicate, reorder, drain, flap, outage, seed");
  EXPECT_EQ(refusal("flap=0s"), "flap=0s: must be a time of 1ms to 86400s, as in 10s or 500ms");
  EXPECT_EQ(refusal("outage=25h").substr(0, 11), "outage=25h:");
  EXPECT_EQ(refusal("drain=0Gb/s").substr(0, 17), "drain=0Gb/s: must");
  EXPECT_EQ(refusal("loss=1%,loss=2"), "loss=2: must be a probability from 0 to 1, or as in 0.1%");
  EXPECT_EQ(refusal("delay"), "delay: must be a time in ns, us, ms or s, as in 2ms");
  EXPECT_EQ(refusal("delay=1e300s"), "delay=1e300s: must be a time in ns, us, ms or s, as in 2ms");
  EXPECT_EQ(refusal("rate=-1Gb/s"),
            "rate=-1Gb/s: must be a rate in Gb/s, Mb/s or kb/s, as in 2.5Gb/s, not 0");
  EXPECT_EQ(refusal("loss=-0.1").substr(0, 10), "loss=-0.1:");
  EXPECT_EQ(refusal("loss=nan").substr(0, 9), "loss=nan:");
  EXPECT_EQ(refusal("seed=9223372036854775808").substr(0, 24), "seed=9223372036854775808");
}

}  // namespace
}  // namespace weft::link
