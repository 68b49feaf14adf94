// SPDX-License-Identifier: Apache-2.0
// The paths from a router to the ports of its own subnet: asked of the subnet administrator when a
// packet needs one, and kept for a while. While a path is asked for, packets to it wait; what is in
// use is asked for again before it is too old, and used meanwhile.
//
//   find --> unknown --> asked ----> known --(renew_after)--> known and asked --> known
//                          |                                        |
//                          +--> absent, for a while, then unknown <-+
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/ids.h"
#include "base/time.h"
#include "link/packet.h"

namespace weft::wan {

// What is asked: paths of different partitions differ.
struct PathQuestion {
  Gid dgid{};
  PKey pkey{};  // as a full member
  friend bool operator==(const PathQuestion&, const PathQuestion&) = default;
};

struct PathQuestionHash {
  std::size_t operator()(const PathQuestion& question) const noexcept {
    return std::hash<Gid>{}(question.dgid) ^ std::size_t{question.pkey.value()} << 16;
  }
};

struct LocalPath {
  std::uint8_t port = 0;  // of the router
  Lid slid{};
  Lid dlid{};
  Sl sl{};
  friend bool operator==(const LocalPath&, const LocalPath&) = default;
};

// What becomes of a packet for which there is no path.
enum class NoPath : std::uint8_t { kAbsent, kUnanswered, kTooMany };

class LocalPathsUser {
 public:
  virtual ~LocalPathsUser() = default;
  // Asks the subnet administrator; the answer comes as found(), absent() or unanswered() with this
  // number, later. False: nobody can be asked now.
  virtual bool ask(std::uint64_t number, const PathQuestion& question, Time now) = 0;
  // A packet has its path; or there is none, and it is dropped.
  virtual void ready(link::PacketPtr packet, const LocalPath& path, Time now) = 0;
  virtual void lost(NoPath why, std::size_t packets) = 0;
};

class LocalPaths {
 public:
  struct Options {
    Duration renew_after = 5s;
    Duration lifetime = 15s;   // of a path that nobody confirms
    Duration absent_for = 1s;  // not asked for again so long
    std::size_t paths = 16'384;
    std::size_t questions = 64;      // that wait for their answers at a time
    std::size_t waiting = 2'048;     // packets, altogether
    std::size_t waiting_each = 128;  // for one path
  };

  // `user` outlives it.
  LocalPaths(const Options& options, LocalPathsUser& user) : options_(options), user_(user) {}
  LocalPaths(const LocalPaths&) = delete;
  LocalPaths& operator=(const LocalPaths&) = delete;

  // ready() or lost() comes of it, now or later; of packets to one path in their order.
  void send(const PathQuestion& to, link::PacketPtr packet, Time now);

  // Answers. A number that does not wait is ignored.
  void found(std::uint64_t number, const LocalPath& path, Time now);
  void absent(std::uint64_t number, Time now);
  void unanswered(std::uint64_t number, Time now);

  // All that is known may be wrong by now: the router's port has changed.
  void forget();
  // What waits is dropped: `why`.
  void drop_waiting(NoPath why);

  // Lets go of what nobody has needed for long.
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] std::size_t size() const { return paths_.size(); }
  [[nodiscard]] std::size_t questions() const { return asked_.size(); }
  [[nodiscard]] std::size_t waiting() const { return waiting_; }

 private:
  struct Entry {
    std::optional<LocalPath> path;
    bool absent = false;
    bool doubted = false;     // forget() came while it was asked for
    std::uint64_t asked = 0;  // the number of the question; 0: none
    Time renew_at{};
    Time until{};  // known or absent
    link::PacketQueue waiting;
  };
  using Map = std::unordered_map<PathQuestion, Entry, PathQuestionHash>;

  [[nodiscard]] Entry* place(const PathQuestion& to, Time now);
  bool ask(const PathQuestion& to, Entry& entry, Time now);
  void sweep(Time now);
  void wait(Entry& entry, link::PacketPtr packet);
  [[nodiscard]] Map::iterator answered(std::uint64_t number);
  void drop(Entry& entry, NoPath why);
  [[nodiscard]] static bool is_idle(const Entry& entry, Time now) {
    return entry.asked == 0 && now >= entry.until;
  }

  const Options options_;
  LocalPathsUser& user_;
  Map paths_;
  std::unordered_map<std::uint64_t, PathQuestion> asked_;
  std::uint64_t last_number_ = 0;
  std::size_t waiting_ = 0;
  Time swept_at_{};
};

}  // namespace weft::wan
