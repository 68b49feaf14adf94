// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "io/unique_fd.h"

namespace weft::io {

// What people may change of an Ethernet interface, as the kernel has it.
struct LinkFacts {
  std::uint32_t mtu = 0;  // bytes behind the Ethernet header
  std::array<std::uint8_t, 6> mac{};
  bool backup = false;     // of a bond that uses another one now: what comes here, it drops
  bool in_bridge = false;  // it is a port of the kernel's bridge, or of Open vSwitch

  friend bool operator==(const LinkFacts&, const LinkFacts&) = default;
  // Of a message of rtnetlink; nothing: it says not all of this, or of no interface.
  [[nodiscard]] static std::optional<LinkFacts> parse(Bytes message);
};

// A socket of a network namespace, in which an interface of it can be asked for from outside too.
class LinkQuestions {
 public:
  // Of this thread's namespace.
  static Expected<LinkQuestions> open();

  // Never blocks. Nothing: there is no interface of that index.
  [[nodiscard]] std::optional<LinkFacts> ask(std::uint32_t ifindex) const;

 private:
  explicit LinkQuestions(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace weft::io
