// SPDX-License-Identifier: Apache-2.0
// Rules as they stand in a file, read: what the compiler makes tables of, and what the tests
// evaluate one by one. docs/firewall.md has the language.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "service/firewall/field.h"
#include "service/firewall/lexer.h"
#include "service/firewall/ranges.h"

namespace weft::service::firewall {

// What rule files may have at most: whoever may reload rules cannot exhaust the service.
inline constexpr std::size_t kMostText = std::size_t{16} << 20;  // bytes of the file
inline constexpr std::size_t kMostRules = 32'768;
inline constexpr std::size_t kMostChains = 1'024;
inline constexpr std::size_t kMostSets = 4'096;
inline constexpr std::size_t kMostRanges = 1'048'576;  // of all conditions and named sets
inline constexpr std::size_t kMostLogPrefix = 64;      // characters
inline constexpr std::size_t kMostName = 64;           // characters of names of chains and sets
inline constexpr std::uint32_t kMostDepth = 16;        // chains that jump into each other
inline constexpr std::uint64_t kMostSteps = 65'536;    // rules that one packet can come by
inline constexpr std::size_t kMostPrivateBytes = 8;    // that one condition looks at

struct Condition {
  Field field{};
  Ranges ranges;  // what matches
};

enum class Action : std::uint8_t {
  none,  // counts, logs; the next rule decides
  accept,
  drop,
  reject,  // drops, and tells the sender where the protocol has words for it
  jump,    // into a chain, and behind this rule if that does not decide
  go,      // into a chain, for good ("goto")
  leave,   // this chain ("return")
};

// Packets in a time; a rule with a limit matches only those that are within it, or with `over`
// only those that are not.
struct Limit {
  std::uint32_t packets = 1;
  Duration per{};
  std::uint32_t burst = 5;
  bool over = false;
};

struct Rule {
  std::vector<Condition> conditions;  // of different fields, all of which must hold
  Action action = Action::none;
  std::uint16_t target = 0;  // of jump and go: the chain
  bool log = false;
  std::string log_prefix;
  std::string comment;
  std::optional<Limit> limit;
  std::uint32_t line = 0;
};

struct Chain {
  std::string name;
  std::vector<Rule> rules;
};

// Bytes of private data that a condition looks at, as a number with the first byte highest.
struct PrivateBytes {
  std::uint8_t offset = 0;
  std::uint8_t length = 0;
  friend bool operator==(const PrivateBytes&, const PrivateBytes&) = default;
};

struct RuleSet {
  // Reads a rule file. `name` is what errors call it: "NAME:LINE:COLUMN: MESSAGE".
  [[nodiscard]] static Expected<RuleSet> parse(std::string_view text, std::string_view name);

  std::string table;
  std::vector<Chain> chains;
  std::uint16_t base = 0;        // index of the chain that packets come to
  Action policy = Action::drop;  // of packets for which no rule decides: accept, drop or reject
  std::vector<PrivateBytes> private_fields;  // what Field::private0 and the next ones are
  [[nodiscard]] std::size_t rules() const {
    std::size_t out = 0;
    for (const Chain& chain : chains)
      out += chain.rules.size();
    return out;
  }
};

}  // namespace weft::service::firewall
