// SPDX-License-Identifier: Apache-2.0
// A receiver of sealed datagrams, and somebody on its path who keeps, changes, repeats and makes
// them up, while the sender's keys change and time passes: what is opened is what was sealed, each
// once, and no more keys are derived than the epochs that are followed.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "input.h"
#include "io/openssl_aead.h"
#include "wan/opener.h"
#include "wan/sealer.h"

namespace {

using namespace weft;
using namespace weft::wan;
using fuzz::Input;
using fuzz::require;

using Buffer = std::vector<std::byte>;
constexpr std::size_t kHeader = 3;

class Keys final : public AeadKeySource {
 public:
  std::optional<AeadKey> key(std::uint32_t epoch) override {
    if (epoch > 60) return std::nullopt;
    ++given;
    Buffer bytes(16, std::byte{1});
    bytes.front() = static_cast<std::byte>(epoch);
    return AeadKey{std::move(*io::make_aead(AeadAlgorithm::kAes128Gcm, bytes))};
  }
  std::size_t given = 0;
};

class Stage {
 public:
  explicit Stage(const Input& input) : input_(input) {}
  [[nodiscard]] bool empty() const { return input_.empty(); }

  void step() {
    switch (input_.one_of(6)) {
      case 0:
        return seal();
      case 1:
        return sealer_.rotate();
      case 2:
        now_ += Duration(std::chrono::milliseconds(input_.word()));
        return opener_.expire(now_);
      case 3:
        if (!sealed_.empty()) open(some_sealed());
        return;
      case 4:
        if (!sealed_.empty()) open(changed(some_sealed()));
        return;
      default: {
        const Bytes bytes = input_.some();
        return open({bytes.begin(), bytes.end()});
      }
    }
  }
  void finish() {
    const OpenCounters& counters = opener_.counters();
    require(receiving_.given <= 1 + (1 + counters.get(OpenCounter::kRotated)) * Opener::kMostAhead);
    require(counters.get(OpenCounter::kOpened) == opened_);
    const auto deadline = opener_.deadline();
    if (deadline) opener_.expire(*deadline);
    require(!opener_.deadline());
  }

 private:
  void seal() {
    const Bytes frame = input_.some();
    Buffer datagram(Sealer::size_of(kHeader, frame.size()));
    const std::size_t cut = frame.size() / 3;
    const std::array pieces{frame.first(cut), frame.subspan(cut)};
    const std::array<std::byte, kHeader> header{std::byte{1}, std::byte{2}, std::byte{3}};
    const std::uint64_t sequence = sealer_.next().sequence;
    if (!sealer_.seal(header, pieces, datagram)) return;
    waiting_[sequence] = {frame.begin(), frame.end()};
    sealed_.push_back(std::move(datagram));
  }
  Buffer some_sealed() { return sealed_[input_.word() % sealed_.size()]; }
  Buffer changed(Buffer datagram) {
    switch (input_.one_of(3)) {
      case 0:
        datagram.resize(std::min<std::size_t>(datagram.size(), input_.byte()));
        break;
      case 1:
        datagram.push_back(std::byte{input_.byte()});
        break;
      default:
        datagram[input_.byte() % datagram.size()] ^= std::byte{input_.byte()};
        break;
    }
    return datagram;
  }
  void open(Buffer datagram) {
    datagram.shrink_to_fit();
    Buffer out(Opener::frame_size(kHeader, datagram.size()).value_or(0));
    const auto opened = opener_.open(datagram, kHeader, out, now_);
    if (!opened) return;
    ++opened_;
    const auto expected = waiting_.find(opened->sequence);
    require(expected != waiting_.end() && expected->second == out);
    waiting_.erase(expected);
  }

  Input input_;
  Keys sending_, receiving_;
  Sealer sealer_{sending_, {.limits = {.datagrams = 8, .bytes = 400}}};
  Opener opener_{receiving_, {.replay_window = 16, .old_datagrams = 4}};
  Time now_{};
  std::vector<Buffer> sealed_;
  std::map<std::uint64_t, Buffer> waiting_;  // sealed, and not opened yet
  std::uint64_t opened_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Input input(std::as_bytes(std::span(data, size)));
  Stage stage(input);
  while (!stage.empty())
    stage.step();
  stage.finish();
  return 0;
}
