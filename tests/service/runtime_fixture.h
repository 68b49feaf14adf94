// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "packets.h"
#include "service/runtime.h"
#include "wire/cm_connect.h"
#include "wire/cm_disconnect.h"
#include "wire/cm_sidr.h"

namespace weft::service::test {

// A service of one function, which counts how often it is asked.
class Scripted final : public Service {
 public:
  using Decide = std::function<Verdict(Packet&)>;
  explicit Scripted(Decide decide) : decide_(std::move(decide)) {}

  std::string_view name() const override { return "scripted"; }
  std::span<const CounterInfo> drop_reasons() const override { return kReasons; }
  Verdict handle(Packet& packet, Time) override {
    ++asked;
    return decide_(packet);
  }
  Host& runtime() { return host(); }

  int asked = 0;

 private:
  static constexpr std::array<CounterInfo, 2> kReasons{{{"first", ""}, {"second", ""}}};
  Decide decide_;
};

class RuntimeTest : public testing::Test, public RuntimeUser, public PathAsker {
 protected:
  static constexpr Lid kService{0xF};
  static constexpr Lid kA{0xA};
  static constexpr Lid kB{0xB};
  const Gid a = gid(0xAAAA);
  const Gid b = gid(0xBBBB);

  RuntimeTest() { restart({}); }
  void restart(const RuntimeOptions& options) {
    runtime = std::make_unique<Runtime>(options, *this, *this, entropy);
  }

  // --- the world ---
  void send(Bytes packet, std::uint8_t port, bool sealed) override {
    EXPECT_TRUE(!sealed || wire::check_link_crcs(packet).good());
    out.push_back({packet.begin(), packet.end()});
    out_ports.push_back(port);
  }
  void mirror(Bytes packet, const Arrival&) override {
    mirrored.push_back({packet.begin(), packet.end()});
  }
  void publish(std::size_t, Bytes record) override {
    records.push_back({record.begin(), record.end()});
  }
  void ask(std::uint64_t number, const PathQuestion& question) override {
    questions.emplace_back(number, question);
  }
  // The administrator knows both ends.
  void answer_all() {
    while (!questions.empty()) {
      const auto [number, question] = questions.front();
      questions.pop_front();
      const bool to_a = question.dgid == a;
      std::optional<Path> path;
      if (to_a || question.dgid == b) path = Path{.dlid = to_a ? kA : kB, .slid = kService};
      runtime->path_answered(number, path, now);
    }
  }

  // Through the runtime; what comes out, also after a question.
  Fate handle(Buffer& packet, const Arrival& arrival = {}) {
    Item item{.bytes = packet, .arrival = arrival};
    runtime->handle({&item, 1}, now);
    out_port = item.out_port;
    if (item.fate == Fate::kForward && arrival.sealed) {
      EXPECT_TRUE(wire::check_link_crcs(packet).good());
    }
    return item.fate;
  }
  Made from_a(Made made) const {
    made.slid = kA;
    made.dlid = kService;
    made.gids = {a, b};
    return made;
  }
  Made from_b(Made made) const {
    made.slid = kB;
    made.dlid = kService;
    made.gids = {b, a};
    return made;
  }
  // What becomes of it in the end; empty: it was not forwarded.
  Buffer through(const Made& made) {
    Buffer packet = make(made);
    out.clear();
    switch (handle(packet)) {
      case Fate::kForward:
        return packet;
      case Fate::kHeld:
        answer_all();
        return out.empty() ? Buffer{} : out.back();
      default:
        return {};
    }
  }
  [[nodiscard]] std::uint64_t count(RuntimeCounter which) const {
    return runtime->counters().get(which);
  }

  SeededEntropy entropy{Random(1)};
  std::unique_ptr<Runtime> runtime;
  Time now{1s};
  std::vector<Buffer> out;
  std::vector<std::uint8_t> out_ports;
  std::vector<Buffer> mirrored;
  std::vector<Buffer> records;
  std::deque<std::pair<std::uint64_t, PathQuestion>> questions;
  std::uint8_t out_port = 0;
};

}  // namespace weft::service::test
