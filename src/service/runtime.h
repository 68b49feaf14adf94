// SPDX-License-Identifier: Apache-2.0
// What services run in: one worker's. Bursts of packets come in, each with the LID of a service;
// the services of its chain are asked in turn, the path to the true destination is looked up, and
// headers are changed: LIDs, P_Key, QP numbers. What became of a flow is remembered, so that its
// next packets pass without anybody being asked again.
//
//   packet --> flow known? -- yes --------------------------> tally, rewrite --> fate
//                   | no                                                          ^
//                   v                                                             |
//         undo QP numbers --> services --> path --> hide QP numbers, P_Key, LIDs -+
//                               | hold      | asking
//                               v           v
//                             HoldStore until released
//
// Several workers have a Runtime each, and RSS gives each flow to one of them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/entropy.h"
#include "service/flow_cache.h"
#include "service/hold_store.h"
#include "service/mapper.h"
#include "service/path_cache.h"
#include "service/runtime_counters.h"
#include "service/service.h"

namespace weft::service {

// What became of a packet of a burst.
enum class Fate : std::uint8_t {
  kForward,  // send it, as it is now, by `out_port`
  kDropped,  // and counted
  kHeld,     // a copy is kept; it comes back by RuntimeUser::send(), or is dropped
  kTapped,
};

struct Item {
  MutableBytes bytes{};  // in: a whole packet
  Arrival arrival{};
  Fate fate = Fate::kDropped;
  std::uint8_t out_port = 0;
};

// Who runs the runtime.
class RuntimeUser {
 public:
  virtual ~RuntimeUser() = default;
  // A packet that was held.
  virtual void send(Bytes packet, std::uint8_t out_port, bool sealed) = 0;
  // A copy of a packet as it came.
  virtual void mirror(Bytes packet, const Arrival& arrival) = 0;
  // A record of the `service`th service for its other instances, or of the runtime itself
  // (Runtime::kMapping): they get it by Runtime::apply() of theirs, in order.
  virtual void publish(std::size_t service, Bytes record) = 0;
};

// Another P_Key for packets that come with this one, all 16 bits of both. So limited members
// (0x0001) reach each other through a full one (0x8001), or through another partition.
struct PKeyRule {
  PKey from{};
  PKey to{};
};

// What is done with packets that come to one service LID.
struct Chain {
  std::vector<Service*> services{};  // at most kMostServices, asked in this order; they outlive it
  bool map_queue_pairs = false;      // neither end sees the other's QP numbers and Q_Keys
  std::vector<PKeyRule> pkeys{};
  // Where packets without a GRH go: their LID alone tells no destination.
  std::optional<Path> without_gids{};
};

struct RuntimeOptions {
  std::size_t flows = 16'384;
  HoldStore::Options hold{};
  PathCache::Options paths{};
  Mapper::Options mapping{};
};

class Runtime {
 public:
  Runtime(const RuntimeOptions& options, RuntimeUser& user, PathAsker& asker, Entropy& entropy);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Packets to this LID; Lid{} for all that have no chain of their own (an inverted filter).
  // Replaces the one that there was.
  void set_chain(Lid lid, const Chain& chain);

  // Up to kBurst packets. Decides about all of them, and changes those to forward in place.
  static constexpr std::size_t kBurst = 64;
  void handle(std::span<Item> burst, Time now);

  // The subnet administrator's answer; what waited for it goes on.
  void path_answered(std::uint64_t number, const std::optional<Path>& path, Time now);
  // A policy or an instance has changed: of one GID, or all.
  void paths_changed(const Gid& gid);
  void paths_changed();
  // An address mapping that is given.
  void pin_path(const Gid& dgid, const Path& path);
  // A port has gone.
  void forget(const Gid& end);

  // What another instance has published. A connection whose record has not come in time is refused
  // here, and counted as what nobody knows.
  static constexpr std::size_t kMapping = ~std::size_t{0};
  void apply(std::size_t service, Bytes record, Time now);
  // All QP numbers and connections, for an instance that begins; services have snapshots of theirs.
  void snapshot(Service::RecordSink& sink) const { mapper_.snapshot(sink); }

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] const RuntimeCounters& counters() const { return counters_; }
  // Drops of a service by its reasons, as drop_reasons() names them.
  [[nodiscard]] std::vector<CounterValue> drops(const Service& service) const;
  [[nodiscard]] const Mapper& mapper() const { return mapper_; }
  [[nodiscard]] const PathCache& paths() const { return paths_; }
  [[nodiscard]] std::size_t held() const { return holds_.size(); }

 private:
  // One for each service, whatever chains it is in.
  struct Place;
  struct Running {
    Chain chain;
    std::vector<Place*> places;
  };
  // A packet on the way through, beyond what is known of its flow.
  struct Passage;

  // runtime.cc
  void handle_known(Flow& flow, Item& item, Time now);
  // False: `item` has its fate.
  [[nodiscard]] bool ask_of_known(Flow& flow, Item& item, Time now);
  void count_rewrite(std::uint8_t changed, bool global);

  // runtime_passage.cc
  void handle_new(Item& item, const FlowKey* key, std::uint64_t hash, Time now);
  [[nodiscard]] Fate pass(Passage& passage, Time now);
  [[nodiscard]] std::optional<Fate> enter(Passage& passage, Time now);
  [[nodiscard]] std::optional<Fate> ask_services(Passage& passage, Time now);
  [[nodiscard]] std::optional<Fate> ask_one(Passage& passage, std::size_t i, Time now);
  [[nodiscard]] std::optional<Fate> find_path(Passage& passage, Time now);
  [[nodiscard]] Fate leave(Passage& passage, Time now);
  [[nodiscard]] std::optional<Fate> rewrite_message(Passage& passage, PKey pkey);
  [[nodiscard]] bool finish(Packet& packet);
  [[nodiscard]] Fate drop(RuntimeCounter why);
  [[nodiscard]] Fate drop(MapResult why);
  [[nodiscard]] Fate drop_by(Place& place, std::uint16_t reason);
  [[nodiscard]] Fate hold(Passage& passage, std::uint64_t key, Time until);
  void keep(Passage& passage, const FlowKey& key, std::uint64_t hash, Fate fate);
  void mirror(Bytes packet, const Arrival& arrival);
  bool send(Bytes packet, std::uint8_t port);
  void resume(std::uint64_t key, Time now);
  void resume_due(Time now);
  void publish_mapping();
  [[nodiscard]] Running* running(Lid lid);

  const RuntimeOptions options_;
  RuntimeUser& user_;
  Leases leases_;
  FlowCache flows_;
  HoldStore holds_;
  PathCache paths_;
  Mapper mapper_;
  RuntimeCounters counters_;
  std::vector<std::unique_ptr<Place>> places_;
  std::unordered_map<Lid, std::unique_ptr<Running>> chains_;
  std::deque<std::uint64_t> due_;  // what packets are held for that may go on
  bool resuming_ = false;
  Time next_refresh_{};
  std::size_t sends_left_ = 0;
};

}  // namespace weft::service
