// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/time.h"

namespace weft::wan {

// Who finds out whether a line leads to another end, and keeps finding out: the physical state of
// the fabric's port follows it. Its messages pass the mapping that it belongs to.
class LineSession {
 public:
  virtual ~LineSession() = default;

  // Whether the other end has been heard of, has agreed, and is still there.
  [[nodiscard]] virtual bool up() const = 0;
  // When it next has something to do; Time::max(): only when something comes.
  [[nodiscard]] virtual Time next_deadline() const = 0;
  // Does what is due. Time never goes back from call to call. To be called too once something has
  // come in, before up() is believed.
  virtual void advance(Time now) = 0;
  // Whether what is below it carries anything; it does until this says otherwise.
  virtual void set_line([[maybe_unused]] bool present) {}
  // It is to end, and is not up any more. Where the other end, or the network, has to agree, that
  // takes until ended().
  virtual void end([[maybe_unused]] Time now) {}
  [[nodiscard]] virtual bool ended() const { return true; }
};

}  // namespace weft::wan
