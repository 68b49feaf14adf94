// SPDX-License-Identifier: Apache-2.0
// Who wants to be told what: InformInfo and InformInfoRecord, IBA 13.4.8.3, 13.4.11 and 15.2.5.12.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mgmt/mad/mad_client.h"
#include "sm/sa/exchange.h"
#include "sm/subnet_store.h"
#include "wire/sa/inform_info.h"
#include "wire/sm/notice.h"

namespace weft::sm {

// What is to be told, and of whom.
struct Report {
  wire::Notice notice{};
  Gid issuer{};                 // of the port that says it
  Lid from{};                   // where it came from; 0: the administrator itself
  std::optional<PKey> group{};  // of the group that it is about
};

struct Recipient {
  mgmt::MadAddress to{};
  bool trusted = false;  // subscribed with the SM_Key
};

class Subscriptions {
 public:
  // Beyond `most`, none is taken.
  explicit Subscriptions(std::size_t most) : most_(most) {}

  // InformInfo: subscribes, or ends what the same port has subscribed. Nobody can name a port that
  // it shares no partition with.
  void set(const SubnetView& view, const SaRequest& request, SaReply& reply);
  // InformInfoRecord.
  void find(const SaRequest& request, SaReply& reply) const;
  // Whom it is to be reported to, each address once: those whose InformInfo fits, and who share a
  // partition with what it is about (o13-17.1.1). Whoever has named LIDs and does not, has no
  // subscription any more (o13-17.1.2).
  [[nodiscard]] std::vector<Recipient> who_wants(const SubnetView& view, const Report& report);
  // The view is another one: those of ports that are gone end, and who has another LID by now is
  // told there.
  void view_changed(const SubnetView& view);
  [[nodiscard]] std::size_t size() const { return all_.size(); }

  // What begins, changes and ends is recorded there from now on; null: nowhere.
  void record_to(SubnetStore* store) { store_ = store; }
  void record_all() const;
  // One of before. False: it makes no sense, or there is no room for it.
  [[nodiscard]] bool restore(const SubscriptionState& subscription);

 private:
  using All = std::vector<SubscriptionState>;
  // The one by which a queue pair of a port wants to be told the same.
  [[nodiscard]] All::iterator find_like(const Gid& subscriber, const wire::InformInfo& info,
                                        Qpn qpn);
  void record(const SubscriptionState& subscription) const;
  [[nodiscard]] static bool may_subscribe(const SubnetView& view, std::uint32_t requester,
                                          const wire::InformInfo& info);
  [[nodiscard]] static bool may_know(const SubnetView& view, const SubscriptionState& subscription,
                                     const Report& report);

  const std::size_t most_;
  std::uint16_t last_number_ = 0;
  All all_;
  SubnetStore* store_ = nullptr;
};

// What the traps of the administrator itself are about, in DataDetails: the GID of a port or group.
// IBA 14.2.5.1, traps 64 to 67.
[[nodiscard]] Gid gid_of(const wire::Notice& notice);
void set_gid(wire::Notice& notice, const Gid& gid);

}  // namespace weft::sm
