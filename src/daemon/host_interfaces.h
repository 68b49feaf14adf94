// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/entropy.h"
#include "base/error.h"
#include "base/time.h"
#include "rdmacm/interfaces.h"

namespace weft::daemon {

// The IP addresses of this network namespace, with the devices that programs see for them.
class HostInterfaces final : public rdmacm::Interfaces {
 public:
  explicit HostInterfaces(Entropy& entropy) : entropy_(entropy) {}

  // Reads them anew. Until it has succeeded once there are none.
  Expected<void> refresh();

  // The name of the interface that has an address; "" when none has.
  [[nodiscard]] std::string interface_of(const Gid& address) const;
  // All of them, as last read.
  [[nodiscard]] std::vector<Gid> addresses() const;

  [[nodiscard]] std::optional<mgmt::LocalEnd> find(const Gid& address) const override;
  [[nodiscard]] std::optional<rdmacm::LocalAddress> describe(const Gid& address,
                                                             std::uint32_t scope_id) const override;
  [[nodiscard]] tl::expected<Gid, std::errc> source_for(const Gid& destination,
                                                        std::uint32_t scope_id) const override;

 private:
  struct Known {
    Gid address;
    std::uint32_t ifindex = 0;
    std::string interface;
    rdmacm::LocalAddress local;
  };
  Expected<std::vector<Known>> read() const;
  [[nodiscard]] const Known* look_up(const Gid& address, std::uint32_t scope_id) const;

  Entropy& entropy_;
  // An address may be new: a look-up that fails reads again, now and then.
  mutable std::vector<Known> known_;
  mutable Time read_at_{};
};

}  // namespace weft::daemon
