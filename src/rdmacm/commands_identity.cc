// SPDX-License-Identifier: Apache-2.0
// Identifiers as such: made, destroyed, moved, set up; and the events that wait for them.
#include <algorithm>

#include "rdmacm/command_core.h"
#include "rdmacm/path_record.h"

namespace weft::rdmacm {
namespace {

// Values of enum ib_qp_type that a program may name for the port space IB.
constexpr std::uint8_t kIbRc = 2;
constexpr std::uint8_t kIbUc = 3;
constexpr std::uint8_t kIbUd = 4;
constexpr std::uint8_t kIbXrcInitiator = 9;
constexpr std::uint8_t kIbXrcTarget = 10;

std::optional<hca::QpType> queue_pair_type(wire::PortSpace space, std::uint8_t named) {
  switch (space) {
    case wire::PortSpace::kTcp:
      return hca::QpType::kRc;
    case wire::PortSpace::kUdp:
    case wire::PortSpace::kIpoib:
      return hca::QpType::kUd;
    case wire::PortSpace::kIb:
      break;
    default:
      return std::nullopt;
  }
  switch (named) {
    case kIbRc:
      return hca::QpType::kRc;
    case kIbUc:
      return hca::QpType::kUc;
    case kIbUd:
      return hca::QpType::kUd;
    case kIbXrcInitiator:
      return hca::QpType::kXrcInitiator;
    case kIbXrcTarget:
      return hca::QpType::kXrcTarget;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::errc CommandCore::create_id(Call& call) {
  const auto command = abi::read<rdma_ucm_create_id>(call.in);
  if (!command) return std::errc::invalid_argument;
  if (call.out_size < sizeof(rdma_ucm_create_id_resp)) return std::errc::no_space_on_device;
  const auto space = static_cast<wire::PortSpace>(command->ps);
  const auto type = queue_pair_type(space, command->qp_type);
  if (!type) return std::errc::invalid_argument;
  Identity* const identity = add_identity(call.channel);
  if (identity == nullptr) return std::errc::not_enough_memory;
  identity->uid = command->uid;
  identity->space = space;
  identity->type = *type;
  const rdma_ucm_create_id_resp response{identity->handle};
  respond(call, abi::bytes_of(response));
  return {};
}

std::errc CommandCore::destroy_id(Call& call) {
  const auto command = abi::read<rdma_ucm_destroy_id>(call.in);
  if (!command) return std::errc::invalid_argument;
  if (call.out_size < sizeof(rdma_ucm_destroy_id_resp)) return std::errc::no_space_on_device;
  const auto identity = find(call, command->id);
  if (!identity) return identity.error();
  const rdma_ucm_destroy_id_resp response{(*identity)->events_reported};
  destroy(**identity, call.now);
  respond(call, abi::bytes_of(response));
  return {};
}

std::errc CommandCore::set_option(Call& call) {
  const auto command = abi::read<rdma_ucm_set_option>(call.in);
  if (!command || command->optlen != call.extra.size()) return std::errc::invalid_argument;
  const auto found = find(call, command->id);
  if (!found) return found.error();
  Identity& identity = **found;
  if (command->level == RDMA_OPTION_IB) {
    if (command->optname != RDMA_OPTION_IB_PATH) return std::errc::function_not_supported;
    return set_ib_path(call, identity);
  }
  if (command->level != RDMA_OPTION_ID) return std::errc::function_not_supported;

  const auto byte = abi::read<std::uint8_t>(call.extra);
  const auto number = abi::read<std::int32_t>(call.extra);
  switch (command->optname) {
    case RDMA_OPTION_ID_TOS:
      if (call.extra.size() != sizeof *byte) return std::errc::invalid_argument;
      identity.tos = *byte;
      return {};
    case RDMA_OPTION_ID_REUSEADDR:
      if (call.extra.size() != sizeof *number) return std::errc::invalid_argument;
      if (identity.state != IdState::kIdle) return std::errc::invalid_argument;
      identity.reuse_address = *number != 0;
      return {};
    case RDMA_OPTION_ID_AFONLY:
      if (call.extra.size() != sizeof *number) return std::errc::invalid_argument;
      if (identity.state != IdState::kIdle) return std::errc::invalid_argument;
      identity.af_only = *number != 0;
      return {};
    case RDMA_OPTION_ID_ACK_TIMEOUT:
      if (call.extra.size() != sizeof *byte || *byte > 31) return std::errc::invalid_argument;
      if (!hca::is_reliable(identity.type)) return std::errc::invalid_argument;
      identity.ack_timeout = *byte;
      return {};
    default:
      return std::errc::function_not_supported;
  }
}

// A program that knows the path (from an SA, or ibacm) need not resolve the route.
std::errc CommandCore::set_ib_path(Call& call, Identity& identity) {
  if (call.extra.size() % sizeof(ib_path_rec_data) != 0) return std::errc::invalid_argument;
  if (identity.state != IdState::kAddressResolved) return std::errc::invalid_argument;
  for (Bytes rest = call.extra; !rest.empty(); rest = rest.subspan(sizeof(ib_path_rec_data))) {
    const auto data = abi::read<ib_path_rec_data>(rest);
    constexpr std::uint32_t kWanted = IB_PATH_GMP | IB_PATH_PRIMARY;
    if (!data || (data->flags & kWanted) != kWanted) continue;
    const PathRecord record = PathRecord::parse(*data);
    const auto device = interfaces_.describe(record.sgid, identity.path.scope_id);
    if (!device || record.dgid != identity.path.dgid) return std::errc::invalid_argument;
    if (identity.asks_for_route) return std::errc::invalid_argument;
    identity.device = device;
    if (const std::errc error = make_path(identity); error != std::errc{}) return error;
    if (device->end.on_fabric) {
      if (!mgmt::path_bits(device->end, record.slid)) return std::errc::invalid_argument;
      take_path(identity, record);
    }
    identity.state = IdState::kRouteResolved;
    post(identity, abi::Event::kRouteResolved, 0);
    return {};
  }
  return std::errc::invalid_argument;
}

std::errc CommandCore::migrate_id(Call& call) {
  const auto command = abi::read<rdma_ucm_migrate_id>(call.in);
  if (!command) return std::errc::invalid_argument;
  if (call.out_size < sizeof(rdma_ucm_migrate_resp)) return std::errc::no_space_on_device;
  Identity* const identity = lookup(command->id);
  if (identity == nullptr) return std::errc::no_such_file_or_directory;
  const auto from = channels_.find(call.other);
  if (from == channels_.end() || identity->channel != call.other) {
    return std::errc::invalid_argument;
  }
  const rdma_ucm_migrate_resp response{identity->events_reported};
  respond(call, abi::bytes_of(response));
  if (call.other == call.channel.id) return {};

  const std::uint32_t handle = identity->handle;
  auto moved =
      from->second.events.take([&](const QueuedEvent& event) { return event.owner == handle; });
  if (!moved.empty()) signal_.withdrawn(from->first, moved.size());
  from->second.identities.erase(handle);
  call.channel.identities.insert(handle);
  identity->channel = call.channel.id;
  static_cast<void>(manager_.set_owner(identity->cm, identity->channel));
  for (QueuedEvent& event : moved) {
    // A request that nobody has read yet belongs to its listener's channel.
    if (Identity* const request = lookup(event.request)) {
      from->second.identities.erase(request->handle);
      call.channel.identities.insert(request->handle);
      request->channel = call.channel.id;
      static_cast<void>(manager_.set_owner(request->cm, request->channel));
    }
    call.channel.events.push(event);
    signal_.raised(call.channel.id);
  }
  return {};
}

std::errc CommandCore::get_event(Call& call) {
  // Programs older than the last two members of the structure ask for less.
  constexpr std::size_t kLeast = offsetof(rdma_ucm_event_resp, reserved);
  if (!abi::read<rdma_ucm_get_event>(call.in)) return std::errc::invalid_argument;
  if (call.out_size < kLeast) return std::errc::no_space_on_device;
  EventQueue& events = call.channel.events;
  if (events.empty()) return std::errc::resource_unavailable_try_again;
  const QueuedEvent& event = events.front();
  respond(call, abi::bytes_of(event.body));
  Identity* const owner = lookup(event.owner);
  if (owner != nullptr) ++owner->events_reported;
  if (const auto joined = memberships_.find(event.membership); joined != memberships_.end()) {
    ++joined->second.events_reported;
  }
  if (Identity* const request = lookup(event.request)) {
    if (owner != nullptr) ++owner->backlog;
    request->listener = 0;
  }
  events.pop();
  return {};
}

}  // namespace weft::rdmacm
