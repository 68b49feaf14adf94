// SPDX-License-Identifier: Apache-2.0
#include "base/metrics_text.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(MetricsText, HasHelpAndTypeBeforeTheSamplesOfAFamily) {
  MetricsText metrics;
  metrics.begin("weft_drops_total", MetricsText::Type::kCounter, "packets dropped");
  metrics.add(0xFFFF'FFFF'FFFF'FFFF);
  metrics.begin("weft_length", MetricsText::Type::kGauge, "what waits");
  metrics.add(1, {{"queue", "a"}});
  metrics.add(2, {{"queue", "b"}, {"lane", "7"}});
  metrics.begin("weft_took_seconds", MetricsText::Type::kGauge, "the last time");
  metrics.add_seconds(0.0625);
  EXPECT_EQ(metrics.text(),
            "# HELP weft_drops_total packets dropped\n"
            "# TYPE weft_drops_total counter\n"
            "weft_drops_total 18446744073709551615\n"
            "# HELP weft_length what waits\n"
            "# TYPE weft_length gauge\n"
            "weft_length{queue=\"a\"} 1\n"
            "weft_length{queue=\"b\",lane=\"7\"} 2\n"
            "# HELP weft_took_seconds the last time\n"
            "# TYPE weft_took_seconds gauge\n"
            "weft_took_seconds 0.0625\n");
}

TEST(MetricsText, NoTextBreaksOutOfItsPlace) {
  MetricsText metrics;
  metrics.begin("a", MetricsText::Type::kGauge, "a \"b\\c\"\nd 1");
  metrics.add(1, {{"of", "\"} 2\nb\\"}});
  EXPECT_EQ(metrics.text(),
            "# HELP a a \"b\\\\c\"\\nd 1\n"
            "# TYPE a gauge\n"
            "a{of=\"\\\"} 2\\nb\\\\\"} 1\n");
}

}  // namespace
}  // namespace weft
