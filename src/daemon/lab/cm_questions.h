// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "fabric/node.h"
#include "mgmt/mad/mad_client.h"
#include "rdmacm/groups.h"
#include "rdmacm/path_record.h"
#include "rdmacm/routes.h"
#include "wire/mad.h"

namespace weft::daemon {

enum class CmQuestionCounter : std::uint8_t {
  kRoutesAsked,
  kRoutesFound,
  kRoutesNone,
  kRoutesUnanswered,
  kHostsAsked,
  kHostsFound,
  kGroupsAsked,
  kGroupsJoined,
  kGroupsLeft,
  kCount
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(CmQuestionCounter::kCount)>
    kCmQuestionCounterInfo{{
        {"sa_routes_asked", "paths that the subnet administrator was asked for"},
        {"sa_routes_found", "of these, those that it knew"},
        {"sa_routes_none", "of these, those that it did not know or would not tell"},
        {"sa_routes_unanswered", "of these, those that it did not answer in time"},
        {"sa_hosts_asked", "IP addresses that the subnet administrator was asked for"},
        {"sa_hosts_found", "of these, those that it knew, and of one port alone"},
        {"sa_groups_asked", "multicast groups that the subnet administrator was asked to join"},
        {"sa_groups_joined", "of these, those that it let the port into"},
        {"sa_groups_left", "multicast groups that it was told of that the port leaves them"},
    }};
using CmQuestionCounters = CounterSet<CmQuestionCounter, kCmQuestionCounterInfo>;

// What the rdma_cm of a node asks the subnet administrators of its ports, through the MAD layer.
class CmQuestions final : public rdmacm::Routes, private mgmt::MadClient {
 public:
  class Receiver {
   public:
    virtual ~Receiver() = default;
    virtual void route_found(std::uint32_t identifier, const rdmacm::PathRecord& path) = 0;
    virtual void route_failed(std::uint32_t identifier, std::errc why) = 0;
    virtual void host_found(std::uint32_t identifier, const Gid& gid) = 0;
    virtual void host_failed(std::uint32_t identifier, std::errc why) = 0;
    virtual void group_joined(std::uint32_t membership, const rdmacm::GroupRecord& group) = 0;
    virtual void group_failed(std::uint32_t membership, std::errc why) = 0;
  };

  // Of a channel adapter. Both outlive it.
  CmQuestions(fabric::Node& node, Receiver& receiver);
  ~CmQuestions() override;

  // Becomes an agent at each port; errors as of mgmt::MadPort::add_agent().
  Expected<void> open();

  // rdmacm::Routes
  std::errc ask(std::uint32_t identifier, const rdmacm::RouteQuestion& question) override;
  std::errc find_host(std::uint32_t identifier, const rdmacm::HostQuestion& question) override;
  std::errc join(std::uint32_t membership, const rdmacm::GroupQuestion& question) override;
  void leave(const rdmacm::GroupQuestion& question) override;
  void forget(std::uint32_t handle) override;

  [[nodiscard]] std::vector<CounterValue> counters() const { return counters_.snapshot(); }

 private:
  // mgmt::MadClient
  void received(mgmt::AgentId agent, const mgmt::ReceivedMad& mad) override;
  void finished(mgmt::AgentId agent, std::uint64_t cookie, Bytes mad,
                mgmt::MadResult result) override;
  // A question to the subnet administrator of a port; 0 as its handle: the answer does not count.
  std::errc send_question(mgmt::PortNumber port, Bytes mad, std::uint32_t handle,
                          Duration patience);
  std::errc send_join(std::uint32_t membership, const rdmacm::GroupQuestion& question,
                      std::uint64_t mask);
  void take_answer(std::uint32_t handle, Bytes mad);
  void take_host(std::uint32_t identifier, Bytes mad);
  void take_group(std::uint32_t membership, const wire::MadHeader& header, Bytes mad);

  fabric::Node& node_;
  Receiver& receiver_;
  std::vector<mgmt::AgentId> agents_;  // of port 1 and up
  // Of memberships that are asked for: those whose groups are to have a hop limit.
  std::map<std::uint32_t, rdmacm::GroupQuestion> with_hops_;
  std::uint32_t asked_ = 0;  // questions, so far: each has a TransactionID of its own
  CmQuestionCounters counters_;
};

}  // namespace weft::daemon
