// SPDX-License-Identifier: Apache-2.0
#include "mgmt/mad/agent_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "wire/endian.h"
#include "wire/rmpp.h"

namespace weft::mgmt {
namespace {

constexpr std::size_t kOuiOffset = 37;

}  // namespace

AgentTable::ClassKey AgentTable::key_of(const AgentRequest& request) {
  return {.mgmt_class = static_cast<std::uint8_t>(request.mgmt_class),
          .version = request.class_version,
          .oui = has_oui(request.mgmt_class) ? request.oui : std::array<std::uint8_t, 3>{}};
}

Expected<AgentId> AgentTable::add(const AgentRequest& request, MadClient& client) {
  const unsigned number = static_cast<unsigned>(request.mgmt_class);
  if (agents_.size() >= limit_) {
    return fail(std::errc::no_buffer_space,
                fmt::format("this port has {} agents, which is the most it may have", limit_));
  }
  if (request.rmpp && !wire::rmpp_data_offset(request.mgmt_class)) {
    return fail(std::errc::invalid_argument,
                fmt::format("management class {:#04x} has no RMPP", number));
  }
  const ClassKey key = key_of(request);
  const auto claims = claims_.find(key);
  for (std::size_t method = 0; method < AgentRequest::kMethods; ++method) {
    if (!request.methods[method] || claims == claims_.end()) continue;
    if (claims->second[method] == AgentId{}) continue;
    return fail(std::errc::address_in_use,
                fmt::format("method {:#04x} of management class {:#04x} version {} is another's",
                            method, number, request.class_version));
  }
  const AgentId id{++last_id_};
  agents_[id] = {.request = request, .client = &client};
  if (request.methods.any()) {
    Claims& taken = claims_[key];
    for (std::size_t method = 0; method < AgentRequest::kMethods; ++method) {
      if (request.methods[method]) taken[method] = id;
    }
  }
  return id;
}

bool AgentTable::remove(AgentId id) {
  const auto agent = agents_.find(id);
  if (agent == agents_.end()) return false;
  const auto claims = claims_.find(key_of(agent->second.request));
  if (claims != claims_.end()) {
    std::replace(claims->second.begin(), claims->second.end(), id, AgentId{});
    const auto nobody = [](AgentId claimant) { return claimant == AgentId{}; };
    if (std::all_of(claims->second.begin(), claims->second.end(), nobody)) claims_.erase(claims);
  }
  agents_.erase(agent);
  return true;
}

AgentTable::Agent* AgentTable::find(AgentId id) {
  const auto agent = agents_.find(id);
  return agent == agents_.end() ? nullptr : &agent->second;
}

AgentId AgentTable::unsolicited(wire::MadBytes mad) const {
  const auto mgmt_class = static_cast<wire::MgmtClass>(wire::load_u8(mad.data() + 1));
  ClassKey key{.mgmt_class = wire::load_u8(mad.data() + 1),
               .version = wire::load_u8(mad.data() + 2),
               .oui = {}};
  if (has_oui(mgmt_class)) {
    for (std::size_t i = 0; i < key.oui.size(); ++i) {
      key.oui[i] = wire::load_u8(mad.data() + kOuiOffset + i);
    }
  }
  const auto claims = claims_.find(key);
  if (claims == claims_.end()) return {};
  return claims->second[wire::load_u8(mad.data() + 3) & ~wire::kResponseBit];
}

}  // namespace weft::mgmt
