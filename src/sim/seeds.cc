// SPDX-License-Identifier: Apache-2.0
#include "sim/seeds.h"

#include <fmt/format.h>

#include <cerrno>  // program_invocation_name
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string_view>

namespace weft::sim {
namespace {

std::optional<std::uint64_t> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view view(text);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc{} || end != view.data() + view.size()) return std::nullopt;
  return value;
}

}  // namespace

std::vector<std::uint64_t> seeds(std::uint64_t usual) {
  if (const auto one = number_in("WEFT_SIM_SEED")) return {*one};
  std::vector<std::uint64_t> all(number_in("WEFT_SIM_SEEDS").value_or(usual));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

std::string how_to_replay(std::uint64_t seed, const std::string& test) {
  return fmt::format("seed {0}; replay: WEFT_SIM_SEED={0} {1} --gtest_filter={2}", seed,
                     program_invocation_name, test);
}

}  // namespace weft::sim
