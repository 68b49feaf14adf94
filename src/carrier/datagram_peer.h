// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/time.h"
#include "carrier/datagram_channel.h"

namespace weft::carrier {

enum class PeerCounter : std::uint8_t { kMalformed, kUnknownLink, kUnknownKey, kCount };

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(PeerCounter::kCount)>
    kPeerCounters{{
        {"udp_malformed", "datagrams dropped: not of this format and version"},
        {"udp_unknown_link", "hellos dropped: for a link that this part has not, or has otherwise"},
        {"udp_unknown_key", "datagrams dropped: of no connection that there is"},
    }};

using PeerCounters = CounterSet<PeerCounter, kPeerCounters>;

// The links that go to one other part, and who of them a datagram from there is for. That it came
// from there is the caller's to know. A core.
class DatagramPeer final : public KeyTable {
 public:
  DatagramPeer() = default;
  DatagramPeer(const DatagramPeer&) = delete;
  DatagramPeer& operator=(const DatagramPeer&) = delete;

  // It has this peer for its keys, and stays until this is destroyed.
  void add(DatagramChannel& channel);

  void receive(Bytes datagram, Time now);
  // Where datagrams go there is room again.
  void may_send(Time now);
  void run(Time now);
  // When to run(), at the latest.
  [[nodiscard]] std::optional<Time> deadline() const { return deadline_; }

  [[nodiscard]] const PeerCounters& counters() const { return counters_; }

 private:
  void add_key(std::uint64_t key, DatagramChannel& channel) override { by_key_[key] = &channel; }
  void remove_key(std::uint64_t key) override { by_key_.erase(key); }
  void hurry(Time when) override;

  std::unordered_map<std::uint64_t, DatagramChannel*> by_link_;
  std::unordered_map<std::uint64_t, DatagramChannel*> by_key_;
  std::optional<Time> deadline_;
  PeerCounters counters_;
};

// The number by which both parts know a link: of the names of the lab and the link, and of what its
// ends can do, so that parts with other lab files do not take each other for what they are not.
[[nodiscard]] std::uint64_t link_number(std::string_view description);

}  // namespace weft::carrier
