// SPDX-License-Identifier: Apache-2.0
// Which groups the host behind a LAN port wants, or the hosts behind its bridge: by their reports,
// as a switch that listens knows it (RFC 4541). So that they report though the LAN may have no
// multicast router, the port asks them itself, in the name of nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/mac_address.h"
#include "base/time.h"
#include "lan/group_list.h"
#include "lan/group_message.h"

namespace weft::lan {

class HostGroups {
 public:
  // RFC 3376, 8, and RFC 3810, 9, which have the same.
  struct Options {
    Duration query_every = 125s;
    Duration response = 10s;     // hosts take as long to answer as this
    Duration lifetime = 260s;    // of a group that nobody reports: two queries, and a response
    Duration router_for = 255s;  // behind which queries no more are heard
    // When somebody leaves, all are asked whether another one stays, but not more often than this,
    // and answer as soon; so they do to the first query.
    Duration quick_response = 1s;
    Duration startup = 31250ms;  // RFC 3376, 8.6
    Duration leave = 3s;         // until then what has been left is wanted
  };

  HostGroups(const Options& options, Time now);

  // There may be others behind the port now, who have not been asked. They are asked at once, and
  // once more: the ports of a bridge take 30 s until they forward (IEEE 802.1D, 8.10.2). Until they
  // have answered both, all is wanted. True: what the host wants has changed.
  bool begin_again(Time now);
  // From the host. True: what the host wants has changed.
  bool heard(const GroupMessage& message, Time now);
  // Lets go of what is not wanted any more. True: what the host wants has changed.
  bool run(Time now);
  [[nodiscard]] Time deadline() const;

  // The host may have reported to another port of its bond, which has gone: all groups are wanted
  // until it has been asked. run() is to be called now, and tells.
  void begin_anew(Time now);

  // Whether the host is to be asked now, for answers within response_time(). A router asks itself.
  [[nodiscard]] bool query_due(Time now) const { return !router() && now >= next_query_; }
  [[nodiscard]] Duration response_time() const { return response_; }
  void queried(Time now);  // it has been

  // A multicast router is behind the port: it wants all frames to groups, and all reports.
  [[nodiscard]] bool router() const { return router_until_.has_value(); }
  [[nodiscard]] const GroupList& wanted() const { return wanted_; }

 private:
  [[nodiscard]] bool starts_up(Time now) const { return startup_until_ && now < *startup_until_; }
  // It is asked now, and all is wanted until it has answered, `startup` later at the earliest.
  void begin(Time now, Duration startup);
  bool collect(Time now);

  const Options options_;
  std::map<MacAddress, Time> groups_;  // until when each is wanted
  std::optional<Time> too_many_until_;
  std::optional<Time> router_until_;
  std::optional<Time> queried_;
  Time next_query_;
  Duration response_;
  std::optional<Time> startup_until_;  // when they are asked once more
  std::optional<Time> complete_at_;    // until when not all that is wanted can be known yet
  std::optional<Time> next_end_;       // of a group
  GroupList wanted_;
};

}  // namespace weft::lan
