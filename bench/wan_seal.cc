// SPDX-License-Identifier: Apache-2.0
// What one core seals and opens in a second, with each cipher, in datagrams as the Ethernet of a
// WAN has them; beside it, copying the same frames with memcpy, which a datagram would cost anyway.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "io/openssl_aead.h"
#include "turns.h"
#include "wan/opener.h"
#include "wan/sealer.h"

namespace {

using namespace weft;
using namespace weft::wan;

constexpr std::size_t kBurst = 64;
constexpr std::size_t kBytesInTurn = std::size_t{24} << 20;
constexpr std::size_t kHeader = 8;  // of the tunnel, in the clear

class OneKey final : public AeadKeySource {
 public:
  explicit OneKey(AeadAlgorithm algorithm) : algorithm_(algorithm) {}
  std::optional<AeadKey> key(std::uint32_t) override {
    const std::vector<std::byte> bytes(key_bytes_of(algorithm_), std::byte{7});
    return AeadKey{std::move(*io::make_aead(algorithm_, bytes))};
  }

 private:
  AeadAlgorithm algorithm_;
};

using Buffers = std::vector<std::vector<std::byte>>;

struct Rates {  // bytes of frames in a second
  double copied = 0, sealed = 0, opened = 0;
};

class Run {
 public:
  Run(AeadAlgorithm algorithm, std::size_t datagram)
      : keys_(algorithm),
        frame_(datagram - kHeader - kSealOverhead),
        frames_(kBurst, std::vector<std::byte>(frame_)),
        datagrams_(kBurst, std::vector<std::byte>(datagram)),
        out_(kBurst, std::vector<std::byte>(frame_)) {}

  Rates measure() {
    const std::size_t bytes = kBurst * frame_;
    const auto [copied, sealed, opened] = bench::seconds_of_bursts(
        kBytesInTurn / bytes + 1, [this] { copy(); }, [this] { seal(); }, [this] { open(); });
    const auto rate = [bytes](double seconds) { return static_cast<double>(bytes) / seconds; };
    return {rate(copied), rate(sealed), rate(opened)};
  }

 private:
  void copy() {
    for (std::size_t i = 0; i < kBurst; ++i) {
      std::memcpy(datagrams_[i].data() + kHeader, frames_[i].data(), frame_);
      asm volatile("" : : "r"(datagrams_[i].data()) : "memory");
    }
  }
  void seal() {
    for (std::size_t i = 0; i < kBurst; ++i) {
      // A packet's headers and its payload lie apart.
      const std::array pieces{Bytes(frames_[i]).first(40), Bytes(frames_[i]).subspan(40)};
      if (!sealer_.seal(header_, pieces, datagrams_[i])) std::abort();
    }
  }
  void open() {
    for (std::size_t i = 0; i < kBurst; ++i) {
      if (!opener_.open(datagrams_[i], kHeader, out_[i], Time{})) std::abort();
    }
  }

  OneKey keys_;
  Sealer sealer_{keys_, {}};
  Opener opener_{keys_, {}};
  std::size_t frame_;
  std::array<std::byte, kHeader> header_{};
  Buffers frames_, datagrams_, out_;
};

}  // namespace

int main() {
  for (const std::size_t datagram : {1500u, 8972u}) {
    for (const AeadAlgorithm algorithm : io::preferred_aeads()) {
      const Rates rates = Run(algorithm, datagram).measure();
      fmt::print(
          "{} in datagrams of {} bytes: {:.2f} GB/s sealed, {:.2f} GB/s opened; copied "
          "{:.2f} GB/s\n",
          name_of(algorithm), datagram, rates.sealed / 1e9, rates.opened / 1e9, rates.copied / 1e9);
      fmt::print("result: {} {} B sealed / memcpy = {:.2f}\n", name_of(algorithm), datagram,
                 rates.sealed / rates.copied);
      fmt::print("result: {} {} B opened / memcpy = {:.2f}\n", name_of(algorithm), datagram,
                 rates.opened / rates.copied);
    }
  }
  return 0;
}
