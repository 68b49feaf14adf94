// SPDX-License-Identifier: Apache-2.0
// What somebody sends on a TCP connection to an extender that seals nothing: anything becomes a
// greeting, or a refusal in words; a greeting is written so that it reads back the same.
#include "wan/site_greeting.h"

#include <algorithm>
#include <cstdint>

#include "input.h"

using namespace weft;
using namespace weft::wan;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto greeting = SiteGreeting::read(std::as_bytes(std::span(data, size)));
  if (!greeting) {
    require(!greeting.error().message.empty());
    return 0;
  }
  require(greeting->words.size() <= SiteGreeting::kMostWords);
  // It is shown to a person.
  require(
      std::ranges::all_of(greeting->words, [](char each) { return each >= ' ' && each <= '~'; }));
  const auto again = SiteGreeting::read(greeting->write());
  require(again.has_value() && *again == *greeting);
  const std::string_view layers = layers_within_ip(greeting->words);
  require(greeting->words.find(layers) != std::string::npos || layers == "udp");
  return 0;
}
