// SPDX-License-Identifier: Apache-2.0
// An ordered table of rules that decides how a query for a path is answered: with the real LID of
// the destination, by way of data services, or not at all. The first rule that fits counts.
//
// A rule is per direction. A symmetric one is for the way back too, which leads through the same
// services the other way round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/gid_prefix.h"
#include "base/ids.h"

namespace weft::sm {

// One of the ends of a path, or who asks for it. A port may have several GIDs, one for each virtual
// machine or process behind it: rules tell them apart.
struct PathEnd {
  Gid gid{};    // that the query names; of who names none, the port's first
  Guid port{};  // that has it; 0: none of this subnet
  Lid lid{};    // of who asks, that the query came from
};

// What a query for a path says, and what the subnet adds to it.
struct PathQuery {
  PathEnd source{};
  PathEnd destination{};
  PathEnd requester{};
  // The LID that the path is to begin at, where the query says one. A service asks for the rest of
  // a way by the service LID at which packets arrive.
  Lid slid{};
  std::optional<std::uint64_t> service_id{};
  PKey pkey{};  // that both ends may use, or that is asked for; 0: there is none
  Sl sl{};      // that is asked for, or that the direct path would have
  std::optional<std::uint16_t> qos_class{};  // 12 bits
};

// Which ends a rule is for: those that any of these fits. None: every one.
struct EndMatch {
  std::vector<GidPrefix> gids{};  // a GID is a prefix of 128 bits
  std::vector<Guid> ports{};      // port GUIDs: whatever GIDs the port has
  std::vector<Lid> lids{};        // of who asks alone

  [[nodiscard]] bool is_any() const { return gids.empty() && ports.empty() && lids.empty(); }
  [[nodiscard]] bool fits(const PathEnd& end) const;
  friend bool operator==(const EndMatch&, const EndMatch&) = default;
};

struct ServiceIdRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // itself in it
  friend bool operator==(const ServiceIdRange&, const ServiceIdRange&) = default;
};

enum class PathAction : std::uint8_t {
  kDirect,   // the real LID
  kThrough,  // that of a service, which asks for the way on
  kNone,     // there is no such path
};
[[nodiscard]] std::string_view to_string(PathAction action);  // "direct", "through", "none"

struct PathRule {
  std::string name{};  // unique where it is not empty
  EndMatch from{};
  EndMatch to{};
  EndMatch requester{};
  std::optional<ServiceIdRange> service_ids{};  // a query without a ServiceID does not fit
  std::optional<PKey> pkey{};                   // its number counts, not the membership
  std::optional<Sl> sl{};
  std::optional<std::uint16_t> qos_class{};  // a query without a QoSClass does not fit
  PathAction action = PathAction::kDirect;
  std::vector<std::string> through{};  // services, from the source on; with kThrough one at least
  std::optional<Sl> answer_sl{};       // of the path that it answers; with kNone there is none
  bool symmetric = false;
  friend bool operator==(const PathRule&, const PathRule&) = default;

  // It looks at what only the query has said that began a way: of a packet that comes to a service
  // nobody can tell it.
  [[nodiscard]] bool looks_at_query() const { return service_ids || sl || qos_class; }
};

// In which direction a rule fits a query.
enum class RuleFit : std::uint8_t {
  kNot,
  kForward,  // source and destination are its `from` and `to`
  kReturn,   // the other way round, and it is symmetric
  kBoth,     // both
};

// The condition of a rule that a query does not meet, in the words of lab files: "from", "pkey".
// Empty: it fits.
struct RuleTrial {
  RuleFit fit = RuleFit::kNot;
  std::string_view unmet{};
};
// `on_the_way`: a service asks for the rest of a way. What looks_at_query() is taken for met then,
// unless the service says otherwise; an SL it cannot know.
[[nodiscard]] RuleTrial try_rule(const PathRule& rule, const PathQuery& query,
                                 bool on_the_way = false);

class PathRules {
 public:
  static constexpr std::size_t kMost = 16'384;

  // What holds where no rule fits: kDirect or kNone.
  void set_default(PathAction action) { default_ = action; }
  [[nodiscard]] PathAction default_action() const { return default_; }

  // Before the rule at `index`; behind all others where there is none. Errors: invalid_argument
  // for a rule that contradicts itself (no service to lead through, or one twice; services, but
  // another action; an SL of no path; a range that ends before it begins); file_exists for a name
  // that another rule has; no_buffer_space beyond kMost.
  Expected<void> insert(std::size_t index, PathRule rule);
  Expected<void> add(PathRule rule) { return insert(rules_.size(), std::move(rule)); }
  // Errors: result_out_of_range: there is no such rule.
  Expected<void> remove(std::size_t index);
  [[nodiscard]] const std::vector<PathRule>& all() const { return rules_; }
  // By its name.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;

 private:
  std::vector<PathRule> rules_;
  PathAction default_ = PathAction::kDirect;
};

}  // namespace weft::sm
