// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft {

// Where a core draws what a peer must not be able to guess: R_Keys, initial PSNs, session keys.
// io/ has the system's random source, sim/ a seeded one.
class Entropy {
 public:
  virtual ~Entropy() = default;
  [[nodiscard]] virtual std::uint64_t draw() = 0;  // 64 uniform bits
};

}  // namespace weft
