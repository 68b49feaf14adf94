// SPDX-License-Identifier: Apache-2.0
// Multicast groups. On an IP wire nobody administers them: a join is granted at once, and the
// program attaches its queue pair to the group of the same address. On a fabric the subnet
// administrator makes the port a member, and the program attaches its queue pair to the group's
// MGID.
#include <algorithm>
#include <utility>

#include "rdmacm/command_core.h"
#include "rdmacm/connection_values.h"
#include "rdmacm/qp_attributes.h"

namespace weft::rdmacm {
namespace {

constexpr std::uint32_t kMostPerIdentity = 1024;
// What LID-routed fabrics would name; on Ethernet the kernel puts this there.
constexpr std::uint16_t kMulticastLid = 0xC000;
constexpr std::uint8_t kCommandsMulticastHopLimit = 64;

}  // namespace

std::errc CommandCore::join_ip_mcast(Call& call) {
  const auto command = abi::read<rdma_ucm_join_ip_mcast>(call.in);
  if (!command) return std::errc::invalid_argument;
  const auto group = Address::parse(abi::bytes_of(command->addr));
  if (!group) return std::errc::invalid_argument;
  return join(call, command->id, command->uid, *group, RDMA_MC_JOIN_FLAG_FULLMEMBER);
}

std::errc CommandCore::join_mcast(Call& call) {
  const auto command = abi::read<rdma_ucm_join_mcast>(call.in);
  if (!command || command->addr_size > Address::kStorage ||
      command->join_flags > RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER) {
    return std::errc::invalid_argument;
  }
  const auto group = Address::parse(abi::bytes_of(command->addr).first(command->addr_size));
  if (!group) return std::errc::invalid_argument;
  return join(call, command->id, command->uid, *group, command->join_flags);
}

std::errc CommandCore::join(Call& call, std::uint32_t handle, std::uint64_t uid,
                            const Address& group, std::uint16_t flags) {
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
  for (const auto& [other, membership] : memberships_) {
    if (membership.owner == handle && membership.group == group.address) {
      return std::errc::address_in_use;
    }
  }
  if (memberships_.size() >= config_.max_memberships || identity.memberships >= kMostPerIdentity) {
    return std::errc::not_enough_memory;
  }
  const std::uint32_t membership = take_handle();
  Membership& made = memberships_[membership];
  made = {.owner = handle, .uid = uid, .group = group.address};
  ++identity.memberships;
  const LocalAddress& device = *identity.device;
  if (device.end.on_fabric) {
    made.question = GroupQuestion{.mgid = mgid_of(group, identity.space, identity.pkey),
                                  .port_gid = device.gid,
                                  .port = device.end.port,
                                  .pkey = identity.pkey,
                                  .qkey = kDatagramQKey,
                                  .traffic_class = identity.tos,
                                  .send_only = flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER};
    const std::errc error = routes_ == nullptr ? std::errc::function_not_supported
                                               : routes_->join(membership, *made.question);
    if (error != std::errc{}) {
      made.question.reset();
      forget(membership);
      return error;
    }
    made.asks = true;
  } else {
    hca::Path path;
    path.dgid = group.address;
    path.sgid_index = device.end.sgid_index;
    path.hop_limit = kCommandsMulticastHopLimit;
    path.traffic_class = identity.tos;
    post_joined(membership, path, Lid{kMulticastLid}, kDatagramQKey);
  }
  const rdma_ucm_create_id_resp response{membership};
  respond(call, abi::bytes_of(response));
  return {};
}

void CommandCore::post_joined(std::uint32_t membership, const hca::Path& path, Lid mlid,
                              QKey qkey) {
  const Membership& joined = memberships_.at(membership);
  const Identity& identity = *lookup(joined.owner);
  QueuedEvent event;
  event.owner = joined.owner;
  event.membership = membership;
  event.body.uid = joined.uid;
  event.body.id = membership;
  event.body.event = static_cast<std::uint32_t>(abi::Event::kMulticastJoin);
  event.body.param.ud.qp_num = kMulticastQpn.value();
  event.body.param.ud.qkey = qkey.value();
  event.body.param.ud.ah_attr = ah_attributes(path, identity.device->end.port);
  event.body.param.ud.ah_attr.dlid = mlid.value();
  post(event, identity.channel);
}

Membership* CommandCore::find_asking_group(std::uint32_t membership) {
  const auto found = memberships_.find(membership);
  if (found == memberships_.end() || !std::exchange(found->second.asks, false)) return nullptr;
  const Identity* const owner = lookup(found->second.owner);
  return owner != nullptr && owner->device ? &found->second : nullptr;
}

void CommandCore::group_joined(std::uint32_t membership, const GroupRecord& group) {
  if (find_asking_group(membership) == nullptr) return;
  hca::Path path;
  path.dgid = group.mgid;
  path.flow_label = group.flow_label;
  path.hop_limit = group.hop_limit;
  path.traffic_class = group.traffic_class;
  path.sl = group.sl;
  path.static_rate = group.rate;
  post_joined(membership, path, group.mlid, group.qkey);
}

void CommandCore::group_failed(std::uint32_t membership, std::errc why) {
  if (find_asking_group(membership) != nullptr) end_membership(membership, why);
}

void CommandCore::groups_lost(std::uint8_t port) {
  for (const auto& [membership, lost] : memberships_) {
    // Who still asks is answered by whoever administers the subnet now.
    if (!lost.question || lost.asks || lost.question->port != port) continue;
    end_membership(membership, std::errc::network_reset);
  }
}

// The port is in the group no more, or never was; the program still has to leave it.
void CommandCore::end_membership(std::uint32_t membership, std::errc why) {
  Membership& ended = memberships_.at(membership);
  ended.question.reset();
  const Identity& identity = *lookup(ended.owner);
  QueuedEvent event;
  event.owner = ended.owner;
  event.membership = membership;
  event.body.uid = ended.uid;
  event.body.id = membership;
  event.body.event = static_cast<std::uint32_t>(abi::Event::kMulticastError);
  event.body.status = static_cast<std::uint32_t>(-static_cast<std::int32_t>(why));
  post(event, identity.channel);
}

// The port leaves with the last that has joined it in the same way: a member that only sends goes
// on being one when there is nobody left who receives, and the other way round.
void CommandCore::leave_group(std::uint32_t membership) {
  const Membership& leaving = memberships_.at(membership);
  if (!leaving.question) return;
  if (leaving.asks) routes_->forget(membership);
  const auto same = [&](const auto& each) {
    const auto& other = each.second.question;
    return each.first != membership && other && other->mgid == leaving.question->mgid &&
           other->port_gid == leaving.question->port_gid &&
           other->send_only == leaving.question->send_only;
  };
  if (std::none_of(memberships_.begin(), memberships_.end(), same)) {
    routes_->leave(*leaving.question);
  }
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
