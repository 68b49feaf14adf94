// SPDX-License-Identifier: Apache-2.0
// What rules and data services come to for a path: whether it is direct, leads through services, or
// is not there.
//
//   PathSteering steering;
//   steering.set_services({{.name = "firewall", .instances = {{{.port = guid}}}}});
//   steering.insert(0, {.action = PathAction::kThrough, .through = {"firewall"}});
//   steering.decide(query, true).hops.front().lids
//
// A service that asks for the way on, for a packet that it has seen, gets the next service of the
// rule that leads through it, or the real LID behind the last one. It says for whom by the GIDs of
// both ends, and that it asks as a service by the service LID at which the packet arrived; who says
// no LID, and asks for a path that does not begin at his port, asks as the service there.
//
// ServiceID, QoSClass and SL of the query that began the way a service does not know. So it gets
// what all rules have in common that lead through it, whatever they say of these three: those
// services that any of them has behind it, where one has them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "sm/policy/data_services.h"
#include "sm/policy/path_rules.h"

namespace weft::sm {

struct PathDecision {
  PathAction action = PathAction::kDirect;
  std::optional<std::size_t> rule{};     // index; nothing: none fits
  std::optional<std::size_t> service{};  // as which the requester asks, of services()
  std::vector<ServiceHop> hops{};        // that are still ahead; with kThrough one at least
  // What leaves the asking service should come from there, so that answers to it come back through
  // the service; 0: from its source, and they do not.
  Lid returns_to{};
  // What the rule gives to the path, and to what each service on it leads on; nothing: it does not
  // say.
  std::optional<Sl> sl{};
  std::string reason{};  // why it is not what the rule says; empty: it is
};

// A query for a path between two ends, and what became of it.
struct PathAnswer {
  std::uint64_t number = 0;  // from 1 on
  Time when{};
  PathQuery query{};
  PathDecision decision{};  // its rule is the one that had that index then
  std::string rule{};       // the name of that; empty: it has none
  std::size_t paths = 0;    // that were told; none: the ports do not reach each other so
};

// What a lab file, or a command line, says of all this.
struct SteeringOptions {
  std::vector<DataService> services{};
  std::vector<PathRule> rules{};
  PathAction otherwise = PathAction::kDirect;  // where no rule fits
};

class PathSteering {
 public:
  explicit PathSteering(const DataServiceLimits& limits = {}) : services_(limits) {}

  // All of it. Errors: those of what is below.
  Expected<void> set(const SteeringOptions& options);
  // Errors: as DataServices::set() has them; invalid_argument: a rule leads through a service that
  // there would not be any more.
  Expected<void> set_services(std::vector<DataService> services);
  // Errors: as PathRules has them; invalid_argument: there is no such service.
  Expected<void> insert(std::size_t index, PathRule rule);
  Expected<void> add(PathRule rule) { return insert(rules_.all().size(), std::move(rule)); }
  Expected<void> remove(std::size_t index);
  void set_default(PathAction action);

  [[nodiscard]] const PathRules& rules() const { return rules_; }
  [[nodiscard]] const DataServices& services() const { return services_; }
  // To say who is there and well; not to set() them.
  [[nodiscard]] DataServices& services() { return services_; }
  // All services that the rule leads through are in other subnets: it answers nothing here.
  [[nodiscard]] bool is_elsewhere(const PathRule& rule) const;
  // All paths are direct.
  [[nodiscard]] bool is_idle() const {
    return rules_.all().empty() && rules_.default_action() == PathAction::kDirect;
  }

  // `remember`: the requester is told, which counts: as a hit, and where services are balanced by
  // load.
  [[nodiscard]] PathDecision decide(const PathQuery& query, bool remember);

  // How many paths were told by the decision that was made last, and remembered.
  void told(std::size_t paths);
  // Those that were remembered last, the oldest first; while is_idle() nobody decides anything.
  static constexpr std::size_t kAnswersKept = 256;
  [[nodiscard]] const std::deque<PathAnswer>& answers() const { return answers_; }
  // What time it is from now on.
  void set_time(Time now) { now_ = now; }
  // How many queries a rule has answered, or where none fitted.
  [[nodiscard]] std::uint64_t hits(std::optional<std::size_t> rule) const {
    return rule ? hits_[*rule] : otherwise_;
  }
  // Grows when answers may have become others.
  [[nodiscard]] std::uint64_t generation() const { return generation_ + services_.generation(); }

 private:
  // Services along a path, from its source on.
  using Chain = std::vector<std::size_t>;

  [[nodiscard]] Chain chain_of(const PathRule& rule, bool reversed) const;
  // A rule that leads through the service that asks.
  struct Leading {
    std::size_t rule = 0;
    RuleFit fit = RuleFit::kNot;
    Chain ahead{};  // of that service
  };

  [[nodiscard]] std::optional<std::size_t> named_service(const PathQuery& query) const;
  [[nodiscard]] bool asks_as_service(const PathQuery& query) const;
  // How many of them are behind the requester, for whom it asks as the last of these.
  [[nodiscard]] std::size_t passed(const Chain& chain, const PathQuery& query) const;
  [[nodiscard]] PathDecision find(const PathQuery& query, bool remember);
  [[nodiscard]] std::optional<Leading> leading(std::size_t index, RuleFit fit,
                                               const PathQuery& query) const;
  [[nodiscard]] PathDecision lead_on(const std::vector<Leading>& rules, const PathQuery& query,
                                     bool remember);
  [[nodiscard]] PathDecision answer(std::size_t index, RuleFit fit, const PathQuery& query,
                                    bool remember);
  Expected<void> check_services(const PathRule& rule, const std::vector<DataService>& all) const;

  PathRules rules_;
  DataServices services_;
  std::vector<std::uint64_t> hits_;  // as rules_
  std::uint64_t otherwise_ = 0;
  std::deque<PathAnswer> answers_;
  std::uint64_t answered_ = 0;
  Time now_{};
  std::uint64_t generation_ = 0;
};

}  // namespace weft::sm
