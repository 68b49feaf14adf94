// SPDX-License-Identifier: Apache-2.0
// Which paths there are: PathRecord and MultiPathRecord, IBA 15.2.5.16 and 15.2.5.20.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sm/prefix_routes.h"
#include "sm/sa/exchange.h"
#include "sm/sa/groups.h"
#include "sm/sa/subnet_view.h"
#include "wire/sa/path_record.h"

namespace weft::sm {

struct PathOptions {
  std::uint8_t packet_life = 18;               // 4.096 us * 2^n
  std::vector<PrefixRoute> prefix_routes{{}};  // as PrefixRoutes has them
  // Where routing needs no service levels: those of partitions, by their numbers; others have 0.
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

  // The end port that packets for a GID go to: the one that has it, or for another subnet's a
  // router. An index in ends(), or SubnetView::kNobody.
  [[nodiscard]] std::uint32_t end_towards(const Gid& gid) const {
    return view_.is_here(gid) ? view_.end_of(gid) : router_towards(prefix_of(gid));
  }

  // PathRecord: Get is for one, GetTable for all, or as many between two ports as NumbPath says.
  void paths(const SaRequest& request, SaReply& reply) const;
  // MultiPathRecord, GetMulti.
  void multi_paths(const SaRequest& request, SaReply& reply) const;

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

  [[nodiscard]] Ends ends_of(const Question& question, std::uint64_t gid_bit, const Gid& gid,
                             std::uint64_t lid_bit, Lid lid) const;
  void between(const Question& question, const ViewEnd& from, const ViewEnd& to,
               SaReply& reply) const;
  [[nodiscard]] bool path(const Question& question, const ViewEnd& from, const ViewEnd& to,
                          wire::PathRecord& answer) const;
  // The service level of a path whose P_Key is chosen. Nothing: not that which is asked for.
  [[nodiscard]] std::optional<Sl> level(const Question& question, const ViewEnd& from,
                                        const wire::PathRecord& answer, const Way& way) const;
  [[nodiscard]] bool fit(const Question& question, std::uint8_t mtu, std::uint8_t rate,
                         wire::PathRecord& answer) const;
  void to_group(const Question& question, SaReply& reply) const;
  [[nodiscard]] std::uint32_t router_towards(std::uint64_t prefix) const;
  [[nodiscard]] std::uint32_t any_router() const;
  [[nodiscard]] bool may_know(const SaRequest& request, const ViewEnd& from,
                              const ViewEnd& to) const;
  void tell(const Question& question, wire::PathRecord& answer, SaReply& reply) const;

  const SubnetView& view_;
  const GroupTable& groups_;
  const PathOptions options_;
  PathPolicy policy_;
};

}  // namespace weft::sm
