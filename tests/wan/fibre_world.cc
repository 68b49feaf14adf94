// SPDX-License-Identifier: Apache-2.0
#include "fibre_world.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace weft::wan {

using link::PortState;

void FibreSite::received(link::Port&, link::PacketPtr packet, Time) {
  if (packet->vl() == link::kVl15) {
    ++management;
    return;
  }
  if (!packet->vcrc_good()) ++damaged;
  const std::size_t flow = packet->lrh().sl.value();
  if (link::number_of(*packet) != came[flow]++) ++disorder;
  came_on[flow] = packet->vl();
  came_bytes += packet->size();
  if ((blocked >> packet->vl().value() & 1) != 0) kept.push_back(std::move(packet));
}

void FibreSite::wake(link::Port& woken) {
  world_.wake(woken);
}

void FibreSite::send(Vl vl, std::size_t payload) {
  auto packet = world_.pool.copy(link::make_packet(
      {.vl = vl, .sl = Sl{vl.value()}, .payload = payload, .number = sent[vl.value()]++}));
  ASSERT_NE(packet, nullptr);
  packet->intact = true;
  port.transmit(std::move(packet), vl, world_.now());
}

void FibreSite::keep_full(Vl vl, std::size_t payload, std::size_t backlog) {
  while (port.state() == PortState::kActive && port.backlog(vl) < backlog)
    send(vl, payload);
}

CodedFibre::CodedFibre(FibreCodeKind code, link::PacketPool& pool, std::array<link::Port*, 2> ports,
                       const link::Emulation& line, Time now) {
  for (std::size_t i = 0; i < 2; ++i) {
    channels[i] = std::make_unique<FibreChannel>(
        FibreChannel::Options{.code = code, .format = ports[i]->options().credit_format});
    halves_[i] = std::make_unique<link::HalfLink>(pool, i);
    if (line.any()) halves_[i]->set_emulation(line, now);
    halves_[i]->join(*ports[i], now);
    halves_[i]->set_channel(channels[i].get(), now);
    channels[i]->opened(now);
  }
}

CodedFibre::~CodedFibre() {
  for (const auto& half : halves_)
    half->set_channel(nullptr, Time{});
}

bool CodedFibre::carry(Time now) {
  bool carried = false;
  for (std::size_t from = 0; from < 2; ++from) {
    EXPECT_TRUE(channels[from]->run(now));
    const Bytes pending = channels[from]->pending();
    if (pending.empty()) continue;
    FibreChannel& to = *channels[1 - from];
    const Bytes some = pending.first(std::min(pending.size(), to.room().size()));
    std::vector<std::byte> bytes(some.begin(), some.end());
    channels[from]->sent(some.size(), now);
    if (from == 0 && harm) harm(bytes);
    std::ranges::copy(bytes, to.room().begin());
    EXPECT_TRUE(to.arrived(bytes.size(), now));
    carried = true;
  }
  return carried;
}

std::optional<Time> CodedFibre::deadline() const {
  std::optional<Time> first;
  for (const auto& channel : channels) {
    const auto due = channel->deadline();
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

FibreWorld::FibreWorld(const FibreWorldOptions& options) : fibre(pool), options_(options) {
  for (std::size_t site = 0; site < 2; ++site) {
    sites[site] = std::make_unique<FibreSite>(*this, options.fabric);
    worker_.add(sites[site]->port);
    if (site == 1 && options.plain_peer) continue;
    ends[site] = std::make_unique<FibreEnd>(options.ends[site], static_cast<FibreUser&>(*this));
    locals[site] = std::make_unique<link::DirectLink>(pool);
    if (options.local[site].any()) locals[site]->set_emulation(options.local[site], now_);
    locals[site]->join(sites[site]->port, ends[site]->near(), now_);
  }
  if (options.code) {
    coded = std::make_unique<CodedFibre>(
        *options.code, pool, std::array{&fibre_port_of(0), &fibre_port_of(1)}, options.fibre, now_);
  } else {
    if (options.fibre.any()) fibre.set_emulation(options.fibre, now_);
    fibre.join(fibre_port_of(0), fibre_port_of(1), now_);
  }
  for (const auto& end : ends) {
    if (end) end->start(now_);
  }
}

FibreWorld::~FibreWorld() {
  for (std::size_t site = 0; site < 2; ++site) {
    sites[site]->kept.clear();
    fibre_port_of(site).connect(nullptr, now_);
    if (ends[site]) ends[site]->near().connect(nullptr, now_);
    if (ends[site]) sites[site]->port.connect(nullptr, now_);
  }
}

link::Port& FibreWorld::fibre_port_of(std::size_t site) {
  return ends[site] ? ends[site]->far() : sites[site]->port;
}

void FibreWorld::settle(const std::function<void()>& busy) {
  for (int rounds = 0; rounds < 1'000'000; ++rounds) {
    if (busy) busy();
    worker_.run_until(now_);
    auto woken = std::exchange(woken_, {});
    for (const auto& end : ends) {
      const auto due = end ? end->deadline() : std::nullopt;
      if (due && *due <= now_) woken.push_back(end.get());
    }
    for (FibreEnd* const end : woken)
      end->run(now_);
    const bool carried = coded && coded->carry(now_);
    if (woken.empty() && !worker_.has_woken() && !carried) return;
  }
  ADD_FAILURE() << "never comes to rest\n" << describe();
  std::abort();
}

std::optional<Time> FibreWorld::next() const {
  std::optional<Time> first = worker_.next_deadline();
  const auto line = coded ? coded->deadline() : std::nullopt;
  if (line && (!first || *line < *first)) first = line;
  for (const auto& end : ends) {
    const auto due = end ? end->deadline() : std::nullopt;
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

void FibreWorld::run_for(Duration time, const std::function<void()>& busy) {
  const Time end = now_ + time;
  settle(busy);
  for (auto when = next(); when && *when <= end; when = next()) {
    now_ = std::max(now_, *when);
    settle(busy);
  }
  now_ = end;
  settle(busy);
}

bool FibreWorld::run_until(const std::function<bool()>& holds, Duration most) {
  const Time end = now_ + most;
  while (!holds() && now_ < end)
    run_for(std::min<Duration>(1ms, end - now_));
  return holds();
}

bool FibreWorld::active() const {
  return std::ranges::all_of(
      sites, [](const auto& site) { return site->port.state() == PortState::kActive; });
}

bool FibreWorld::activate() {
  const auto set = [&] {
    for (const auto& site : sites) {
      site->port.set_state(PortState::kArmed, now_);
      site->port.set_state(PortState::kActive, now_);
    }
    return active();
  };
  run_until(set, 10s);
  // Whoever is still Armed between them becomes Active with the first packet.
  run_for(2 * options_.fibre.delay + 1ms);
  return active();
}

double FibreWorld::rate() {
  EXPECT_TRUE(activate()) << describe();
  const auto busy = [this] { sites[0]->keep_full(Vl{0}, 2048, 64); };
  const Duration round_trip = 2 * options_.fibre.delay;
  run_for(4 * round_trip + 1ms, busy);
  const std::uint64_t before = sites[1]->came_bytes;
  const Duration measured = 8 * round_trip + 2ms;
  run_for(measured, busy);
  return static_cast<double>(sites[1]->came_bytes - before) /
         std::chrono::duration<double>(measured).count();
}

std::vector<const link::Port*> FibreWorld::ports() const {
  std::vector<const link::Port*> out;
  for (std::size_t site = 0; site < 2; ++site) {
    out.push_back(&sites[site]->port);
    if (ends[site]) out.insert(out.end(), {&ends[site]->near(), &ends[site]->far()});
  }
  return out;
}

std::uint64_t FibreWorld::count(link::PortCounter counter) const {
  std::uint64_t sum = 0;
  for (const link::Port* const port : ports())
    sum += link::count(*port, counter);
  return sum;
}

std::uint64_t FibreWorld::dropped_packets() const {
  std::uint64_t sum = 0;
  for (const link::Port* const port : ports()) {
    sum += port_xmit_discards(port->counters());
    for (const auto counter : {link::PortCounter::kRxBadVcrc, link::PortCounter::kRxMalformed,
                               link::PortCounter::kRxBadVl, link::PortCounter::kRxOverrun,
                               link::PortCounter::kRxWrongState})
      sum += link::count(*port, counter);
  }
  return sum;
}

std::uint64_t FibreWorld::dropped() const {
  return dropped_packets() + count(link::PortCounter::kRxBadLpcrc) +
         count(link::PortCounter::kRxBadLinkPacket);
}

std::string FibreWorld::describe() const {
  std::string out;
  for (const link::Port* const port : ports()) {
    out += fmt::format("port: physical {}, state {}\n", static_cast<int>(port->physical_state()),
                       static_cast<int>(port->state()));
    out += format_counters(port->counters().snapshot());
  }
  return out;
}

}  // namespace weft::wan
