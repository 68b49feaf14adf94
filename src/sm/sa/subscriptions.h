// SPDX-License-Identifier: Apache-2.0
// Who wants to be told what: InformInfo and InformInfoRecord, IBA 13.4.8.3, 13.4.11 and 15.2.5.12.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mgmt/mad/mad_client.h"
#include "sm/sa/exchange.h"
#include "wire/sa/inform_info.h"
#include "wire/sm/notice.h"

namespace weft::sm {

class Subscriptions {
 public:
  // Beyond `most`, none is taken.
  explicit Subscriptions(std::size_t most) : most_(most) {}

  // InformInfo: subscribes, or ends what the same port has subscribed.
  void set(const SubnetView& view, const SaRequest& request, SaReply& reply);
  // InformInfoRecord.
  void find(const SaRequest& request, SaReply& reply) const;
  // Where a notice is to be reported to, each address once.
  [[nodiscard]] std::vector<mgmt::MadAddress> who_wants(const SubnetView& view,
                                                        const wire::Notice& notice) const;
  void forget_missing(const SubnetView& view);
  [[nodiscard]] std::size_t size() const { return all_.size(); }

 private:
  struct Subscription {
    Gid subscriber{};
    std::uint16_t number = 0;
    mgmt::MadAddress to{};
    wire::InformInfo info{};
  };
  [[nodiscard]] static bool covers(const SubnetView& view, const Subscription& subscription,
                                   const wire::Notice& notice);

  const std::size_t most_;
  std::uint16_t last_number_ = 0;
  std::vector<Subscription> all_;
};

// What the traps of the administrator itself are about, in DataDetails: the GID of a port or group.
// IBA 14.2.5.1, traps 64 to 67.
[[nodiscard]] Gid gid_of(const wire::Notice& notice);
void set_gid(wire::Notice& notice, const Gid& gid);

}  // namespace weft::sm
