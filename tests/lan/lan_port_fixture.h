// SPDX-License-Identifier: Apache-2.0
// A LAN port with three peers, whose host keeps what it is given and what is sent.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "datagram_of.h"
#include "lan/lan_port.h"
#include "wire/endian.h"

namespace weft::lan::test {

using Frame = std::vector<std::byte>;
using Kind = Question::Kind;

inline constexpr Lid kOwnLid{5};
inline constexpr MacAddress kGroup{0x01, 0x00, 0x5E, 0x01, 0x02, 0x02};

inline MacAddress mac_at(std::uint16_t lid) {
  return mac_of({.base = Lid{lid}});
}

inline Frame frame_of(const MacAddress& to, const MacAddress& from, std::size_t size = 60,
                      std::uint16_t type = 0x88B5) {
  Frame frame(size, std::byte{0x5A});
  std::ranges::transform(to, frame.begin(), [](std::uint8_t octet) { return std::byte{octet}; });
  std::ranges::transform(from, frame.begin() + 6,
                         [](std::uint8_t octet) { return std::byte{octet}; });
  wire::store_be16(frame.data() + 12, type);
  return frame;
}

// Keeps what the port does, as words.
class Host final : public LanUser {
 public:
  void to_host(const Offload& offload, Bytes frame) override {
    came.emplace_back(frame.begin(), frame.end());
    offloads.push_back(offload);
  }
  bool send_message(PeerId peer, Bytes head, Bytes frame) override {
    if (full) return false;
    said("message", peer);
    message = datagram_of(head, frame);
    return true;
  }
  std::size_t send_datagrams(std::span<const PeerId> peers, const LanHeader& header,
                             Bytes frame) override {
    if (header.kind == MessageKind::kGroups) {
      groups = *GroupList::parse(frame);
      groups_said += peers.size();
      return 0;
    }
    if (full) return peers.size();
    for (const PeerId peer : peers)
      said("datagrams", peer);
    sent = frame;
    last = header;
    return 0;
  }
  bool send_to_group(const LanHeader& header, Bytes frame) override {
    if (full) return false;
    did.emplace_back("group");
    sent = frame;
    in_group = header;
    return true;
  }
  void connect(PeerId peer) override { said("connect", peer); }
  void disconnect(PeerId peer) override { said("disconnect", peer); }
  bool ask(std::uint64_t number, const Question& question, Time) override {
    asked.emplace_back(number, question);
    return true;
  }
  void peer_came(PeerId) override {}
  void peer_moved(PeerId) override {}
  void peer_went(PeerId peer) override { said("went", peer); }

  void said(const char* what, PeerId peer) {
    const std::uint16_t lid = port->peers().get(peer).lids.base.value();
    did.push_back(std::string(what) + ' ' + std::to_string(lid));
  }
  std::vector<std::string> new_deeds() { return std::exchange(did, {}); }

  LanPort* port = nullptr;
  bool full = false;
  std::vector<Frame> came;
  std::vector<Offload> offloads;
  Frame message;
  Bytes sent;
  LanHeader last;
  LanHeader in_group;
  GroupList groups;
  std::size_t groups_said = 0;
  std::vector<std::string> did;
  std::vector<std::pair<std::uint64_t, Question>> asked;
};

using Deeds = std::vector<std::string>;

// A port of LID 5, with peers of LIDs 6, 7 and 8 to 11.
class LanPortTest : public ::testing::Test {
 protected:
  explicit LanPortTest(bool bridge = false) : port(options(bridge), host, now) {
    host.port = &port;
    port.run(now);
    answer_all();
    for (const Duration wait : {Duration(5s), Duration(20ms)}) {
      now += wait;
      run();
    }
    host.came.clear();
    host.offloads.clear();
    EXPECT_EQ(port.peers().all().size(), 3u);
  }
  static LanOptions options(bool bridge) {
    LanOptions out{.lids = {.base = kOwnLid}, .bridge = bridge};
    out.directory.own = Guid{5};
    return out;
  }
  void run() {
    port.run(now);
    answer_all();
  }
  void answer_all() {
    const std::array<Guid, 3> ports{Guid{6}, Guid{7}, Guid{8}};
    while (!host.asked.empty()) {
      const auto [number, question] = host.asked.back();
      host.asked.pop_back();
      const Lid lid{static_cast<std::uint16_t>(question.of.value())};
      PeerPath path{.slid = kOwnLid, .dlid = lid, .mtu = 2048};
      if (service) path = {.slid = kOwnLid, .dlid = *service, .mtu = 2048, .global = true};
      switch (question.kind) {
        case Kind::kMembers:
        case Kind::kPorts:
        case Kind::kPortAt:
          port.directory().answer(number, std::span<const Guid>(ports), now);
          break;
        case Kind::kPaths:
          port.directory().answer(number, PortPaths{.lids = lids_of_peer(lid), .paths = {&path, 1}},
                                  now);
          break;
        case Kind::kEnd:
          port.directory().answer(number, DatagramEnd{.qpn = Qpn{100U + lid.value()}}, now);
          break;
      }
    }
  }
  static PortLids lids_of_peer(Lid lid) {
    return {.base = lid, .lmc = static_cast<std::uint8_t>(lid == Lid{8} ? 2 : 0)};
  }
  PeerId peer(std::uint16_t lid) { return *port.peers().find(Lid{lid}); }
  void send(const Frame& frame, const Offload& offload = {}) {
    port.from_host(offload, frame, now);
  }
  Frame to(const MacAddress& mac, std::size_t size = 60, std::uint16_t type = 0x88B5) {
    return frame_of(mac, port.mac(), size, type);
  }
  // From the peer of this LID, in one datagram.
  void receive(std::uint16_t lid, const Frame& frame, LanHeader header = {}) {
    header.number = ++number;
    header.total = static_cast<std::uint32_t>(frame.size());
    Frame head(LanHeader::kSize);
    header.write(head);
    const std::uint32_t base = lid < 8 ? lid : lid & 0xFFFCU;
    port.from_datagram({.lid = Lid{lid}}, Qpn{100 + base}, datagram_of(head, frame), now);
  }
  void wants(std::uint16_t lid, const GroupList& list) {
    Frame text;
    list.write(text);
    receive(lid, text, {.kind = MessageKind::kGroups});
  }
  std::uint64_t count(LanCounter counter) const { return port.counters().get(counter); }

  std::optional<Lid> service;  // all paths lead through one, of this LID
  Host host;
  Time now{1s};
  LanPort port;
  std::uint32_t number = 0;
};

}  // namespace weft::lan::test
