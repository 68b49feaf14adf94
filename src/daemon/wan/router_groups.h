// SPDX-License-Identifier: Apache-2.0
// The multicast groups that a router's own subnet has and other sites may send to: the subnet
// administrator is asked for them, and the router's port joins each as a NonMember
// (IBA 15.2.5.17), by which it gets the group's packets and does not keep it alive. When groups
// come and go the administrator says so to those who have subscribed (IBA 13.4.11, notices 66 and
// 67); then it is asked again, and now and then besides. Where it takes no subscription, each
// second.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "fabric/channel_adapter.h"
#include "mgmt/port_agents.h"
#include "wan/router/multicast_routes.h"
#include "wire/sa/member_record.h"

namespace weft::daemon {

class RouterGroups final : private mgmt::PortAgents::User {
 public:
  // All that there are now; may come from inside the fabric's run().
  using Changed = std::function<void(const std::vector<wan::LocalGroup>&)>;

  // `node` stays until stop().
  RouterGroups(fabric::ChannelAdapter& node, Changed changed);
  RouterGroups(const RouterGroups&) = delete;
  RouterGroups& operator=(const RouterGroups&) = delete;
  ~RouterGroups() override = default;

  // Errors: a port has no room for its questions.
  Expected<void> start();
  void stop();

  // The port by which the router is in groups from now on, and its GID; nothing: none is Active.
  // What it was in, it is no more where that is another one, is reached by another LID or has
  // another manager, or where the manager has forgotten it (`anew`).
  void use(std::optional<mgmt::PortNumber> port, const Gid& gid, bool anew, Time now);

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const { return due_; }

  // Whether the administrator has said that it will tell of groups.
  [[nodiscard]] bool is_told() const { return told_[0] && told_[1]; }
  // How often it has.
  [[nodiscard]] std::uint64_t reports() const { return reports_; }

 private:
  struct Place {
    std::optional<mgmt::PortNumber> port;
    Gid gid{};
    Lid lid;
    Lid manager;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct Membership {
    wan::LocalGroup group;
    Time renew_at{};  // the group may have ended and begun anew, unseen
  };

  // mgmt::PortAgents::User
  void received(mgmt::PortNumber port, const mgmt::ReceivedMad& mad) override;
  void finished(mgmt::PortNumber port, std::uint64_t cookie, mgmt::MadResult result) override;

  bool ask(Bytes mad, std::uint64_t cookie, Time now);
  void subscribe(Time now);
  // What nobody here has asked for.
  void take_report(mgmt::PortNumber port, const mgmt::ReceivedMad& mad, Time now);
  // Of a subscription. False: it is not about one.
  bool take_subscribed(std::uint64_t cookie, bool taken);
  void take_list(Bytes mad, Time now);
  // The list has come, or will not: the next one is asked for so much later, or at once where
  // something has changed since.
  void end_list(Duration wait, Time now);
  // It is asked for by then, unless it is under way.
  void look_by(Time when);
  void take_answer(const Gid& mgid, Bytes mad, Time now);
  void join(const Gid& mgid, Time now);
  void tell();

  fabric::ChannelAdapter& node_;
  Changed changed_;
  mgmt::PortAgents agents_;
  Place place_;
  std::optional<Time> due_;  // to ask for the list; nothing: it is asked for, or nobody can be
  std::map<Gid, Membership> in_;
  std::map<std::uint64_t, Gid> joining_;  // by cookie
  std::uint64_t asked_ = 0;               // questions, so far: each has a cookie of its own
  std::uint64_t list_ = 0;                // the one for the list
  bool stale_ = false;                    // something has changed since that was asked for
  // Of the creation of groups, and of their end.
  std::array<std::uint64_t, 2> subscribing_{};  // cookies
  std::array<bool, 2> told_{};
  Time subscribe_at_{};
  std::uint64_t reports_ = 0;
};

}  // namespace weft::daemon
