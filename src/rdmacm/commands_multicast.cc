// SPDX-License-Identifier: Apache-2.0
// Multicast groups. On an IP wire nobody administers them: a join is granted at once, and the
// program attaches its queue pair to the group of the same address.
#include <algorithm>

#include "rdmacm/command_core.h"
#include "rdmacm/connection_values.h"
#include "rdmacm/qp_attributes.h"

namespace weft::rdmacm {
namespace {

constexpr std::uint32_t kMostPerIdentity = 1024;
// What LID-routed fabrics would name; on Ethernet the kernel puts this there.
constexpr std::uint16_t kMulticastLid = 0xC000;
constexpr std::uint8_t kHopLimit = 64;

}  // namespace

std::errc CommandCore::join_ip_mcast(Call& call) {
  const auto command = abi::read<rdma_ucm_join_ip_mcast>(call.in);
  if (!command) return std::errc::invalid_argument;
  const auto group = Address::parse(abi::bytes_of(command->addr));
  if (!group) return std::errc::invalid_argument;
  return join(call, command->id, command->uid, *group);
}

std::errc CommandCore::join_mcast(Call& call) {
  const auto command = abi::read<rdma_ucm_join_mcast>(call.in);
  if (!command || command->addr_size > Address::kStorage ||
      command->join_flags > RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER) {
    return std::errc::invalid_argument;
  }
  const auto group = Address::parse(abi::bytes_of(command->addr).first(command->addr_size));
  if (!group) return std::errc::invalid_argument;
  return join(call, command->id, command->uid, *group);
}

std::errc CommandCore::join(Call& call, std::uint32_t handle, std::uint64_t uid,
                            const Address& group) {
  if (call.out_size < sizeof(rdma_ucm_create_id_resp)) return std::errc::no_space_on_device;
  const auto found = find(call, handle);
  if (!found) return found.error();
  Identity& identity = **found;
  const bool ready = identity.state == IdState::kBound ||
                     identity.state == IdState::kAddressResolved ||
                     identity.state == IdState::kRouteResolved;
  if (!ready || !identity.device || !identity.is_datagram() || !group.address.is_multicast()) {
    return std::errc::invalid_argument;
  }
  // On a fabric the subnet administrator would have to be asked.
  if (identity.device->end.on_fabric) return std::errc::function_not_supported;
  for (const auto& [other, membership] : memberships_) {
    if (membership.owner == handle && membership.group == group.address) {
      return std::errc::address_in_use;
    }
  }
  if (memberships_.size() >= config_.max_memberships || identity.memberships >= kMostPerIdentity) {
    return std::errc::not_enough_memory;
  }
  const std::uint32_t membership = take_handle();
  memberships_[membership] = {handle, uid, group.address, 0};
  ++identity.memberships;

  hca::Path path;
  path.dgid = group.address;
  path.sgid_index = identity.device->end.sgid_index;
  path.hop_limit = kHopLimit;
  path.traffic_class = identity.tos;
  QueuedEvent event;
  event.owner = handle;
  event.membership = membership;
  event.body.uid = uid;
  event.body.id = membership;
  event.body.event = static_cast<std::uint32_t>(abi::Event::kMulticastJoin);
  event.body.param.ud.qp_num = kMulticastQpn.value();
  event.body.param.ud.qkey = kDatagramQKey.value();
  event.body.param.ud.ah_attr = ah_attributes(path, identity.device->end.port);
  event.body.param.ud.ah_attr.dlid = kMulticastLid;
  post(event, identity.channel);

  const rdma_ucm_create_id_resp response{membership};
  respond(call, abi::bytes_of(response));
  return {};
}

std::errc CommandCore::leave_mcast(Call& call) {
  const auto command = abi::read<rdma_ucm_destroy_id>(call.in);
  if (!command) return std::errc::invalid_argument;
  if (call.out_size < sizeof(rdma_ucm_destroy_id_resp)) return std::errc::no_space_on_device;
  const auto found = memberships_.find(command->id);
  if (found == memberships_.end()) return std::errc::no_such_file_or_directory;
  const Identity* const owner = lookup(found->second.owner);
  if (owner == nullptr || owner->channel != call.channel.id) return std::errc::invalid_argument;
  const rdma_ucm_destroy_id_resp response{found->second.events_reported};
  forget(command->id);
  respond(call, abi::bytes_of(response));
  return {};
}

}  // namespace weft::rdmacm
