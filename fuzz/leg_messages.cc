// SPDX-License-Identifier: Apache-2.0
// What comes by a leg: anything is read or refused, and a pair of bundles that is given it, of
// which some is what the other one has sent, goes on and keeps to the bounds of its path.
#include <array>
#include <cstdint>
#include <vector>

#include "input.h"
#include "wan/frame.h"
#include "wan/path_bundle.h"

using namespace weft;
using namespace weft::wan;
using fuzz::require;

namespace {

class Wire final : public Path {
 public:
  [[nodiscard]] bool established() const override { return true; }
  [[nodiscard]] bool ready() const override { return true; }
  [[nodiscard]] std::size_t longest_frame() const override { return 1472; }
  void send(std::span<const OutFrame> frames, Time) override {
    for (const OutFrame& frame : frames) {
      last.clear();
      for (const Bytes part : frame.parts)
        last.insert(last.end(), part.begin(), part.end());
      require(last.size() == frame.size && last.size() <= 1472);
    }
  }
  std::vector<std::byte> last;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(std::as_bytes(std::span(data, size)));
  Time now(1s);
  std::array<Wire, 2> wires;
  const std::array<Path*, 2> carriers{&wires[0], &wires[1]};
  PathBundle bundle(carriers, {.watched = true, .pacing = PacingSettings{.adapt = true}}, now);
  Wire other_wire;
  const std::array<Path*, 1> other_carriers{&other_wire};
  PathBundle other(other_carriers, {}, now);
  const std::vector<std::byte> frame(64, std::byte{FrameHead::kVersion});
  const Bytes whole(frame);
  const OutFrame out{.parts = {&whole, 1}, .size = whole.size()};
  while (!input.empty()) {
    switch (input.one_of(5)) {
      case 0:
        static_cast<void>(bundle.receive(input.some(), input.rarely(), now));
        break;
      case 1: {  // what the other end said, with a byte that is another one
        std::vector<std::byte> said = other_wire.last;
        if (!said.empty()) said[input.byte() % said.size()] ^= std::byte{input.byte()};
        static_cast<void>(bundle.receive(said, false, now));
        break;
      }
      case 2:
        if (bundle.ready()) bundle.send({&out, 1}, now);
        static_cast<void>(other.receive(wires[0].last, input.rarely(), now));
        break;
      case 3:
        now += std::chrono::microseconds(input.number() >> 8);
        break;
      default:
        break;
    }
    static_cast<void>(bundle.run(now));
    static_cast<void>(other.run(now));
    require(bundle.longest_frame() <= 1472 - LegHead::kSize);
    require(bundle.spread() >= 0ns);
    for (const auto& leg : bundle.legs())
      require(leg->pacer()->rate() >= PacingSettings{}.least_bytes_per_s);
  }
  return 0;
}
