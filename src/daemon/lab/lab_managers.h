// SPDX-License-Identifier: Apache-2.0
// The subnet managers of a lab that has Weft's own: of most labs one, of one that is several
// subnets one for each.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "daemon/lab/lab_manager.h"
#include "fabric/fabric.h"

namespace weft::daemon {

class LabManagers {
 public:
  // Those whose nodes are here; null: none is. `database` is the first one's, as
  // LabManager::open() has it; others have files beside it, where they name none. Errors as there.
  static Expected<std::unique_ptr<LabManagers>> open(fabric::Fabric& fabric,
                                                     const std::string& database);

  void start(Time now);
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] std::vector<std::string> notes() const;
  // Of each subnet, by its index in the lab; null: its manager is not here.
  [[nodiscard]] std::vector<sm::PathSteering*> steerings();
  // Of the first that is here, with those of the others as "more_subnets".
  [[nodiscard]] nlohmann::json report() const;
  // Of the first that has an answer, else what the first says; what changes something is for all,
  // and the log of paths is that of all, one behind the other.
  [[nodiscard]] Expected<nlohmann::json> answer(const nlohmann::json& request);

 private:
  LabManagers() = default;
  // Calls each(manager) for those that are here.
  template <class Each>
  void for_each(Each&& each) const {
    for (const auto& manager : managers_) {
      if (manager) each(*manager);
    }
  }

  std::vector<std::unique_ptr<LabManager>> managers_;  // by subnet; one is here at least
};

}  // namespace weft::daemon
