// SPDX-License-Identifier: Apache-2.0
// Who has registered at a port, and for which unsolicited datagrams.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>

#include "base/error.h"
#include "mgmt/mad/mad_client.h"

namespace weft::mgmt {

class AgentTable {
 public:
  struct Agent {
    AgentRequest request;
    MadClient* client = nullptr;
    std::size_t waiting = 0;  // requests of it that wait for an answer
  };

  explicit AgentTable(std::size_t limit) : limit_(limit) {}

  Expected<AgentId> add(const AgentRequest& request, MadClient& client);
  bool remove(AgentId id);
  // Null: there is none.
  [[nodiscard]] Agent* find(AgentId id);
  // Whoever wants a datagram that nobody asked for; null id (0): nobody.
  [[nodiscard]] AgentId unsolicited(wire::MadBytes mad) const;

 private:
  struct ClassKey {
    std::uint8_t mgmt_class;
    std::uint8_t version;
    std::array<std::uint8_t, 3> oui;
    friend auto operator<=>(const ClassKey&, const ClassKey&) = default;
  };
  using Claims = std::array<AgentId, AgentRequest::kMethods>;  // by method; 0: nobody's
  static ClassKey key_of(const AgentRequest& request);

  std::size_t limit_;
  std::uint32_t last_id_ = 0;
  std::map<AgentId, Agent> agents_;
  std::map<ClassKey, Claims> claims_;
};

// Whether datagrams of the class name whose it is, in bytes 37 to 39.
[[nodiscard]] constexpr bool has_oui(wire::MgmtClass mgmt_class) {
  return mgmt_class >= wire::MgmtClass::kVendorOuiFirst &&
         mgmt_class <= wire::MgmtClass::kVendorOuiLast;
}

}  // namespace weft::mgmt
