// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "base/ids.h"
#include "base/lru_map.h"
#include "base/time.h"
#include "io/route.h"
#include "io/socket_address.h"

namespace weft::port {

// The source addresses that the kernel gives to datagrams, for all queue pairs of a port: a
// thousand that go to one peer ask once. An answer is believed for kBelieved, since routes change.
// For any thread.
class RoutedSources {
 public:
  static constexpr Duration kBelieved = 500ms;
  static constexpr std::size_t kMost = 1024;  // destinations that are remembered

  using Ask = std::optional<Gid> (*)(const io::SocketAddress& destination);
  explicit RoutedSources(Ask ask = io::routed_source) : ask_(ask), answers_(kMost) {}

  // Of datagrams to `destination` (scope_id: of a link-local one, an interface index); nothing when
  // there is no route.
  std::optional<Gid> to(const Gid& destination, std::uint32_t scope_id, Time now);

 private:
  struct Key {
    Gid destination;
    std::uint32_t scope_id = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return std::hash<Gid>{}(key.destination) ^ key.scope_id;
    }
  };
  struct Answer {
    std::optional<Gid> source;
    Time at{};
  };

  const Ask ask_;
  std::mutex mutex_;
  LruMap<Key, Answer, KeyHash> answers_;
};

}  // namespace weft::port
