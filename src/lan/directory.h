// SPDX-License-Identifier: Apache-2.0
// Who is on the LAN, and how to get there: asked of the subnet administrator in rounds, when
// something is heard to have changed and every now and then besides, since notices can be lost.
//
//   platforms of the device type --+
//   ports that offer the service --+--> ports of each platform --> LIDs and paths of each port
//                                             --> where it takes datagrams --> a peer has come
//
// A peer goes when a notice says so, when it refuses to be one, or when two whole rounds do not
// have it. As long as nobody answers, nothing is known by that: the LAN goes on without
// a subnet administrator with those whom it knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "lan/peers.h"

namespace weft::lan {

struct Question {
  enum class Kind : std::uint8_t {
    kPlatforms,  // GUIDs of nodes that are channel adapters: NodeRecords by NodeType
    kMembers,    // GUIDs of ports that offer the LAN's service: ServiceRecords by ServiceID
    kPorts,      // GUIDs of the ports of the platform `of`: NodeRecords by NodeGUID
    kPaths,      // LIDs of the port `of` and the paths to it: PathRecords, PortInfoRecord
    kEnd,        // where the port `of` takes datagrams: SIDR, to the port by `path`
  };
  Kind kind = Kind::kPlatforms;
  Guid of{};
  PeerPath path{};
  friend bool operator==(const Question&, const Question&) = default;
};

struct Unanswered {};  // in time, or with an error
struct Absent {};      // there is none
struct PortPaths {
  PortLids lids{};
  std::span<const PeerPath> paths{};  // the best first
};
// Of questions for GUIDs, a list of them, which may be empty.
using Answer = std::variant<Unanswered, Absent, std::span<const Guid>, PortPaths, DatagramEnd>;

class DirectoryUser {
 public:
  virtual ~DirectoryUser() = default;
  // The answer comes to Directory::answer() with this number, not before this has returned, and
  // once. False: nobody can be asked now.
  virtual bool ask(std::uint64_t number, const Question& question, Time now) = 0;
  // Peers() has it from now on.
  virtual void came(PeerId peer, Time now) = 0;
  // It is reached in another way than before, by another path, LID or queue pair.
  virtual void moved(PeerId peer, Time now) = 0;
  // Peers() has it only until this returns.
  virtual void went(PeerId peer, Time now) = 0;
};

class Directory {
 public:
  struct Options {
    Guid own{};                // of our own port, which is no peer
    std::size_t peers = 1024;  // that are known at a time
    Duration period = 60s;     // between rounds
    Duration soon = 100ms;     // until a round, when something is heard to have changed
    // Between rounds, whatever notices come.
    Duration apart = 500ms;
    // And whatever strangers send, and paths do, but for the first stranger in such a time: so
    // nobody makes all ports ask without end.
    Duration doubt_apart = 5s;
    // Whoever has just come offers his service a little later: so often it is asked again after
    // that, and after the first round, in these intervals.
    unsigned repeats = 3;
    Duration repeat_after = 1s;
    // When a round was not answered; twice as long each time, up to `period`.
    Duration retry_after = 1s;
    Duration failed_for = 30s;   // a path that has failed is not used so long, if there is another
    std::size_t questions = 16;  // that wait for their answers at a time
    std::size_t guids = 16'384;  // that are kept of an answer
    unsigned misses = 2;         // rounds without a peer, until it has gone
  };

  // `user` outlives it.
  Directory(const Options& options, DirectoryUser& user);
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  void answer(std::uint64_t number, const Answer& answer, Time now);
  // Notices 64 and 65 of the subnet administrator (IBA 14.2.5.1), of the port with this GUID.
  void in_service(Guid port, Time now);
  void out_of_service(Guid port, Time now);
  // A frame has come from somebody who is no peer.
  void stranger_heard(Time now);
  // A message could not be sent by the path in use, or was not answered.
  void path_failed(PeerId peer, Time now);
  // Our own port has other LIDs, or was down: all ways are asked for anew. Peers stay.
  void port_changed(Time now) { hurry(now, options_.apart); }

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] const Peers& peers() const { return peers_; }
  // Peers that could not be taken in because there are too many, so far.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  [[nodiscard]] bool asking() const { return !asked_.empty() || !waiting_.empty(); }

 private:
  struct Port {
    std::uint64_t round = 0;  // that had it last
    unsigned missed = 0;
    PortLids lids{};
    PeerPaths paths{};
    std::optional<PeerId> peer;
  };

  void hurry(Time now, Duration apart);
  void begin_round(Time now);
  void ask_more(Time now);
  void end_round(Time now);
  [[nodiscard]] bool heard(const Question& question, const Answer& answer, Time now);
  void heard_guids(const Question& question, std::span<const Guid> guids);
  void heard_paths(Guid port, const PortPaths& paths);
  void heard_end(Guid port, const DatagramEnd& end, Time now);
  void ask_for_ports();
  void lose(Port& port, Time now);

  const Options options_;
  DirectoryUser& user_;
  Peers peers_;
  std::unordered_map<Guid, Port> ports_;  // those of the LAN, peers or about to be
  std::unordered_set<Guid> members_;
  std::vector<Guid> platforms_;
  bool members_known_ = false;  // in this round
  bool platforms_known_ = false;
  bool unanswered_ = false;
  std::deque<Question> waiting_;
  std::unordered_map<std::uint64_t, Question> asked_;
  std::uint64_t last_number_ = 0;
  std::uint64_t round_ = 0;
  bool in_round_ = false;
  Duration retry_;    // after the next round that is not answered
  unsigned repeats_;  // that are still to come
  std::optional<Time> round_began_;
  std::optional<Time> doubted_;  // when a stranger was asked after at once
  Time next_round_{};
  std::uint64_t refused_ = 0;
};

}  // namespace weft::lan
