// SPDX-License-Identifier: Apache-2.0
// What a data service has of the port where its place is, wherever it works itself: the packets
// that come to its LIDs, packets that it sends, and the subnet administrator, which is asked for
// paths as any host does that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/entropy.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "daemon/sa_paths.h"
#include "fabric/channel_adapter.h"
#include "fabric/raw_service.h"
#include "service/path_cache.h"

namespace weft::daemon {

class RawPlace final : private SaPathUser {
 public:
  // To the question of this number, once; nothing: there is no path, or no answer just now.
  using Answered =
      std::function<void(std::uint64_t number, const std::optional<service::Path>&, Time now)>;

  // Of a port of `node`; node and consumer outlive it. Errors: no such port; the port has no room
  // for its questions.
  static Expected<std::unique_ptr<RawPlace>> open(fabric::ChannelAdapter& node,
                                                  mgmt::PortNumber port,
                                                  fabric::RawConsumer& consumer, Answered answered,
                                                  Entropy& entropy);
  RawPlace(const RawPlace&) = delete;
  RawPlace& operator=(const RawPlace&) = delete;
  ~RawPlace() override;

  // Packets to these LIDs are the service's, and no others. Errors: one of them is already
  // somebody else's at this port; then it stays his, and the rest is done.
  Expected<void> set_lids(std::span<const Lid> lids);
  [[nodiscard]] const std::vector<Lid>& lids() const { return lids_; }
  // Packets that fit the rule besides (RawPort has its errors).
  Expected<void> divert(const fabric::RawRule& rule) { return raw_->divert(rule); }

  // False: it is no packet that a service may send.
  bool send(link::PacketPtr packet, Time now) {
    return raw_->send(std::move(packet), now) == fabric::Sent::kTaken;
  }
  // False: there is no administrator, and no answer. `number`: below 2^32 it tells questions that
  // are open at a time apart. `question.port`: the place's, or 0.
  bool ask(std::uint64_t number, const service::PathQuestion& question, Time now);

  [[nodiscard]] const fabric::ChannelAdapter& node() const { return node_; }
  [[nodiscard]] mgmt::PortNumber port() const { return port_; }

 private:
  RawPlace(fabric::ChannelAdapter& node, mgmt::PortNumber port, Answered answered)
      : node_(node), port_(port), answered_(std::move(answered)), questions_(node, *this) {}

  // SaPathUser
  void path_answered(std::uint64_t number, const SaPathAnswer& answer) override;

  fabric::ChannelAdapter& node_;
  const mgmt::PortNumber port_;
  const Answered answered_;
  SaPaths questions_;
  std::unordered_set<std::uint64_t> led_back_;  // questions whose answers are to lead_back()
  std::unique_ptr<fabric::RawService> raw_;
  std::vector<Lid> lids_;
};

}  // namespace weft::daemon
