// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_negotiation_text.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"

namespace weft::fabric {
namespace {

using phy::ChannelDescription;
using phy::NegotiationOptions;

constexpr std::uint64_t kMostSeed = std::numeric_limits<std::int64_t>::max();  // TOML's integers

struct TimeKey {
  std::string_view name;
  Duration NegotiationOptions::*field;
};
constexpr std::array<TimeKey, 4> kTimeKeys{{{"delta", &NegotiationOptions::delta},
                                            {"soak", &NegotiationOptions::soak},
                                            {"xmit_time_out", &NegotiationOptions::xmit_time_out},
                                            {"ddr_time_out", &NegotiationOptions::ddr_time_out}}};

struct CountKey {
  std::string_view name;
  std::uint32_t NegotiationOptions::*field;
};
constexpr std::array<CountKey, 5> kCountKeys{
    {{"burst_len", &NegotiationOptions::burst_len},
     {"max_retry", &NegotiationOptions::max_retry},
     {"max_attempts", &NegotiationOptions::max_attempts},
     {"default_iteration", &NegotiationOptions::default_iteration},
     {"default_receive", &NegotiationOptions::default_receive}}};

struct ChannelKey {
  std::string_view name;
  double ChannelDescription::*field;
};
constexpr std::array<ChannelKey, 11> kChannelKeys{
    {{"length_m", &ChannelDescription::length_m},
     {"loss_db_per_m", &ChannelDescription::loss_db_per_m},
     {"skin_share", &ChannelDescription::skin_share},
     {"board_loss_db", &ChannelDescription::board_loss_db},
     {"return_loss_db", &ChannelDescription::return_loss_db},
     {"crosstalk_db", &ChannelDescription::crosstalk_db},
     {"noise_mv", &ChannelDescription::noise_mv},
     {"random_jitter_ps", &ChannelDescription::random_jitter_ps},
     {"sinusoidal_jitter_ps", &ChannelDescription::sinusoidal_jitter_ps},
     {"sinusoidal_jitter_hz", &ChannelDescription::sinusoidal_jitter_hz},
     {"lane_spread", &ChannelDescription::lane_spread}}};

// One value for both ends, or one for each.
template <class Set>
Done for_each_end(const Value& value, Set set) {
  const auto list = value.array();
  for (std::size_t side = 0; side < 2; ++side) {
    if (list && list->size() != 2) return value.wrong("must be one value, or one for each end");
    if (Done done = set(side, list ? (*list)[side] : value); !done) return done;
  }
  return {};
}

Done read_configurations(std::array<std::uint8_t, 2>& counts, const Value& value) {
  return for_each_end(value, [&](std::size_t side, const Value& one) {
    return store(counts[side], one.integer(1, phy::kMostSettings));
  });
}

Done read_time(LabNegotiation& negotiation, Duration NegotiationOptions::*field,
               const Value& value) {
  return for_each_end(value, [&](std::size_t side, const Value& one) -> Done {
    const auto words = one.words();
    const auto ns = words ? parse_quantity(*words, kTimeUnits) : std::nullopt;
    if (!ns) return one.wrong("must be a time in ns, us, ms or s, as in \"50ms\"");
    negotiation.ends[side].*field = Duration(static_cast<Duration::rep>(*ns));
    return {};
  });
}

// "first", "second" or "both".
Done read_no_sweep(LabNegotiation& negotiation, const Value& value) {
  const auto text = value.string();
  const bool both = text && *text == "both";
  if (!text || (*text != "first" && *text != "second" && !both)) {
    return value.wrong("must be \"first\", \"second\" or \"both\": the end that asks for it");
  }
  negotiation.ends[0].no_sweep = both || *text == "first";
  negotiation.ends[1].no_sweep = both || *text == "second";
  return {};
}

Expected<double> number_of(const Value& value) {
  const auto words = value.words();
  const auto number = words ? parse_number(*words) : std::nullopt;
  if (!number) return value.wrong("must be a number");
  return *number;
}

Keys<LabNegotiation> negotiation_keys() {
  using Target = LabNegotiation;
  Keys<Target> keys{
      {"transmit",
       [](Target& out, const Value& value) { return read_configurations(out.transmit, value); }},
      {"receive",
       [](Target& out, const Value& value) { return read_configurations(out.receive, value); }},
      {"no_sweep", read_no_sweep},
      {"mad_loss", [](Target& out, const Value& value) -> Done {
         const auto number = number_of(value);
         if (!number || !(*number >= 0 && *number <= 1)) {
           return value.wrong("must be a number from 0 to 1");
         }
         out.mad_loss = *number;
         return {};
       }}};
  for (const TimeKey& key : kTimeKeys) {
    keys.push_back({key.name, [field = key.field](Target& out, const Value& value) {
                      return read_time(out, field, value);
                    }});
  }
  for (const CountKey& key : kCountKeys) {
    keys.push_back({key.name, [field = key.field](Target& out, const Value& value) {
                      return for_each_end(value, [&](std::size_t side, const Value& one) {
                        return store(out.ends[side].*field, one.integer(0, 1000));
                      });
                    }});
  }
  return keys;
}

Keys<LabNegotiation> channel_keys() {
  using Target = LabNegotiation;
  Keys<Target> keys;
  for (const ChannelKey& key : kChannelKeys) {
    keys.push_back({key.name, [field = key.field](Target& out, const Value& value) {
                      return store(out.channel.*field, number_of(value));
                    }});
  }
  keys.push_back({"seed", [](Target& out, const Value& value) {
                    return store(out.channel.seed, value.integer(0, kMostSeed));
                  }});
  return keys;
}

// "3", or "[3, 5]".
template <class T>
std::string pair_text(const T& first, const T& second) {
  return first == second ? fmt::to_string(first) : fmt::format("[{}, {}]", first, second);
}

std::string table_line(std::string_view name, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  return fmt::format("{} = {{ {} }}\n", name, fmt::join(words, ", "));
}

}  // namespace

Done read_negotiation(LabNegotiation& negotiation, const Value& value) {
  return read_keys(negotiation_keys(), negotiation, value);
}

Done read_channel(LabNegotiation& negotiation, const Value& value) {
  return read_keys(channel_keys(), negotiation, value);
}

std::string negotiation_lines(const LabNegotiation& negotiation) {
  const LabNegotiation usual;
  const auto& [first, second] = negotiation.ends;
  std::vector<std::string> words;
  const auto add_counts = [&words](std::string_view name, const std::array<std::uint8_t, 2>& value,
                                   const std::array<std::uint8_t, 2>& plain) {
    if (value != plain)
      words.push_back(fmt::format("{} = {}", name, pair_text(value[0], value[1])));
  };
  add_counts("transmit", negotiation.transmit, usual.transmit);
  add_counts("receive", negotiation.receive, usual.receive);
  if (first.no_sweep || second.no_sweep) {
    words.push_back(fmt::format("no_sweep = \"{}\"", !second.no_sweep  ? "first"
                                                     : !first.no_sweep ? "second"
                                                                       : "both"));
  }
  if (negotiation.mad_loss != 0) {
    words.push_back(fmt::format("mad_loss = {}", negotiation.mad_loss));
  }
  for (const TimeKey& key : kTimeKeys) {
    if (first.*key.field == usual.ends[0].*key.field &&
        second.*key.field == usual.ends[1].*key.field) {
      continue;
    }
    const auto quoted = [](Duration time) { return '"' + time_text(time) + '"'; };
    words.push_back(fmt::format("{} = {}", key.name,
                                pair_text(quoted(first.*key.field), quoted(second.*key.field))));
  }
  for (const CountKey& key : kCountKeys) {
    if (first.*key.field == usual.ends[0].*key.field &&
        second.*key.field == usual.ends[1].*key.field) {
      continue;
    }
    words.push_back(
        fmt::format("{} = {}", key.name, pair_text(first.*key.field, second.*key.field)));
  }
  std::string out = "speed = \"auto\"\n" + table_line("negotiation", words);
  words.clear();
  for (const ChannelKey& key : kChannelKeys) {
    if (negotiation.channel.*key.field == usual.channel.*key.field) continue;
    words.push_back(fmt::format("{} = {}", key.name, negotiation.channel.*key.field));
  }
  if (negotiation.channel.seed != usual.channel.seed) {
    words.push_back(fmt::format("seed = {}", negotiation.channel.seed));
  }
  return out + table_line("channel", words);
}

}  // namespace weft::fabric
