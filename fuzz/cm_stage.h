// SPDX-License-Identifier: Apache-2.0
// A host's connection manager for a fuzz target, and a consumer that holds what it is told against
// what it was told before.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "base/random.h"
#include "input.h"
#include "mgmt/connection_manager.h"
#include "network.h"

namespace weft::fuzz::cm_stage {

using namespace weft::mgmt;

inline constexpr std::uint32_t kIds = 12;

class Host final : private LocalEnds, private EventSink {
 public:
  // `flags`: how this run's managers are set up.
  Host(unsigned number, unsigned flags, Network& network)
      : gid(address(number)),
        entropy_(Random(number)),
        manager({.limits = {.ids = kIds, .passive_ids = kIds - 2, .listeners = 3, .early = 2},
                 .first_retry = (flags & 1) != 0 ? 500ms : 0ms,
                 .early_patience = (flags & 2) != 0 ? 1s : 0ms},
                *this, entropy_, network, this) {}

  const Gid gid;
  std::vector<CmId> ids;  // given out, perhaps destroyed since
  CmId asked{};           // what the last event that wants an answer was about

 private:
  std::optional<LocalEnd> find(const Gid& wanted) const override {
    if (wanted != gid && wanted != address(9)) return std::nullopt;
    return LocalEnd{.ca_guid = Guid{7}};
  }
  // What an event may follow: each is told once, and in this order.
  enum Told : unsigned { kResponse = 1, kEstablished = 2, kOver = 4, kOut = 8 };
  void on_event(const CmEvent& event) override {
    require(manager.state(event.id).has_value());
    unsigned& told = told_[event.id];
    if (std::holds_alternative<ConnectRequest>(event.what) ||
        std::holds_alternative<SidrRequest>(event.what)) {
      require(told == 0);
      ids.push_back(event.id);
      asked = event.id;
    } else if (std::holds_alternative<ConnectResponse>(event.what)) {
      require(told == 0);
      told |= kResponse;
    } else if (std::holds_alternative<Established>(event.what)) {
      require(told == 0);
      told |= kEstablished;
    } else if (std::holds_alternative<TimewaitExit>(event.what)) {
      require((told & kOut) == 0 && (told & kOver) != 0);
      told |= kOut;
    } else if (std::holds_alternative<Disconnected>(event.what) ||
               std::holds_alternative<Rejected>(event.what) ||
               std::holds_alternative<SidrReply>(event.what)) {
      require((told & kOver) == 0);
      told |= kOver;
    } else {
      require((told & kOut) == 0);
      if (std::holds_alternative<AlternatePathRequest>(event.what)) asked = event.id;
    }
  }

  SeededEntropy entropy_;
  std::map<CmId, unsigned> told_;

 public:
  ConnectionManager manager;
};

}  // namespace weft::fuzz::cm_stage
