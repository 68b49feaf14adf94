// SPDX-License-Identifier: Apache-2.0
// A port of a lab at which a data service has its place that works on an external server: packets
// that the port takes for it go to the server by reference, over a tunnel, and what comes back goes
// into the fabric. Of the subnet administrator the place asks what the server wants to know, for
// the server is in no subnet.
//
// The server is trusted as a service is, and no more: what it sends is looked at as a raw packet
// is, what it says as service_message.h has it, and it has so many questions open at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/entropy.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/service/raw_place.h"
#include "fabric/raw_service.h"
#include "link/packet_pool.h"
#include "wan/external/external_end.h"

namespace weft::daemon {

enum class ExternalPlaceCounter : std::uint8_t {
  kRefused,
  kQuestions,
  kUnasked,
  kTooManyQuestions,
  kMisplaced,
  kCount
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(ExternalPlaceCounter::kCount)>
    kExternalPlaceCounters{{
        {"not_sent", "packets of the server dropped that no service may send"},
        {"questions", "questions of the server to the subnet administrator"},
        {"unasked", "of these, not sent: there is no administrator"},
        {"too_many_questions", "questions of the server refused: too many are open"},
        {"misplaced", "messages of the server that only this end says"},
    }};

class ExternalPlace final : private fabric::RawConsumer, private wan::ExternalUser {
 public:
  // Who hears what the server tells its other instances.
  using Publish = std::function<void(ExternalPlace& from, const wan::ServiceRecord& record)>;
  // What the server has open at a time.
  static constexpr std::size_t kMostQuestions = 256;

  // At a port of `node`; node and pool outlive it. `wake`: call run() soon; comes once until then.
  // Errors as RawPlace::open() has them.
  static Expected<std::unique_ptr<ExternalPlace>> open(fabric::ChannelAdapter& node,
                                                       mgmt::PortNumber port,
                                                       link::PacketPool& pool, Publish publish,
                                                       std::function<void()> wake,
                                                       Entropy& entropy);
  ExternalPlace(const ExternalPlace&) = delete;
  ExternalPlace& operator=(const ExternalPlace&) = delete;
  ~ExternalPlace() override;

  // What the tunnel to the server is joined to; it is disconnected before this goes.
  [[nodiscard]] link::Port& tunnel_port() { return end_.port(); }
  // Whether there is a server. While there is none, packets are dropped, and counted.
  [[nodiscard]] bool well() const { return end_.is_up(); }

  [[nodiscard]] RawPlace& at() { return *at_; }
  [[nodiscard]] const RawPlace& at() const { return *at_; }
  // Answers of the administrator may be others by now.
  void paths_changed(Time now);
  // The subnet of the port, by its prefix; 0: none by now.
  void set_subnet(std::uint64_t prefix, Time now);
  // What the server of another instance has published.
  void apply(const wan::ServiceRecord& record, Time now);

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const { return end_.deadline(); }

  // Puts into `row` what is counted here, and what the server has said that it has counted.
  void report(nlohmann::json& row) const;

 private:
  // Names that a server may count by, of each topic.
  static constexpr std::size_t kMostCounters = 256;
  static constexpr std::size_t kTopics = 3;

  ExternalPlace(link::PacketPool& pool, Publish publish, std::function<void()> wake)
      : publish_(std::move(publish)), wake_(std::move(wake)), end_({}, pool, *this) {}

  // fabric::RawConsumer
  void take(std::uint16_t queue, std::span<link::PacketPtr> packets, Time now) override;
  // wan::ExternalUser
  void came(link::PacketPtr packet, Time now) override;
  void heard(const wan::ServiceMessage& message, Time now) override;
  void changed(bool up, Time now) override;
  void wake() override { wake_(); }

  void ask(const wan::ServicePathQuestion& question, Time now);
  void answer(std::uint64_t number, const std::optional<service::Path>& path, Time now);
  void note(const wan::ServiceCounters& counters);

  const Publish publish_;
  const std::function<void()> wake_;
  wan::ExternalEnd end_;
  std::unique_ptr<RawPlace> at_;
  std::uint64_t subnet_ = 0;  // as of set_subnet()
  std::uint64_t last_question_ = 0;
  std::map<std::uint64_t, std::uint64_t> open_;  // by the number here, that of the server
  std::array<std::map<std::string, std::uint64_t>, kTopics> told_;
  CounterSet<ExternalPlaceCounter, kExternalPlaceCounters> counters_;
};

}  // namespace weft::daemon
