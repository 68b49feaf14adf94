// SPDX-License-Identifier: Apache-2.0
// Three sites, each a subnet of its own with a router, and a tunnel between any two of them whose
// rate follows its WAN, in virtual time. What becomes of every packet that a subnet gives its
// router is known: where it has to arrive, and once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../link/rig.h"
#include "base/random.h"
#include "leg_flow.h"
#include "router_packet.h"
#include "wan/path_bundle.h"
#include "wan/router/router.h"
#include "wan/tunnel_end.h"

namespace weft::wan::test {

struct MeshOptions {
  sim::Faults network{};
  std::uint64_t rate_bytes_per_s = 0;  // of each WAN, each way
  Duration queue = 50ms;               // before it, as time at the rate
  std::size_t frame = 1472;
  Duration silence = 500ms;
  Duration answers = 0ns;  // of a subnet administrator, at most so late
  std::uint64_t seed = 1;
};

class RouterMesh {
 public:
  static constexpr std::size_t kSites = 3;
  static constexpr std::uint8_t kVls = 4;

  explicit RouterMesh(const MeshOptions& options);
  RouterMesh(const RouterMesh&) = delete;
  RouterMesh& operator=(const RouterMesh&) = delete;
  ~RouterMesh();

  // From a host of a site to that of another, or to a group that all are in. False: more waits for
  // the WAN than a fabric would give the router.
  bool send(std::size_t from, std::size_t to, Vl vl, std::size_t payload);
  bool send_to_group(std::size_t from, Vl vl, std::size_t payload);
  // What is on its way from the one to the other is lost from now on, or no more.
  void cut(std::size_t from, std::size_t to, bool cut) { cut_[from][to] = cut; }

  void run_for(Duration time);
  bool run_until(const std::function<bool()>& holds, Duration most);
  // Whether all sites are there for each other.
  [[nodiscard]] bool active() const;
  // Packets that are anywhere.
  [[nodiscard]] std::size_t under_way() const { return pool_.in_use(); }

  // Of all routers, of all tunnels, of all ports and links between them.
  [[nodiscard]] std::uint64_t count(RouterCounter counter) const;
  [[nodiscard]] std::uint64_t count(TunnelCounter counter) const;
  [[nodiscard]] std::uint64_t lost_on_links() const;
  [[nodiscard]] std::string describe() const;

  std::uint64_t sent = 0;  // to a router, by the subnet that it is in
  std::uint64_t arrived = 0;
  std::uint64_t strays = 0;  // that came twice, or where they were not sent to
  std::uint64_t disorder = 0;
  std::uint64_t damaged = 0;

 private:
  struct Site;
  struct Way;

  void came(std::size_t at, const link::Packet& packet);
  bool hand_over(std::size_t from, const GlobalSpec& spec, Vl vl, unsigned destinations);
  void run();
  void arm();
  [[nodiscard]] std::optional<Time> deadline() const;

  const MeshOptions options_;
  Random random_;
  sim::Scheduler scheduler_;
  sim::Network network_;
  BufferPool payloads_{link::PacketPool::kPayloadBlock, 40'000};
  link::PacketPool pool_{80'000, payloads_};
  std::array<std::array<bool, kSites>, kSites> cut_{};
  std::array<std::unique_ptr<Site>, kSites> sites_;
  std::optional<Time> alarm_;
  bool running_ = false;
  // By the number of a packet: the sites where it has yet to arrive, bit by bit.
  std::vector<unsigned> awaited_;
  // The newest number, by where it came from and to, its lane, and whether it is a group's.
  std::map<std::array<std::size_t, 4>, std::uint32_t> newest_;
};

}  // namespace weft::wan::test
