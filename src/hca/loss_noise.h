// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::hca {

// Tells losses that a path has anyway from those of a full queue which is too short to show in the
// round trip time. The latter stop when less is sent: so a first loss is taken at its word, and
// what is lost while the window is well below what brought it about counts as noise. Twice as much
// is borne from then on.
class LossNoise {
 public:
  // The window has given way to losses, or was told to: measures anew.
  void start() { *this = LossNoise{}; }

  // So many packets arrived; `low`: while the window was well below where it last gave way, or grew
  // quickly and had not given way yet.
  void delivered(std::uint32_t packets, bool low);
  // One was lost while the window was low. Whether it is clear by now that the path loses packets
  // anyway, and not so few that competitors might have brought them about; says so once.
  bool lost_when_low();
  // One was lost otherwise. Whether that is noise, as far as is known.
  bool bears();

 private:
  [[nodiscard]] double rate() const;

  std::uint32_t packets_ = 0;  // while the window was low
  std::uint32_t losses_ = 0;
  bool clear_ = false;
  double bearable_ = 0;  // losses
};

}  // namespace weft::hca
