// SPDX-License-Identifier: Apache-2.0
// Data services and their instances: which service LIDs there are and which port each leads to,
// which instance a new path is led through, and who takes over from whom.
//
// An instance is one port of a node, or a pair of ports that stand in for each other. In a pair the
// service LIDs of a port that is gone, or not well, lead to the other one: what is connected goes
// on with the LIDs that it knows. An instance none of whose ports is well gets no new paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "sm/service_lids.h"

namespace weft::sm {

// How paths are spread over the instances of a service.
enum class Balance : std::uint8_t {
  kHash,  // by the GIDs of both ends: the same ones always get the same instance
  kLoad,  // the one with the least; the same ones keep theirs as long as it is remembered
};

enum class PairMode : std::uint8_t {
  // All service LIDs of the pair lead to one of the two: to the first, until it fails. The other
  // one then keeps them, for it has the state of what is connected.
  kStandby,
  // Each has its own LIDs, and those of the other one while that is not well. The ports of one node
  // are given to different ones.
  kBoth,
};

struct ServiceMember {
  Guid port{};
  // Of a service that joins subnets: what its ports at one node have in common in all of them.
  Guid node{};
  std::vector<Lid> lids{};  // its service LIDs; none: assign_lids() chooses one
  friend bool operator==(const ServiceMember&, const ServiceMember&) = default;
};

struct DataService {
  std::string name{};  // unique
  Balance balance = Balance::kHash;
  PairMode pair = PairMode::kStandby;
  bool bypass = false;  // while no instance is well, paths are direct instead of none
  // It joins subnets, and each of them has a manager that knows its own ports alone. So that there
  // and back it is the same node, all choose by what they all know: by the GIDs of the ends and by
  // nodes; and of a standby pair the first one works whenever it is well.
  bool joins = false;
  // All its ports are in other subnets: here it has no instance, and rules lead past it.
  bool elsewhere = false;
  std::vector<std::vector<ServiceMember>> instances{};  // each of one port, or of a pair
};

// The ends of a path that is to be led through a service. The one that is given first decides where
// its ports go: of a symmetric rule always the same one, whoever asks.
struct FlowEnds {
  Gid first{};
  Guid first_port{};
  Gid second{};
};

// Where a service is for some path.
struct ServiceHop {
  std::size_t service = 0;   // index in services()
  std::size_t instance = 0;  // index in its instances
  std::size_t member = 0;    // of that, whose LIDs they are
  Guid port{};               // that they lead to by now
  std::vector<Lid> lids{};   // any of them; at least one
};

// An end port that the subnet has.
struct PresentPort {
  Guid port{};
  Guid system{};  // image GUID of its node: those of one machine have the same
};

struct DataServiceLimits {
  std::size_t remembered = 65'536;  // pairs of ends that have an instance by Balance::kLoad
};

class DataServices {
 public:
  explicit DataServices(const DataServiceLimits& limits = {}) : limits_(limits) {}

  // All that there are; ports that are well or not, or drained, and loads, are forgotten. Errors:
  // invalid_argument for a service without a name, a port or with more than two in one instance,
  // for a port that it has twice, a LID that is no unicast one; file_exists for a name or LID that
  // there is twice. Then nothing has changed.
  Expected<void> set(std::vector<DataService> services);
  [[nodiscard]] const std::vector<DataService>& services() const { return services_; }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  // Whether one of its instances is at the port.
  [[nodiscard]] bool is_at(std::size_t service, Guid port) const;
  [[nodiscard]] bool is_any_at(Guid port) const;
  // Of the service whose LID it is; nothing: it is nobody's.
  [[nodiscard]] std::optional<std::size_t> owner_of(Lid lid) const;

  // Which end ports the subnet has by now. Those that are gone are not well.
  void set_ports(std::span<const PresentPort> ports);
  // How many ports the subnet had and has no more, so far, and those behind the first `count` of
  // these, of which the newest kGoneKept are known.
  static constexpr std::size_t kGoneKept = 4096;
  [[nodiscard]] std::uint64_t gone() const { return gone_; }
  [[nodiscard]] std::vector<Guid> gone_since(std::uint64_t count) const;
  // What somebody says of the work at a port, whatever the subnet has; all are well at first.
  void set_health(Guid port, bool well);
  // Whether somebody has taken a port out of service, for maintenance: it is not well until he puts
  // it back, whatever is said of the work there. Of a service that joins subnets, with the others
  // of its node.
  void set_drained(Guid port, bool drained);
  [[nodiscard]] bool is_drained(Guid port) const { return drained_.contains(port); }
  // How much an instance at a port has to do, in paths: counts besides the paths that it has been
  // given since.
  void set_load(Guid port, std::uint64_t load);
  // The load of all instances of a service, in their order, by what each has to do in one and the
  // same measure: packets a second, say. Half of it is an instance's share of that, in as many
  // paths as all have been given; the other half is the paths that it has been given itself, whose
  // traffic may be to come. Where nobody has anything to do, nothing changes.
  void set_rates(std::size_t service, std::span<const std::uint64_t> rates);
  [[nodiscard]] bool is_well(Guid port) const;

  // Members without LIDs get one each, none of which is in `taken`: above all of these, so that
  // ports that come have room, and always the same ones for the same services and `taken`. False:
  // there are not enough.
  bool assign_lids(const std::set<Lid>& taken);
  [[nodiscard]] bool wants_lids() const;
  // All service LIDs, and where they lead by now.
  [[nodiscard]] std::vector<ServiceLid> lids() const;

  // The instance for a new path, or for one that has it already. Nothing: none is well, or has a
  // LID. `remember`: somebody is told, so that by Balance::kLoad it counts.
  [[nodiscard]] std::optional<ServiceHop> choose(std::size_t service, const FlowEnds& ends,
                                                 bool remember);

  // Grows when lids() or what choose() says of known paths may have become another.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  // What happened since the last call, in words: who took over from whom, who is not well.
  [[nodiscard]] std::vector<std::string> take_events();

 private:
  struct Pair {
    Gid first{};
    Gid second{};
    friend auto operator<=>(const Pair&, const Pair&) = default;
  };
  using Key = std::pair<std::size_t, Pair>;  // of a service
  struct Given {
    std::size_t instance = 0;
    std::list<Key>::iterator turn;  // in remembered_
  };

  struct State {                     // of an instance
    std::vector<std::size_t> has{};  // by member: which one has its LIDs by now
    bool usable = true;
    bool begun = false;            // its first port was there, or a path has led through it
    std::uint64_t paths = 0;       // that it was given and that are remembered
    std::uint64_t load = 0;        // that it told last
    std::uint64_t paths_told = 0;  // when it told that
  };

  void settle();
  void settle(const DataService& service, const std::vector<ServiceMember>& members, State& state);
  [[nodiscard]] std::vector<std::size_t> carriers(const DataService& service,
                                                  const std::vector<ServiceMember>& members,
                                                  const State& state) const;
  [[nodiscard]] std::optional<std::size_t> by_hash(std::size_t service, const Pair& ends) const;
  [[nodiscard]] std::optional<std::size_t> by_load(std::size_t service, const Pair& ends,
                                                   bool remember);
  void give(const Key& key, std::size_t instance);
  void forget(std::map<Key, Given>::iterator given);
  [[nodiscard]] std::size_t rank_of(const FlowEnds& ends) const;

  const DataServiceLimits limits_;
  std::vector<DataService> services_;
  std::vector<std::vector<State>> states_;                       // as the instances of services_
  std::unordered_map<Guid, std::pair<Guid, std::size_t>> here_;  // its system, its rank in that
  std::set<Guid> unwell_;                                        // that were said to be so
  std::set<Guid> drained_;
  bool knows_ports_ = false;  // set_ports() was called
  std::uint64_t gone_ = 0;
  std::deque<Guid> newest_gone_;
  std::map<Key, Given> given_;
  std::list<Key> remembered_;  // the one that was asked for last is the last
  std::uint64_t generation_ = 0;
  std::vector<std::string> events_;
};

}  // namespace weft::sm
