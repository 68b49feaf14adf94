// SPDX-License-Identifier: Apache-2.0
// Keys of [service.NAME] one by one, as `weft service run` and `weft serve` are told them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/gid_text.h"
#include "fabric/lab_service_settings.h"

namespace weft::fabric {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Expected<LabService> set(const std::string& type, const std::vector<std::string>& settings) {
  return service_of_settings(type, settings);
}

TEST(LabSettings, AreThoseOfALabFileWithoutQuotes) {
  const auto limiter = set(
      "limiter", {"rate=1Gb/s", "by=source", "burst=8KiB", "rates={ \"fe80::1\" = \"8Mb/s\" }"});
  ASSERT_TRUE(limiter) << limiter.error().message;
  EXPECT_EQ(limiter->type, "limiter");
  EXPECT_EQ(limiter->limiter.rate, 125'000'000u);
  EXPECT_EQ(limiter->limiter.by, LabLimiter::By::kSource);
  EXPECT_EQ(limiter->limiter.burst, 8192u);
  ASSERT_EQ(limiter->limiter.rates.size(), 1u);
  EXPECT_EQ(limiter->limiter.rates[0].bytes_per_s, 1'000'000u);
  const auto capture = set("capture", {"file=/tmp/some file.pcapng", "files=2", "time=60s"});
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_EQ(capture->capture.file, "/tmp/some file.pcapng");
  EXPECT_EQ(capture->capture.files, 2u);
  EXPECT_EQ(capture->capture.time, Duration(60s));
}

TEST(LabSettings, OfAllTypesReplaceKeysAndHideQueuePairs) {
  for (const char* type : {"firewall", "monitor", "capture"}) {
    const auto service = set(type, {"hide_queue_pairs=true", "pkeys=[[\"0x0001\", \"0x8001\"]]"});
    ASSERT_TRUE(service) << service.error().message;
    EXPECT_TRUE(service->hide_queue_pairs);
    EXPECT_THAT(service->pkeys, ElementsAre(Pair(PKey{0x0001}, PKey{0x8001})));
  }
}

std::string why(const std::string& type, const std::vector<std::string>& settings) {
  const auto made = set(type, settings);
  EXPECT_FALSE(made);
  return made ? "" : made.error().message;
}

TEST(LabSettings, NameABalancersServersByTheirGids) {
  const std::string service = "service=fe80::3 at 192.0.2.3";
  const auto balancer = set(
      "balancer", {service, "servers=[\"fe80::1 at 2001:db8::1\", \"fe80::2\"]", "spread=least"});
  ASSERT_TRUE(balancer) << balancer.error().message;
  const LabBalancer& made = balancer->balancer;
  EXPECT_EQ(made.service, (LabBalancer::End{.gid = *parse_gid("fe80::3"),
                                            .address = Gid::from_ipv4(0xC000'0203)}));
  EXPECT_THAT(made.ends, ElementsAre(LabBalancer::End{.gid = *parse_gid("fe80::1"),
                                                      .address = *parse_gid("2001:db8::1")},
                                     LabBalancer::End{.gid = *parse_gid("fe80::2")}));
  EXPECT_TRUE(made.least);
  EXPECT_EQ(set("balancer", {service, "servers=fe80::1"})->balancer.ends.size(), 1u);
  EXPECT_THAT(why("balancer", {"servers=fe80::1"}), HasSubstr("needs service = "));
  EXPECT_THAT(why("balancer", {service}), HasSubstr("needs servers = [\"fe80::1\", "));
  EXPECT_THAT(why("balancer", {service, "servers=one"}), HasSubstr("--set servers: must be a GID"));
  EXPECT_THAT(why("balancer", {service, "servers=fe80::1 at home"}), HasSubstr("must be a GID"));
  EXPECT_THAT(why("balancer", {"service=ff12::1", "servers=fe80::1"}),
              HasSubstr("--set service: must be a GID"));
  EXPECT_THAT(why("balancer", {service, "servers=[\"fe80::1\", \"fe80:0::1 at 192.0.2.1\"]"}),
              HasSubstr("fe80::1 is named twice"));
  EXPECT_THAT(why("monitor", {"servers=fe80::1"}), HasSubstr("a monitor here has pkeys"));
}

TEST(LabSettings, SayWhichThereAreAndWhatTheyMustBe) {
  EXPECT_EQ(why("monitor", {"rate=1Gb/s"}),
            "--set rate=1Gb/s: a monitor here has pkeys, hide_queue_pairs, flows, senders");
  EXPECT_EQ(why("limiter", {"rate=fast"}), "--set rate: must be a rate, as in \"1Gb/s\"");
  EXPECT_EQ(why("monitor", {"flows"}), "--set flows: want KEY=VALUE, as in rate=1Gb/s");
  EXPECT_EQ(why("monitor", {"flows=1\nsenders=2"}),
            "--set flows: must be a number from 1 to 1000000");
  EXPECT_EQ(why("monitor", {"flows=1", "flows=2"}), "--set flows=2: flows is said twice");
  EXPECT_THAT(why("limiter", {}), HasSubstr("a limiter needs rate = "));
  EXPECT_THAT(why("firewall", {"mirror_to=tap"}), HasSubstr("a firewall here has pkeys"));
  EXPECT_THAT(why("firewall", {"at=fw"}), HasSubstr("a firewall here has pkeys"));
}

}  // namespace
}  // namespace weft::fabric
