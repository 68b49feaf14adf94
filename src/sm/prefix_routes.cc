// SPDX-License-Identifier: Apache-2.0
#include "sm/prefix_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/gid_text.h"
#include "sm/option_text.h"

namespace weft::sm {
namespace {

constexpr std::string_view kAny = "*";

// 0: any. Nothing: it is neither a number nor that.
std::optional<std::uint64_t> number_or_any(std::string_view text) {
  if (text == kAny) return 0;
  const auto number = parse_guid(text);
  if (!number || *number == Guid{}) return std::nullopt;
  return number->value();
}

std::optional<PrefixRoute> route_of(std::string_view line) {
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  const auto prefix = number_or_any(line.substr(0, end));
  const auto router = number_or_any(trim(line.substr(end)));
  if (!prefix || !router) return std::nullopt;
  return PrefixRoute{.prefix = *prefix, .router = Guid{*router}};
}

}  // namespace

Expected<PrefixRoutes> PrefixRoutes::parse(std::string_view text, const std::string& name) {
  PrefixRoutes all{.routes = {}, .notes = {}};
  unsigned last = 0;  // the line after which none is used
  for (unsigned number = 1; !text.empty(); ++number) {
    std::string_view line = cut(text, '\n');
    line = trim(cut(line, '#'));
    if (line.empty()) continue;
    const auto route = route_of(line);
    if (!route) {
      return fail(std::errc::invalid_argument,
                  fmt::format("{}:{}: {}: want the first 64 bits of GIDs and the port GUID of a "
                              "router, hexadecimal, or * for any, as in "
                              "'0x20010db800000001 0x0002c90300001dd1'",
                              name, number, quoted(line)));
    }
    if (last != 0) {
      all.notes.push_back(
          fmt::format("{}:{}: is never used: line {} leads to any router", name, number, last));
      continue;
    }
    all.routes.push_back(*route);
    if (*route == PrefixRoute{}) last = number;
  }
  return all;
}

}  // namespace weft::sm
