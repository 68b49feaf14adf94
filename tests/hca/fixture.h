// SPDX-License-Identifier: Apache-2.0
// What tests of all queue pairs share: memory with a key, sinks that remember, addresses.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "hca/completion_queue.h"
#include "hca/datagram.h"
#include "hca/memory_table.h"
#include "hca/types.h"

namespace weft::hca::test {

inline const Gid kOwnGid = Gid::from_ipv4(0x0A000001);
inline const Gid kPeerGid = Gid::from_ipv4(0x0A000002);
inline const Gid kGroup = Gid::from_ipv4(0xEF000001);
inline constexpr Qpn kOwnQpn{0x01C001};
inline constexpr Qpn kPeerQpn{0x02C002};
inline constexpr PdHandle kPd = 7;

class Completions final : public CompletionSink {
 public:
  void complete(const Completion& completion) override {
    all.push_back(completion);
    if (in_order != nullptr) in_order->push_back(completion.opcode);
  }
  std::vector<Completion> all;
  std::vector<CompletionOpcode>* in_order = nullptr;  // several may share it
};

inline std::vector<std::byte> bytes_of(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

inline std::string text_of(Bytes bytes) {
  std::string text(bytes.size(), '\0');
  if (!bytes.empty()) std::memcpy(text.data(), bytes.data(), bytes.size());
  return text;
}

// A sink that keeps what is sent as flat datagrams (headers .. pad), burst by burst.
class RecordingSink final : public BurstSink {
 public:
  struct Sent {
    Path path{};
    Qpn destination{};
    std::vector<std::vector<std::byte>> datagrams;
  };
  SendResult send(const Burst& burst) override {
    ++calls;
    SendResult result;
    if (!answers.empty()) {
      result = answers.front();
      answers.pop_front();
    }
    if (result.outcome != SendOutcome::kSent) return result;
    Sent sent{burst.path, burst.destination, {}};
    for (const OutPacket& packet : burst.packets()) {
      std::vector<std::byte> flat(packet.header.begin(),
                                  packet.header.begin() + packet.header_length);
      for (const Bytes piece : burst.pieces(packet))
        flat.insert(flat.end(), piece.begin(), piece.end());
      flat.resize(flat.size() + packet.pad);
      EXPECT_EQ(flat.size(), packet.length());
      sent.datagrams.push_back(std::move(flat));
    }
    bursts.push_back(std::move(sent));
    return result;
  }
  [[nodiscard]] std::vector<std::vector<std::byte>> datagrams() const {
    std::vector<std::vector<std::byte>> all;
    for (const Sent& sent : bursts)
      all.insert(all.end(), sent.datagrams.begin(), sent.datagrams.end());
    return all;
  }
  std::deque<SendResult> answers;  // then kSent
  std::vector<Sent> bursts;
  int calls = 0;
};

// Registered memory, and a clock that the test moves.
class WithMemory : public ::testing::Test {
 protected:
  WithMemory(std::size_t length, std::uint32_t access)
      : memory(length), table(entropy), region(*table.add(describe(memory, access))) {}

  static MemoryRegion describe(std::vector<std::byte>& bytes, std::uint32_t access) {
    return {.base = bytes.data(),
            .iova = std::bit_cast<std::uintptr_t>(bytes.data()),
            .length = bytes.size(),
            .access = access,
            .pd = kPd};
  }
  [[nodiscard]] std::uint64_t address(std::size_t offset) const { return region.iova + offset; }
  [[nodiscard]] Sge sge(std::size_t offset, std::size_t length) const {
    return {.address = address(offset),
            .length = static_cast<std::uint32_t>(length),
            .lkey = LKey{region.key}};
  }
  void store(std::size_t offset, std::string_view text) {
    std::memcpy(memory.data() + offset, text.data(), text.size());
  }
  [[nodiscard]] std::string text(std::size_t offset, std::size_t length) const {
    return text_of(Bytes(memory).subspan(offset, length));
  }

  SeededEntropy entropy{Random(1)};
  std::vector<std::byte> memory;
  MemoryTable table;
  MemoryRegion region;
  Time now{1s};
};

}  // namespace weft::hca::test
