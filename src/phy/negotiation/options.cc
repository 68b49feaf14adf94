// SPDX-License-Identifier: Apache-2.0
#include "phy/negotiation/options.h"

#include <fmt/format.h>

#include <string>

#include "phy/negotiation/advertisement.h"

namespace weft::phy {
namespace {

constexpr std::uint32_t kMostCopies = 64;
constexpr std::uint32_t kMostRetries = 64;
constexpr std::uint32_t kMostAttempts = 100;
constexpr std::uint32_t kMostReceiveConfigurations = 64;
constexpr Duration kLongest = 60s;

Expected<void> within(const char* name, std::uint32_t value, std::uint32_t least,
                      std::uint32_t most) {
  if (value >= least && value <= most) return {};
  return fail(std::errc::invalid_argument,
              fmt::format("{} {}: it is from {} to {}", name, value, least, most));
}

Expected<void> lasts(const char* name, Duration value, Duration least) {
  if (value >= least && value <= kLongest) return {};
  return fail(std::errc::invalid_argument, fmt::format("{} {} us: it is from {} us to {} s", name,
                                                       value / 1us, least / 1us, kLongest / 1s));
}

Expected<void> first_error(std::initializer_list<Expected<void>> results) {
  for (const Expected<void>& result : results)
    if (!result) return result;
  return {};
}

Expected<void> check_lanes(std::uint32_t lanes) {
  if (lanes == 1 || lanes == 4 || lanes == 8 || lanes == 12) return {};
  return fail(std::errc::invalid_argument, fmt::format("lanes {}: it is 1, 4, 8 or 12", lanes));
}

}  // namespace

std::uint32_t NegotiationOptions::iteration_ms() const {
  return static_cast<std::uint32_t>((iteration_duration() + 1ms - 1ns) / 1ms);
}

Expected<void> NegotiationOptions::check() const {
  // What one end may be ahead of the other when it starts to sweep: the time of all transmissions
  // of requests, and of as many acknowledgements.
  const Duration ahead = (2 * std::int64_t{max_retry} + 1) * xmit_time_out;
  if (const auto first = first_error({
          within("burst_len", burst_len, 1, kMostCopies),
          within("max_retry", max_retry, 1, kMostRetries),
          within("max_attempts", max_attempts, 1, kMostAttempts),
          within("transmit_configurations", transmit_configurations, 1, kMaxIterations),
          within("receive_configurations", receive_configurations, 1, kMostReceiveConfigurations),
          within("default_iteration", default_iteration, 0, kLastIteration),
          within("default_receive", default_receive, 0, receive_configurations - 1),
          within("first_id", first_id, 1, UINT32_MAX),
          check_lanes(lanes),
          lasts("xmit_time_out", xmit_time_out, 1us),
          lasts("delta", delta, 1us),
          lasts("soak", soak, 1us),
      });
      !first) {
    return first;
  }
  return first_error({
      lasts("ddr_time_out", ddr_time_out, ahead + 1us),
      lasts("return_time_out", return_time_out, ahead + 1us),
      lasts("soak", soak, ahead),
      lasts("longest_iteration", longest_iteration, iteration_duration()),
  });
}

}  // namespace weft::phy
