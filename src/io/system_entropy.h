// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/entropy.h"

namespace weft::io {

// The kernel's random source, a few words per system call. Any number of threads may draw, and a
// forked child never repeats its parent's draws.
class SystemEntropy final : public Entropy {
 public:
  SystemEntropy();
  ~SystemEntropy() override;
  SystemEntropy(const SystemEntropy&) = delete;
  SystemEntropy& operator=(const SystemEntropy&) = delete;

  [[nodiscard]] std::uint64_t draw() override;

 private:
  struct Page;
  Page* page_ = nullptr;  // a mapping of its own; null where the kernel refuses one
};

}  // namespace weft::io
