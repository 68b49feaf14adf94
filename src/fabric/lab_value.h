// SPDX-License-Identifier: Apache-2.0
// What stands in a lab file, read as what it must be: every error names file, line and key.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/gid_prefix.h"
#include "base/gid_text.h"
#include "fabric/lab_builder.h"
#include "fabric/toml.h"

namespace weft::fabric {

using Done = Expected<void>;

// A value of the file and where it stands: what it must be, or an error that says so.
class Value {
 public:
  Value(const LabBuilder& builder, const toml::node& node, std::string key)
      : builder_(builder), node_(node), where_{node.source().begin.line, std::move(key)} {}

  [[nodiscard]] const Where& where() const { return where_; }
  [[nodiscard]] tl::unexpected<Error> wrong(const std::string& message) const {
    return builder_.wrong(where_, message);
  }

  [[nodiscard]] Expected<std::int64_t> integer(std::int64_t low, std::int64_t high) const {
    const auto* value = node_.as_integer();
    if (value == nullptr || value->get() < low || value->get() > high) {
      return wrong(fmt::format("must be a number from {} to {}", low, high));
    }
    return value->get();
  }
  [[nodiscard]] Expected<std::int64_t> choice(const std::vector<std::int64_t>& choices) const {
    const auto* value = node_.as_integer();
    if (value == nullptr ||
        std::find(choices.begin(), choices.end(), value->get()) == choices.end()) {
      return wrong(fmt::format("must be one of {}", fmt::join(choices, ", ")));
    }
    return value->get();
  }
  [[nodiscard]] Expected<std::string> string() const {
    const auto* value = node_.as_string();
    if (value == nullptr || value->get().empty()) return wrong("must be a string, not empty");
    return value->get();
  }
  [[nodiscard]] Expected<bool> boolean() const {
    const auto* value = node_.as_boolean();
    if (value == nullptr) return wrong("must be true or false");
    return value->get();
  }
  [[nodiscard]] Expected<Guid> guid() const {
    const auto* text = node_.as_string();
    const auto guid = text == nullptr ? std::nullopt : parse_guid(text->get());
    if (!guid || *guid == Guid{}) {
      return wrong("must be a GUID other than 0, as in \"0x0002c90300001dd0\"");
    }
    return *guid;
  }
  [[nodiscard]] Expected<Ipv4> ipv4() const {
    const auto* text = node_.as_string();
    const auto address = text == nullptr ? std::nullopt : parse_ipv4(text->get());
    if (!address) return wrong("must be an IPv4 address, as in \"10.254.0.1\"");
    return *address;
  }
  [[nodiscard]] Expected<PartAddress> udp_address() const {
    const auto* text = node_.as_string();
    const auto address = text == nullptr ? std::nullopt : parse_part_address(text->get());
    if (!address) {
      return wrong(
          "must be an IP address of the machine and a UDP port, as in "
          "\"192.0.2.1:18515\" or \"[2001:db8::1]:18515\"");
    }
    return *address;
  }
  [[nodiscard]] Expected<GidPrefix> gid_prefix() const {
    const auto* text = node_.as_string();
    const auto prefix = text == nullptr ? std::nullopt : parse_gid_prefix(text->get());
    if (!prefix) {
      return wrong("must be a prefix of GIDs, without bits after it, as in \"fd00:0:0:2::/64\"");
    }
    return *prefix;
  }
  // Of the parts that the builder knows by now, its index.
  [[nodiscard]] Expected<std::uint16_t> part() const;
  [[nodiscard]] Expected<Ipv4Network> network() const {
    const auto* text = node_.as_string();
    const auto network = text == nullptr ? std::nullopt : parse_network(text->get());
    if (!network) return wrong("must be an IPv4 network, as in \"10.254.0.0/16\"");
    return *network;
  }
  [[nodiscard]] Expected<LinkWidth> width() const {
    const auto* text = node_.as_string();
    const auto width = text == nullptr ? std::nullopt : parse_width(text->get());
    if (!width) return wrong(fmt::format("must be {}", kWidthNames));
    return *width;
  }
  [[nodiscard]] Expected<LinkSpeed> speed() const {
    const auto* text = node_.as_string();
    const auto speed = text == nullptr ? std::nullopt : parse_speed(text->get());
    if (!speed) return wrong(fmt::format("must be {}", kSpeedNames));
    return *speed;
  }
  // A string, or a number as one would write it.
  [[nodiscard]] Expected<std::string> words() const;
  // Its values in the order of the file; the parser sorts them by name.
  [[nodiscard]] Expected<std::vector<std::pair<std::string, Value>>> table() const;
  [[nodiscard]] Expected<std::vector<Value>> array() const;

 private:
  const LabBuilder& builder_;
  const toml::node& node_;
  Where where_;
};

template <class Field, class Read>
Done store(Field& field, Expected<Read> read) {
  if (!read) return tl::unexpected(std::move(read.error()));
  field = static_cast<Field>(std::move(*read));
  return {};
}

template <class Target>
struct Key {
  std::string_view name;
  std::function<Done(Target&, const Value&)> set;
};
template <class Target>
using Keys = std::vector<Key<Target>>;

template <class Target>
Done read_keys(const Keys<Target>& keys, Target& target, const Value& value) {
  const auto entries = value.table();
  if (!entries) return tl::unexpected(entries.error());
  for (const auto& [name, entry] : *entries) {
    const std::string& wanted = name;
    const auto key = std::find_if(keys.begin(), keys.end(),
                                  [&](const Key<Target>& row) { return row.name == wanted; });
    if (key == keys.end()) {
      std::vector<std::string_view> names;
      for (const Key<Target>& row : keys)
        names.push_back(row.name);
      return entry.wrong(fmt::format("there is no such key; there are {}", fmt::join(names, ", ")));
    }
    if (Done done = key->set(target, entry); !done) return done;
  }
  return {};
}

}  // namespace weft::fabric
