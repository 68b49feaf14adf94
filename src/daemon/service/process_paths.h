// SPDX-License-Identifier: Apache-2.0
// Asks the administrator of a port's subnet for a data service's paths, from a process other than
// the lab's daemon, and subscribes to being told that paths have become others.
//
// The process is not told its service LIDs. On a sender's behalf it says the one by which the
// packet came; for packets that cross into this subnet none: the administrator takes who asks at
// the port of a service, for a path that begins elsewhere, for the service, and the path that it
// answers is from the service's LID.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/time.h"
#include "daemon/sa_paths.h"
#include "mgmt/mad/mad_layer.h"
#include "port/port.h"
#include "service/path_cache.h"

namespace weft::daemon {

class ProcessPaths final : public service::PathAsker, private SaPathUser, private mgmt::MadClient {
 public:
  class User {
   public:
    virtual ~User() = default;
    // Nothing: there is no path.
    virtual void path_answered(std::uint64_t number, const std::optional<service::Path>& path) = 0;
    // What was answered may be another by now.
    virtual void paths_changed() = 0;
  };

  // `adapter`: that of the node; `layer` is the one of its port `port`. All outlive it.
  ProcessPaths(mgmt::MadLayer& layer, port::Port& adapter, mgmt::PortNumber port, User& user);
  ~ProcessPaths() override;

  // Errors as of mgmt::MadLayer::add_agent().
  Expected<void> open() { return questions_.open(); }
  // From now on the administrator says when paths change. address_in_use: its reports go to another
  // program at this port already.
  Expected<void> subscribe();

  // service::PathAsker
  void ask(std::uint64_t number, const service::PathQuestion& question) override;
  // LID, state or subnet manager of the port are others, or that wants subscriptions anew.
  void port_changed();
  // At deadline(): subscribes again, where nobody has answered.
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const { return again_; }
  // Questions that could not be sent: there is no administrator.
  [[nodiscard]] std::uint64_t unasked() const { return unasked_; }

 private:
  // SaPathUser
  void path_answered(std::uint64_t number, const SaPathAnswer& answer) override;
  // mgmt::MadClient, of reports
  void received(mgmt::AgentId agent, const mgmt::ReceivedMad& mad) override;
  void finished(mgmt::AgentId agent, std::uint64_t cookie, Bytes mad,
                mgmt::MadResult result) override;
  // Nothing: the port does not know where it is.
  [[nodiscard]] std::optional<mgmt::MadAddress> administrator();
  void heard(const mgmt::ReceivedMad& report);
  void ask_for_reports(Time now);

  mgmt::MadLayer& layer_;
  port::Port& adapter_;
  const mgmt::PortNumber port_;
  User& user_;
  SaPathAsker questions_;
  // Questions about paths of the node's own, each with the LID by which answers are to come.
  std::unordered_map<std::uint64_t, Lid> own_;
  std::optional<mgmt::AgentId> reports_;  // nothing: it is not to be told
  std::uint32_t subscriptions_ = 0;
  std::optional<Time> again_;
  std::uint64_t unasked_ = 0;
};

}  // namespace weft::daemon
