// SPDX-License-Identifier: Apache-2.0
// M_Keys by port GUID: of ports that another manager has protected, or this one before it began
// anew. IBA 14.2.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"

namespace weft::sm {

class MKeys {
 public:
  // Whoever does not say who it is, is asked with so many different keys at most.
  static constexpr std::size_t kMostTried = 8;

  // Of a file in the format of OpenSM's guid2mkey: in each line a port GUID and its key. `name` is
  // what errors call the file. Errors: the first line that cannot be understood, and what would be
  // right.
  [[nodiscard]] static Expected<MKeys> parse(std::string_view text, const std::string& name);
  // As such a file, in the order of GUIDs.
  [[nodiscard]] std::string text() const;

  void put(Guid port, std::uint64_t key) { keys_[port] = key; }
  // Nothing: it is not known. 0: the port admits everybody.
  [[nodiscard]] std::optional<std::uint64_t> of(Guid port) const;
  // Those that there are beside `own` and 0, each once, those of many ports first; up to
  // kMostTried.
  [[nodiscard]] std::vector<std::uint64_t> others(std::uint64_t own) const;

  friend bool operator==(const MKeys&, const MKeys&) = default;

 private:
  std::map<Guid, std::uint64_t> keys_;
};

}  // namespace weft::sm
