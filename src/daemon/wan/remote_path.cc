// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/remote_path.h"

#include <algorithm>

namespace weft::daemon {

void RemotePath::set_rate(std::uint64_t bytes_per_s, Time now) {
  pacer_.reset();
  if (bytes_per_s != 0) pacer_.emplace(wan::PacingSettings{.most_bytes_per_s = bytes_per_s}, now);
}

void RemotePath::go_on(Time now) {
  if (!pause_ || now < *pause_) return;
  pause_.reset();
  changed(now);
}

void RemotePath::send(Frames frames, Time now) {
  if (pacer_) {
    std::size_t bytes = 0;
    for (const wan::OutFrame& frame : frames)
      bytes += frame.size;
    pacer_->sent(bytes, true, now);
    if (!pacer_->admits(now)) pause_ = pacer_->next();
  }
  const std::size_t done = transmit(frames, now);
  if (done < frames.size()) keep(frames.subspan(done));
}

void RemotePath::keep(Frames frames) {
  for (const wan::OutFrame& frame : frames) {
    auto& [kept, options, traffic_class] = backlog_.emplace_back();
    traffic_class = frame.traffic_class;
    options.assign(frame.options.begin(), frame.options.end());
    kept.reserve(frame.size);
    for (const Bytes part : frame.parts)
      kept.insert(kept.end(), part.begin(), part.end());
  }
}

void RemotePath::flush(Time now) {
  auto next = backlog_.begin();
  for (; next != backlog_.end(); ++next) {
    const Bytes whole(next->bytes);
    const wan::OutFrame frame{.parts = {&whole, 1},
                              .size = whole.size(),
                              .traffic_class = next->traffic_class,
                              .options = next->options};
    if (transmit({&frame, 1}, now) == 0) break;
  }
  backlog_.erase(backlog_.begin(), next);
  if (backlog_.empty()) changed(now);
}

}  // namespace weft::daemon
