// SPDX-License-Identifier: Apache-2.0
// A connection and a TCP flow with CUBIC share a narrow link.
#include "incast.h"
#include "tcp_cubic.h"

namespace weft::sim::test {
namespace {

struct SharedPath {
  Duration round_trip;
  Duration queue;  // what may wait before the link, as time
};

class BesideTcp : public testing::TestWithParam<SharedPath> {};

TEST_P(BesideTcp, NeitherIsLeftUnderAQuarter) {
  const auto [round_trip, queue] = GetParam();
  constexpr std::uint64_t kRate = 50'000'000;
  const auto room = static_cast<std::size_t>(kRate * queue / 1s);
  Incast incast(1, 1, {.rate_bytes_per_s = kRate, .queue = room}, false, round_trip / 2);
  TcpCubic tcp(incast.scheduler(), incast.network(), Gid::from_ipv4(0x0A000200), kReceiver);
  incast.scheduler().after(1ms, [&] { tcp.start(); });
  constexpr Time kBegin{3s};
  incast.run(kBegin);
  const double ours_before = sum(incast.bytes());
  const std::uint64_t theirs_before = tcp.delivered();
  incast.run(kBegin + 15s);
  const double ours = sum(incast.bytes()) - ours_before;
  const auto theirs = static_cast<double>(tcp.delivered() - theirs_before);
  EXPECT_GE(ours, 0.25 * (ours + theirs)) << theirs / 15e6 << " MB/s for TCP";
  EXPECT_GE(theirs, 0.25 * (ours + theirs)) << ours / 15e6 << " MB/s for us";
  EXPECT_GE(ours + theirs, 0.6 * 15 * kRate);
}

// Queues that show in the round trip time, and such that do not.
INSTANTIATE_TEST_SUITE_P(Paths, BesideTcp,
                         testing::Values(SharedPath{100us, 20ms}, SharedPath{200us, 500us},
                                         SharedPath{200us, 5ms}, SharedPath{1ms, 250us},
                                         SharedPath{1ms, 1ms}, SharedPath{5ms, 500us},
                                         SharedPath{5ms, 10ms}, SharedPath{10ms, 1ms},
                                         SharedPath{20ms, 1ms}, SharedPath{20ms, 5ms}),
                         [](const auto& info) {
                           return std::to_string(info.param.round_trip / 1us) + "us_queue_" +
                                  std::to_string(info.param.queue / 1us) + "us";
                         });

}  // namespace
}  // namespace weft::sim::test
