// SPDX-License-Identifier: Apache-2.0
// What transport networks have between the two ends of a line, as a list from one end to the other:
//
//   regenerator:stm64,add-drop:stm64,router:ipv6/ppp/stm64
//
// Each is a kind, what the line is, as its part of a stack (stack/line_stack.h), and what else is
// said of it:
//
//   regenerator:stm64    ends the section: finds the frames, and makes them anew
//   add-drop:stm64       ends the line: the path passes, with pointers of its own
//   cell-switch:stm1     a switch of cells, which sets connections up by signalling; cells: a line
//                        of them alone. connect=1/100-2/200: one besides, from a channel of the
//                        first end to one of the second
//   cell-mux:stm1        passes all cells, and has a host besides
//   router:ipv6/ppp      ends the line on both sides: packets of IP are sent on, a hop further
//   bridge:ethernet/gfp  frames of Ethernet are, to where their addresses were seen
//   relay:mpls/gfp       packets of any kind are, as they are
//
// A host of others, who sends to the next such host of the list over the same line, and checks and
// counts what it gets from there, a cell-mux, a router or a bridge has with foreign=10Mb/s; of
// cells, on channel=1/100.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/error.h"
#include "base/time.h"

namespace weft::wan {

class LineEquipment {
 public:
  enum class From : std::uint8_t { kFirst, kSecond };  // of the ends

  // Errors name what there is none of, and say what there is.
  static Expected<std::vector<std::unique_ptr<LineEquipment>>> parse(std::string_view list);

  LineEquipment() = default;
  LineEquipment(const LineEquipment&) = delete;
  LineEquipment& operator=(const LineEquipment&) = delete;
  virtual ~LineEquipment() = default;

  // Of octets that came from one side, in their place what goes on to the other: its clock is that
  // of what comes. Time never goes back from call to call.
  virtual void pass(From from, MutableBytes octets, Time now) = 0;
  // Of both directions.
  [[nodiscard]] virtual std::vector<CounterValue> counters() const = 0;
};

}  // namespace weft::wan
