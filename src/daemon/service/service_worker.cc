// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/service_worker.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "io/clock.h"
#include "io/spin_wait.h"
#include "port/ring/fabric_port.h"
#include "wire/endian.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace weft::daemon {
namespace {

using enum ServiceWorkerCounter;

// So many packets that were held wait for the port at a time, at most.
constexpr std::size_t kMostKept = 1024;
// How long answers are kept where nobody says that they have become others.
constexpr Duration kShortLife = 2s;
// Descriptors are looked at in one of so many turns that had packets.
constexpr unsigned kServiceWorkerTurnsPerLook = 16;
// While the port takes nothing, it is asked again so soon, should it not say so itself.
constexpr Duration kBlockedWait = 1ms;

std::uint64_t prefix_of(const Gid& gid) {
  return wire::load_be64(std::as_bytes(std::span(gid.bytes())).data());
}

bool has_icrc(Bytes packet) {
  const unsigned lnh = std::to_integer<unsigned>(packet[1]) & 3;
  return lnh == static_cast<unsigned>(wire::Lnh::iba_local) ||
         lnh == static_cast<unsigned>(wire::Lnh::iba_global);
}

}  // namespace

ServiceWorker::ServiceWorker(const Config& config, Services services, Peers& peers)
    : config_(config),
      peers_(peers),
      services_(std::move(services)),
      buffers_(std::make_unique<std::array<Buffer, kBurst>>()),
      orders_(peers.orders()) {
  outs_.reserve(kBurst);
}

// Nothing comes any more before the runtime goes.
ServiceWorker::~ServiceWorker() {
  restore();
  watches_.clear();
}

Expected<std::unique_ptr<ServiceWorker>> ServiceWorker::open(const Config& config,
                                                             Services services, Peers& peers) {
  std::unique_ptr<ServiceWorker> worker(new ServiceWorker(config, std::move(services), peers));
  if (auto prepared = worker->prepare(); !prepared) return tl::unexpected(prepared.error());
  return worker;
}

Expected<void> ServiceWorker::prepare() {
  auto reactor = io::Reactor::create(0us);  // run() has the patience
  if (!reactor) return tl::unexpected(reactor.error());
  reactor_ = std::move(*reactor);
  port::FabricPortConfig there;
  there.place = {.lab = config_.place.lab, .node = config_.place.node};
  auto port = port::FabricPort::open(there);
  if (!port) return tl::unexpected(port.error());
  port_ = std::move(*port);
  std::vector<mgmt::PortNumber> ports = config_.ports;
  for (unsigned port = 1; config_.ports.empty() && port <= port_->ports(); ++port)
    ports.push_back(static_cast<mgmt::PortNumber>(port));
  for (const mgmt::PortNumber port : ports) {
    if (auto added = add_side(port); !added) return added;
  }
  subscribed_ = config_.subscribes && std::ranges::all_of(sides_, [](const Side& side) {
                  return side.paths->subscribe().has_value();
                });
  service::RuntimeOptions options;
  // Its peers subscribe for it, if it does not do so itself.
  if (config_.subscribes && !subscribed_) options.paths.lifetime = kShortLife;
  service::RuntimeUser& runtime_user = *this;
  service::PathAsker& asker = *this;
  runtime_ = std::make_unique<service::Runtime>(options, runtime_user, asker, entropy_);
  service::Chain chain = config_.chain;
  for (const auto& service : services_)
    chain.services.push_back(service.get());
  runtime_->set_chain(Lid{}, chain);
  for (const Side& side : sides_)
    tell_subnet(side);
  for (const int fd : sides_.front().endpoint->inlet()->descriptors()) {
    auto watch = reactor_->watch(fd, EPOLLIN, [](std::uint32_t) {});
    if (!watch) return tl::unexpected(watch.error());
    watches_.push_back(std::move(*watch));
  }
  auto watch =
      reactor_->watch(port_->news_descriptor(), EPOLLIN, [this](std::uint32_t) { news_ = true; });
  if (!watch) return tl::unexpected(watch.error());
  watches_.push_back(std::move(*watch));
  return {};
}

Expected<void> ServiceWorker::add_side(mgmt::PortNumber port) {
  if (port == 0 || port > port_->ports()) {
    return fail(std::errc::invalid_argument,
                fmt::format("{}: the node has ports 1 to {}", port, port_->ports()));
  }
  auto endpoint = port_->open_raw_endpoint();
  if (!endpoint) return tl::unexpected(endpoint.error());
  if (port != 1) {
    if (auto moved = (*endpoint)->move_to(port); !moved) return moved;
  }
  auto layer = RemoteMadLayer::open(config_.place, port, *reactor_);
  if (!layer) return tl::unexpected(layer.error());
  ProcessPaths::User& user = *this;
  auto paths = std::make_unique<ProcessPaths>(**layer, *port_, port, user);
  if (auto opened = paths->open(); !opened) return opened;
  sides_.push_back({.port = port,
                    .endpoint = std::move(*endpoint),
                    .layer = std::move(*layer),
                    .paths = std::move(paths)});
  return {};
}

ServiceWorker::Side& ServiceWorker::side(mgmt::PortNumber port) {
  return *std::ranges::find(sides_, port, &Side::port);
}

Expected<void> ServiceWorker::begin() {
  for (Side& side : sides_) {
    if (auto diverted = side.endpoint->divert(hca::OtherLids{}); !diverted) return diverted;
    side.diverted = true;
  }
  return {};
}

void ServiceWorker::restore() {
  for (Side& side : sides_) {
    if (side.diverted && side.endpoint->restore(hca::OtherLids{})) side.diverted = false;
  }
}

// What the services are to know of the subnet that the port is in.
void ServiceWorker::tell_subnet(const Side& side) {
  if (!config_.in_subnet) return;
  const port::PortAttributes port = port_->attributes(side.port);
  const bool known = port.state == port::LinkState::kActive && !port.gids.empty();
  config_.in_subnet(side.port, known ? prefix_of(port.gids.front().gid) : 0);
}

Expected<void> ServiceWorker::enter_core() const {
  if (!config_.core) return {};
  cpu_set_t set;
  CPU_ZERO(&set);
  if (*config_.core < CPU_SETSIZE) CPU_SET(*config_.core, &set);
  const int error = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  if (error == 0) return {};
  return fail_errno(error, fmt::format("core {}", *config_.core));
}

void ServiceWorker::stop() {
  stopping_.store(true);
  reactor_->wake();
}

void ServiceWorker::tell(std::size_t service, Bytes record) {
  if (records_.push(service, record)) reactor_->wake();
}

void ServiceWorker::forget_paths() {
  forget_.store(true);
  reactor_->wake();
}

void ServiceWorker::prepare(Order order) {
  const std::lock_guard guard(order_mutex_);
  order_ = std::move(order);
}

// --- turns ---------------------------------------------------------------------------------------

Expected<void> ServiceWorker::run() {
  if (auto entered = enter_core(); !entered) return entered;
  io::SpinWait patience;
  while (!stopping_.load(std::memory_order_relaxed)) {
    const Time now = io::now();
    if (news_) {
      if (auto heard = hear_news(); !heard) return heard;
    }
    for (const Side& side : sides_) {
      if (side.layer->ended()) return tl::unexpected(*side.layer->ended());
    }
    const bool worked = work(now);
    if (worked) patience.reset();
    if (worked && ++turns_ % kServiceWorkerTurnsPerLook != 0) continue;
    if (worked || patience.look_again(now)) {
      if (const auto turn = reactor_->run_once(0ns); !turn) return tl::unexpected(turn.error());
      continue;
    }
    if (auto slept = sleep(now); !slept) return slept;
    patience.reset();
  }
  // What has come already still goes on; the rest is somebody else's from now on.
  restore();
  while (work(io::now())) {
  }
  return {};
}

bool ServiceWorker::work(Time now) {
  follow_order(now);
  if (forget_.load(std::memory_order_relaxed) && forget_.exchange(false)) {
    runtime_->paths_changed();
  }
  if (const auto due = runtime_->deadline(); due && *due <= now) runtime_->run(now);
  for (const Side& side : sides_)
    side.paths->run(now);
  const bool waited = !kept_.empty() || sent_outs_ < outs_.size();
  if (!send_waiting()) {
    hear_others(now);
    return false;
  }
  came_ = 0;
  sides_.front().endpoint->inlet()->receive(*this, kBurst);  // it is the adapter's
  // After what has come was read: what has caused it was told before it was sent.
  hear_others(now);
  if (came_ > 0) handle(now);
  return waited || came_ > 0;
}

Expected<void> ServiceWorker::hear_news() {
  news_ = false;
  port_->hear_news();
  // That the adapter is gone, port 1 says for all.
  const std::uint32_t of_first = port_->take_news(1);
  if ((of_first & port::kNewsDeviceFatal) != 0) {
    return fail(std::errc::no_such_device, "the lab has ended, or has cut this program off");
  }
  constexpr std::uint32_t kConcerns =
      port::kNewsActive | port::kNewsLid | port::kNewsSm | port::kNewsReregister;
  for (const Side& side : sides_) {
    const std::uint32_t news = side.port == 1 ? of_first : port_->take_news(side.port);
    if (news != 0) tell_subnet(side);
    if ((news & kConcerns) != 0) side.paths->port_changed();
  }
  return {};
}

Expected<void> ServiceWorker::sleep(Time now) {
  sides_.front().endpoint->inlet()->wait();
  Duration wait = -1ns;  // for ever
  if (const auto due = deadline()) wait = std::max(*due - now, Duration::zero());
  const bool blocked = !kept_.empty() || sent_outs_ < outs_.size();
  if (blocked && (wait < 0ns || wait > kBlockedWait)) wait = kBlockedWait;
  const auto turn = reactor_->run_once(wait);
  if (!turn) return tl::unexpected(turn.error());
  return {};
}

std::optional<Time> ServiceWorker::deadline() const {
  std::optional<Time> first = runtime_->deadline();
  for (const Side& side : sides_) {
    const auto due = side.paths->deadline();
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

void ServiceWorker::hear_others(Time now) {
  records_.take([&](const RecordQueue::Record& record) {
    counters_.add_in_turn(kRecordsHeard);
    follow_order(now);  // whoever has told this may have
    runtime_->apply(record.service, record.view(), now);
  });
}

void ServiceWorker::follow_order(Time now) {
  const std::uint64_t orders = peers_.orders();
  if (orders_ == orders) return;
  orders_ = orders;
  Order order;
  {
    const std::lock_guard guard(order_mutex_);
    order = std::exchange(order_, {});
  }
  if (order) order(now);
}

// --- packets -------------------------------------------------------------------------------------

// Its bytes may be where others write to at the same time: services look at a copy.
void ServiceWorker::deliver(const hca::InDatagram& datagram) {
  if (datagram.raw == nullptr || came_ == kBurst) return;
  const hca::RawPacket& raw = *datagram.raw;
  Buffer& buffer = (*buffers_)[came_];
  if (raw.size() > buffer.bytes.size()) return counters_.add_in_turn(kMalformed);
  const auto end = std::ranges::copy(raw.header, buffer.bytes.begin()).out;
  std::ranges::copy(raw.trailer, std::ranges::copy(raw.payload, end).out);
  buffer.size = raw.size();
  const auto at =
      std::ranges::find(sides_, raw.to, [](const Side& s) { return s.endpoint->qpn(); });
  if (at == sides_.end()) return;
  items_[came_++] = {.bytes = MutableBytes(buffer.bytes).first(buffer.size),
                     .arrival = {.port = at->port, .sealed = raw.sealed}};
}

void ServiceWorker::handle(Time now) {
  const auto items = std::span(items_).first(came_);
  runtime_->handle(items, now);
  outs_.clear();
  sent_outs_ = 0;
  for (const service::Item& item : items) {
    if (item.fate != service::Fate::kForward) continue;
    outs_.push_back({.bytes = item.bytes, .port = item.out_port, .sealed = item.arrival.sealed});
  }
  static_cast<void>(send_waiting());
}

bool ServiceWorker::send_waiting() {
  while (!kept_.empty()) {
    const Kept& kept = kept_.front();
    const Out out{.bytes = kept.bytes, .port = kept.port, .sealed = kept.sealed};
    if (send_out({&out, 1}) == 0) return false;
    kept_.pop_front();
  }
  sent_outs_ += send_out(std::span(outs_).subspan(sent_outs_));
  return sent_outs_ == outs_.size();
}

// Without the CRCs that one from memory has not.
std::size_t ServiceWorker::posted_size(const Out& packet) {
  if (packet.sealed) return packet.bytes.size();
  const std::size_t crcs = wire::kVcrcSize + (has_icrc(packet.bytes) ? wire::kIcrcSize : 0);
  return packet.bytes.size() - std::min(crcs, packet.bytes.size());
}

std::size_t ServiceWorker::send_out(std::span<const Out> packets) {
  std::size_t taken = 0;
  while (taken < packets.size()) {
    const std::span<const Out> rest = packets.subspan(taken);
    const auto other =
        std::ranges::find_if(rest, [&](const Out& out) { return out.port != rest.front().port; });
    const std::span<const Out> together(rest.begin(), other);
    const std::size_t sent = send_by(*side(rest.front().port).endpoint, together);
    taken += sent;
    if (sent < together.size()) break;
  }
  return taken;
}

std::size_t ServiceWorker::send_by(port::Endpoint& endpoint, std::span<const Out> packets) {
  std::size_t taken = 0;
  while (taken < packets.size()) {
    burst_.clear();
    burst_.raw.emplace();
    for (const Out& packet : packets.subspan(taken)) {
      const std::size_t size = posted_size(packet);
      if (!burst_.takes(size, 0)) break;
      hca::OutPacket& out = burst_.open();
      out.header_length = 0;
      burst_.add_piece(out, packet.bytes.first(size));
      burst_.close(out, 0);
    }
    const std::size_t count = burst_.size();
    const hca::SendResult result = endpoint.send(burst_);
    if (result.outcome == hca::SendOutcome::kWouldBlock) return taken;
    if (result.outcome == hca::SendOutcome::kRefused) {
      // One of several may be to blame.
      std::size_t refused = 1;
      if (count > 1) {
        for (refused = 0; refused < count; ++refused) {
          if (send_by(endpoint, packets.subspan(taken + refused, 1)) == 0) return taken + refused;
        }
      } else {
        counters_.add_in_turn(kRefused);
      }
      taken += refused;
      continue;
    }
    taken += count;
  }
  return taken;
}

void ServiceWorker::send(Bytes packet, std::uint8_t port, bool sealed) {
  const Out out{.bytes = packet, .port = port, .sealed = sealed};
  const bool in_turn = kept_.empty() && sent_outs_ == outs_.size();
  if (in_turn && send_out({&out, 1}) == 1) return;
  if (kept_.size() == kMostKept) return counters_.add_in_turn(kNoRoom);
  kept_.push_back({.bytes = {packet.begin(), packet.end()}, .port = port, .sealed = sealed});
}

void ServiceWorker::publish(std::size_t service, Bytes record) {
  counters_.add_in_turn(kRecordsTold);
  if (!peers_.publish(*this, service, record)) counters_.add_in_turn(kRecordsLost);
}

// --- paths ---------------------------------------------------------------------------------------

void ServiceWorker::ask(std::uint64_t number, const service::PathQuestion& question) {
  const Side& at = question.port == 0 ? sides_.front() : side(question.port);
  at.paths->ask(number, question);
}

void ServiceWorker::path_answered(std::uint64_t number, const std::optional<service::Path>& path) {
  runtime_->path_answered(number, path, io::now());
}

void ServiceWorker::paths_changed() {
  runtime_->paths_changed();
  peers_.paths_changed(*this);
}

std::vector<CounterValue> ServiceWorker::own_counters() const {
  std::vector<CounterValue> out = counters_.snapshot();
  out.at(static_cast<std::size_t>(kRecordsLost)).value += records_.lost();
  return out;
}

std::vector<CounterValue> ServiceWorker::drops() const {
  std::vector<CounterValue> out;
  for (const auto& service : services_)
    accumulate(out, runtime_->drops(*service));
  return out;
}

std::vector<CounterValue> ServiceWorker::service_counters() const {
  std::vector<CounterValue> out;
  for (const auto& service : services_)
    accumulate(out, service->counters());
  return out;
}

}  // namespace weft::daemon
