// SPDX-License-Identifier: Apache-2.0
// `weft extend --plan`: what an extension of a fabric over a WAN needs.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/report_view.h"
#include "wan/plan.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

constexpr std::array<Unit, 2> kLengths{{{"km", 1e6}, {"m", 1e3}}};  // counted in millimetres
// Of a fibre's delay, which is a fraction of few nanoseconds.
constexpr std::array<Unit, 2> kFineTimes{{{"ps", 1}, {"ns", 1e3}}};
constexpr std::uint64_t kLongestTime = 3'600'000'000'000;  // ns

// Sets what was given; the error names the option.
template <class Set>
Expected<void> read_option(std::string_view option, const std::optional<std::string>& text,
                           std::span<const Unit> units, std::uint64_t least, std::uint64_t most,
                           std::string_view example, Set set) {
  if (!text) return {};
  const auto amount = parse_quantity(*text, units);
  if (!amount || *amount < least || *amount > most) {
    return fail(std::errc::invalid_argument,
                fmt::format("{} {}: must be as in {}", option, *text, example));
  }
  set(*amount);
  return {};
}

Duration nanoseconds(std::uint64_t ns) {
  return Duration(static_cast<Duration::rep>(ns));
}

Expected<wan::PlanInput> input_of(const ExtendOptions& options) {
  wan::PlanInput in;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  Expected<void> ok =
      read_option("--distance", options.distance, kLengths, 0, kMost, "100km or 300m",
                  [&](auto mm) { in.distance_m = static_cast<double>(mm) / 1e3; });
  if (ok) {
    ok = read_option("--per-metre", options.per_metre, kFineTimes, 1, 1'000'000, "5ns or 4900ps",
                     [&](auto ps) { in.fibre_ns_per_m = static_cast<double>(ps) / 1e3; });
  }
  if (ok) {
    ok = read_option("--equipment", options.equipment, kTimeUnits, 0, kLongestTime, "300us",
                     [&](auto ns) { in.equipment = nanoseconds(ns); });
  }
  if (ok) {
    ok = read_option("--round-trip", options.round_trip, kTimeUnits, 0, kLongestTime, "130us",
                     [&](auto ns) { in.round_trip = nanoseconds(ns); });
  }
  if (ok) {
    ok = read_option("--rate", options.rate, kRateUnits, 1, kMost, "10Gb/s, not 0",
                     [&](auto rate) { in.rate_bytes_per_s = rate; });
  }
  if (ok) {
    ok = read_option("--signalling", options.signalling, kRateUnits, 10, kMost, "10Gb/s, not 0",
                     [&](auto rate) { in.rate_bytes_per_s = wan::data_rate_8b10b(rate); });
  }
  if (ok) {
    ok = read_option("--local-credit", options.local_credit, kSizeUnits, 64, wan::kStandardCredit,
                     "8KiB, from 64B to 128KiB", [&](auto bytes) { in.local_credit = bytes; });
  }
  if (!ok) return tl::unexpected(ok.error());
  in.lanes = options.lanes.value_or(in.lanes);
  in.sites = options.sites.value_or(in.sites);
  return in;
}

// "894.1 MiB"
std::string mebibytes(std::uint64_t bytes) {
  constexpr double kKiB = 1024, kMiB = 1024 * 1024;
  const auto value = static_cast<double>(bytes);
  return value < kMiB ? fmt::format("{:.1f} KiB", value / kKiB)
                      : fmt::format("{:.1f} MiB", value / kMiB);
}

void print_plan(const wan::PlanInput& in, const wan::Plan& plan) {
  const auto line = [](std::string_view what, const std::string& value) {
    fmt::print("{:<31} {}\n", what, value);
  };
  line("data rate, each way", quantity_text(in.rate_bytes_per_s, kRateUnits));
  line("one way, and back",
       fmt::format("{}, {}", time_text(plan.one_way), time_text(plan.round_trip)));
  line("under way in one direction", fmt::format("{} ({} Mbit)", mebibytes(plan.under_way),
                                                 static_cast<double>(plan.under_way) * 8 / 1e6));
  line("buffer of a virtual lane", mebibytes(plan.buffer_per_lane));
  line("buffer for a remote site",
       fmt::format("{} ({} VLs)", mebibytes(plan.buffer_per_remote), in.lanes));
  line("buffer of a site",
       fmt::format("{} ({} remote, {} B)", mebibytes(plan.buffer), plan.remotes, plan.buffer));
  line("a standard link's credit", fmt::format("128 KiB per VL, {}: it fills a round trip of {}",
                                               plan.standard_is_enough ? "enough" : "not enough",
                                               time_text(plan.standard_reach)));
  line("what the local link advertises",
       fmt::format("{} per VL: it fills a round trip of {}", size_text(in.local_credit),
                   time_text(plan.local_reach)));
  if (plan.block_size) {
    line("credit of the tunnel", fmt::format("2048 blocks of {}, or {} blocks of 64 B",
                                             size_text(plan.block_size->bytes()), plan.blocks));
  } else {
    line("credit of the tunnel", fmt::format("{} blocks of 64 B", plan.blocks));
  }
}

Json json_of(const wan::PlanInput& in, const wan::Plan& plan) {
  return {{"rate_bytes_per_s", in.rate_bytes_per_s},
          {"vls", in.lanes},
          {"sites", in.sites},
          {"one_way_ns", plan.one_way.count()},
          {"round_trip_ns", plan.round_trip.count()},
          {"under_way_bytes", plan.under_way},
          {"buffer_per_vl_bytes", plan.buffer_per_lane},
          {"buffer_per_remote_bytes", plan.buffer_per_remote},
          {"remotes", plan.remotes},
          {"buffer_bytes", plan.buffer},
          {"standard_credit_bytes", wan::kStandardCredit},
          {"standard_credit_is_enough", plan.standard_is_enough},
          {"standard_credit_round_trip_ns", plan.standard_reach.count()},
          {"local_credit_bytes", in.local_credit},
          {"local_credit_round_trip_ns", plan.local_reach.count()},
          {"block_bytes", plan.block_size ? Json(plan.block_size->bytes()) : Json()},
          {"blocks_of_64_bytes", plan.blocks}};
}

}  // namespace

int extend(const ExtendOptions& options) {
  constexpr const char* kCommand = "extend";
  if (!options.distance && !options.round_trip) {
    return refuse(kCommand, "how far is it? --distance 5000km, or --round-trip 50ms");
  }
  if (options.round_trip && (options.distance || options.per_metre || options.equipment)) {
    return refuse(kCommand, "--round-trip is instead of --distance, --per-metre and --equipment");
  }
  const auto input = input_of(options);
  if (!input) return refuse(kCommand, input.error().message);
  const auto plan = wan::make_plan(*input);
  if (!plan) return refuse(kCommand, "no machine has a buffer for such a path");
  if (options.json) {
    print_json(json_of(*input, *plan));
  } else {
    print_plan(*input, *plan);
  }
  return kOk;
}

}  // namespace weft::cli
