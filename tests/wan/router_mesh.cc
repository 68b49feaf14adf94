// SPDX-License-Identifier: Apache-2.0
#include "router_mesh.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/gid_text.h"

namespace weft::wan::test {
namespace {

constexpr std::uint64_t kPrefixes = 0xFD00'0000'0000'0000;
constexpr std::size_t kMostBacklog = 20;
const Gid kGroup = *parse_gid("ff15::77");

std::uint64_t prefix_of(std::size_t site) {
  return kPrefixes + site + 1;
}
Gid host_of(std::size_t site) {
  return *parse_gid(fmt::format("fd00:0:0:{}::1", site + 1));
}
// Where what comes from that other site arrives in the network of the WANs: so each has a queue of
// its own.
sim::Address address_of(std::size_t site, std::size_t other) {
  return {Gid::from_ipv4(static_cast<std::uint32_t>(0x0A000000 + site * 16 + other)), 7471};
}
std::pair<std::size_t, std::size_t> sites_of(const sim::Address& address) {
  return {address.gid.ipv4() / 16 % 16, address.gid.ipv4() % 16};
}

template <class Counters>
std::uint64_t sum_of(const Counters& counters, std::initializer_list<std::string_view> names) {
  std::uint64_t sum = 0;
  for (const CounterValue& value : counters.snapshot()) {
    if (std::ranges::find(names, value.name) != names.end()) sum += value.value;
  }
  return sum;
}

// Packets that a port was given or got and did not pass on.
std::uint64_t lost_at(const link::Port& port) {
  return sum_of(port.counters(),
                {"tx_inactive", "tx_no_vl", "tx_mtu", "tx_hoq_life", "tx_switch_life",
                 "tx_vl_stalled", "tx_link_lost", "rx_bad_vcrc", "rx_malformed", "rx_bad_vl",
                 "rx_overrun", "rx_vl15_dropped", "rx_wrong_state"});
}

}  // namespace

// What leads to another site.
struct RouterMesh::Way {
  Way(RouterMesh& mesh, std::size_t from, std::size_t to, BulkBuffer::Share& share,
      Entropy& entropy, TunnelUser& user)
      : path(mesh.scheduler_, mesh.network_, address_of(from, to), address_of(to, from),
             mesh.options_.frame, [&mesh] { mesh.run(); }),
        bundle(carriers, {.watched = true, .pacing = PacingSettings{.adapt = true}},
               mesh.scheduler_.now()),
        link(mesh.pool_),
        end({.mode = TunnelMode::kRouter, .silence = mesh.options_.silence}, share, mesh.pool_,
            entropy, bundle, user) {}

  NetworkPath path;
  std::array<Path*, 1> carriers{&path};
  PathBundle bundle;
  link::DirectLink link;
  TunnelEnd end;
  bool woken = false;
  bool was_ready = true;
};

struct RouterMesh::Site final : RouterUser, TunnelUser {
  Site(RouterMesh& of, std::size_t at)
      : mesh(of), number(at), entropy(of.random_.fork()), router({}, of.pool_, *this) {
    router.set_subnet(prefix_of(at));
    for (std::size_t i = 0; i < kSites - 1; ++i) {
      const std::size_t other = other_site(i);
      const std::uint32_t index = router.add_site();
      router.prefixes().insert(GidPrefix(prefix_of(other)), index);
      ways[i] = std::make_unique<Way>(of, at, other, buffer.share(i), entropy,
                                      static_cast<TunnelUser&>(*this));
      ways[i]->link.join(router.site(index), ways[i]->end.port(), now());
      ways[i]->end.start(now());
    }
    router.set_groups({{.mgid = kGroup, .port = 1, .slid = Lid{3}, .mlid = Lid{0xC005}}}, now());
  }
  ~Site() override {
    for (std::uint32_t i = 0; i < kSites - 1; ++i) {
      router.site(i).connect(nullptr, now());
      ways[i]->end.port().connect(nullptr, now());
    }
  }

  [[nodiscard]] Time now() const { return mesh.scheduler_.now(); }
  // The one that the router's port leads to.
  [[nodiscard]] std::size_t other_site(std::size_t index) const {
    return (number + 1 + index) % kSites;
  }

  // RouterUser
  bool ask(std::uint64_t question, const PathQuestion&, Time) override {
    const auto most = static_cast<std::uint64_t>(mesh.options_.answers.count());
    const Duration late(static_cast<Duration::rep>(most != 0 ? mesh.random_.below(most) : 0));
    const double fate = static_cast<double>(mesh.random_.below(100)) / 100;
    mesh.scheduler_.after(late, [this, question, fate] {
      const LocalPath path{.port = 1, .slid = Lid{3}, .dlid = Lid{17}};
      // Some it does not know, and some it has not heard.
      if (fate < 0.1) {
        router.paths().absent(question, now());
      } else if (fate < 0.2) {
        router.paths().unanswered(question, now());
      } else {
        router.paths().found(question, path, now());
      }
      mesh.run();
    });
    return true;
  }
  void into_subnet(link::PacketPtr packet, std::uint8_t, Time) override {
    mesh.came(number, *packet);
  }
  void wake() override { router_woken = true; }
  // TunnelUser
  void wake(TunnelEnd& end) override {
    for (const auto& way : ways) {
      if (way != nullptr && &way->end == &end) way->woken = true;
    }
  }

  bool run_way(Way& way) {
    bool worked = false;
    while (way.path.readable()) {
      way.path.read_into(way.bundle, [&](Bytes frame) { way.end.receive(frame, now()); });
      worked = true;
    }
    if (way.bundle.run(now())) way.end.path_changed();
    if (std::exchange(way.was_ready, way.path.ready()) != way.path.ready()) way.end.path_changed();
    const auto due = way.end.deadline();
    if (!std::exchange(way.woken, false) && !(due && *due <= now())) return worked;
    way.end.run(now());
    return true;
  }
  bool run() {
    bool worked = false;
    for (const auto& way : ways)
      worked |= run_way(*way);
    const auto due = router.deadline();
    if (!std::exchange(router_woken, false) && !(due && *due <= now())) return worked;
    router.run(now());
    return true;
  }
  [[nodiscard]] std::optional<Time> deadline() const {
    std::optional<Time> first = router.deadline();
    const auto earlier = [&](std::optional<Time> when) {
      if (when && (!first || *when < *first)) first = when;
    };
    for (const auto& way : ways) {
      earlier(way->bundle.deadline());
      earlier(way->end.deadline());
      if (!way->path.ready()) earlier(way->path.writable());
    }
    return first;
  }

  RouterMesh& mesh;
  const std::size_t number;
  SeededEntropy entropy;
  BulkBuffer buffer{{.lane_bytes = 256U << 10, .remotes = kSites - 1}};
  Router router;
  std::array<std::unique_ptr<Way>, kSites - 1> ways;
  bool router_woken = false;
};

RouterMesh::RouterMesh(const MeshOptions& options)
    : options_(options),
      random_(options.seed),
      network_(scheduler_, random_.fork(), options.network) {
  for (std::size_t from = 0; from < kSites; ++from) {
    for (std::size_t to = 0; to < kSites; ++to) {
      if (from == to) continue;
      network_.narrow(address_of(to, from).gid,
                      {.rate_bytes_per_s = options.rate_bytes_per_s,
                       .queue = static_cast<std::size_t>(options.queue / 1us *
                                                         options.rate_bytes_per_s / 1'000'000)});
    }
  }
  network_.loses = [this](const sim::Run& run, std::size_t) {
    const auto [from, to] = sites_of(run.from);
    return cut_[from][to];
  };
  run_for(1s);
  for (std::size_t site = 0; site < kSites; ++site)
    sites_[site] = std::make_unique<Site>(*this, site);
  run();
}

RouterMesh::~RouterMesh() = default;

bool RouterMesh::hand_over(std::size_t from, const GlobalSpec& spec, Vl vl, unsigned destinations) {
  Router& router = sites_[from]->router;
  for (std::uint32_t i = 0; i < kSites - 1; ++i) {
    if (router.site(i).backlog(vl) >= kMostBacklog) return false;
  }
  link::PacketPtr packet = pool_.copy(make_global_packet(spec));
  packet->rewrite_vl(vl);
  ++sent;
  awaited_.push_back(destinations);
  router.from_subnet(std::move(packet), scheduler_.now());
  run();
  return true;
}

bool RouterMesh::send(std::size_t from, std::size_t to, Vl vl, std::size_t payload) {
  return hand_over(from,
                   {.sgid = host_of(from),
                    .dgid = host_of(to),
                    .number = static_cast<std::uint32_t>(awaited_.size()),
                    .payload = payload},
                   vl, 1U << to);
}

bool RouterMesh::send_to_group(std::size_t from, Vl vl, std::size_t payload) {
  return hand_over(from,
                   {.sgid = host_of(from),
                    .dgid = kGroup,
                    .number = static_cast<std::uint32_t>(awaited_.size()),
                    .payload = payload},
                   vl, ((1U << kSites) - 1) ^ (1U << from));
}

void RouterMesh::came(std::size_t at, const link::Packet& packet) {
  std::vector<std::byte> bytes(packet.size());
  packet.copy_to(bytes);
  if (!wire::check_link_crcs(bytes).good()) ++damaged;
  const Bytes network = Bytes(bytes).subspan(wire::Lrh::kSize);
  const auto grh = *wire::Grh::parse(network);
  const std::uint32_t number = wire::Bth::parse(network.subspan(wire::Grh::kSize))->psn.value();
  ++arrived;
  const unsigned here = 1U << at;
  if (number >= awaited_.size() || (awaited_[number] & here) == 0) {
    ++strays;
    return;
  }
  awaited_[number] &= ~here;
  std::size_t from = 0;
  while (host_of(from) != grh.sgid)
    ++from;
  const bool to_group = grh.dgid == kGroup;
  std::uint32_t& newest = newest_[{from, at, packet.vl().value(), to_group ? 1U : 0U}];
  if (number < newest) ++disorder;
  newest = number + 1;
}

void RouterMesh::run() {
  if (std::exchange(running_, true)) return;
  for (bool worked = true; worked;) {
    worked = false;
    for (const auto& site : sites_) {
      if (site != nullptr) worked |= site->run();
    }
  }
  running_ = false;
  arm();
}

std::optional<Time> RouterMesh::deadline() const {
  std::optional<Time> first;
  for (const auto& site : sites_) {
    const auto when = site != nullptr ? site->deadline() : std::nullopt;
    if (when && (!first || *when < *first)) first = when;
  }
  return first;
}

void RouterMesh::arm() {
  const auto next = deadline();
  if (!next || (alarm_ && *alarm_ <= *next && *alarm_ > scheduler_.now())) return;
  alarm_ = std::max(*next, scheduler_.now() + 1ns);
  scheduler_.at(*alarm_, [this, at = *alarm_] {
    if (alarm_ == at) run();
  });
}

void RouterMesh::run_for(Duration time) {
  run_until([] { return false; }, time);
}

bool RouterMesh::run_until(const std::function<bool()>& holds, Duration most) {
  constexpr Duration kLook = 10ms;
  for (const Time end = scheduler_.now() + most; scheduler_.now() < end && !holds();) {
    const Time next = std::min(end, scheduler_.now() + kLook);
    scheduler_.at(next, [] {});
    scheduler_.run_until(next);
  }
  return holds();
}

bool RouterMesh::active() const {
  return std::ranges::all_of(sites_, [](const auto& site) {
    return site->router.site(0).state() == link::PortState::kActive &&
           site->router.site(1).state() == link::PortState::kActive;
  });
}

std::uint64_t RouterMesh::count(RouterCounter counter) const {
  std::uint64_t sum = 0;
  for (const auto& site : sites_)
    sum += site->router.counters().get(counter);
  return sum;
}

std::uint64_t RouterMesh::count(TunnelCounter counter) const {
  std::uint64_t sum = 0;
  for (const auto& site : sites_) {
    for (const auto& way : site->ways)
      sum += way->end.counters().get(counter);
  }
  return sum;
}

std::uint64_t RouterMesh::lost_on_links() const {
  std::uint64_t sum = 0;
  for (const auto& site : sites_) {
    for (std::uint32_t i = 0; i < kSites - 1; ++i) {
      Way& way = *site->ways[i];
      sum += lost_at(site->router.site(i)) + lost_at(way.end.port()) +
             sum_of(way.link.counters(), {"down"});
    }
  }
  return sum;
}

std::string RouterMesh::describe() const {
  std::string out;
  for (const auto& site : sites_) {
    out += fmt::format("site {}\n", site->number);
    out += format_counters(site->router.counters().snapshot());
    for (const auto& way : site->ways) {
      out += format_counters(way->end.counters().snapshot());
      out += format_counters(way->end.port().counters().snapshot());
    }
  }
  return out;
}

}  // namespace weft::wan::test
