// SPDX-License-Identifier: Apache-2.0
// The questions of lan::Directory that the subnet administrator answers, as datagrams.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "daemon/lan/lan_place.h"
#include "daemon/lan/lan_subnet_counters.h"
#include "daemon/lan/lan_subnet_owner.h"
#include "lan/directory.h"
#include "mgmt/mad/mad_client.h"

namespace weft::daemon {

class LanQuestions final : private mgmt::MadClient {
 public:
  // All that is given outlives it.
  LanQuestions(const LanPlace& place, LanSubnetCounters& counters, LanSubnetOwner& owner)
      : place_(place), counters_(counters), owner_(owner) {}
  LanQuestions(const LanQuestions&) = delete;
  LanQuestions& operator=(const LanQuestions&) = delete;
  ~LanQuestions() override;

  // Errors as of mgmt::MadPort::add_agent().
  Expected<void> open();
  // LanSubnet::ask(), of all kinds but kEnd.
  [[nodiscard]] bool ask(std::uint64_t number, const lan::Question& question);
  // What the node of a port calls itself, as far as the administrator has said so.
  [[nodiscard]] std::string name_of(Guid port) const;

 private:
  struct Waiting {
    lan::Question question{};
    std::vector<lan::PeerPath> paths;  // of kPaths: once they are known, the LIDs are asked for,
    bool asks_lid = false;             // and before that, if no path tells one, for one of them
  };

  // mgmt::MadClient
  void received(mgmt::AgentId agent, const mgmt::ReceivedMad& mad) override;
  void finished(mgmt::AgentId agent, std::uint64_t cookie, Bytes mad,
                mgmt::MadResult result) override;

  bool send(std::uint64_t number, Bytes mad);
  void take(std::uint64_t number, Waiting& waiting, Bytes mad);
  void take_paths(std::uint64_t number, Waiting& waiting, Bytes mad);
  void ask_lids(std::uint64_t number, Lid lid);
  void take_lid(std::uint64_t number, Waiting& waiting, Bytes mad);
  void take_lids(std::uint64_t number, Waiting& waiting, Bytes mad);
  void answer(std::uint64_t number, const lan::Answer& what);

  const LanPlace& place_;
  LanSubnetCounters& counters_;
  LanSubnetOwner& owner_;
  mgmt::AgentId agent_{};
  std::uint32_t sent_ = 0;  // each has a TransactionID of its own
  std::unordered_map<std::uint64_t, Waiting> waiting_;
  std::unordered_map<Guid, std::string> names_;  // by port
};

}  // namespace weft::daemon
