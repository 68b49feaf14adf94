// SPDX-License-Identifier: Apache-2.0
// The ends of an encapsulation that is measured alone.
#pragma once

#include <string_view>

#include "base/ids.h"
#include "wan/encapsulation/stack.h"

namespace weft::bench {

// Both are this one, so that what goes out may come in.
inline wan::Ends ends_of(std::string_view stack) {
  const bool ipv4 = stack.find("ipv4") != std::string_view::npos;
  const Gid own =
      ipv4 ? Gid::from_ipv4(0xC0000201) : Gid{{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
  return {.local = own,
          .remote = own,
          .local_port = 4000,
          .remote_port = 4000,
          .local_mac = {2, 0, 0, 0, 0, 1},
          .remote_mac = {2, 0, 0, 0, 0, 1},
          .labels = {100016},
          .own_labels = {100016}};
}

}  // namespace weft::bench
