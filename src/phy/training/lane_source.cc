// SPDX-License-Identifier: Apache-2.0
#include "phy/training/lane_source.h"

#include "phy/code/ordered_set.h"

namespace weft::phy {

void LaneSource::produce(std::size_t sets, BitVector& out) {
  for (std::size_t set = 0; set < sets; ++set) {
    now_ = next_;
    switch (now_.send) {
      case LaneSend::kSilence:
        return;
      case LaneSend::kTs1:
      case LaneSend::kTs2: {
        const OrderedSet kind = now_.send == LaneSend::kTs1 ? OrderedSet::kTs1 : OrderedSet::kTs2;
        for (const Character character : training_set(kind, now_.lane))
          out.put_symbol(encoder_.encode(character));
        break;
      }
      default:
        for (std::size_t i = 0; i < kTrainingSetSize; ++i)
          out.put_symbol(encoder_.encode(idle_.next()));
    }
  }
}

}  // namespace weft::phy
