// SPDX-License-Identifier: Apache-2.0
#include "host/context.h"

#include <fmt/format.h>

#include "host/open_port.h"
#include "host/process.h"
#include "io/clock.h"

namespace weft::host {
namespace {

port::Service service_of(hca::QpType type) {
  if (!hca::is_connected(type)) return port::Service::kDatagram;
  return hca::is_reliable(type) ? port::Service::kReliable : port::Service::kUnreliable;
}

}  // namespace

Context::Context(const DeviceInfo& device, const Config& config)
    : device_(device), config_(config) {
}

Expected<std::shared_ptr<Context>> Context::open(const DeviceInfo& device, const Config& config) {
  std::shared_ptr<Context> context(new Context(device, config));
  auto opened = open_port(device, config, context->entropy_);
  if (!opened) return tl::unexpected(opened.error());
  return start(std::move(context), std::move(*opened));
}

Expected<std::shared_ptr<Context>> Context::open_on(std::unique_ptr<port::Port> port,
                                                    const DeviceInfo& device,
                                                    const Config& config) {
  return start(std::shared_ptr<Context>(new Context(device, config)), std::move(port));
}

Expected<std::shared_ptr<Context>> Context::start(std::shared_ptr<Context> context,
                                                  std::unique_ptr<port::Port> port) {
  context->port_ = std::move(port);
  auto events = AsyncEventQueue::create();
  if (!events) return tl::unexpected(events.error());
  context->async_events_ = std::move(*events);
  int news = context->port_->news_descriptor();
  if (news < 0) {
    auto monitor = io::LinkMonitor::open();
    if (!monitor) return tl::unexpected(monitor.error());
    context->link_monitor_ = std::move(*monitor);
    news = context->link_monitor_->fd();
  }
  const port::PortAttributes now = context->port_->attributes(1);
  context->last_state_ = now.state;
  context->last_gids_ = now.gids;
  for (unsigned port = 1; port <= context->ports(); ++port)
    context->pkeys_.emplace_back(context->port_->attributes(static_cast<std::uint8_t>(port)).pkeys);
  // close() ends the thread before the context can go.
  const auto carrier =
      context->carried_by_process() ? Progress::Carrier::kProcess : Progress::Carrier::kKernel;
  auto started = Progress::start(
      news, [raw = context.get()] { raw->on_news(); }, carrier);
  if (!started) return tl::unexpected(started.error());
  context->progress_ = std::move(*started);
  register_context(context);
  return context;
}

Context::~Context() = default;

void Context::close() {
  unregister_context(*this);
  {
    const std::lock_guard guard(mutex_);
    for (const auto& [number, queue_pair] : queue_pairs_)
      queue_pair->send_owed();
  }
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
  auto endpoint = config.type == hca::QpType::kRaw ? port_->open_raw_endpoint()
                                                   : port_->open_endpoint(service_of(config.type));
  if (!endpoint) return tl::unexpected(endpoint.error());
  if (const auto agreements = port_->agreements()) {
    auto watched = progress_->watch_news(agreements->descriptor());
    if (!watched) return tl::unexpected(watched.error());
  }
  auto receiver = receiver_for((*endpoint)->inlet());
  if (!receiver) return tl::unexpected(receiver.error());
  auto queue_pair =
      std::make_shared<QueuePair>(shared_from_this(), config, std::move(*endpoint), *receiver);
  {
    const std::lock_guard guard(mutex_);
    queue_pairs_.emplace(queue_pair->qpn().value(), queue_pair.get());
    if (config.xrc_domain != 0) ++xrc_domains_[config.xrc_domain].users;
  }
  (*receiver)->add(*queue_pair);
  for (CompletionQueue* queue : queue_pair->completion_queues())
    queue->attach(queue_pair.get());
  if (config.srq) config.srq->use(*queue_pair);
  use_pd(config.pd);
  return queue_pair;
}

// The one that reads `inlet`, watched by the thread; counts one more queue pair that uses it.
Expected<std::shared_ptr<Receiver>> Context::receiver_for(
    const std::shared_ptr<port::Inlet>& inlet) {
  const std::lock_guard guard(mutex_);
  SharedReceiver& entry = receivers_[inlet.get()];
  if (!entry.receiver) {
    entry.receiver =
        std::make_shared<Receiver>(inlet, next_receiver_++, busy_sharers_, progress_->turns());
    if (auto added = progress_->add(entry.receiver); !added) {
      receivers_.erase(inlet.get());
      return tl::unexpected(added.error());
    }
  }
  ++entry.users;
  return entry.receiver;
}

void Context::release_receiver(Receiver& receiver) {
  const auto found = receivers_.find(receiver.inlet());
  if (found == receivers_.end() || --found->second.users > 0) return;
  retired_strays_ += receiver.strays();
  progress_->remove(receiver);
  receivers_.erase(found);
}

Expected<std::shared_ptr<SharedReceiveQueue>> Context::create_shared_receive_queue(
    const SharedReceiveQueueConfig& config) {
  if (config.max_receives == 0 || config.max_receives > limits_.max_srq_wr) {
    return fail(std::errc::invalid_argument,
                fmt::format("max_wr {}: a shared receive queue holds 1 "
                            "to {}",
                            config.max_receives, limits_.max_srq_wr));
  }
  if (config.max_pieces > limits_.max_sge) {
    return fail(std::errc::invalid_argument,
                fmt::format("max_sge {}: at most {}", config.max_pieces, limits_.max_sge));
  }
  std::shared_ptr<SharedReceiveQueue> queue;
  {
    const std::lock_guard guard(mutex_);
    if (shared_queues_.size() >= limits_.max_srq) {
      return fail(std::errc::not_enough_memory,
                  fmt::format("{}: all {} shared receive queues are in use", device_.name,
                              limits_.max_srq));
    }
    const std::uint32_t id = next_srq_++;
    queue = std::make_shared<SharedReceiveQueue>(shared_from_this(), id, config);
    if (config.xrc_domain != 0) {
      const auto domain = xrc_domains_.find(config.xrc_domain);
      if (domain == xrc_domains_.end()) {
        return fail(std::errc::invalid_argument,
                    fmt::format("no XRC domain {}", config.xrc_domain));
      }
      domain->second.queues->add(*queue);
    }
    shared_queues_.emplace(id, queue.get());
  }
  use_pd(config.pd);
  return queue;
}

void Context::retire(SharedReceiveQueue& queue) {
  const std::lock_guard guard(mutex_);
  const auto domain = xrc_domains_.find(queue.config().xrc_domain);
  if (domain == xrc_domains_.end()) return;
  domain->second.queues->remove(queue);
  // A packet that found it before is being worked on under its queue pair's lock.
  for (const auto& [number, queue_pair] : queue_pairs_)
    queue_pair->wait_for_lock();
}

void Context::remove(SharedReceiveQueue& queue) {
  {
    const std::lock_guard guard(mutex_);
    shared_queues_.erase(queue.id());
  }
  unuse_pd(queue.config().pd);
}

Expected<std::uint32_t> Context::allocate_xrc_domain() {
  const std::lock_guard guard(mutex_);
  if (xrc_domains_.size() >= limits_.max_xrc_domains) {
    return fail(std::errc::not_enough_memory, fmt::format("{}: all {} XRC domains are in use",
                                                          device_.name, limits_.max_xrc_domains));
  }
  xrc_domains_[next_xrc_domain_].queues = std::make_unique<XrcDomain>();
  return next_xrc_domain_++;
}

Expected<void> Context::release_xrc_domain(std::uint32_t domain) {
  const std::lock_guard guard(mutex_);
  const auto found = xrc_domains_.find(domain);
  if (found == xrc_domains_.end()) {
    return fail(std::errc::invalid_argument, fmt::format("no XRC domain {}", domain));
  }
  if (found->second.users > 0 || !found->second.queues->empty()) {
    return fail(std::errc::device_or_resource_busy,
                fmt::format("XRC domain {} is in use: destroy its queue pairs and shared receive "
                            "queues first",
                            domain));
  }
  xrc_domains_.erase(found);
  return {};
}

hca::XrcQueues* Context::xrc_queues(std::uint32_t domain) {
  const std::lock_guard guard(mutex_);
  const auto found = xrc_domains_.find(domain);
  return found == xrc_domains_.end() ? nullptr : found->second.queues.get();
}

// All is heard before any is taken: what is heard in between would wait for the next time.
void Context::on_news() {
  port_->hear_news();
  for (unsigned i = 1; i <= ports(); ++i) {
    const auto port = static_cast<std::uint8_t>(i);
    if (const std::uint32_t news = port_news(port); news != 0) tell(port, news);
  }
  take_agreements();
}

void Context::take_agreements() {
  const auto agreements = port_->agreements();
  if (!agreements) return;
  while (const auto agreement = agreements->next()) {
    const std::lock_guard guard(mutex_);
    const auto found = queue_pairs_.find(agreement->local.value());
    if (found != queue_pairs_.end()) found->second->agree(*agreement);
  }
}

void Context::remove(QueuePair& queue_pair) {
  const auto counters = queue_pair.report().counters;
  const QueuePairConfig& config = queue_pair.config();
  {
    const std::lock_guard guard(mutex_);
    accumulate(retired_counters_, counters);
    queue_pairs_.erase(queue_pair.qpn().value());
    release_receiver(queue_pair.receiver());
    if (const auto domain = xrc_domains_.find(config.xrc_domain); domain != xrc_domains_.end()) {
      --domain->second.users;
    }
  }
  memory_.unbind_windows_of(queue_pair.qpn());
  if (config.srq) config.srq->unuse(queue_pair);
  unuse_pd(config.pd);
}

void Context::arm_flush(const std::shared_ptr<CompletionQueue>& queue, Time when) {
  progress_->arm_flush(queue, when);
}
void Context::arm_deadline(QueuePair& queue_pair, Time when) {
  progress_->arm_deadline(queue_pair, when);
}
void Context::arm_turns(Time when) {
  progress_->arm_turns(when);
}
SendTurns& Context::send_turns() {
  return progress_->turns();
}
void Context::watch(Receiver& receiver) {
  progress_->watch(receiver);
}
std::size_t Context::receive_ready() {
  return progress_->receive_ready();
}

Context::Report Context::report() {
  Report report;
  report.device = device_;
  const std::lock_guard guard(mutex_);
  report.queue_pair_totals = retired_counters_;
  for (const auto& [number, queue_pair] : queue_pairs_) {
    report.queue_pairs.push_back(queue_pair->report());
    accumulate(report.queue_pair_totals, report.queue_pairs.back().counters);
  }
  for (const auto& [id, queue] : shared_queues_) {
    report.shared_receive_queues.push_back(
        {id, queue->config().pd, queue->query().max_receives, queue->size()});
  }
  for (const auto& [id, queue] : completion_queues_) {
    report.completion_queues.push_back({id, queue->capacity(), queue->size(), queue->polls()});
  }
  report.regions = memory_.snapshot();
  report.port_counters = port_->counters();
  std::uint64_t strays = retired_strays_;
  for (const auto& [inlet, shared] : receivers_)
    strays += shared.receiver->strays();
  report.port_counters.push_back(
      {"rx_no_queue_pair", "dropped: sent to a number that no queue pair has", strays});
  return report;
}

}  // namespace weft::host
