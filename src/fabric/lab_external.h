// SPDX-License-Identifier: Apache-2.0
// Where a data service works that is on a host outside of the fabric (docs/data-services.md).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fabric/lab_extender.h"
#include "fabric/lab_parts.h"

namespace weft::fabric {

struct LabExternal {
  // Where a server listens, one for each port that the service is at, in their order.
  std::vector<PartAddress> servers;
  // From where the places of the service speak to them; nothing: any address and port.
  std::optional<PartAddress> listen;
  // What the places prove that they are, and the servers to them, as of LabExtender and LabRemote.
  std::string key;
  std::string certificate;
  std::vector<std::string> fingerprints;
  bool insecure = false;
  friend bool operator==(const LabExternal&, const LabExternal&) = default;

  // The way from the place that is the `index`th to its server, which is there.
  [[nodiscard]] LabExtender way_of(std::size_t index) const;
};

// Of the same kind, at the server: what it listens at, and who may come, each by one key. With
// `insecure` one may come, and nobody proves anything.
struct LabExternalServer {
  std::vector<PartAddress> listens;  // one at least
  std::string key;
  std::string certificate;
  std::vector<std::string> fingerprints;
  bool insecure = false;

  [[nodiscard]] LabExtender ways() const;
};

}  // namespace weft::fabric
