// SPDX-License-Identifier: Apache-2.0
// The subnet manager and the subnet administrator of a lab that has Weft's own, or of one of its
// subnets, at one of its nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "daemon/lab/managed_subnet.h"
#include "fabric/fabric.h"

namespace weft::daemon {

class LabManager {
 public:
  // `fabric` outlives it. `database` is the file by which it remembers what was before; empty: it
  // does not. Errors: another manager is at the node's port; a file that the lab names for the
  // manager cannot be read, or is wrong; the database is another program's. `subnet`: which one of
  // the lab's it manages.
  static Expected<std::unique_ptr<LabManager>> open(fabric::Fabric& fabric,
                                                    const std::string& database = {},
                                                    std::size_t subnet = 0);

  // The first sweep begins with the next run().
  void start(Time now);
  // Call it after everything that happened in the fabric, and at deadline().
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const { return subnet_->deadline(); }

  // What is to be said to whoever begins the lab: sentences.
  [[nodiscard]] const std::vector<std::string>& notes() const { return subnet_->notes(); }
  // Which port each service LID leads to by now, DataServices::lids(), and when that is another
  // one.
  [[nodiscard]] const sm::PathSteering& steering() const { return subnet_->steering(); }
  // To say which of them are well, and what they have to do: holds from the next run() on.
  [[nodiscard]] sm::PathSteering& steering() { return subnet_->steering(); }
  [[nodiscard]] nlohmann::json report() const;
  // ManagedSubnet::answer(). The end ports of a path are called by the names of the lab's nodes
  // too.
  [[nodiscard]] Expected<nlohmann::json> answer(nlohmann::json request);

 private:
  LabManager(fabric::Fabric& fabric, fabric::Node& node, std::uint8_t port,
             std::unique_ptr<ManagedSubnet> subnet);

  fabric::Fabric& fabric_;
  fabric::Node& node_;
  const std::uint8_t port_;
  std::unique_ptr<ManagedSubnet> subnet_;
};

}  // namespace weft::daemon
