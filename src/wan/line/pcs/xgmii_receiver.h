// SPDX-License-Identifier: Apache-2.0
// Frames and ordered sets out of the words of lanes, and the link fault that they say: the
// receiving half of the reconciliation sublayer (IEEE 802.3, 46.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "wan/line/pcs/link_fault.h"
#include "wan/line/pcs/pcs_counters.h"
#include "wan/line/pcs/xgmii.h"

namespace weft::wan {

// Is told what came, in order.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // What was between /S/ and /T/; gone when this returns.
  virtual void frame(Bytes octets) = 0;
  // One that began and was too long, had an error in it or did not end.
  virtual void bad_frame() = 0;
  // One that says no fault.
  virtual void ordered_set(const OrderedSet& set) = 0;
};

class XgmiiReceiver final : public XgmiiSink {
 public:
  // `longest` in octets. The other two outlive this.
  XgmiiReceiver(std::size_t longest, FrameSink& sink, PcsCounters& counters);
  XgmiiReceiver(const XgmiiReceiver&) = delete;
  XgmiiReceiver& operator=(const XgmiiReceiver&) = delete;

  void data(std::span<const std::uint64_t> words) override;
  void control(const XgmiiWord& word) override;
  [[nodiscard]] LinkFault fault() const { return faults_.fault(); }

 private:
  [[nodiscard]] bool start(const XgmiiWord& word);
  [[nodiscard]] bool finish(const XgmiiWord& word);
  void end();
  void column(const XgmiiWord& word, unsigned first);
  void character(std::uint8_t octet);
  void spoil(PcsCounter why);
  void set(const OrderedSet& set);

  const std::size_t longest_;
  FrameSink& sink_;
  PcsCounters& counters_;
  LinkFaultStates faults_;
  bool in_frame_ = false;
  std::vector<std::byte> frame_;  // longest_ and room for a word
  std::size_t size_ = 0;          // of those
};

}  // namespace weft::wan
