// SPDX-License-Identifier: Apache-2.0
// What arrives at a program's port on a fabric, as its endpoints are handed it.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <vector>

#include "fabric_port_fixture.h"

namespace weft::port {
namespace {

using testing::ElementsAre;

class Collected final : public DatagramSink {
 public:
  void deliver(const hca::InDatagram& datagram) override {
    transports.emplace_back(datagram.transport.begin(), datagram.transport.end());
    transports.back().insert(transports.back().end(), datagram.apart.begin(), datagram.apart.end());
    slids.push_back(datagram.slid.value());
  }
  void end_run() override {}
  std::vector<std::vector<std::byte>> transports;
  std::vector<std::uint16_t> slids;
};

TEST_F(FabricPortTest, HandsOnWhatArrivedInOrderAndGivesTheRoomBack) {
  open();
  lab_.push(packet_from(1), 20, 0);
  lab_.push(packet_from(2, 1000), 20, 1);
  lab_.push(packet_from(3, 0), 20, 2);
  Collected sink;
  EXPECT_EQ(endpoint_->inlet()->receive(sink, 2), 2u);
  EXPECT_EQ(lab_.program().page.taken.load(), 2u);
  EXPECT_EQ(endpoint_->inlet()->receive(sink, 9), 1u);
  EXPECT_EQ(endpoint_->inlet()->receive(sink, 9), 0u);
  EXPECT_EQ(lab_.program().page.taken.load(), 3u);
  EXPECT_THAT(sink.slids, ElementsAre(1, 2, 3));
  EXPECT_EQ(sink.transports[1].size(), 1012u);
}

// Its CRCs are zeros, which nobody looks at.
TEST_F(FabricPortTest, WhatComesWithoutCrcsIsHandedOnHoweverItIsCut) {
  open();
  auto packet = packet_from(1, 200);
  std::fill(packet.end() - 6, packet.end(), std::byte{0});
  const std::vector<std::byte> transport(packet.begin() + 8, packet.end() - 6);
  for (const std::size_t header : {20u, 28u, 128u}) {
    lab_.push(packet, header, 0, 1);
    lab_.push(packet, header, 0, 0);
  }
  Collected sink;
  EXPECT_EQ(endpoint_->inlet()->receive(sink, 9), 6u);
  EXPECT_THAT(sink.transports, ElementsAre(transport, transport, transport));
  EXPECT_EQ(counter("ring_rx_bad_icrc"), 3u) << "those that say they are sealed";
  packet[5] ^= std::byte{1};  // PktLen
  lab_.push(packet, 20, 0, 1);
  endpoint_->inlet()->receive(sink, 9);
  EXPECT_EQ(counter("ring_rx_malformed"), 1u);
}

TEST_F(FabricPortTest, FaultsFindCrcsInWhatComesWithoutThem) {
  FabricPortConfig config;
  config.faults.corrupt = 1;
  open(config);
  for (int i = 0; i < 20; ++i)
    lab_.push(packet_from(1, 200), 20, 0, 1);
  Collected sink;
  EXPECT_EQ(endpoint_->inlet()->receive(sink, 20), 20u);
  EXPECT_EQ(sink.transports.size() + counter("ring_rx_bad_icrc") + counter("ring_rx_malformed"),
            20u);
  EXPECT_GT(counter("ring_rx_bad_icrc"), 10u);
}

TEST_F(FabricPortTest, WhatIsNoPacketIsDroppedAndCounted) {
  open();
  auto corrupt = packet_from(1);
  corrupt[20] ^= std::byte{1};
  lab_.push(corrupt, 20);
  lab_.push(packet_from(1), 19, 1);
  ring::ArrivalSlot slot{};
  slot.port = 1;
  const ring::ArrivalSlot empty = slot;
  slot.header_size = 200;
  lab_.push(slot);
  slot = empty;
  slot.trailer_size = 10;
  lab_.push(slot);
  slot = empty;
  slot.block = ring::kBlocks;
  slot.payload_size = 1;
  lab_.push(slot);
  slot.block = 0;
  slot.payload_size = ring::kBlock + 1;
  lab_.push(slot);
  slot.payload_size = 1;
  slot.arena = 99;
  lab_.push(slot);
  Collected sink;
  EXPECT_EQ(endpoint_->inlet()->receive(sink, 100), 7u);
  EXPECT_TRUE(sink.transports.empty());
  EXPECT_EQ(counter("ring_rx_bad_icrc"), 1u);
  EXPECT_EQ(counter("ring_rx_malformed"), 6u);
}

TEST_F(FabricPortTest, WhatCameToAPortThatTheAdapterHasNotIsDroppedAndCounted) {
  open();
  const auto packet = packet_from(4);
  ring::ArrivalSlot slot{};
  slot.block = ring::kNoBlock;
  slot.header_size = static_cast<std::uint8_t>(packet.size() - 6);
  slot.trailer_size = 6;
  std::copy_n(packet.begin(), packet.size() - 6, slot.header.begin());
  std::copy_n(packet.end() - 6, 6, slot.trailer.begin());
  const auto beyond = static_cast<std::uint8_t>(lab_.welcome.ports + 1);
  for (const std::uint8_t port : std::array<std::uint8_t, 4>{0, 1, beyond, 255}) {
    slot.port = port;
    lab_.push(slot);
  }
  Collected sink;
  EXPECT_EQ(endpoint_->inlet()->receive(sink, 100), 4u);
  EXPECT_THAT(sink.slids, ElementsAre(4));
  EXPECT_EQ(counter("ring_rx_malformed"), 3u);
}

TEST_F(FabricPortTest, ReadsPayloadWhereAnotherProgramHasIt) {
  open();
  const auto packet = packet_from(4, 100);
  ring::ArrivalSlot slot{};
  slot.port = 1;
  slot.header_size = 20;
  slot.trailer_size = 6;
  slot.payload_size = 100;
  slot.block = 17;
  std::copy_n(packet.begin(), 20, slot.header.begin());
  std::copy_n(packet.end() - 6, 6, slot.trailer.begin());
  const auto other = io::make_shared_file("other", sizeof(ring::ProgramMemory));
  ASSERT_TRUE(other);
  auto mapping =
      io::SharedMapping::map(other->get(), sizeof(ring::ProgramMemory), io::Access::kWrite);
  ASSERT_TRUE(mapping);
  std::copy_n(packet.begin() + 20, 100,
              static_cast<ring::ProgramMemory*>(mapping->begin())->blocks[17].begin());
  std::copy_n(packet.begin() + 20, 100, lab_.program().blocks[17].begin());

  Collected sink;
  slot.arena = lab_.welcome.arena;  // its own
  lab_.push(slot);
  EXPECT_EQ(told([&] { lab_.tell({attach::kArena, 8}, other->get()); }), 0u);
  const auto requests = lab_.requests();
  EXPECT_EQ(requests.back().action, attach::kMapped);
  EXPECT_EQ(requests.back().arena, 8u);
  slot.arena = 8;
  lab_.push(slot);
  endpoint_->inlet()->receive(sink, 9);
  EXPECT_THAT(sink.slids, ElementsAre(4, 4));
  told([&] { lab_.tell({attach::kArenaGone, 8}); });
  lab_.push(slot);
  endpoint_->inlet()->receive(sink, 9);
  EXPECT_EQ(sink.slids.size(), 2u);
  EXPECT_EQ(counter("ring_rx_malformed"), 1u);
}

TEST_F(FabricPortTest, MemoryThatItsMakerCouldTakeAwayIsNotAskedFor) {
  open();
  const io::UniqueFd unsealed(memfd_create("unsealed", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(unsealed.get(), sizeof(ring::ProgramMemory)), 0);
  told([&] { lab_.tell({attach::kArena, 8}, unsealed.get()); });
  for (const attach::Request& request : lab_.requests())
    EXPECT_NE(request.action, attach::kMapped);
}

TEST_F(FabricPortTest, FaultsSpoilWhatArrives) {
  FabricPortConfig config;
  config.faults.loss = 1;
  open(config);
  lab_.push(packet_from(1), 20);
  Collected sink;
  EXPECT_EQ(endpoint_->inlet()->receive(sink, 9), 1u);
  EXPECT_TRUE(sink.transports.empty());
  EXPECT_EQ(counter("fault_lost"), 1u);
}

TEST_F(FabricPortTest, WhatIsDuplicatedComesTwice) {
  FabricPortConfig config;
  config.faults.duplicate = 1;
  open(config);
  lab_.push(packet_from(1), 20);
  Collected sink;
  endpoint_->inlet()->receive(sink, 9);
  EXPECT_THAT(sink.slids, ElementsAre(1, 1));
}

}  // namespace
}  // namespace weft::port
