// SPDX-License-Identifier: Apache-2.0
// Who is on the LAN, and how to get there: asked of the subnet administrator in rounds, when
// something is heard to have changed and every now and then besides, since notices can be lost.
//
//   whole round:  ports that offer the service --> those that are not known yet:
//                   ports of platforms of the device type --+
//                 and some of those that are known ---------+--> LIDs and paths of each
//                                             --> where it takes datagrams --> a peer has come
//   look-up:      of a port that was heard of, the same; of a stranger, first whose its LID is
//
// A look-up costs as much in a LAN of a thousand as in one of eight. What whole rounds cost all
// ports together grows with their number and not with its square: the more there are, the more
// seldom they are, and no more than `refresh` of those that are known are asked after in one.
//
// A peer goes when a notice says so, when it refuses to be one, or when for a while no whole round
// has it: an administrator that has begun anew knows nobody for some seconds. As long as nobody
// answers, nothing is known by that: the LAN goes on without a subnet administrator with those whom
// it knows.
#pragma once

#include <algorithm>
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
#include "base/random.h"
#include "base/time.h"
#include "lan/peers.h"

namespace weft::lan {

struct Question {
  enum class Kind : std::uint8_t {
    // GUIDs of ports that offer the LAN's service: ServiceRecords by ServiceID, and by ServiceGID
    // where `of` says which port alone is meant.
    kMembers,
    // GUIDs of ports of platforms that are channel adapters: NodeRecords by NodeType, of which
    // there is one for each port of a platform, and by PortGUID where `of` says which alone.
    kPorts,
    kPortAt,  // the GUID of the port that has the LID path.dlid: PathRecords by DLID
    kPaths,   // LIDs of the port `of` and the paths to it: PathRecords, PortInfoRecord
    kEnd,     // where the port `of` takes datagrams: SIDR, to the port by `path`
  };
  Kind kind = Kind::kMembers;
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
    Duration period = 60s;     // between whole rounds, at most, with up to `crowd` peers
    std::size_t crowd = 64;    // with more of them, rounds are that much more seldom
    // Rounds are up to this part of `period` earlier, each another one, so that ports that have
    // begun together do not ask together for ever.
    double early = 0.25;
    std::size_t refresh = 64;  // of the peers, so many are asked after in a whole round
    Duration soon = 100ms;     // until a round, when something is heard to have changed
    // And up to so much later for each peer: what one hears, all hear.
    Duration spread = 1ms;
    // Between rounds, whatever notices come.
    Duration apart = 500ms;
    std::size_t look_ups = 16;  // that may wait; when there are more, a whole round is due instead
    // And whatever strangers send, and paths do, but for the first stranger in such a time: so
    // nobody makes all ports ask without end.
    Duration doubt_apart = 5s;
    // Whoever has just come offers his service a little later: so often he is looked up again after
    // that, and all are asked for after the first round, in these intervals.
    unsigned repeats = 3;
    Duration repeat_after = 1s;
    // When a round was not answered; twice as long each time, up to `period`.
    Duration retry_after = 1s;
    Duration failed_for = 30s;   // a path that has failed is not used so long, if there is another
    Duration check_for = 2s;     // until a path by which nobody answers counts as failed
    std::size_t checks = 16;     // that wait for their answers at a time, besides `questions`
    std::size_t questions = 16;  // that wait for their answers at a time
    std::size_t guids = 16'384;  // that are kept of an answer
    Duration missing_for = 30s;  // whole rounds without a peer, until it has gone
    Duration absent_for = 5s;    // and likewise answers that there is no path to it
  };

  // `user` outlives it.
  Directory(const Options& options, DirectoryUser& user);
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  void answer(std::uint64_t number, const Answer& answer, Time now);
  // Notices 64 and 65 of the subnet administrator (IBA 14.2.5.1), of the port with this GUID.
  void in_service(Guid port, Time now);
  void out_of_service(Guid port, Time now);
  // A frame has come from somebody who is no peer, or from another one than our way there tells.
  void stranger_heard(const Sender& sender, Time now);
  // A message could not be sent by the path in use, or was not answered.
  void path_failed(PeerId peer, Time now);
  // Nothing has come from this peer for a while. It is asked by the path in use, which has failed
  // if there is no answer.
  void check(PeerId peer, Time now);
  // Our own port has other LIDs, or was down, or the subnet administrator says that paths may be
  // others: all ways are asked for anew. Peers stay.
  void ways_changed(Time now);

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] const Peers& peers() const { return peers_; }
  // Peers that could not be taken in because there are too many, so far.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  [[nodiscard]] bool asking() const { return !asked_.empty() || !waiting_.empty(); }

 private:
  struct Port {
    std::uint64_t round = 0;       // that had it last
    std::uint64_t asked = 0;       // and in which it was last asked after
    std::optional<Time> missed;    // since when whole rounds do not have it,
    std::optional<Time> pathless;  // and since when nobody knows a path
    bool doubted = true;           // what is known of it may be wrong
    PortLids lids{};
    PeerPaths paths{};
    std::optional<PeerId> peer;
  };
  // Of a port that was heard of.
  struct LookUp {
    unsigned repeats = 0;  // that are still to come
    bool asked = false;    // in the round that is under way
  };
  struct Check {
    Guid port{};
    PeerPath path{};
    Time until{};
  };
  enum class Round : std::uint8_t { kNone, kWhole, kLookUps };

  [[nodiscard]] Time soon(Time now, Duration apart) const;
  void hurry(Time now, Duration apart) { next_round_ = std::min(next_round_, soon(now, apart)); }
  void look_up(Guid port, unsigned repeats, Time now, Duration apart);
  void look_at(Time at) { next_look_ = std::min(next_look_.value_or(at), at); }
  void begin(Round what, Time now);
  void begin_round(Time now);
  void begin_look_ups(Time now);
  void ask_more(Time now);
  void end_round(Time now);
  void miss_ports(Time now);
  void end_look_ups(Time now);
  void end_checks(Time now);

  // directory_ports.cc
  [[nodiscard]] bool heard(const Question& question, const Answer& answer, Time now);
  [[nodiscard]] bool unanswered(const Question& question, Time now);
  [[nodiscard]] bool is_pathless(Guid port, Time now);
  void heard_guids(const Question& question, std::span<const Guid> guids);
  void heard_members(std::span<const Guid> guids);
  void heard_member(Guid guid, std::span<const Guid> guids);
  void heard_ports(std::span<const Guid> guids);
  void heard_paths(Guid port, const PortPaths& paths);
  void heard_end(const Question& question, const DatagramEnd& end, Time now);
  void ask_for_known();
  void ask_for(Guid guid, Port& port);
  void checked(const Check& check, const Answer& answer, Time now);
  void lose(Port& port, Time now);

  const Options options_;
  DirectoryUser& user_;
  Peers peers_;
  std::unordered_map<Guid, Port> ports_;  // those of the LAN, peers or about to be
  std::unordered_set<Guid> members_;      // as the last whole round had them, and look-ups since
  bool unanswered_ = false;               // something, in this round
  std::unordered_map<Guid, LookUp> look_ups_;
  std::vector<Lid> strangers_;                       // that are still to be looked up
  std::unordered_map<std::uint64_t, Check> checks_;  // by the number of the question
  std::deque<Question> waiting_;
  std::unordered_map<std::uint64_t, Question> asked_;
  std::uint64_t last_number_ = 0;
  std::uint64_t round_ = 0;
  Round doing_ = Round::kNone;
  Duration retry_;       // after the next round that is not answered
  Duration look_retry_;  // and after the next look-ups that are not
  unsigned repeats_;     // that are still to come
  std::optional<Time> round_began_;
  std::optional<Time> doubted_;  // when a stranger was asked after at once
  Time next_round_{};
  std::optional<Time> next_look_;
  Random draws_;        // how much earlier or later than others
  std::uint64_t late_;  // of these, the one for the next round that is hurried
  std::uint64_t refused_ = 0;
};

}  // namespace weft::lan
