// SPDX-License-Identifier: Apache-2.0
#include "port/udp/socket_pool.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cassert>

#include "wire/ip.h"

namespace weft::port {
namespace {

constexpr unsigned kIndexShift = 16;  // of a queue pair number that shares its UDP port

// What reliable connections have their packets leave with; whoever shares a socket with them and
// does not says so with each call.
std::uint8_t traffic_class_of(Service service) {
  return service == Service::kReliable ? wire::kEcnCapable : 0;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace

SocketPool::SocketPool(std::shared_ptr<UdpShared> shared, std::uint16_t first_port,
                       std::uint16_t last_port, Entropy& entropy)
    : shared_(std::move(shared)),
      numbers_(first_port, last_port, entropy, shared_->rules.management_port) {
}

Expected<std::shared_ptr<UdpInlet>> SocketPool::open_inlet(Service service) {
  bool raised = false;
  for (std::size_t tries = numbers_.available(); tries > 0; --tries) {
    const auto port = numbers_.take();
    if (!port) break;
    auto socket = shared_->open_socket(*port, {.traffic_class = traffic_class_of(service),
                                               .shows_headers = service == Service::kDatagram});
    if (socket) {
      // Closed before its number is another's.
      Lease lease([pool = shared_from_this(), port = *port] { pool->numbers_.give_back(port); });
      return UdpShared::open_inlet(shared_, std::move(*socket), std::move(lease));
    }
    numbers_.give_back(*port);
    if (socket.error().code == std::errc::too_many_files_open && !raised) {
      // A socket per queue pair goes beyond the usual soft limit of 1024; up to the hard limit is
      // the user's to take.
      raise_descriptor_limit();
      raised = true;
      ++tries;
    } else if (socket.error().code != std::errc::address_in_use) {
      return tl::unexpected(socket.error());
    }
  }
  return fail(std::errc::not_enough_memory,
              fmt::format("no UDP port is free for a queue pair between {} and {}: widen the range "
                          "with `weft run --ports FIRST-LAST` (WEFT_PORTS)",
                          numbers_.first(), numbers_.last()));
}

Expected<std::unique_ptr<Endpoint>> SocketPool::open_sole() {
  auto inlet = open_inlet(Service::kDatagram);
  if (!inlet) return tl::unexpected(inlet.error());
  const Qpn qpn{(*inlet)->socket().port()};
  return std::make_unique<UdpEndpoint>(shared_, std::move(*inlet), qpn, Lease{});
}

Expected<std::unique_ptr<Endpoint>> SocketPool::open_connected(Service service) {
  const std::lock_guard guard(mutex_);
  if (sole_connected_ < kSoleConnected) {
    auto inlet = open_inlet(service);
    if (inlet) {
      ++sole_connected_;
      Lease lease([pool = shared_from_this()] {
        const std::lock_guard leaving(pool->mutex_);
        --pool->sole_connected_;
      });
      const Qpn qpn{(*inlet)->socket().port()};
      return std::make_unique<UdpEndpoint>(shared_, std::move(*inlet), qpn, std::move(lease),
                                           UdpEndpoint::Senders::kOnePeer);
    }
    if (sockets_.empty()) return tl::unexpected(inlet.error());
  }
  const auto emptiest = std::min_element(
      sockets_.begin(), sockets_.end(),
      [](const auto& a, const auto& b) { return a->used.count() < b->used.count(); });
  const std::size_t least = emptiest == sockets_.end() ? kPerSocket : (*emptiest)->used.count();
  const bool wants_another =
      least == kPerSocket || (least >= kComfortable && sockets_.size() < kSharedSockets);
  if (!wants_another) return share(*emptiest);
  auto inlet = open_inlet(Service::kReliable);
  if (!inlet) {
    if (least < kPerSocket) return share(*emptiest);
    return tl::unexpected(inlet.error());
  }
  auto socket = std::make_shared<SharedSocket>();
  socket->inlet = *inlet;
  sockets_.push_back(socket);
  return share(socket);
}

std::unique_ptr<Endpoint> SocketPool::share(const std::shared_ptr<SharedSocket>& socket) {
  std::size_t index = socket->next;
  while (socket->used.test(index))
    index = (index + 1) % kPerSocket;
  socket->used.set(index);
  socket->next = (index + 1) % kPerSocket;
  Lease lease([pool = shared_from_this(), socket, index] { pool->leave(socket, index); });
  auto inlet = socket->inlet.lock();
  assert(inlet);
  const Qpn qpn{static_cast<std::uint32_t>(index) << kIndexShift | inlet->socket().port()};
  return std::make_unique<UdpEndpoint>(shared_, std::move(inlet), qpn, std::move(lease));
}

void SocketPool::leave(const std::shared_ptr<SharedSocket>& socket, std::size_t index) {
  const std::lock_guard guard(mutex_);
  socket->used.reset(index);
  if (socket->used.none()) std::erase(sockets_, socket);
}

}  // namespace weft::port
