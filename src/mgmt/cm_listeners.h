// SPDX-License-Identifier: Apache-2.0
// Who listens for which service, and how many of its requests wait. Internal to mgmt/.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "mgmt/cm_parameters.h"

namespace weft::mgmt {

class CmListeners {
 public:
  struct Listener {
    ListenParameters parameters;
    std::uint32_t waiting = 0;
  };

  // invalid_argument: no backlog. address_in_use: another one would take the same requests.
  Expected<void> add(CmId id, const ListenParameters& parameters);
  void remove(CmId id);
  [[nodiscard]] Listener* find(CmId id);
  [[nodiscard]] const Listener* find(CmId id) const;
  [[nodiscard]] std::size_t size() const { return listeners_.size(); }

  // The listener for a request to `address`: one with that address before one with none, then the
  // one whose mask has more bits. 0: nobody.
  [[nodiscard]] CmId match(ServiceId service, const Gid& address) const;

 private:
  // By mask first: there are few masks, and all of one mask are found by the masked service ID.
  struct Masked {
    std::uint64_t mask = 0;
    std::map<std::pair<std::uint64_t, Gid>, CmId> services;
  };
  std::unordered_map<CmId, Listener> listeners_;
  std::vector<Masked> by_mask_;  // most bits first
};

}  // namespace weft::mgmt
