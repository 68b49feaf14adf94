// SPDX-License-Identifier: Apache-2.0
// The links between this part of a lab and another one on the same machine, through rings in
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "carrier/ring_channel.h"
#include "daemon/lab/part_records.h"
#include "daemon/lab/ring_protocol.h"
#include "daemon/lab/ring_session.h"
#include "daemon/ring_mappings.h"

namespace weft::daemon {

class RingPart final : public PartRecordSink,
                       private carrier::RingHost,
                       private RingSession::Owner {
 public:
  // `makes`: this side makes the memory, which is the side that the other one comes to.
  RingPart(std::string name, bool makes) : name_(std::move(name)), makes_(makes) {}
  ~RingPart() override;
  RingPart(const RingPart&) = delete;
  RingPart& operator=(const RingPart&) = delete;

  // `link`: its number, the same in both parts. The channel stays as long as this.
  carrier::RingChannel& add(std::uint64_t link);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool makes() const { return makes_; }
  [[nodiscard]] bool connected() const { return session_ != nullptr; }
  // Of its links, those whose ends have found each other.
  [[nodiscard]] std::size_t open_links() const;

  // Both sides have said hello. An earlier connection ends.
  void adopt(std::unique_ptr<RingSession> session);
  // To be called whenever the connection has ended and no other one has taken its place.
  void when_lost(std::function<void()> lost) { lost_ = std::move(lost); }

  // Who has records for it, and hears those of it: before the first connection. It outlives this.
  void set_record_user(PartRecordUser* user) { record_user_ = user; }
  void tell(const PartRecord& record) override;
  // Records that were not told, for want of room.
  [[nodiscard]] std::uint64_t records_lost() const { return records_lost_; }

  // Takes in what has come. True: there was something.
  bool poll(Time now);
  // Shows what has changed, and wakes the other side where it sleeps for that.
  void flush();
  // From now on, and until awake(), the session's socket tells when something has come. False:
  // something has, poll() again.
  [[nodiscard]] bool sleep();
  void awake();

 private:
  struct Link {
    Link(RingPart& host, std::uint64_t number_of) : number(number_of), channel(host) {}

    std::uint64_t number;
    carrier::RingChannel channel;
    RingMappings rings;
    std::uint32_t attempt = 0;           // the seek that is open, or was last
    std::optional<std::uint32_t> asked;  // of the side that makes: a seek that is not open yet
    link::Training far{};                // what the last seek, or open, said of the other port
    bool is_open = false;                // as long as there are mappings
  };

  // carrier::RingHost
  void seek_changed(carrier::RingChannel& channel, bool seek, Time now) override;
  void touched(carrier::RingChannel& channel) override;
  // RingSession::Owner
  bool heard(RingSession& session, Bytes message, std::span<io::UniqueFd> files) override;
  void ended(RingSession& session) override;

  bool heard_record(Bytes bytes);
  void say(RingAction action, const Link& link, std::vector<io::UniqueFd> files = {});
  void seek(Link& link);
  Expected<void> make(Link& link, Time now);
  void try_to_make(Link& link, Time now);
  Expected<void> take(Link& link, std::span<io::UniqueFd> files, Time now);
  void open(Link& link, Time now);
  void close(Link& link, Time now);
  bool heard_by_maker(Link& link, const RingMessage& message, Time now);
  bool heard_by_seeker(Link& link, const RingMessage& message, std::span<io::UniqueFd> files,
                       Time now);
  // The connection makes no sense any more.
  void give_up(const std::string& why, Time now);
  void end(Time now);
  void lose(Time now);

  const std::string name_;
  const bool makes_;
  std::function<void()> lost_;
  PartRecordUser* record_user_ = nullptr;  // null: nobody
  std::uint64_t records_lost_ = 0;
  std::unique_ptr<RingSession> session_;
  std::vector<std::unique_ptr<Link>> links_;
  std::unordered_map<std::uint64_t, Link*> by_number_;
  std::unordered_map<carrier::RingChannel*, Link*> by_channel_;
  std::vector<carrier::RingChannel*> touched_;
};

}  // namespace weft::daemon
