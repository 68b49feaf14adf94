// SPDX-License-Identifier: Apache-2.0
// The socket at which a subnet manager that is a process of its own is asked what the lab's own is
// asked at the lab's (admin_session.h): {"do": "sm", …}. For this user and root alone.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/counters.h"
#include "base/error.h"
#include "daemon/lab/admin_connection.h"
#include "daemon/lab/managed_subnet.h"
#include "daemon/listener.h"
#include "fabric/lab.h"
#include "io/reactor.h"

namespace weft::daemon {

enum class ManagerAdminCounter : std::uint8_t {
  kSessions,
  kTurnedAway,
  kForeign,
  kNonsense,
  kCount
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(ManagerAdminCounter::kCount)>
    kManagerAdminCounters{{
        {"sm_admin_sessions", "connections to a subnet manager's administration that were taken"},
        {"sm_admin_turned_away",
         "such connections ended at once, for want of room or of descriptors"},
        {"sm_admin_foreign", "such connections of other users, ended at once"},
        {"sm_admin_nonsense", "such connections ended because what they asked makes no sense"},
    }};

class ManagerAdmin {
 public:
  // All outlive it. `lab`: in whose words it is asked; null: it knows none. Errors: the socket
  // cannot be made.
  static Expected<std::unique_ptr<ManagerAdmin>> open(const std::string& socket,
                                                      ManagedSubnet& subnet, const fabric::Lab* lab,
                                                      io::Reactor& reactor);
  ~ManagerAdmin();
  ManagerAdmin(const ManagerAdmin&) = delete;
  ManagerAdmin& operator=(const ManagerAdmin&) = delete;

 private:
  class Session;

  ManagerAdmin(ManagedSubnet& subnet, const fabric::Lab* lab, io::Reactor& reactor);
  void take(io::UniqueFd socket);
  Expected<nlohmann::json> carry_out(const nlohmann::json& request);

  ManagedSubnet& subnet_;
  const fabric::Lab* const lab_;
  io::Reactor& reactor_;
  CounterSet<ManagerAdminCounter, kManagerAdminCounters> counters_;
  std::map<std::uint64_t, std::unique_ptr<Session>> sessions_;
  std::uint64_t last_session_ = 0;
  std::unique_ptr<Listener> listener_;
};

}  // namespace weft::daemon
