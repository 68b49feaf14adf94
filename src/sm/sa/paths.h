// SPDX-License-Identifier: Apache-2.0
// Which paths there are: PathRecord and MultiPathRecord, IBA 15.2.5.16 and 15.2.5.20.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sm/policy/path_steering.h"
#include "sm/prefix_routes.h"
#include "sm/sa/exchange.h"
#include "sm/sa/groups.h"
#include "sm/sa/subnet_view.h"
#include "wire/sa/path_record.h"

namespace weft::sm {

struct PathOptions {
  std::uint8_t packet_life = 18;               // 4.096 us * 2^n
  std::vector<PrefixRoute> prefix_routes{{}};  // as PrefixRoutes has them
  // Where routing needs no service levels, and no rule gives one: those of partitions, by their
  // numbers; others have 0.
  std::unordered_map<std::uint16_t, Sl> levels{};
  // The service levels, a bit each, that adapters send, and that switches forward: others have
  // VL 15 for their lane, and paths by them are not told.
  std::uint16_t adapter_levels = 0xFFFF;
  std::uint16_t switch_levels = 0xFFFF;
};

// Sees every path before it is told, and may change it. False: there is none for this asker.
using PathPolicy = std::function<bool(const SaRequest& request, wire::PathRecord& path)>;

class PathFinder {
 public:
  // What it is given outlives it.
  PathFinder(const SubnetView& view, const GroupTable& groups, const PathOptions& options)
      : view_(view), groups_(groups), options_(options) {}

  void set_policy(PathPolicy policy) { policy_ = std::move(policy); }
  // Which paths lead through data services, and which are not there; null: all are direct. It
  // outlives this.
  void steer_by(PathSteering* steering) { steering_ = steering; }

  // The end port that packets for a GID go to: the one that has it, or for another subnet's a
  // router. An index in ends(), or SubnetView::kNobody.
  [[nodiscard]] std::uint32_t end_towards(const Gid& gid) const {
    return view_.is_here(gid) ? view_.end_of(gid) : router_towards(prefix_of(gid));
  }

  // PathRecord: Get is for one, GetTable for all, or as many between two ports as NumbPath says.
  void paths(const SaRequest& request, SaReply& reply) const;
  // MultiPathRecord, GetMulti.
  void multi_paths(const SaRequest& request, SaReply& reply) const;
  // What steering makes of a PathRecord question for one path, and by what it was decided.
  struct Steered {
    PathQuery query{};
    PathDecision decision{};
  };
  // Nothing: nothing steers, or the question does not name one source and one destination.
  [[nodiscard]] std::optional<Steered> steered(const SaRequest& request) const;

 private:
  // What is asked of each path, and what both ends are.
  struct Question {
    const SaRequest& request;
    std::uint64_t mask = 0;
    wire::PathRecord asked{};
    std::size_t most = 1;  // paths between two ports
    // GIDs that the ports were named by; nothing: their first.
    std::optional<Gid> source{};
    std::optional<Gid> destination{};
    [[nodiscard]] bool has(std::uint64_t components) const {
      return (mask & components) == components;
    }
  };
  // Indices in ends(); all: the question does not say.
  struct Ends {
    wire::SaStatus status = wire::SaStatus::kOk;
    bool all = false;
    std::uint32_t one = SubnetView::kNobody;
  };

  [[nodiscard]] Question question_of(const SaRequest& request) const;
  [[nodiscard]] Ends ends_of(const Question& question, std::uint64_t gid_bit, const Gid& gid,
                             std::uint64_t lid_bit, Lid lid) const;
  void between(const Question& question, const ViewEnd& from, const ViewEnd& to,
               SaReply& reply) const;
  void direct(const Question& question, const ViewEnd& from, const ViewEnd& to,
              std::optional<Sl> given, SaReply& reply) const;
  // `given`: the SL that a rule gives the path.
  [[nodiscard]] bool path(const Question& question, const ViewEnd& from, const ViewEnd& to,
                          std::optional<Sl> given, wire::PathRecord& answer) const;
  // The service level of a path whose P_Key is chosen. Nothing: not that which is asked for.
  [[nodiscard]] std::optional<Sl> level(const Question& question, const ViewEnd& from,
                                        std::optional<Sl> given, const wire::PathRecord& answer,
                                        const Way& way) const;
  [[nodiscard]] bool fit(const Question& question, std::uint8_t mtu, std::uint8_t rate,
                         std::uint8_t life, wire::PathRecord& answer) const;
  void to_group(const Question& question, SaReply& reply) const;
  [[nodiscard]] std::uint32_t router_towards(std::uint64_t prefix) const;
  [[nodiscard]] std::uint32_t any_router() const;
  [[nodiscard]] bool may_know(const SaRequest& request, const ViewEnd& from,
                              const ViewEnd& to) const;
  void tell(const Question& question, wire::PathRecord& answer, SaReply& reply) const;

  // Through data services (steered_paths.cc). `to` is null where the destination is none of this
  // subnet's, and no router leads to it.
  struct Legs {            // of a way through services, together
    std::uint8_t mtu = 0;  // codes; 0: they have no links
    std::uint8_t rate = 0;
    std::size_t count = 0;
  };
  [[nodiscard]] bool steers() const { return steering_ != nullptr && !steering_->is_idle(); }
  [[nodiscard]] bool is_service_lid(Lid lid) const {
    return steers() && steering_->services().owner_of(lid).has_value();
  }
  [[nodiscard]] PathQuery query_of(const Question& question, const ViewEnd& from,
                                   const ViewEnd* to) const;
  [[nodiscard]] static bool names_both(const Question& question);
  void note_told(const Question& question, std::size_t paths) const {
    if (names_both(question)) steering_->told(paths);
  }
  // What the SL that a rule gives comes to, for who wants to know why.
  void judge_level(const Question& question, PathDecision& decision) const;
  void beyond(const Question& question, std::uint32_t from, SaReply& reply) const;
  // A service asks for a packet that came into this subnet by it.
  [[nodiscard]] bool is_on_the_way(const Question& question) const;
  void from_beyond(const Question& question, SaReply& reply) const;
  void led(const Question& question, const ViewEnd& from, const ViewEnd* to, const PathQuery& query,
           const PathDecision& decision, SaReply& reply) const;
  [[nodiscard]] bool lead(const Question& question, const ViewEnd& start, const ViewEnd* to,
                          const PathQuery& query, const PathDecision& decision,
                          wire::PathRecord& answer) const;
  [[nodiscard]] std::optional<Legs> legs(const ViewEnd& start, const ViewEnd* to,
                                         const PathDecision& decision, Lid first) const;
  [[nodiscard]] std::optional<PKey> pkey_towards(const Question& question, const PathQuery& query,
                                                 const PathDecision& decision, const ViewEnd& from,
                                                 const ViewEnd& to) const;

  const SubnetView& view_;
  const GroupTable& groups_;
  const PathOptions options_;
  PathPolicy policy_;
  PathSteering* steering_ = nullptr;
};

}  // namespace weft::sm
