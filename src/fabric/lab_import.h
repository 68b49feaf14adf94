// SPDX-License-Identifier: Apache-2.0
// Labs made from listings of other fabrics: what ibnetdiscover prints, and ibsim's net files,
// which are the same with some lines left out and some more allowed.
//
//   switchguid=0x2c9020040d6a8(2c9020040d6a8)
//   Switch  36 "S-0002c9020040d6a8"    # "leaf1" enhanced port 0 lid 1 lmc 0
//   [1]  "H-0002c90300001dd0"[1](2c90300001dd1)    # "host1 HCA-1" lid 2 4xQDR
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "fabric/lab.h"

namespace weft::fabric {

struct ImportedLab {
  Lab lab;
  std::vector<std::string> notes;  // what could not be taken over, each with its line
};

// Nodes are called by the first word of their description where that is theirs alone, else by
// their identifier in the listing. `name` is the lab's. Errors name `file`, line and node.
[[nodiscard]] Expected<ImportedLab> import_listing(std::string_view text, const std::string& file,
                                                   std::string name);

}  // namespace weft::fabric
