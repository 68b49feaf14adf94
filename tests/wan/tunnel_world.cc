// SPDX-License-Identifier: Apache-2.0
#include "tunnel_world.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "encapsulation_stage.h"
#include "seal_fixture.h"
#include "wan/encapsulation/options_layer.h"

namespace weft::wan {

using link::PortState;

bool SimPath::ready() const {
  return options.rate_bytes_per_s == 0 || world_.now() >= free_at_;
}

std::size_t SimPath::options_room() const {
  return world_.options.ip_options && carries_options ? OutPacket::kMostOptions : 0;
}

std::vector<std::byte> SimPath::packet_of(const OutFrame& frame) {
  OutPacket packet(frame.parts);
  packet.options = frame.options;
  EXPECT_TRUE(world_.stacks[from_].wrap(packet));
  std::vector<std::byte> out;
  for (const Bytes piece : packet.pieces())
    out.insert(out.end(), piece.begin(), piece.end());
  return out;
}

void SimPath::send(std::span<const OutFrame> out, Time now) {
  std::size_t given = 0;
  for (const OutFrame& frame : out)
    given += frame.size;
  most_at_once = std::max(most_at_once, given);
  for (const OutFrame& frame : out) {
    std::vector<std::byte> all;
    all.reserve(frame.size);
    for (const Bytes part : frame.parts)
      all.insert(all.end(), part.begin(), part.end());
    EXPECT_EQ(all.size(), frame.size);
    EXPECT_LE(all.size() + OptionsLayer::header_size(frame.options.size()), options.longest_frame);
    ++frames;
    bytes += all.size();
    longest = std::max(longest, all.size());
    if (options.rate_bytes_per_s != 0) {
      free_at_ =
          std::max(free_at_, now) + Duration(all.size() * 1'000'000'000 / options.rate_bytes_per_s);
      was_busy_ = true;
    }
    if (see) see(all, frame);
    if (world_.options.ip_options) all = packet_of(frame);
    if (look && !look(all)) continue;
    if (cut || random_.chance(options.loss)) continue;
    if (random_.chance(options.duplicate)) carry(all, std::max(free_at_, now));
    carry(std::move(all), std::max(free_at_, now));
  }
}

void SimPath::carry(std::vector<std::byte> frame, Time now) {
  Duration late = options.delay;
  if (options.jitter != 0ns) {
    late += Duration(random_.below(static_cast<std::uint64_t>(options.jitter.count())));
  }
  arrivals_.emplace(now + late, std::move(frame));
}

void SimPath::await_reader(std::vector<std::byte> frame, Time now) {
  read_at_ = std::max(read_at_, now);
  if (options.read_bytes_per_s != 0) {
    const double unread = std::chrono::duration<double>(read_at_ - now).count() *
                          static_cast<double>(options.read_bytes_per_s);
    if (unread + static_cast<double>(frame.size()) > static_cast<double>(options.socket_bytes)) {
      ++overflows;
      return;
    }
    read_at_ += Duration(frame.size() * 1'000'000'000 / options.read_bytes_per_s);
  }
  unread_.emplace(read_at_, std::move(frame));
}

std::optional<Time> SimPath::deadline() const {
  std::optional<Time> first;
  if (!arrivals_.empty()) first = arrivals_.begin()->first;
  if (!unread_.empty() && (!first || unread_.begin()->first < *first)) {
    first = unread_.begin()->first;
  }
  if (was_busy_ && (!first || free_at_ < *first)) first = free_at_;
  return first;
}

bool SimPath::run(Time now) {
  bool done = false;
  if (was_busy_ && now >= free_at_) {
    was_busy_ = false;
    world_.ends[from_]->path_changed();
    done = true;
  }
  while (!arrivals_.empty() && arrivals_.begin()->first <= now) {
    const Time when = arrivals_.begin()->first;
    auto frame = std::move(arrivals_.extract(arrivals_.begin()).mapped());
    await_reader(std::move(frame), when);
  }
  while (!unread_.empty() && unread_.begin()->first <= now) {
    const auto frame = std::move(unread_.extract(unread_.begin()).mapped());
    world_.arrive(1 - from_, frame);
    done = true;
  }
  return done;
}

void Site::received(link::Port&, link::PacketPtr packet, Time) {
  if (packet->vl() == link::kVl15) {
    ++management;
    return;
  }
  if (!packet->vcrc_good()) ++damaged;
  const std::size_t flow = packet->lrh().sl.value();
  const std::uint32_t number = link::number_of(*packet);
  if (number < seen[flow]) ++disorder;
  seen[flow] = number + 1;
  ++came[flow];
  came_on[flow] = packet->vl();
  came_bytes += packet->size();
  if ((blocked >> packet->vl().value() & 1) != 0) kept.push_back(std::move(packet));
}

void Site::wake(link::Port& woken) {
  world_.wake(woken);
}

bool Site::send(Sl flow, Vl vl, std::size_t payload) {
  auto packet = world_.pool.copy(
      link::make_packet({.vl = vl, .sl = flow, .payload = payload, .number = next[flow.value()]}));
  if (packet == nullptr || port.state() != PortState::kActive) return false;
  ++next[flow.value()];
  packet->intact = true;
  port.transmit(std::move(packet), vl, world_.now());
  return true;
}

void Site::keep_full(Vl vl, std::size_t payload, std::size_t backlog) {
  while (port.backlog(vl) < backlog && send(Sl{vl.value()}, vl, payload)) {
  }
}

World::World(const WorldOptions& options)
    : options(options),
      random(options.seed),
      stacks{stack_of("options/ipv6", here(false)), stack_of("options/ipv6", there(false))} {
  for (std::size_t site = 0; site < 2; ++site) {
    buffers[site] = std::make_unique<BulkBuffer>(options.buffer);
    paths[site] = std::make_unique<SimPath>(*this, site, options.wan, random.fork());
    for (const WanOptions& wan : options.more_wans) {
      more_paths[site].push_back(std::make_unique<SimPath>(*this, site, wan, random.fork()));
    }
    sites[site] = std::make_unique<Site>(*this, options.fabric);
    worker.add(sites[site]->port);
    links[site] = std::make_unique<link::DirectLink>(pool);
    if (options.link.any()) links[site]->set_emulation(options.link, now_);
    make_end(site);
  }
  if (options.sealed) agree_on_keys(0);
}

World::~World() {
  for (std::size_t site = 0; site < 2; ++site) {
    sites[site]->kept.clear();
    ends[site]->port().connect(nullptr, now_);
    sites[site]->port.connect(nullptr, now_);
    ends[site].reset();
  }
}

void World::make_end(std::size_t site) {
  const TunnelOptions& tunnel = site == 1 && options.other ? *options.other : options.tunnel;
  Path* path = paths[site].get();
  if (options.sealed) {
    seals[site] = std::make_unique<SealedPath>(*path, *options.sealed);
    seals[site]->set_landing(buffers[site]->landing());
    path = seals[site].get();
  }
  if (!more_paths[site].empty()) {
    std::vector<Path*> carriers{path};
    for (const auto& more : more_paths[site])
      carriers.push_back(more.get());
    bundles[site] = std::make_unique<PathBundle>(
        carriers, PathBundle::Options{.pacing = options.leg_pacing}, now_);
    path = bundles[site].get();
  }
  ends[site] =
      std::make_unique<TunnelEnd>(tunnel, buffers[site]->share(0), pool, entropy, *path, *this);
  links[site]->join(sites[site]->port, ends[site]->port(), now_);
  ends[site]->start(now_);
}

void World::restart(std::size_t site) {
  accumulate(buried_[site], ends[site]->counters().snapshot());
  // What it had taken from the fabric and not sent, or not delivered, dies with it.
  ends[site]->port().connect(nullptr, now_);
  sites[site]->port.connect(nullptr, now_);
  std::erase(woken_tunnels_, ends[site].get());
  ends[site].reset();
  buffers[site] = std::make_unique<BulkBuffer>(options.buffer);
  links[site] = std::make_unique<link::DirectLink>(pool);
  make_end(site);
  if (options.sealed) agree_on_keys(site);
}

void World::agree_on_keys(std::size_t first) {
  const auto keys = [this](std::size_t from) {
    return std::make_unique<test::Keys>(keys_ << 1 | from);
  };
  ++keys_;
  for (std::size_t site = 0; site < 2; ++site)
    seals[site]->take({.name = keys_, .outgoing = keys(site), .incoming = keys(1 - site)}, now_);
  seals[first]->use(keys_, now_);
  ends[first]->path_changed();
}

void World::stop_for(std::size_t site, Duration time) {
  stopped_until_[site] = std::max(stopped_until_[site], now_ + time);
}

void World::step_clock(Duration time) {
  now_ += time;
}

bool World::read_unread(std::size_t site) {
  if (stopped(site) || unread_[site].empty()) return false;
  for (const auto& datagram : std::exchange(unread_[site], {}))
    arrive(site, datagram);
  return true;
}

void World::arrive(std::size_t site, Bytes datagram) {
  constexpr std::size_t kSocketBuffer = 256;  // datagrams
  if (stopped(site)) {
    if (unread_[site].size() < kSocketBuffer) {
      unread_[site].emplace_back(datagram.begin(), datagram.end());
    }
    return;
  }
  Bytes beside;
  if (options.ip_options) {
    const auto came = stacks[site].unwrap(datagram);
    if (!came) return;
    datagram = came->bytes;
    beside = came->options;
  }
  ++arrived[site];
  wan::Landing& landing = buffers[site]->landing();
  if (const MutableBytes room = landing.room(); !room.empty()) {
    std::ranges::copy(datagram, room.begin());
    landing.landed(datagram.size());
    datagram = room.first(datagram.size());
  }
  if (bundles[site]) {
    const Bytes frame = bundles[site]->receive(datagram, false, now_);
    if (!frame.empty()) ends[site]->receive(frame, now_, beside);
    return;
  }
  if (!options.sealed) return ends[site]->receive(datagram, now_, beside);
  if (const auto came = seals[site]->receive(datagram, now_, beside)) {
    ends[site]->receive(came->frame, now_, beside);
  }
}

bool World::run_paths() {
  bool done = false;
  for (std::size_t site = 0; site < 2; ++site) {
    done |= paths[site]->run(now_);
    for (const auto& path : more_paths[site])
      done |= path->run(now_);
    if (!bundles[site] || stopped(site)) continue;
    if (bundles[site]->run(now_)) {
      ends[site]->path_changed();
      done = true;
    }
  }
  return done;
}

void World::settle() {
  for (int rounds = 0; rounds < 1'000'000; ++rounds) {
    worker.run_until(now_);
    bool done = false;
    done |= run_paths();
    auto woken = std::exchange(woken_tunnels_, {});
    for (std::size_t site = 0; site < 2; ++site) {
      done |= read_unread(site);
      const auto deadline = ends[site]->deadline();
      if (deadline && *deadline <= now_) woken.push_back(ends[site].get());
    }
    for (std::size_t site = 0; site < 2; ++site) {
      if (stopped(site) && std::erase(woken, ends[site].get()) > 0) owed_[site] = true;
      if (!stopped(site) && std::exchange(owed_[site], false)) woken.push_back(ends[site].get());
    }
    for (TunnelEnd* const end : woken)
      end->run(now_);
    if (at_each_moment) at_each_moment();
    if (!done && woken.empty() && !worker.has_woken()) return;
  }
  ADD_FAILURE() << "never comes to rest\n" << describe();
  std::abort();
}

std::optional<Time> World::next() const {
  std::optional<Time> first = worker.next_deadline();
  const auto earlier = [&](std::optional<Time> when) {
    if (when && (!first || *when < *first)) first = when;
  };
  for (std::size_t site = 0; site < 2; ++site) {
    earlier(paths[site]->deadline());
    for (const auto& path : more_paths[site])
      earlier(path->deadline());
    if (bundles[site] && !stopped(site)) earlier(bundles[site]->deadline());
    earlier(stopped(site) ? stopped_until_[site] : ends[site]->deadline());
  }
  return first;
}

void World::run_for(Duration time) {
  run_until([] { return false; }, time);
}

bool World::run_until(const std::function<bool()>& holds, Duration most) {
  const Time end = now_ + most;
  for (settle(); !holds(); settle()) {
    const auto when = next();
    if (!when || *when > end) {
      now_ = end;
      worker.run_until(now_);
      settle();
      return holds();
    }
    now_ = std::max(now_, *when);
  }
  return true;
}

bool World::active() const {
  return sites[0]->port.state() == PortState::kActive &&
         sites[1]->port.state() == PortState::kActive;
}

bool World::activate() {
  for (const Time end = now_ + 10s; now_ < end && !active();) {
    for (const PortState state : {PortState::kArmed, PortState::kActive}) {
      for (auto& site : sites)
        site->port.set_state(state, now_);
      run_for(options.wan.delay / 4 + 1ms);
    }
  }
  run_for(2 * options.wan.delay + 10ms);
  return active();
}

std::uint64_t World::count(std::size_t site, TunnelCounter counter) const {
  std::uint64_t sum = ends[site]->counters().get(counter);
  for (const CounterValue& value : buried_[site]) {
    if (value.name == kTunnelCounters[static_cast<std::size_t>(counter)].name) sum += value.value;
  }
  return sum;
}

std::uint64_t World::count(TunnelCounter counter) const {
  return count(0, counter) + count(1, counter);
}

std::uint64_t World::count_sealed(std::size_t site, std::string_view counter) const {
  const auto counters = seals[site]->counters();
  const auto found = std::ranges::find(counters, counter, &CounterValue::name);
  EXPECT_NE(found, counters.end()) << counter;
  return found == counters.end() ? 0 : found->value;
}

std::string World::describe() const {
  std::string out;
  for (std::size_t site = 0; site < 2; ++site) {
    out += fmt::format("site {}: port {}, tunnel port {}, session {}\n", site,
                       static_cast<int>(sites[site]->port.state()),
                       static_cast<int>(ends[site]->port().state()),
                       static_cast<int>(ends[site]->session().state()));
    out += format_counters(ends[site]->counters().snapshot());
    out += format_counters(ends[site]->port().counters().snapshot());
    if (seals[site]) out += format_counters(seals[site]->counters());
  }
  return out;
}

}  // namespace weft::wan
