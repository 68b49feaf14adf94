// SPDX-License-Identifier: Apache-2.0
#include "sm/mkeys.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sm/option_text.h"

namespace weft::sm {

Expected<MKeys> MKeys::parse(std::string_view text, const std::string& name) {
  MKeys all;
  for (unsigned line = 1; !text.empty(); ++line) {
    const std::string_view entry = trim(cut(text, '\n'));
    if (entry.empty() || entry.front() == '#') continue;
    const std::size_t end = std::min(entry.find_first_of(" \t"), entry.size());
    const auto guid = number_of(entry.substr(0, end));
    const auto key = number_of(trim(entry.substr(end)));
    if (!guid || *guid == 0 || !key) {
      return fail(std::errc::invalid_argument,
                  fmt::format("{}:{}: want a port GUID and its M_Key, as in "
                              "'0x0002c90300001dd1 0x0000000000000001'",
                              name, line));
    }
    all.put(Guid{*guid}, *key);
  }
  return all;
}

std::string MKeys::text() const {
  std::string text;
  for (const auto& [port, key] : keys_)
    fmt::format_to(std::back_inserter(text), "{:#018x} {:#018x}\n\n", port.value(), key);
  return text;
}

std::optional<std::uint64_t> MKeys::of(Guid port) const {
  const auto found = keys_.find(port);
  return found == keys_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::uint64_t> MKeys::others(std::uint64_t own) const {
  std::map<std::uint64_t, std::size_t> ports;  // by key
  for (const auto& [port, key] : keys_) {
    if (key != own && key != 0) ++ports[key];
  }
  std::vector<std::uint64_t> keys;
  for (const auto& [key, count] : ports)
    keys.push_back(key);
  std::stable_sort(keys.begin(), keys.end(),
                   [&](std::uint64_t a, std::uint64_t b) { return ports[a] > ports[b]; });
  keys.resize(std::min(keys.size(), kMostTried));
  return keys;
}

}  // namespace weft::sm
