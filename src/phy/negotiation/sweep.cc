// SPDX-License-Identifier: Apache-2.0
#include "phy/negotiation/sweep.h"

#include <algorithm>
#include <cassert>

namespace weft::phy {

SweepPlan agree_sweep(const NegotiationOptions& own, std::uint32_t peer_iterations,
                      std::uint32_t peer_iteration_ms) {
  return {.iterations = std::max(own.transmit_configurations, peer_iterations),
          .iteration = std::max(own.iteration_ms(), peer_iteration_ms) * Duration(1ms),
          .transmit_configurations = own.transmit_configurations,
          .receive_configurations = own.receive_configurations,
          .lanes = own.lanes,
          .delta = own.delta,
          .soak = own.soak};
}

void Sweep::start(const SweepPlan& plan, Time now, SerdesControl& serdes) {
  assert(plan.iteration >= plan.soak + plan.receive_configurations * plan.delta + plan.soak);
  plan_ = plan;
  measured_.assign(std::size_t{plan.iterations} * plan.receive_configurations * plan.lanes,
                   std::nullopt);
  iteration_ = 0;
  began_ = now;
  begin_iteration(serdes);
}

std::optional<Time> Sweep::deadline() const {
  if (iteration_ == plan_.iterations) return std::nullopt;
  if (step_ > plan_.receive_configurations) return began_ + plan_.iteration;
  return began_ + plan_.soak + step_ * plan_.delta;
}

void Sweep::expire(Time now, SerdesControl& serdes) {
  // Counted from when the iteration began, not from when it was noticed, so that both ends stay
  // together however late each is woken.
  while (deadline().value_or(Time::max()) <= now) {
    if (step_ > plan_.receive_configurations) {
      began_ += plan_.iteration;
      if (++iteration_ != plan_.iterations) begin_iteration(serdes);
      continue;
    }
    if (step_ > 0) measure(serdes);
    if (step_ < plan_.receive_configurations) set_receive(step_, serdes);
    ++step_;
  }
}

void Sweep::begin_iteration(SerdesControl& serdes) {
  step_ = 0;
  serdes.set_transmit(plan_.transmit_of(iteration_));
  set_receive(0, serdes);
}

void Sweep::set_receive(std::uint32_t receive, SerdesControl& serdes) {
  for (std::uint32_t lane = 0; lane < plan_.lanes; ++lane)
    serdes.set_receive(lane, receive);
}

void Sweep::measure(SerdesControl& serdes) {
  for (std::uint32_t lane = 0; lane < plan_.lanes; ++lane)
    measured_[index(iteration_, step_ - 1, lane)] = serdes.measure(lane);
}

std::optional<SweepChoice> Sweep::choice() const {
  std::optional<SweepChoice> best;
  for (std::uint32_t iteration = 0; iteration < plan_.iterations; ++iteration) {
    SweepChoice here{.iteration = iteration};
    for (std::uint32_t lane = 0; lane < plan_.lanes; ++lane) {
      std::optional<std::uint32_t> widest;
      for (std::uint32_t receive = 0; receive < plan_.receive_configurations; ++receive) {
        const auto& measured = at(iteration, receive, lane);
        if (!measured || !measured->matched || measured->symbol_errors != 0) continue;
        if (!widest || measured->eye > at(iteration, *widest, lane)->eye) widest = receive;
      }
      if (!widest) break;
      const double eye = at(iteration, *widest, lane)->eye;
      here.eye = lane == 0 ? eye : std::min(here.eye, eye);
      here.receive.push_back(*widest);
    }
    if (here.receive.size() != plan_.lanes) continue;
    if (!best || here.eye > best->eye) best = std::move(here);
  }
  return best;
}

}  // namespace weft::phy
