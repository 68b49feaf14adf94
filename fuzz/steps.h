// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>

#include "base/time.h"
#include "input.h"

namespace weft::fuzz {

// What a target of steps does with an input: all of it, then the end, where all properties hold.
template <class Fuzzer>
int run(Fuzzer& fuzzer, const Input& input) {
  while (!input.empty())
    fuzzer.step();
  fuzzer.finish();
  return 0;
}

// Lets every timer of `hosts` run off that starts from here, `of` being a host's core: one that
// never stops fails.
template <class Hosts, class Core>
void run_off(Hosts& hosts, Time now, Core&& of) {
  for (int rounds = 0;; ++rounds) {
    std::optional<Time> next;
    for (auto& host : hosts) {
      const std::optional<Time> deadline = of(host).deadline();
      if (deadline && (!next || *deadline < *next)) next = deadline;
    }
    if (!next) return;
    require(rounds < 4000);
    now = std::max(now, *next);
    for (auto& host : hosts)
      of(host).expire(now);
  }
}

}  // namespace weft::fuzz
