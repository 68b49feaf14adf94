// SPDX-License-Identifier: Apache-2.0
#include "port/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace weft::port {
namespace {

constexpr double kMostDelaySeconds = 10;

tl::unexpected<Error> wrong(std::string_view key, std::string_view value,
                            std::string_view choices) {
  return fail(std::errc::invalid_argument,
              fmt::format("{}={}: the value must be {}", key, value, choices));
}

// The number at the front of `text`, which is left with its unit.
std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

Expected<void> set_probability(double& to, std::string_view key, std::string_view value) {
  std::string_view unit = value;
  const auto number = take_number(unit);
  if (!number || unit != "%" || *number > 100) {
    return wrong(key, value, "a percentage from 0% to 100%, such as 0.5%");
  }
  to = *number / 100;
  return {};
}

Expected<void> set_delay(Duration& to, std::string_view key, std::string_view value) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  static constexpr std::array<Unit, 3> kUnits{{{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  std::string_view unit = value;
  const auto number = take_number(unit);
  for (const Unit& each : kUnits) {
    if (!number || unit != each.name || *number * each.seconds > kMostDelaySeconds) continue;
    to = Duration{static_cast<Duration::rep>(std::llround(*number * each.seconds * 1e9))};
    return {};
  }
  return wrong(key, value, "a time in us, ms or s up to 10s, such as 2ms");
}

Expected<void> set_seed(std::uint64_t& to, std::string_view key, std::string_view value) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), to);
  if (error == std::errc{} && end == value.data() + value.size()) return {};
  return wrong(key, value, "a number, such as 7");
}

Expected<void> set(FaultConfig& config, std::string_view key, std::string_view value) {
  if (key == "loss") return set_probability(config.loss, key, value);
  if (key == "duplicate") return set_probability(config.duplicate, key, value);
  if (key == "reorder") return set_probability(config.reorder, key, value);
  if (key == "corrupt") return set_probability(config.corrupt, key, value);
  if (key == "delay") return set_delay(config.delay, key, value);
  if (key == "seed") return set_seed(config.seed, key, value);
  return fail(std::errc::invalid_argument,
              fmt::format("{}: there is no such fault; there are loss, duplicate, reorder, corrupt "
                          "and delay, and seed",
                          key));
}

}  // namespace

Expected<FaultConfig> parse_faults(std::string_view text) {
  FaultConfig config;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      return fail(std::errc::invalid_argument,
                  fmt::format("{}: KEY=VALUE is wanted, as in {}", item, kFaultSyntax));
    }
    if (auto ok = set(config, item.substr(0, equals), item.substr(equals + 1)); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  return config;
}

void FaultyLine::arrive(const FaultyFrame& frame, MutableBytes bytes, Time now, Sink& sink) {
  // Every datagram draws as often, so that changing one fault leaves the others where they were.
  const bool lost = random_.chance(config_.loss);
  const bool corrupted = random_.chance(config_.corrupt);
  const std::uint64_t where = random_.next();
  Fate fate;
  fate.twice = random_.chance(config_.duplicate);
  const bool reordered = random_.chance(config_.reorder);
  const std::uint64_t overtakers = random_.between(1, kMostOvertakers);
  if (lost) {
    ++tally_.lost;
    return;
  }
  if (corrupted && !bytes.empty()) {
    ++tally_.corrupted;
    bytes[where / 8 % bytes.size()] ^= std::byte{1} << static_cast<int>(where % 8);
  }
  if (fate.twice) ++tally_.duplicated;
  if (reordered) {
    ++tally_.reordered;
    fate.overtakers = overtakers;
  }
  if (config_.delay == Duration::zero()) {
    pass(frame, fate, now, sink);
  } else if (auto held = hold(frame, fate, now + config_.delay)) {
    delayed_.push_back(std::move(*held));
  }
}

std::optional<FaultyLine::Held> FaultyLine::hold(const FaultyFrame& frame, Fate fate, Time due) {
  if (held_bytes_ + frame.bytes.size() > kMostHeld) {
    ++tally_.overflowed;
    return std::nullopt;
  }
  held_bytes_ += frame.bytes.size();
  Held held;
  held.bytes.assign(frame.bytes.begin(), frame.bytes.end());
  held.frame = frame;
  held.frame.bytes = held.bytes;  // the vector's memory stays where it is when it is moved
  held.fate = fate;
  held.due = due;
  return held;
}

void FaultyLine::pass(const FaultyFrame& frame, Fate fate, Time now, Sink& sink) {
  if (fate.overtakers > 0) {
    auto held = hold(frame, fate, now + kReorderTime);
    if (!held) return;
    held->after = passed_ + fate.overtakers;
    overtaken_.push_back(std::move(*held));
    return;
  }
  hand_on(frame, fate, sink);
  ++passed_;
  if (!overtaken_.empty()) let_go([&](const Held& held) { return held.after <= passed_; }, sink);
}

void FaultyLine::hand_on(const FaultyFrame& frame, Fate fate, Sink& sink) {
  sink.frame(frame);
  if (fate.twice) sink.frame(frame);
}

template <class Ready>
void FaultyLine::let_go(Ready ready, Sink& sink) {
  const auto going = std::stable_partition(overtaken_.begin(), overtaken_.end(),
                                           [&](const Held& held) { return !ready(held); });
  for (auto each = going; each != overtaken_.end(); ++each) {
    held_bytes_ -= each->bytes.size();
    hand_on(each->frame, each->fate, sink);
  }
  overtaken_.erase(going, overtaken_.end());
}

void FaultyLine::release(Time now, Sink& sink) {
  while (!delayed_.empty() && delayed_.front().due <= now) {
    const Held held = std::move(delayed_.front());
    delayed_.pop_front();
    held_bytes_ -= held.bytes.size();
    pass(held.frame, held.fate, now, sink);
  }
  if (!overtaken_.empty()) let_go([&](const Held& held) { return held.due <= now; }, sink);
}

std::optional<Time> FaultyLine::deadline() const {
  std::optional<Time> first;
  if (!delayed_.empty()) first = delayed_.front().due;
  if (!overtaken_.empty()) {
    const Time due = overtaken_.front().due;  // none that came later leaves earlier
    first = first ? std::min(*first, due) : due;
  }
  return first;
}

}  // namespace weft::port
