// SPDX-License-Identifier: Apache-2.0
#include "chain.h"

#include <fmt/format.h>

namespace weft::link {
namespace {

constexpr unsigned kLanes = 4;

}  // namespace

void CreditMonitor::sent(std::size_t from, const Packet& packet, Time now) {
  mix(static_cast<std::uint64_t>(now.time_since_epoch().count()));
  mix(packet.compute_vcrc() + (from << 20));
  if (packet.vl() == kVl15) return;
  Count& count = counts_[from][packet.vl().value()];
  count.sent += packet.blocks();
  if (count.sent > count.limit) ++excesses_;
}

void CreditMonitor::sent(std::size_t from, const wire::FlowControl& packet, Time now) {
  mix(static_cast<std::uint64_t>(now.time_since_epoch().count()));
  mix(packet.fccl + (std::uint64_t{packet.fctbs} << 16) + (from << 40));
  const std::size_t vl = packet.vl.value();
  Count& count = counts_[1 - from][vl];  // of those that this grants
  if (packet.op == wire::FlowControl::Op::kInitialize) {
    counts_[from][vl].sent = 0;
    count.limit = packet.fccl;
    return;
  }
  std::int64_t ahead = (packet.fccl - count.sent) & 4095;
  if (ahead > 2048) ahead -= 4096;
  count.limit = std::max(count.limit, count.sent + ahead);
}

Relay::Relay(Worker& worker, const PortOptions& left_options, const PortOptions& right_options,
             unsigned lane_shift)
    : worker_(worker),
      lane_shift_(lane_shift),
      left(left_options, *this),
      right(right_options, *this) {
  worker_.add(left);
  worker_.add(right);
}

void Relay::received(Port& port, PacketPtr packet, Time now) {
  const unsigned lane = (packet->lrh().sl.value() + lane_shift_) % kLanes;
  (&port == &left ? right : left)
      .transmit(std::move(packet), Vl{static_cast<std::uint8_t>(lane)}, now);
}

Terminal::Terminal(Worker& worker, const PortOptions& options)
    : worker_(worker), port(options, *this) {
  worker_.add(port);
}

void Terminal::received(Port&, PacketPtr packet, Time) {
  ++delivered;
  const std::uint32_t number = number_of(*packet);
  std::uint32_t& seen = seen_[packet->lrh().sl.value()];
  if (number < seen) ++out_of_order;
  seen = number + 1;
  kept_.push_back(std::move(packet));
}

void Terminal::send(PacketPool& pool, Random& random, Time now) {
  const auto sl = static_cast<std::uint8_t>(random.below(kLanes));
  const std::size_t payload = 4 * random.below(random.chance(0.3) ? 1024 : 64);
  ++sent;
  port.transmit(pool.copy(make_packet({.sl = Sl{sl}, .payload = payload, .number = next_[sl]++})),
                Vl{sl}, now);
}

void Terminal::release(std::size_t kept) {
  if (kept_.size() > kept) kept_.erase(kept_.begin(), kept_.end() - static_cast<long>(kept));
}

Chain::Chain(std::uint64_t seed, std::size_t relays, const Faults& faults)
    : random_(seed),
      faults_(faults),
      updates_(random_.chance(0.5) ? CreditUpdates::kOnChange : CreditUpdates::kPeriodic) {
  first_ = std::make_unique<Terminal>(worker_, draw_options());
  ports_.push_back(&first_->port);
  for (std::size_t i = 0; i < relays; ++i) {
    const PortOptions left = draw_options();
    const PortOptions right = draw_options();
    const auto shift = static_cast<unsigned>(random_.below(kLanes));
    relays_.push_back(std::make_unique<Relay>(worker_, left, right, shift));
    ports_.push_back(&relays_.back()->left);
    ports_.push_back(&relays_.back()->right);
  }
  last_ = std::make_unique<Terminal>(worker_, draw_options());
  ports_.push_back(&last_->port);
  for (std::size_t i = 0; i < ports_.size(); i += 2) {
    monitors_.push_back(std::make_unique<CreditMonitor>());
    links_.push_back(std::make_unique<DirectLink>(pool_, Duration(random_.below(1'000'000))));
    links_.back()->set_tap(monitors_.back().get());
    links_.back()->set_emulation(draw_emulation(), worker_.now());
    links_.back()->join(*ports_[i], *ports_[i + 1], worker_.now());
  }
  if (!faults_.lifetimes) return;
  for (auto& relay : relays_) {
    for (Port* const port : {&relay->left, &relay->right}) {
      port->set_hoq_life(static_cast<std::uint8_t>(random_.between(2, 12)));
      port->set_switch_life(static_cast<std::uint8_t>(random_.between(6, 14)));
      port->set_vl_stall_count(static_cast<std::uint8_t>(random_.below(8)));
    }
  }
}

Chain::~Chain() {
  for (Port* const port : ports_)
    port->connect(nullptr, worker_.now());
  first_->release(0);
  last_->release(0);
}

PortOptions Chain::draw_options() {
  return {.data_vls = kLanes,
          .vl_buffer = static_cast<std::uint32_t>(random_.chance(0.5) ? random_.between(67, 140)
                                                                      : random_.between(67, 6'000)),
          .credit_updates = updates_,
          .credit_period =
              updates_ == CreditUpdates::kPeriodic ? kStandardCreditPeriod : Duration(10ms),
          // Faults of whole periods must not look like a dead link here.
          .credit_watchdog = 100 * kStandardCreditPeriod};
}

Emulation Chain::draw_emulation() {
  Emulation emulation{.seed = random_.next()};
  if (random_.chance(0.5)) emulation.rate_bytes_per_s = random_.between(50'000'000, 5'000'000'000);
  if (random_.chance(0.5)) emulation.delay = Duration(random_.below(300'000));
  if (random_.chance(0.3)) {
    emulation.drain_bytes_per_s = random_.between(50'000'000, 5'000'000'000);
  }
  if (!faults_.loss) return emulation;
  if (random_.chance(0.7)) emulation.loss = 0.3 * static_cast<double>(random_.below(100)) / 100;
  if (random_.chance(0.7))
    emulation.credit_loss = 0.5 * static_cast<double>(random_.below(100)) / 100;
  if (random_.chance(0.5)) emulation.bit_errors = 1e-5;
  return emulation;
}

void Chain::manage() {
  for (std::size_t i = 0; i < ports_.size(); i += 2) {
    for (const PortState state : {PortState::kArmed, PortState::kActive}) {
      ports_[i]->set_state(state, worker_.now());
      ports_[i + 1]->set_state(state, worker_.now());
    }
  }
}

void Chain::step() {
  manage();
  for (Terminal* const terminal : {first_.get(), last_.get()}) {
    for (std::uint64_t i = random_.below(20); i > 0; --i)
      terminal->send(pool_, random_, worker_.now());
    if (random_.chance(0.5)) terminal->release(random_.below(30));
  }
  if (faults_.flaps && random_.chance(0.02)) {
    DirectLink& link = *links_[random_.below(links_.size())];
    link.set_plugged(!link.plugged(), worker_.now());
  }
  if (faults_.flaps && random_.chance(0.01)) {
    ports_[random_.below(ports_.size())]->set_state(PortState::kDown, worker_.now());
  }
  if (random_.chance(0.05)) {
    links_[random_.below(links_.size())]->set_emulation(draw_emulation(), worker_.now());
  }
  worker_.run_for(Duration(random_.below(500'000)));
}

void Chain::come_to_rest() {
  for (auto& link : links_) {
    link->set_plugged(true, worker_.now());
    link->set_emulation({}, worker_.now());
  }
  // As long as it takes for the last lane in a row to learn of credit that was lost.
  for (int i = 0; i < 2'000 && waiting() + in_use() > 0; ++i) {
    manage();
    first_->release(0);
    last_->release(0);
    worker_.run_for(1ms);
  }
}

void Chain::run(int steps) {
  worker_.run_for(5ms);
  manage();
  worker_.run_for(5ms);
  for (int i = 0; i < steps; ++i)
    step();
  come_to_rest();
}

std::uint64_t Chain::counted(PortCounter counter) const {
  std::uint64_t sum = 0;
  for (const Port* const port : ports_)
    sum += port->counters().get(counter);
  return sum;
}

std::uint64_t Chain::lost_for_a_reason() const {
  std::uint64_t sum = 0;
  for (const Port* const port : ports_) {
    sum += port_xmit_discards(port->counters());
    for (const PortCounter counter :
         {PortCounter::kRxBadVcrc, PortCounter::kRxMalformed, PortCounter::kRxBadVl,
          PortCounter::kRxOverrun, PortCounter::kRxWrongState})
      sum += port->counters().get(counter);
  }
  for (const auto& link : links_)
    sum += link->counters().get(LinkCounter::kLost) + link->counters().get(LinkCounter::kDown);
  return sum;
}

std::uint64_t Chain::excesses() const {
  std::uint64_t sum = 0;
  for (const auto& monitor : monitors_)
    sum += monitor->excesses();
  return sum;
}

std::uint64_t Chain::waiting() const {
  std::uint64_t sum = 0;
  for (const Port* const port : ports_) {
    for (std::uint8_t vl = 0; vl < kVls; ++vl)
      sum += port->backlog(Vl{vl});
  }
  return sum;
}

std::uint64_t Chain::digest() const {
  std::uint64_t sum = 0;
  for (const auto& monitor : monitors_)
    sum = sum * 31 + monitor->digest();
  return sum;
}

std::string Chain::describe() const {
  std::string text = fmt::format("sent {} delivered {} lost for a reason {}\n", sent(), delivered(),
                                 lost_for_a_reason());
  for (const Port* const port : ports_)
    text += "port\n" + format_counters(port->counters().snapshot());
  for (const auto& link : links_)
    text += "link\n" + format_counters(link->counters().snapshot());
  return text;
}

}  // namespace weft::link
