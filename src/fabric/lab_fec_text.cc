// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_fec_text.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

namespace weft::fabric {
namespace {

// As many as a tunnel has places for.
constexpr std::uint8_t kMostFrames = 32;
constexpr std::uint8_t kMostRepairs = 8;

std::optional<std::uint8_t> count(std::string_view text, std::uint8_t most) {
  std::uint8_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && out >= 1 && out <= most ? std::optional(out) : std::nullopt;
}

}  // namespace

Expected<LabFec> read_fec(const Value& value) {
  const auto words = value.string();
  const std::string_view text = words ? std::string_view(*words) : std::string_view();
  const std::size_t plus = text.find('+');
  if (plus != std::string_view::npos) {
    const auto frames = count(text.substr(0, plus), kMostFrames);
    const auto repairs = count(text.substr(plus + 1), kMostRepairs);
    if (frames && repairs) return LabFec{.frames = *frames, .repairs = *repairs};
  }
  return value.wrong(fmt::format(
      "must be how many frames, 1 to {}, and how many that repair them, 1 to {}, as in \"10+2\"",
      kMostFrames, kMostRepairs));
}

std::string fec_words(const LabFec& fec) {
  return fmt::format("{}+{}", fec.frames, fec.repairs);
}

}  // namespace weft::fabric
