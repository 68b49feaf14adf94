// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>

#include "io/unique_fd.h"

namespace weft::io {

// A descriptor kept back for when all others are in use. Who comes to a listener then would keep it
// readable and its owner from sleeping, and would himself wait in vain: he is taken with this one,
// and let go.
class SpareDescriptor {
 public:
  SpareDescriptor() : fd_(any()) {}

  // Calls `use`, which has one descriptor more meanwhile, and has closed it when it returns.
  template <class Use>
  void lend(Use use) {
    fd_.reset();
    use();
    fd_ = any();
  }

 private:
  static UniqueFd any() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
  UniqueFd fd_;
};

}  // namespace weft::io
