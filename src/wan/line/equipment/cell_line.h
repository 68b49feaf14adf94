// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "wan/line/atm/cell.h"
#include "wan/line/line.h"

namespace weft::wan {

// An end of a line of cells, which is up while it is known where they begin. `name`: "cells", or
// the SONET/SDH that they are in: "stm1" to "stm64"; for others there is none. Cells that leave
// come from `feed`, those that arrive go to `sink`; both outlive it.
[[nodiscard]] std::unique_ptr<Line> make_cell_line(std::string_view name, atm::CellFeed& feed,
                                                   atm::CellSink& sink);

}  // namespace weft::wan
