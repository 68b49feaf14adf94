// SPDX-License-Identifier: Apache-2.0
// A running fabric of two switches and three adapters into whose links anything is put: whatever it
// is, it is forwarded, answered or counted, nothing stays behind, and the fabric comes to rest.
//
//   a packet is   link and side (1), flags (1), length (1), bytes
//   flags         1: sealed with right CRCs   2: LRH made to fit the length   4: time passes
#include <algorithm>
#include <cstdint>
#include <vector>

#include "running_fabric.h"
#include "wire/endian.h"
#include "wire/link_crc.h"
#include "wire/packet.h"

namespace {

using namespace weft;
using namespace weft::fabric;
using fuzz::require;

constexpr std::string_view kLab = R"(
[switch]
s1 = { ports = 4 }
s2 = { ports = 4 }
[node]
a = {}
b = {}
c = { ports = 2 }
[[link]]
ends = ["a:1", "s1:1"]
[[link]]
ends = ["b:1", "s2:1"]
[[link]]
ends = ["c:1", "s1:2"]
[[link]]
ends = ["c:2", "s2:2"]
[[link]]
ends = ["s1:4", "s2:3"]
)";

class Stage {
 public:
  Stage() : lab_(kLab, {.packets = 4096, .payload_blocks = 4096}) {
    lab_.activate();
    give_addresses();
  }

  void put(std::uint8_t where, std::uint8_t flags, Bytes bytes) {
    std::vector<std::byte> packet(bytes.begin(), bytes.end());
    if ((flags & 2) != 0 && packet.size() >= 10) {
      packet.resize(packet.size() - (packet.size() - 2) % 4);
      const auto words = static_cast<std::uint16_t>((packet.size() - 2) / 4);
      wire::store_be16(packet.data() + 4, words);
      packet[0] &= std::byte{0xF0};
    }
    if ((flags & 1) != 0 && wire::walk_link_packet(packet)) wire::seal_link_packet(packet);
    Fabric& fabric = lab_.fabric;
    link::PacketPtr made = fabric.pool().copy(packet);
    if (made != nullptr) {
      NodePort& port = fabric.end(where / 2u % fabric.link_count(), where % 2);
      port.link().receive(std::move(made), lab_.now);
    }
    lab_.settle();
    if ((flags & 4) == 0) return;
    lab_.now += 300ms;
    lab_.settle();
  }

  void end() {
    lab_.run_off();
    require(lab_.fabric.packets_in_use() == 0);
  }

 private:
  void give_addresses() {
    wire::LinearBlock block = fuzz::no_routes();
    std::uint16_t lid = 0;
    for (std::size_t i = 0; i < lab_.fabric.node_count(); ++i) {
      Node& node = lab_.fabric.node(i);
      const std::uint8_t first = node.kind() == NodeKind::kSwitch ? 0 : 1;
      const std::uint8_t last = first == 0 ? 0 : node.port_count();
      for (std::uint8_t port = first; port <= last; ++port) {
        lab_.give_lid(node, port, Lid{++lid}, 0, kManager);
        block.ports[lid] = static_cast<std::uint8_t>(1 + lid % 4);
      }
    }
    for (const char* name : {"s1", "s2"})
      lab_.route(name, block, Lid{16}, 0x1F);
  }

  static constexpr Lid kManager{3};
  fuzz::RunningFabric lab_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Stage stage;
  Bytes rest = std::as_bytes(std::span(data, size));
  for (int packets = 0; rest.size() >= 3 && packets < 32; ++packets) {
    const std::size_t length =
        std::min<std::size_t>(wire::load_u8(rest.data() + 2) * 2u, rest.size() - 3);
    stage.put(wire::load_u8(rest.data()), wire::load_u8(rest.data() + 1), rest.subspan(3, length));
    rest = rest.subspan(3 + length);
  }
  stage.end();
  return 0;
}
