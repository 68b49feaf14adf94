// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_access.h"

#include <algorithm>
#include <cstddef>

namespace weft::fabric {
namespace {

constexpr std::string_view kOwner = "owner";
constexpr std::string_view kEveryone = "everyone";
constexpr std::string_view kGroup = "group:";
constexpr std::size_t kMostName = 64;

// What group(5) and directories of users allow is more than one would like to print.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMostName &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("._-@+ ").find(c) != std::string_view::npos;
         });
}

}  // namespace

std::optional<LabUsers> parse_lab_users(std::string_view text) {
  if (text == kOwner) return LabUsers{};
  if (text == kEveryone) return LabUsers{.who = LabUsers::Who::kEveryone, .group = {}};
  if (!text.starts_with(kGroup) || !is_name(text.substr(kGroup.size()))) return std::nullopt;
  return LabUsers{.who = LabUsers::Who::kGroup, .group = std::string(text.substr(kGroup.size()))};
}

std::string to_string(const LabUsers& users) {
  switch (users.who) {
    case LabUsers::Who::kOwner:
      return std::string(kOwner);
    case LabUsers::Who::kGroup:
      return std::string(kGroup) + users.group;
    case LabUsers::Who::kEveryone:
      return std::string(kEveryone);
  }
  return "";
}

}  // namespace weft::fabric
