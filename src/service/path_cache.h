// SPDX-License-Identifier: Apache-2.0
// Where packets that have come to a service are to go: the GIDs in their GRH give the LID of the
// true destination, as the subnet administrator answers the service. Answers are kept, also that
// there is none, and let go of when a policy changes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>

#include "base/ids.h"
#include "base/lru_map.h"
#include "base/time.h"

namespace weft::service {

struct PathQuestion {
  Gid sgid{};  // of the packet: a service asks on its sender's behalf
  Gid dgid{};
  PKey pkey{};
  Sl sl{};
  Lid via{};  // service LID that the packet came by: which service asks, and at which place of a
              // chain
  // The port by which it is asked, of packets that cross to its subnet, where their sender is
  // nobody's, and which it is for the asker to say that the service has brought: `via` is zero
  // then; and of those that leave as the node's, as its own path: `sgid` is zero then, and what
  // answers to them is to come back by `via`. 0: it is asked on their sender's behalf, where they
  // came from.
  std::uint8_t port = 0;
  friend bool operator==(const PathQuestion&, const PathQuestion&) = default;
};

struct Path {
  Lid dlid{};
  // What the packet leaves with: the LID by which answers come back through the service. Zero: that
  // of its sender stays.
  Lid slid{};
  Sl sl{};
  friend bool operator==(const Path&, const Path&) = default;
};

}  // namespace weft::service

template <>
struct std::hash<weft::service::PathQuestion> {
  std::size_t operator()(const weft::service::PathQuestion& question) const noexcept {
    const std::uint64_t rest = std::uint64_t{question.port} << 48 |
                               std::uint64_t{question.pkey.value()} << 32 |
                               std::uint64_t{question.sl.value()} << 16 | question.via.value();
    std::uint64_t sum = std::hash<weft::Gid>{}(question.sgid) * 0x9E37'79B9'7F4A'7C15;
    sum = (sum ^ std::hash<weft::Gid>{}(question.dgid)) * 0xBF58'476D'1CE4'E5B9;
    return (sum ^ rest) * 0x94D0'49BB'1331'11EB;
  }
};

namespace weft::service {

// Who asks the subnet administrator. Each question is answered by PathCache::answered(), or never.
class PathAsker {
 public:
  virtual ~PathAsker() = default;
  virtual void ask(std::uint64_t number, const PathQuestion& question) = 0;
};

class PathCache {
 public:
  struct Options {
    std::size_t paths = 16'384;
    std::size_t refusals = 4'096;  // questions without a path that are remembered; apart from those
                                   // with one, which they never push out
    std::size_t open = 256;        // questions at a time
    Duration lifetime = 300s;      // of an answer; then it is asked for again
    Duration refusal_lifetime = 2s;
    Duration patience = 3s;  // for an answer; then there is none
  };
  enum class State : std::uint8_t {
    kKnown,    // there is a path
    kRefused,  // there is none
    kAsking,   // the answer will tell
    kBusy,     // too many questions are open
  };
  struct Found {
    State state = State::kBusy;
    Path path{};
  };
  // An answer has come, or there is none in time.
  using Settled = std::function<void(const PathQuestion&, const std::optional<Path>&)>;

  PathCache(const Options& options, PathAsker& asker, Settled settled);

  // What is known; asks if nothing is.
  [[nodiscard]] Found find(const PathQuestion& question, Time now);
  // nullopt: there is no path. An answer to no question, or too late: ignored.
  void answered(std::uint64_t number, const std::optional<Path>& path, Time now);
  // Always so, whoever asks: an address mapping that is given.
  void pin(const Gid& dgid, const Path& path) { pinned_[dgid] = path; }

  // The policy or the active instance has changed: what was answered is asked again, and so is what
  // is being asked. Of one GID, source or destination; or all.
  void invalidate(const Gid& gid);
  void invalidate_all();

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] std::size_t size() const { return paths_.size(); }
  [[nodiscard]] std::size_t open() const { return asked_.size(); }
  [[nodiscard]] std::uint64_t questions() const { return last_number_; }

 private:
  struct Known {
    Path path;
    Time until{};
  };
  struct Asked {
    PathQuestion question;
    Time until{};
  };
  void ask(const PathQuestion& question, Time now);
  // Those that match are forgotten, and asked again if they are open.
  template <class Matches>
  void forget(Matches matches);

  const Options options_;
  PathAsker& asker_;
  Settled settled_;
  std::unordered_map<Gid, Path> pinned_;
  LruMap<PathQuestion, Known> paths_;
  LruMap<PathQuestion, Time> refusals_;  // until when
  std::unordered_map<std::uint64_t, Asked> asked_;
  std::unordered_map<PathQuestion, std::uint64_t> open_;
  std::uint64_t last_number_ = 0;
};

}  // namespace weft::service
