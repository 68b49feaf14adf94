// SPDX-License-Identifier: Apache-2.0
// Which port of its adapter a queue pair is on, and what of that port's packets a raw one gets.
#include <fmt/format.h>

#include "host/context.h"
#include "host/queue_pair.h"

namespace weft::host {
namespace {

tl::unexpected<Error> refuse(std::string message) {
  return weft::fail(std::errc::invalid_argument, "modify: " + std::move(message));
}

}  // namespace

Expected<void> QueuePair::move_to(std::uint8_t port) {
  if (!context_->has_port(port)) {
    return refuse(fmt::format("port {}: {} has ports 1 to {}", port, context_->device().name,
                              context_->ports()));
  }
  const std::lock_guard guard(control_mutex_);
  if (port == port_.load(std::memory_order_relaxed)) return {};
  const hca::QpState state = query().state;
  if (state != hca::QpState::kReset && state != hca::QpState::kInit) {
    return refuse(fmt::format("port {}: in {} the queue pair stays on port {}", port,
                              to_string(state), this->port()));
  }
  if (auto moved = endpoint_->move_to(port); !moved) return moved;
  const port::PortAttributes attributes = context_->port_attributes(port);
  const std::lock_guard core_guard(lock_);
  core_->move_to({.number = port,
                  .pkeys = &context_->pkeys(port),
                  .max_mtu = attributes.max_mtu,
                  .max_datagram = attributes.max_message});
  port_.store(port, std::memory_order_relaxed);
  return {};
}

Expected<void> QueuePair::divert(const hca::RawRule& rule) {
  const std::lock_guard guard(control_mutex_);
  if (query().state == hca::QpState::kReset) {
    return weft::fail(std::errc::invalid_argument,
                      "a flow is of a port: move the queue pair to INIT first");
  }
  return endpoint_->divert(rule);
}

Expected<void> QueuePair::restore(const hca::RawRule& rule) {
  const std::lock_guard guard(control_mutex_);
  return endpoint_->restore(rule);
}

}  // namespace weft::host
