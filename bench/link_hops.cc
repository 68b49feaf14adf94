// SPDX-License-Identifier: Apache-2.0
// How many packets one worker forwards in a second, from port to port in one process: VCRC checked,
// a lane chosen and written, credits kept, both ends of the link counted. Beside it, what checking
// the VCRC alone takes, over as many packets, which no hop can do without.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/buffer_pool.h"
#include "link/direct_link.h"
#include "link/packet_pool.h"
#include "link/port.h"
#include "wire/bth.h"
#include "wire/link_crc.h"

namespace {

using namespace weft;
using namespace weft::link;

constexpr std::size_t kRelays = 8;
constexpr std::size_t kPayload = 256;
constexpr int kTurns = 51;
constexpr int kPacketsInTurn = 4'000;
constexpr std::size_t kBurst = 64;

Time now() {
  return Time(std::chrono::steady_clock::now().time_since_epoch());
}

struct Worker {
  std::vector<Port*> woken;
  std::vector<Port*> running;
  void settle(Time time) {
    while (!woken.empty()) {
      std::swap(woken, running);
      for (Port* const port : running)
        port->run(time);
      running.clear();
    }
  }
};

struct Element : PortOwner {
  explicit Element(Worker& w) : worker(w) {}
  void received(Port& port, PacketPtr packet, Time time) override {
    ++packets;
    if (&port == &left) right.transmit(std::move(packet), Vl{next_lane++}, time);
    next_lane &= 3;
  }
  void state_changed(Port&, PortState, Time) override {}
  void wake(Port& port) override { worker.woken.push_back(&port); }

  Worker& worker;
  std::uint64_t packets = 0;
  std::uint8_t next_lane = 0;
  Port left{{}, *this};
  Port right{{}, *this};
};

struct Row {
  Row() {
    for (std::size_t i = 0; i < kRelays + 2; ++i)
      elements.push_back(std::make_unique<Element>(worker));
    for (std::size_t i = 0; i + 1 < elements.size(); ++i) {
      links.push_back(std::make_unique<DirectLink>(pool));
      links.back()->join(elements[i]->right, elements[i + 1]->left, now());
    }
    worker.settle(now());
    for (const PortState state : {PortState::kArmed, PortState::kActive}) {
      for (auto& element : elements) {
        element->left.set_state(state, now());
        element->right.set_state(state, now());
      }
      worker.settle(now());
    }
  }
  ~Row() {
    for (auto& element : elements) {
      element->left.connect(nullptr, now());
      element->right.connect(nullptr, now());
    }
  }
  // Sends so many packets from one end to the other; returns the nanoseconds of a hop.
  double run(int packets, Bytes bytes) {
    const std::uint64_t before = hops();
    const auto start = std::chrono::steady_clock::now();
    for (int sent = 0; sent < packets; sent += static_cast<int>(kBurst)) {
      const Time time = now();
      for (std::size_t i = 0; i < kBurst; ++i)
        elements.front()->right.transmit(pool.copy(bytes), Vl{0}, time);
      worker.settle(time);
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    return took.count() / static_cast<double>(hops() - before);
  }
  [[nodiscard]] std::uint64_t hops() const {
    std::uint64_t sum = 0;
    for (const auto& element : elements)
      sum += element->packets;
    return sum;
  }

  BufferPool payloads{PacketPool::kPayloadBlock, 10'000};
  PacketPool pool{10'000, payloads};
  Worker worker;
  std::vector<std::unique_ptr<Element>> elements;
  std::vector<std::unique_ptr<DirectLink>> links;
};

// What no hop can do without, on packets of the same make.
double check_vcrcs(PacketPool& pool, Bytes bytes) {
  std::vector<PacketPtr> packets;
  for (std::size_t i = 0; i < kBurst; ++i)
    packets.push_back(pool.copy(bytes));
  std::uint64_t good = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int sent = 0; sent < kPacketsInTurn; sent += static_cast<int>(kBurst)) {
    for (const PacketPtr& packet : packets)
      good += packet->vcrc_good() ? 1 : 0;
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / static_cast<double>(good);
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

int main() {
  const std::size_t covered = 8 + 12 + kPayload + 4;
  std::vector<std::byte> bytes(covered + 2);
  wire::Lrh{.packet_words = static_cast<std::uint16_t>(covered / 4)}.write(bytes);
  wire::Bth{.opcode = wire::Opcode::uc_send_only}.write(MutableBytes(bytes).subspan(8));
  wire::seal_link_packet(bytes);

  Row row;
  std::vector<double> hop;
  std::vector<double> check;
  for (int turn = 0; turn < kTurns; ++turn) {
    hop.push_back(row.run(kPacketsInTurn, bytes));
    check.push_back(check_vcrcs(row.pool, bytes));
  }
  const double hop_ns = median(hop);
  const double check_ns = median(check);
  fmt::print("a row of {} relays, packets of {} bytes\n", kRelays, bytes.size());
  fmt::print("a hop takes {:.0f} ns, {:.1f} ns of them for its VCRC\n", hop_ns, check_ns);
  fmt::print("state of a port: {} bytes\n", sizeof(Port) + sizeof(ReceiveBuffer));
  fmt::print("result: million hops a second = {:.2f}\n", 1000 / hop_ns);
  fmt::print("result: hop / VCRC = {:.2f}\n", hop_ns / check_ns);
  return 0;
}
