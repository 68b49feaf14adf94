// SPDX-License-Identifier: Apache-2.0
// Where other subnets are: a table of prefixes of GIDs, of which the longest that a GID has counts.
// A binary trie in which no node has a single way on but where a prefix ends (PATRICIA), so that a
// look-up takes no more steps than prefixes lie within one another or fork.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/gid_prefix.h"

namespace weft {

class PrefixTable {
 public:
  using Value = std::uint32_t;

  // In place of what the very same prefix had.
  void insert(const GidPrefix& prefix, Value value);
  // False: it is not there.
  bool remove(const GidPrefix& prefix);
  [[nodiscard]] std::optional<Value> find(const Gid& gid) const;

  [[nodiscard]] std::size_t size() const { return size_; }
  // In the order of the bits, those that lie within others after them.
  [[nodiscard]] std::vector<std::pair<GidPrefix, Value>> entries() const;

 private:
  struct Node;
  using Place = std::unique_ptr<Node>;
  struct Node {
    GidPrefix prefix;
    std::optional<Value> value;  // nothing: it is there for its children, of which it has two
    std::array<Place, 2> children;
  };

  static void tidy(Place& place);

  Place root_;
  std::size_t size_ = 0;
};

}  // namespace weft
