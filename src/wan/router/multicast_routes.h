// SPDX-License-Identifier: Apache-2.0
// Which multicast groups a router carries: those that its own subnet has, packets to which it takes
// from other sites, and tells them so; and for each site those that it has heard it wants. Packets
// that came from a site go to no other one: each site has a tunnel with each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "wan/router/group_interest.h"

namespace weft::wan {

// A group of the own subnet that a port of the router is in.
struct LocalGroup {
  Gid mgid{};
  std::uint8_t port = 0;  // of the router
  Lid slid{};
  Lid mlid{};
  Sl sl{};
  friend bool operator==(const LocalGroup&, const LocalGroup&) = default;
};

class MulticastRoutes {
 public:
  struct Options {
    std::chrono::seconds hold{35};  // how long a site is told that what it hears holds; up to 255 s
    Duration repeat_after = 10s;
    std::size_t groups = 256;  // of the own subnet, and of each site
  };

  explicit MulticastRoutes(const Options& options) : options_(options) {}

  // One more, counted from 0, which is not there yet.
  void add_site() { sites_.emplace_back(); }
  // Its tunnel works now, or does not any more: it knows nothing of us, and what it wants is
  // forgotten.
  void site_changed(std::uint32_t site, bool up, Time now);

  // All that there are. Those that are not routed, and those beyond Options::groups, are left out.
  void set_local(const std::vector<LocalGroup>& groups, Time now);
  // Null: there is no such group here.
  [[nodiscard]] const LocalGroup* find_local(const Gid& mgid) const;
  [[nodiscard]] std::size_t local_size() const { return local_.size(); }

  // What a site says. False: it wants more than Options::groups, and is not believed in full.
  bool heard(std::uint32_t site, const GroupInterest& interest, Time now);
  [[nodiscard]] bool wants(std::uint32_t site, const Gid& mgid, Time now) const;
  [[nodiscard]] std::size_t wanted_size(std::uint32_t site) const {
    return sites_[site].wanted.size();
  }

  // What a site is to be told now, one message after the other. Nothing: no more.
  [[nodiscard]] std::optional<GroupInterest> tell(std::uint32_t site, Time now);
  // When somebody is to be told something.
  [[nodiscard]] std::optional<Time> deadline() const;

 private:
  struct Site {
    bool up = false;
    std::unordered_map<Gid, Time> wanted;  // until when
    // What it is to be told: that these are not wanted any more, then all from `next` of order_ on,
    // and all of them anew when it is time.
    std::vector<Gid> ended;
    std::size_t next = 0;
    Time repeat_at{};
  };

  void tell_all(Site& site, Time now);

  const Options options_;
  std::unordered_map<Gid, LocalGroup> local_;
  std::vector<Gid> order_;  // of local_
  std::vector<Site> sites_;
};

}  // namespace weft::wan
