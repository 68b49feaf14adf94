// SPDX-License-Identifier: Apache-2.0
#include "host/context.h"

#include <fmt/format.h>

#include "host/process.h"
#include "port/udp/udp_port.h"

namespace weft::host {

Context::Context(const DeviceInfo& device, const Config& config)
    : device_(device), config_(config) {
}

Expected<std::shared_ptr<Context>> Context::open(const DeviceInfo& device, const Config& config) {
  std::shared_ptr<Context> context(new Context(device, config));
  port::UdpPortConfig port;
  port.interface = device.interface;
  port.ifindex = device.ifindex;
  port.framing = config.wire == Wire::kBare ? hca::UdFraming::kBare : hca::UdFraming::kBth;
  port.first_port = config.first_port;
  port.last_port = config.last_port;
  port.socket_buffer = config.socket_buffer;
  port.capture = config.capture;
  auto opened = port::UdpPort::open(port, context->entropy_);
  if (!opened) return tl::unexpected(opened.error());
  context->port_ = std::move(*opened);
  auto events = AsyncEventQueue::create();
  if (!events) return tl::unexpected(events.error());
  context->async_events_ = std::move(*events);
  auto monitor = io::LinkMonitor::open();
  if (!monitor) return tl::unexpected(monitor.error());
  context->link_monitor_ = std::move(*monitor);
  const port::PortAttributes now = context->port_->attributes();
  context->last_state_ = now.state;
  context->last_gids_ = now.gids;
  // close() ends the thread before the context can go.
  auto started = Progress::start(context->link_monitor_->fd(),
                                 [raw = context.get()] { raw->tell_port_changes(); });
  if (!started) return tl::unexpected(started.error());
  context->progress_ = std::move(*started);
  register_context(context);
  return context;
}

Context::~Context() = default;

void Context::close() {
  unregister_context(*this);
  progress_->stop();
}

Expected<hca::PdHandle> Context::allocate_pd() {
  const std::lock_guard guard(mutex_);
  if (pd_users_.size() >= limits_.max_pd) {
    return fail(
        std::errc::not_enough_memory,
        fmt::format("{}: all {} protection domains are in use", device_.name, limits_.max_pd));
  }
  while (pd_users_.contains(next_pd_))
    ++next_pd_;
  pd_users_.emplace(next_pd_, 0);
  return next_pd_++;
}

Expected<void> Context::release_pd(hca::PdHandle pd) {
  const std::lock_guard guard(mutex_);
  const auto found = pd_users_.find(pd);
  if (found == pd_users_.end()) {
    return fail(std::errc::invalid_argument, fmt::format("no protection domain {}", pd));
  }
  if (found->second > 0) {
    return fail(std::errc::device_or_resource_busy,
                fmt::format("protection domain {} is in use by {} object(s): destroy its memory "
                            "regions, queue pairs and address handles first",
                            pd, found->second));
  }
  pd_users_.erase(found);
  return {};
}

void Context::use_pd(hca::PdHandle pd) {
  const std::lock_guard guard(mutex_);
  ++pd_users_[pd];
}

void Context::unuse_pd(hca::PdHandle pd) {
  const std::lock_guard guard(mutex_);
  if (const auto found = pd_users_.find(pd); found != pd_users_.end() && found->second > 0) {
    --found->second;
  }
}

Expected<hca::MemoryRegion> Context::register_memory(hca::PdHandle pd, void* address,
                                                     std::uint64_t length, std::uint64_t iova,
                                                     std::uint32_t access) {
  hca::MemoryRegion region;
  region.base = static_cast<std::byte*>(address);
  region.iova = iova;
  region.length = length;
  region.access = access;
  region.pd = pd;
  auto added = memory_.add(region);
  if (added) use_pd(pd);
  return added;
}

Expected<void> Context::deregister_memory(const hca::MemoryRegion& region) {
  auto removed = memory_.remove(region.key);
  if (removed) unuse_pd(region.pd);
  return removed;
}

Expected<std::shared_ptr<CompletionQueue>> Context::create_completion_queue(
    std::size_t capacity, std::shared_ptr<CompletionChannel> channel, void* user) {
  if (capacity == 0 || capacity > limits_.max_cqe) {
    return fail(std::errc::invalid_argument,
                fmt::format("cqe {}: a completion queue holds 1 to {}", capacity, limits_.max_cqe));
  }
  const std::lock_guard guard(mutex_);
  const std::uint32_t id = next_cq_++;
  auto queue =
      std::make_shared<CompletionQueue>(shared_from_this(), id, capacity, std::move(channel), user);
  completion_queues_.emplace(id, queue.get());
  return queue;
}

void Context::remove(CompletionQueue& queue) {
  const std::lock_guard guard(mutex_);
  completion_queues_.erase(queue.id());
}

Expected<void> Context::check(const QueuePairConfig& config) const {
  const auto limit = [](const char* what, std::uint64_t value, std::uint64_t most) {
    return value <= most ? Expected<void>{}
                         : fail(std::errc::invalid_argument,
                                fmt::format("{} {}: at most {}", what, value, most));
  };
  for (const auto& checked : {
           limit("max_send_wr", config.max_sends, limits_.max_qp_wr),
           limit("max_recv_wr", config.max_receives, limits_.max_qp_wr),
           limit("max_send_sge", config.max_send_pieces, limits_.max_sge),
           limit("max_recv_sge", config.max_receive_pieces, limits_.max_sge),
           limit("max_inline_data", config.max_inline, limits_.max_inline),
       }) {
    if (!checked) return checked;
  }
  return {};
}

Expected<std::shared_ptr<QueuePair>> Context::create_queue_pair(const QueuePairConfig& config) {
  if (auto checked = check(config); !checked) return tl::unexpected(checked.error());
  auto endpoint = port_->open_endpoint();
  if (!endpoint) return tl::unexpected(endpoint.error());
  auto queue_pair = std::make_shared<QueuePair>(shared_from_this(), config, std::move(*endpoint));
  if (auto used = use_queue_pair(queue_pair); !used) return tl::unexpected(used.error());
  config.send_queue->attach(queue_pair.get());
  config.receive_queue->attach(queue_pair.get());
  use_pd(config.pd);
  return queue_pair;
}

Expected<void> Context::use_queue_pair(const std::shared_ptr<QueuePair>& queue_pair) {
  const std::lock_guard guard(mutex_);
  if (auto added = progress_->add(queue_pair); !added) return added;
  queue_pairs_.emplace(queue_pair->qpn().value(), queue_pair.get());
  return {};
}

void Context::tell_port_changes() {
  if (!link_monitor_->drain(device_.ifindex)) return;
  const port::PortAttributes now = port_->attributes();
  if (now.state != last_state_) {
    const bool up = now.state == port::LinkState::kActive;
    async_events_->post({up ? AsyncEventType::kPortActive : AsyncEventType::kPortError});
  }
  if (now.gids != last_gids_) async_events_->post({AsyncEventType::kGidChange});
  last_state_ = now.state;
  last_gids_ = now.gids;
}

void Context::remove(QueuePair& queue_pair) {
  const auto counters = queue_pair.report().counters;
  {
    const std::lock_guard guard(mutex_);
    accumulate(retired_counters_, counters);
    queue_pairs_.erase(queue_pair.qpn().value());
    progress_->remove(queue_pair);
  }
  unuse_pd(queue_pair.config().pd);
}

Expected<void> Context::complete_path(hca::Path& path) {
  const port::PortAttributes port = port_->attributes();
  if (path.sgid_index >= port.gids.size()) {
    return fail(std::errc::invalid_argument,
                fmt::format("sgid_index {}: {} has GIDs 0 to {}", path.sgid_index, device_.name,
                            static_cast<int>(port.gids.size()) - 1));
  }
  if (path.dgid.is_zero()) {
    return fail(std::errc::invalid_argument, "dgid is zero: an address is needed on this wire");
  }
  path.sgid = port.gids[path.sgid_index].gid;
  if (path.dgid.is_multicast()) path.dgid = port_->group_address(path.dgid);
  path.scope_id = path.dgid.is_link_local() || path.dgid.is_multicast() ? device_.ifindex : 0;
  if (path.sgid.is_ipv4_mapped() == path.dgid.is_ipv4_mapped()) return {};
  // The source must be of the destination's family; a program that gives the index of the other
  // family means "this port".
  for (const port::GidEntry& entry : port.gids) {
    if (entry.gid.is_ipv4_mapped() == path.dgid.is_ipv4_mapped()) {
      path.sgid = entry.gid;
      return {};
    }
  }
  return fail(std::errc::invalid_argument, fmt::format("dgid {}: {} has no address of that family",
                                                       path.dgid.to_string(), device_.name));
}

void Context::arm_flush(QueuePair& queue_pair, Time when) {
  progress_->arm_flush(queue_pair, when);
}
void Context::watch(QueuePair& queue_pair) {
  progress_->watch(queue_pair);
}
void Context::receive_ready() {
  progress_->receive_ready();
}

Context::Report Context::report() {
  Report report;
  report.device = device_;
  const std::lock_guard guard(mutex_);
  report.queue_pair_totals = retired_counters_;
  for (const auto& [number, queue_pair] : queue_pairs_) {
    auto state = queue_pair->report();
    accumulate(report.queue_pair_totals, state.counters);
    report.queue_pairs.push_back({queue_pair->qpn(), queue_pair->config().pd,
                                  queue_pair->send_queue_id(), queue_pair->receive_queue_id(),
                                  std::move(state)});
  }
  for (const auto& [id, queue] : completion_queues_) {
    report.completion_queues.push_back({id, queue->capacity(), queue->size(), queue->polls()});
  }
  report.regions = memory_.snapshot();
  report.port_counters = port_->counters();
  return report;
}

}  // namespace weft::host
