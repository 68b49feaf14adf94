// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "../line_stage.h"
#include "wan/line/ppp/ppp_receiver.h"
#include "wan/line/ppp/ppp_transmitter.h"

namespace weft::wan {

// Whole frames, without their FCS.
class WaitingFrames final : public PppFrameSource {
 public:
  std::deque<Packet> waiting;
  [[nodiscard]] PppFrame next() override {
    if (waiting.empty()) return {};
    present_ = std::move(waiting.front());
    waiting.pop_front();
    const Bytes frame = present_;
    return {.header = frame.first(kPppHeader), .information = frame.subspan(kPppHeader)};
  }

 private:
  Packet present_;
};

class CollectedFrames final : public PppFrameSink {
 public:
  std::vector<Packet> frames;  // with their headers
  void frame(PppProtocol protocol, Bytes information) override {
    const auto header = ppp_header(protocol);
    Packet frame(header.begin(), header.end());
    frame.insert(frame.end(), information.begin(), information.end());
    frames.push_back(std::move(frame));
  }
};

inline Packet frame_with(PppProtocol protocol, const Packet& information) {
  const auto header = ppp_header(protocol);
  Packet frame(header.begin(), header.end());
  frame.insert(frame.end(), information.begin(), information.end());
  return frame;
}

}  // namespace weft::wan
