// SPDX-License-Identifier: Apache-2.0
#include "rdmacm/command_core.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace weft::rdmacm {

CommandCore::CommandCore(const CoreConfig& config, const Interfaces& interfaces, Entropy& entropy,
                         mgmt::ConnectionManager& manager, EventSignal& signal, Routes* routes)
    : config_(config),
      interfaces_(interfaces),
      manager_(manager),
      signal_(signal),
      routes_(routes),
      ports_(entropy, config.ports) {
}

CommandCore::~CommandCore() = default;

ChannelId CommandCore::open_channel() {
  const ChannelId id = ++last_channel_;
  channels_[id].id = id;
  return id;
}

void CommandCore::close_channel(ChannelId channel, Time now) {
  const auto found = channels_.find(channel);
  if (found == channels_.end()) return;
  now_ = now;
  // Destroying a listener destroys the requests that wait at it, so the list shrinks by itself.
  while (!found->second.identities.empty())
    destroy(*lookup(*found->second.identities.begin()), now);
  channels_.erase(found);
}

Reply CommandCore::execute(ChannelId channel, Bytes command, Bytes extra, ChannelId other,
                           Time now) {
  // By command number, as rdma_user_cm.h lists them; GET_OPTION was never built by anybody.
  static constexpr std::array<Handler, RDMA_USER_CM_CMD_JOIN_MCAST + 1> kHandlers{
      &CommandCore::create_id,     &CommandCore::destroy_id,
      &CommandCore::bind_ip,       &CommandCore::resolve_ip,
      &CommandCore::resolve_route, &CommandCore::query_route,
      &CommandCore::connect,       &CommandCore::listen,
      &CommandCore::accept,        &CommandCore::reject,
      &CommandCore::disconnect,    &CommandCore::init_qp_attr,
      &CommandCore::get_event,     nullptr,
      &CommandCore::set_option,    &CommandCore::notify,
      &CommandCore::join_ip_mcast, &CommandCore::leave_mcast,
      &CommandCore::migrate_id,    &CommandCore::query,
      &CommandCore::bind,          &CommandCore::resolve_addr,
      &CommandCore::join_mcast};

  Reply reply;
  now_ = now;
  counters_.add(Counter::kCommands);
  const auto refuse = [&](std::errc error) {
    counters_.add(Counter::kCommandsRefused);
    reply.error = error;
    reply.size = 0;
    return reply;
  };
  const auto found = channels_.find(channel);
  const auto header = abi::read<rdma_ucm_cmd_hdr>(command);
  if (found == channels_.end() || !header) return refuse(std::errc::invalid_argument);
  if (header->cmd >= kHandlers.size()) return refuse(std::errc::invalid_argument);
  const Bytes rest = command.subspan(sizeof *header);
  if (header->in > rest.size()) return refuse(std::errc::invalid_argument);
  const Handler handler = kHandlers[header->cmd];
  if (handler == nullptr) return refuse(std::errc::function_not_supported);

  Call call{found->second, rest.first(header->in), header->out, extra, other, now, reply};
  const std::errc error = (this->*handler)(call);
  // A program with a non-blocking descriptor asks for events that are not there all the time.
  if (error == std::errc::resource_unavailable_try_again) {
    reply.error = error;
    return reply;
  }
  if (error != std::errc{}) return refuse(error);
  return reply;
}

void CommandCore::respond(Call& call, Bytes response) {
  const std::size_t size = std::min({call.out_size, response.size(), call.reply.bytes.size()});
  std::copy_n(response.begin(), size, call.reply.bytes.begin());
  call.reply.size = static_cast<std::uint16_t>(size);
}

void CommandCore::interfaces_changed() {
  for (auto& [handle, identity] : identities_) {
    if (!identity->device || identity->source.any()) continue;
    const auto now_there = interfaces_.describe(identity->path.sgid, identity->path.scope_id);
    if (now_there && now_there->end.ca_guid == identity->device->end.ca_guid) {
      identity->device = now_there;
      continue;
    }
    identity->device.reset();
    post(*identity, abi::Event::kDeviceRemoval, 0);
  }
}

Identity* CommandCore::lookup(std::uint32_t handle) {
  const auto found = identities_.find(handle);
  return found == identities_.end() ? nullptr : found->second.get();
}

tl::expected<Identity*, std::errc> CommandCore::find(Call& call, std::uint32_t handle) {
  Identity* const identity = lookup(handle);
  if (identity == nullptr) return tl::unexpected(std::errc::no_such_file_or_directory);
  if (identity->channel != call.channel.id) return tl::unexpected(std::errc::invalid_argument);
  return identity;
}

// The lowest that is free: librdmacm keeps an array by handle.
std::uint32_t CommandCore::take_handle() {
  if (free_handles_.empty()) return ++last_handle_;
  const std::uint32_t handle = *free_handles_.begin();
  free_handles_.erase(free_handles_.begin());
  return handle;
}

Identity* CommandCore::add_identity(Channel& channel) {
  if (identities_.size() >= config_.max_ids) return nullptr;
  auto identity = std::make_unique<Identity>();
  identity->handle = take_handle();
  identity->channel = channel.id;
  channel.identities.insert(identity->handle);
  Identity* const added = identity.get();
  identities_[added->handle] = std::move(identity);
  return added;
}

void CommandCore::destroy(Identity& identity, Time now) {
  std::vector<std::uint32_t> joined;
  for (const auto& [handle, membership] : memberships_) {
    if (membership.owner == identity.handle) joined.push_back(handle);
  }
  for (const std::uint32_t membership : joined)
    forget(membership);
  if (identity.asks_for_route || identity.state == IdState::kAddressQuery) {
    routes_->forget(identity.handle);
  }
  if (identity.state == IdState::kListening) leave_service(identity, now);
  drop_events(identity, now);
  if (identity.cm != mgmt::CmId{}) manager_.destroy(identity.cm, now);
  if (identity.holds_port) ports_.release(identity.space, identity.source.port, identity.handle);

  const std::uint32_t handle = identity.handle;
  channels_[identity.channel].identities.erase(handle);
  identities_.erase(handle);
  free_handles_.insert(handle);
}

// What waits for the program and is about `identity`; with requests that it never saw, the
// identifiers that they made.
std::size_t CommandCore::drop_events(Identity& identity, Time now) {
  Channel& channel = channels_[identity.channel];
  const std::uint32_t handle = identity.handle;
  const auto dropped = channel.events.take(
      [&](const QueuedEvent& event) { return event.owner == handle || event.request == handle; });
  if (!dropped.empty()) signal_.withdrawn(channel.id, dropped.size());
  for (const QueuedEvent& event : dropped) {
    if (event.request == 0 || event.request == handle) continue;
    if (Identity* const request = lookup(event.request)) destroy(*request, now);
  }
  return dropped.size();
}

void CommandCore::forget(std::uint32_t membership) {
  const auto found = memberships_.find(membership);
  if (found == memberships_.end()) return;
  if (Identity* const owner = lookup(found->second.owner)) {
    Channel& channel = channels_[owner->channel];
    const auto dropped = channel.events.take(
        [&](const QueuedEvent& event) { return event.membership == membership; });
    if (!dropped.empty()) signal_.withdrawn(channel.id, dropped.size());
    --owner->memberships;
  }
  leave_group(membership);
  memberships_.erase(found);
  free_handles_.insert(membership);
}

void CommandCore::post(const QueuedEvent& event, ChannelId to) {
  const auto channel = channels_.find(to);
  assert(channel != channels_.end());
  channel->second.events.push(event);
  counters_.add(Counter::kEvents);
  signal_.raised(to);
}

namespace {

QueuedEvent about(const Identity& identity, abi::Event kind, std::int32_t status) {
  QueuedEvent event;
  event.owner = identity.handle;
  event.body.uid = identity.uid;
  event.body.id = identity.handle;
  event.body.event = static_cast<std::uint32_t>(kind);
  event.body.status = static_cast<std::uint32_t>(status);
  return event;
}

}  // namespace

// A program drops events without a uid, and they would only disturb its counting: it learns of the
// end when it tries to accept.
void CommandCore::post(const Identity& identity, abi::Event kind, std::int32_t status) {
  if (identity.uid == 0) return counters_.add(Counter::kEventsUnowned);
  post(about(identity, kind, status), identity.channel);
}

void CommandCore::post(const Identity& identity, abi::Event kind, std::int32_t status,
                       const rdma_ucm_conn_param& parameters) {
  if (identity.uid == 0) return counters_.add(Counter::kEventsUnowned);
  QueuedEvent event = about(identity, kind, status);
  event.body.param.conn = parameters;
  post(event, identity.channel);
}

void CommandCore::post(const Identity& identity, abi::Event kind, std::int32_t status,
                       const rdma_ucm_ud_param& parameters) {
  if (identity.uid == 0) return counters_.add(Counter::kEventsUnowned);
  QueuedEvent event = about(identity, kind, status);
  event.body.param.ud = parameters;
  post(event, identity.channel);
}

}  // namespace weft::rdmacm
