// SPDX-License-Identifier: Apache-2.0
#include "hca/uc_granter.h"

#include <algorithm>

namespace weft::hca {
namespace {

constexpr std::size_t kUcGranterMostReceives = std::size_t{1} << 20;

}  // namespace

void UcGranter::arrived(Psn psn, bool asks) {
  arrivals_.note(psn);
  due_ = due_ || asks;
}

// Who was granted little, for want of receive requests, would wait out its patience.
void UcGranter::posted(std::size_t waiting) {
  if (!scarce_ || (!starving_ && few(waiting))) return;
  scarce_ = starving_ = false;
  due_ = true;
}

Credit UcGranter::grant(std::size_t waiting, std::uint32_t bytes) {
  most_receives_ = std::max(most_receives_, waiting);
  starving_ = waiting == 0;
  scarce_ = starving_ || few(waiting);
  due_ = false;
  return {.seen = arrivals_.newest(),
          .receives = static_cast<std::uint32_t>(std::min(waiting, kUcGranterMostReceives)),
          .bytes = std::min(bytes, kMostGranted),
          .lost = arrivals_.lost()};
}

}  // namespace weft::hca
