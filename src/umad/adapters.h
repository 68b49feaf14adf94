// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "umad/connection.h"

namespace weft::umad {

// The adapter that a program means by `name`: null or its own name. no_such_device: another's.
Expected<Adapter> find_adapter(const char* name);

struct ChosenPort {
  Place place;
  Adapter adapter;
  std::uint32_t port = 0;  // `adapter` has it
};

// The port that a program means by a number. 0: whichever is best, the first that is Active, or
// else the first whose link is up, or else the first that is not disabled; on a switch port 0.
Expected<ChosenPort> choose_port(const char* name, int number);

}  // namespace weft::umad
