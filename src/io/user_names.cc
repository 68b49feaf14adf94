// SPDX-License-Identifier: Apache-2.0
#include "io/user_names.h"

#include <grp.h>
#include <pwd.h>

#include <charconv>
#include <system_error>

namespace weft::io {
namespace {

// -1 is no user's number: chown() and its like take it for "no change".
template <class Id>
std::optional<Id> number_in(const std::string& text) {
  Id out = 0;
  const char* const last = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), last, out);
  if (text.empty() || error != std::errc{} || stop != last || out == static_cast<Id>(-1)) {
    return std::nullopt;
  }
  return out;
}

}  // namespace

std::string user_name(uid_t user) {
  const passwd* const entry = getpwuid(user);
  return entry != nullptr && entry->pw_name[0] != '\0' ? entry->pw_name : std::to_string(user);
}

std::optional<uid_t> find_user(const std::string& name) {
  const passwd* const entry = getpwnam(name.c_str());
  return entry != nullptr ? std::optional(entry->pw_uid) : number_in<uid_t>(name);
}

std::optional<gid_t> find_group(const std::string& name) {
  const group* const entry = getgrnam(name.c_str());
  return entry != nullptr ? std::optional(entry->gr_gid) : number_in<gid_t>(name);
}

}  // namespace weft::io
