// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "base/bytes.h"
#include "base/time.h"

namespace weft::wan {

// One end of a wire that is a stream of bytes. A core: whoever has the stream hands it what has
// come, takes what is to go, and lets it run.
class StreamChannel {
 public:
  StreamChannel() = default;
  StreamChannel(const StreamChannel&) = delete;
  StreamChannel& operator=(const StreamChannel&) = delete;
  virtual ~StreamChannel() = default;

  // There is a stream, and nothing of an earlier one comes any more; it is gone.
  virtual void opened(Time now) = 0;
  virtual void closed(Time now) = 0;
  [[nodiscard]] virtual bool is_open() const = 0;
  // Where to put what it brings; and that so much of it is there. False: it is to be closed.
  [[nodiscard]] virtual MutableBytes room() = 0;
  [[nodiscard]] virtual bool arrived(std::size_t bytes, Time now) = 0;
  // What brings them makes no sense, and the stream is going to be closed.
  virtual void out_of_step() = 0;
  // What is to go, and that so much of it has gone.
  [[nodiscard]] virtual Bytes pending() const = 0;
  virtual void sent(std::size_t bytes, Time now) = 0;
  // Does what is due. False: the stream is to be closed.
  [[nodiscard]] virtual bool run(Time now) = 0;
  [[nodiscard]] virtual std::optional<Time> deadline() const = 0;
};

}  // namespace weft::wan
