// SPDX-License-Identifier: Apache-2.0
// SENDs, RDMA WRITEs and their acknowledgements.
#include "responder_fixture.h"

namespace weft::hca::test {
namespace {

using wire::NakCode;
using wire::Opcode;

class SendResponder : public ResponderTest {};

TEST_F(SendResponder, PutsASendIntoTheOldestReceiveAndAcknowledgesIt) {
  post(7, 1000, 100);
  const auto sent = exchange({.psn = kFirst, .payload = "hello"});
  ASSERT_EQ(cq.all.size(), 1u);
  EXPECT_EQ(cq.all[0].wr_id, 7u);
  EXPECT_EQ(cq.all[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(cq.all[0].opcode, CompletionOpcode::kReceive);
  EXPECT_EQ(cq.all[0].byte_length, 5u);
  EXPECT_EQ(cq.all[0].qpn, kOwnQpn);
  EXPECT_EQ(cq.all[0].source_qpn, kPeerQpn);
  EXPECT_FALSE(cq.all[0].solicited);
  EXPECT_EQ(text(1000, 5), "hello");
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.opcode, Opcode::rc_acknowledge);
  EXPECT_EQ(sent[0].bth.psn, kFirst);
  EXPECT_EQ(sent[0].bth.dest_qp, kPeerQpn);
  EXPECT_EQ(sent[0].aeth.syndrome, wire::Syndrome::ack());
  EXPECT_EQ(sent[0].aeth.msn, 1u);
  EXPECT_EQ(count(ConnectedCounter::kTxAcks), 1u);
}

TEST_F(SendResponder, LaysALongMessageOverThePiecesOfAReceive) {
  const std::array pieces{sge(0, 3), sge(100, 0), sge(200, 300), sge(1000, 5000)};
  ASSERT_EQ(receives.post({.wr_id = 1, .pieces = pieces}), std::errc{});
  const std::string message = pattern(3 * kMtu + 17);
  give_send(kFirst, message);
  ASSERT_EQ(cq.all.size(), 1u);
  EXPECT_EQ(cq.all[0].byte_length, message.size());
  EXPECT_EQ(text(0, 3) + text(200, 300) + text(1000, message.size() - 303), message);
  EXPECT_EQ(text(1000 + message.size() - 303, 1), std::string(1, '\0'));
}

TEST_F(SendResponder, DeliversImmediateDataAndTheSolicitedBit) {
  post(1, 0, 100);
  exchange({.opcode = Opcode::rc_send_only_imm,
            .psn = kFirst,
            .payload = "x",
            .solicited = true,
            .immediate = 0x11223344});
  ASSERT_EQ(cq.all.size(), 1u);
  EXPECT_TRUE(cq.all[0].with_immediate);
  EXPECT_TRUE(cq.all[0].solicited);
  EXPECT_EQ(cq.all[0].immediate, 0x11223344u);
}

TEST_F(SendResponder, TakesAMessageOfNoBytes) {
  post(1, 0, 0);
  const auto sent = exchange({.psn = kFirst});
  ASSERT_EQ(cq.all.size(), 1u);
  EXPECT_EQ(cq.all[0].byte_length, 0u);
  EXPECT_EQ(sent.size(), 1u);
}

TEST_F(SendResponder, AcknowledgesManyPacketsAtTheEndOfTheRunOnce) {
  for (unsigned i = 0; i < 10; ++i) {
    post(i, i * 100, 100);
    give({.psn = kFirst + i, .payload = "x"});
  }
  EXPECT_FALSE(responder->has_work());
  const auto sent = answers();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.psn, kFirst + 9);
  EXPECT_EQ(sent[0].aeth.msn, 10u);
}

TEST_F(SendResponder, AcknowledgesALongRunBeforeItsEnd) {
  connection.mtu = 4096;
  give({.opcode = Opcode::rc_write_first,
        .psn = kFirst,
        .payload = pattern(4096),
        .reth = reth(0, 64 * 4096)});
  for (unsigned i = 1; i < 31; ++i)
    give({.opcode = Opcode::rc_write_middle, .psn = kFirst + i, .payload = pattern(4096)});
  EXPECT_FALSE(responder->has_work());
  give({.opcode = Opcode::rc_write_middle, .psn = kFirst + 31, .payload = pattern(4096)});
  EXPECT_TRUE(responder->has_work());
  const auto sent = flush();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.psn, kFirst + 31);
  EXPECT_EQ(sent[0].aeth.msn, 0u) << "no message is complete";
}

TEST_F(SendResponder, SaysNothingThatNobodyAskedFor) {
  post(1, 0, 100);
  EXPECT_TRUE(exchange({.psn = kFirst, .payload = "x", .ack_request = false}).empty());
  EXPECT_EQ(cq.all.size(), 1u);
}

TEST_F(SendResponder, RefusesASendThatIsTooLongForItsReceive) {
  post(5, 0, 300);
  give({.opcode = Opcode::rc_send_first, .psn = kFirst, .payload = pattern(kMtu)});
  EXPECT_FALSE(responder->failing());
  expect_refused({.opcode = Opcode::rc_send_last, .psn = kFirst + 1, .payload = pattern(45)},
                 NakCode::invalid_request);
  ASSERT_EQ(cq.all.size(), 1u);
  EXPECT_EQ(cq.all[0].wr_id, 5u);
  EXPECT_EQ(cq.all[0].status, CompletionStatus::kLocalLengthError);
  EXPECT_EQ(text(kMtu, 44), std::string(44, '\0')) << "nothing of the packet is written";
}

TEST_F(SendResponder, FailsAReceiveWhoseMemoryIsNotRegistered) {
  const std::array pieces{Sge{.address = address(0), .length = 100, .lkey = LKey{region.key + 1}}};
  ASSERT_EQ(receives.post({.wr_id = 5, .pieces = pieces}), std::errc{});
  expect_refused({.psn = kFirst, .payload = "x"}, NakCode::remote_operational_error);
  ASSERT_EQ(cq.all.size(), 1u);
  EXPECT_EQ(cq.all[0].status, CompletionStatus::kLocalProtectionError);
}

TEST_F(SendResponder, TellsThePeerToWaitWhenNoReceiveIsPosted) {
  auto sent = exchange({.psn = kFirst, .payload = "x"});
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].aeth.syndrome, wire::Syndrome::rnr_nak(12));
  EXPECT_EQ(sent[0].bth.psn, kFirst);
  EXPECT_EQ(count(ConnectedCounter::kTxRnrNaks), 1u);
  EXPECT_FALSE(responder->failing());

  post(1, 0, 100);
  EXPECT_TRUE(exchange({.psn = kFirst + 1, .payload = "y"}).empty()) << "it is not its turn";
  sent = exchange({.psn = kFirst, .payload = "x"});
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].aeth.syndrome, wire::Syndrome::ack());
  EXPECT_EQ(cq.all.size(), 1u);
}

TEST_F(SendResponder, NamesTheMissingPacketOnceForEachGap) {
  for (unsigned i = 0; i < 4; ++i)
    post(i, i * 100, 100);
  give({.psn = kFirst + 1, .payload = "b"});
  EXPECT_TRUE(responder->has_work()) << "a NAK does not wait";
  expect_nak(flush(), NakCode::psn_sequence_error, kFirst);
  EXPECT_TRUE(exchange({.psn = kFirst + 2, .payload = "c"}).empty());
  EXPECT_EQ(cq.all.size(), 0u);
  exchange({.psn = kFirst, .payload = "a"});
  expect_nak(exchange({.psn = kFirst + 3, .payload = "d"}), NakCode::psn_sequence_error,
             kFirst + 1);
  EXPECT_EQ(cq.all.size(), 1u);
}

TEST_F(SendResponder, TakesBackANakWhenThePacketComesFirst) {
  post(0, 0, 100);
  give({.psn = kFirst + 1, .payload = "b"});
  give({.psn = kFirst, .payload = "a"});
  const auto sent = answers();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].aeth.syndrome, wire::Syndrome::ack());
}

TEST_F(SendResponder, OffersANakAgainThatTheWireDidNotTake) {
  give({.opcode = Opcode::rc_send_last, .psn = kFirst, .payload = "x"});
  ASSERT_TRUE(responder->fill(burst, now));
  EXPECT_FALSE(responder->failed()) << "the NAK is on its way";
  responder->sent(burst, {SendOutcome::kWouldBlock, {}}, now);
  EXPECT_FALSE(responder->failed());
  expect_nak(flush(), NakCode::invalid_request, kFirst);
  EXPECT_TRUE(responder->failed());
}

TEST_F(SendResponder, OffersNoNakAgainForAPacketThatHasComeMeanwhile) {
  post(0, 0, 100);
  give({.psn = kFirst + 1, .payload = "b"});
  ASSERT_TRUE(responder->fill(burst, now));
  give({.psn = kFirst, .payload = "a", .ack_request = false});
  responder->sent(burst, {SendOutcome::kWouldBlock, {}}, now);
  const auto sent = flush();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].aeth.syndrome, wire::Syndrome::ack());
}

TEST_F(SendResponder, AcknowledgesDuplicatesAndDoesNotRepeatThem) {
  post(0, 0, 100);
  post(1, 100, 100);
  exchange({.psn = kFirst, .payload = "a"});
  exchange({.psn = kFirst + 1, .payload = "b"});
  store(0, "z");
  give({.psn = kFirst, .payload = "a"});
  give({.psn = kFirst + 1, .payload = "b"});
  const auto sent = answers();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.psn, kFirst + 1);
  EXPECT_EQ(sent[0].aeth.msn, 2u);
  EXPECT_EQ(text(0, 1), "z");
  EXPECT_EQ(cq.all.size(), 2u);
  EXPECT_EQ(count(ConnectedCounter::kRxDuplicates), 2u);
}

TEST_F(SendResponder, TellsDuplicatesFromPacketsAheadByHalfOfAllNumbers) {
  EXPECT_EQ(exchange({.psn = kFirst - (1u << 23), .payload = "a"}).size(), 1u);
  EXPECT_EQ(count(ConnectedCounter::kRxDuplicates), 1u);
  expect_nak(exchange({.psn = kFirst + ((1u << 23) - 1), .payload = "a"}),
             NakCode::psn_sequence_error, kFirst);
}

TEST_F(SendResponder, RefusesMessagesThatBeginInTheMiddle) {
  for (const Opcode opcode : {Opcode::rc_send_middle, Opcode::rc_send_last, Opcode::rc_write_middle,
                              Opcode::rc_write_last, Opcode::rc_write_last_imm}) {
    make();
    expect_refused({.opcode = opcode, .psn = kFirst, .payload = pattern(kMtu)},
                   NakCode::invalid_request);
    EXPECT_EQ(responder->take_events(), kEventInvalidRequest);
  }
}

TEST_F(SendResponder, RefusesAnotherMessageBeforeTheEndOfOne) {
  for (const Opcode opcode : {Opcode::rc_send_first, Opcode::rc_send_only, Opcode::rc_write_middle,
                              Opcode::rc_write_only, Opcode::rc_read_request}) {
    make();
    post(1, 0, 10 * kMtu);
    give({.opcode = Opcode::rc_send_first, .psn = kFirst, .payload = pattern(kMtu)});
    expect_refused({.opcode = opcode, .psn = kFirst + 1, .payload = ""}, NakCode::invalid_request);
    responder->flush();
    ASSERT_FALSE(cq.all.empty());
    EXPECT_EQ(cq.all.back().status, CompletionStatus::kFlushed) << "the receive that it had taken";
  }
}

TEST_F(SendResponder, RefusesPacketsOfTheWrongLength) {
  const std::vector<Request> wrong{
      {.opcode = Opcode::rc_send_first, .payload = pattern(kMtu - 4)},
      {.opcode = Opcode::rc_send_first, .payload = pattern(kMtu + 4)},
      {.opcode = Opcode::rc_send_only, .payload = pattern(kMtu + 1)},
      {.opcode = Opcode::rc_write_first, .payload = pattern(kMtu - 1), .reth = reth(0, 1000)},
      {.opcode = Opcode::rc_write_first, .payload = pattern(kMtu), .reth = reth(0, kMtu)},
      {.opcode = Opcode::rc_write_only, .payload = pattern(10), .reth = reth(0, 11)},
      {.opcode = Opcode::rc_write_only, .payload = pattern(10), .reth = reth(0, 9)},
  };
  for (Request request : wrong) {
    make();
    post(1, 0, 10 * kMtu);
    request.psn = kFirst;
    expect_refused(request, NakCode::invalid_request);
  }
}

TEST_F(SendResponder, RefusesALastPacketWithoutPayload) {
  post(1, 0, 10 * kMtu);
  give({.opcode = Opcode::rc_send_first, .psn = kFirst, .payload = pattern(kMtu)});
  expect_refused({.opcode = Opcode::rc_send_last, .psn = kFirst + 1}, NakCode::invalid_request);
}

TEST_F(SendResponder, WritesWhereThePeerSays) {
  const std::string message = pattern(2 * kMtu + 10);
  give({.opcode = Opcode::rc_write_first,
        .psn = kFirst,
        .payload = message.substr(0, kMtu),
        .reth = reth(500, message.size())});
  give({.opcode = Opcode::rc_write_middle,
        .psn = kFirst + 1,
        .payload = message.substr(kMtu, kMtu)});
  const auto sent = exchange(
      {.opcode = Opcode::rc_write_last, .psn = kFirst + 2, .payload = message.substr(2 * kMtu)});
  EXPECT_EQ(text(500, message.size()), message);
  EXPECT_TRUE(cq.all.empty());
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].aeth.msn, 1u);
}

TEST_F(SendResponder, CompletesAReceiveForAWriteWithImmediate) {
  const Request request{.opcode = Opcode::rc_write_only_imm,
                        .psn = kFirst,
                        .payload = "data",
                        .reth = reth(500, 4),
                        .immediate = 0xABCD};
  auto sent = exchange(request);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].aeth.syndrome, wire::Syndrome::rnr_nak(12));
  EXPECT_EQ(text(500, 4), std::string(4, '\0'));
  post(9, 0, 0);
  sent = exchange(request);
  EXPECT_EQ(sent[0].aeth.syndrome, wire::Syndrome::ack());
  ASSERT_EQ(cq.all.size(), 1u);
  EXPECT_EQ(cq.all[0].wr_id, 9u);
  EXPECT_EQ(cq.all[0].opcode, CompletionOpcode::kReceiveRdmaWithImmediate);
  EXPECT_EQ(cq.all[0].byte_length, 4u);
  EXPECT_EQ(cq.all[0].immediate, 0xABCDu);
  EXPECT_EQ(text(500, 4), "data");
}

TEST_F(SendResponder, WaitsForAReceiveAtTheEndOfALongWriteWithImmediate) {
  give({.opcode = Opcode::rc_write_first,
        .psn = kFirst,
        .payload = pattern(kMtu),
        .reth = reth(0, kMtu + 4)});
  const Request last{.opcode = Opcode::rc_write_last_imm, .psn = kFirst + 1, .payload = "last"};
  EXPECT_EQ(exchange(last).at(0).aeth.syndrome, wire::Syndrome::rnr_nak(12));
  post(9, 0, 0);
  EXPECT_EQ(exchange(last).at(0).aeth.syndrome, wire::Syndrome::ack());
  EXPECT_EQ(cq.all.at(0).byte_length, kMtu + 4);
  EXPECT_EQ(text(kMtu, 4), "last");
}

TEST_F(SendResponder, NeedsNoKeyToWriteNothing) {
  EXPECT_EQ(
      exchange({.opcode = Opcode::rc_write_only, .psn = kFirst, .reth = {}}).at(0).aeth.syndrome,
      wire::Syndrome::ack());
}

TEST_F(SendResponder, RefusesWritesOutsideOfARegionBeforeItTouchesAnything) {
  const std::size_t end = memory.size();
  const std::vector<wire::Reth> wrong{
      reth(end - kMtu, kMtu + 1),
      {.virtual_address = address(0) - 1, .rkey = RKey{region.key}, .dma_length = kMtu + 1},
      {.virtual_address = address(0), .rkey = RKey{region.key ^ 1}, .dma_length = kMtu + 1},
      {.virtual_address = ~std::uint64_t{0}, .rkey = RKey{region.key}, .dma_length = kMtu + 1},
      reth(0, memory.size() + 1)};
  for (const wire::Reth& where : wrong) {
    make();
    expect_refused(
        {.opcode = Opcode::rc_write_first, .psn = kFirst, .payload = pattern(kMtu), .reth = where},
        NakCode::remote_access_error);
    EXPECT_EQ(responder->take_events(), kEventAccessError);
  }
  EXPECT_TRUE(
      std::all_of(memory.begin(), memory.end(), [](std::byte b) { return b == std::byte{}; }));
  EXPECT_EQ(count(ConnectedCounter::kRxAccessErrors), wrong.size());
}

TEST_F(SendResponder, RefusesAWriteToARegionThatAllowsNone) {
  const MemoryRegion other = *table.add({.base = memory.data(),
                                         .iova = 0x1000,
                                         .length = 100,
                                         .access = kLocalWrite | kRemoteRead,
                                         .pd = kPd});
  expect_refused({.opcode = Opcode::rc_write_only,
                  .psn = kFirst,
                  .payload = "x",
                  .reth = {.virtual_address = 0x1000, .rkey = RKey{other.key}, .dma_length = 1}},
                 NakCode::remote_access_error);
}

TEST_F(SendResponder, RefusesWhatTheQueuePairLetsNobodyDo) {
  connection.peer_access = 0;
  const std::vector<Request> requests{
      {.opcode = Opcode::rc_write_only, .payload = "x", .reth = reth(0, 1)},
      {.opcode = Opcode::rc_read_request, .reth = reth(0, 1)},
      {.opcode = Opcode::rc_fetch_add, .atomic = {.virtual_address = address(0)}}};
  for (Request request : requests) {
    make();
    request.psn = kFirst;
    expect_refused(request, NakCode::invalid_request);
  }
}

TEST_F(SendResponder, StopsAWriteWhenItsRegionIsDeregistered) {
  give({.opcode = Opcode::rc_write_first,
        .psn = kFirst,
        .payload = pattern(kMtu),
        .reth = reth(0, 2 * kMtu)});
  responder->end_run(now);
  ASSERT_TRUE(table.remove(region.key)) << "no pin is left between two runs";
  expect_refused({.opcode = Opcode::rc_write_last, .psn = kFirst + 1, .payload = pattern(kMtu)},
                 NakCode::remote_access_error);
}

TEST_F(SendResponder, LetsGoOfItsRegionWhenItIsReset) {
  give({.opcode = Opcode::rc_write_only,
        .psn = kFirst,
        .payload = pattern(kMtu),
        .reth = reth(0, kMtu)});
  responder->reset();
  EXPECT_TRUE(table.remove(region.key)) << "would wait for the pin";
}

// Whoever unbinds a window does so with a lock held that the end of the run takes.
TEST_F(SendResponder, LetsGoOfAWindowBeforeTheRunEnds) {
  const MemoryRegion below = *table.add({.base = memory.data(),
                                         .iova = 0,
                                         .length = memory.size(),
                                         .access = kLocalWrite | kWindowBind,
                                         .pd = kPd});
  const RKey window = *table.add_window(WindowType::kType2, kPd);
  ASSERT_EQ(table.bind_window({.region_lkey = below.key,
                               .address = 0,
                               .length = kMtu,
                               .access = kRemoteWrite,
                               .window = window,
                               .new_key = window},
                              kPd, kOwnQpn),
            std::errc{});
  give({.opcode = Opcode::rc_write_only,
        .psn = kFirst,
        .payload = pattern(kMtu),
        .reth = {.virtual_address = 0, .rkey = window, .dma_length = kMtu}});
  ASSERT_FALSE(responder->failing());
  EXPECT_EQ(table.invalidate(window, kPd, kOwnQpn), std::errc{}) << "would wait for a pin of it";
  EXPECT_EQ(text(0, kMtu), pattern(kMtu));
}

TEST_F(SendResponder, SurvivesMemoryThatTheApplicationHasUnmapped) {
  BrokenMemory::begin = memory.data() + 4096;
  BrokenMemory::end = memory.data() + 8192;
  expect_refused({.opcode = Opcode::rc_write_only,
                  .psn = kFirst,
                  .payload = pattern(10),
                  .reth = reth(4090, 10)},
                 NakCode::remote_access_error);
  make();
  expect_refused({.opcode = Opcode::rc_fetch_add,
                  .psn = kFirst,
                  .atomic = {.virtual_address = address(4096), .rkey = RKey{region.key}}},
                 NakCode::remote_access_error);
  make();
  post(3, 4000, 200);
  expect_refused({.psn = kFirst, .payload = pattern(120)}, NakCode::remote_operational_error);
  EXPECT_EQ(cq.all.at(0).status, CompletionStatus::kLocalProtectionError);
}

TEST_F(SendResponder, ExecutesNothingAfterARefusal) {
  post(1, 0, 100);
  give({.opcode = Opcode::rc_send_last, .psn = kFirst, .payload = "x"});
  give({.psn = kFirst, .payload = "x"});
  give({.psn = kFirst + 1, .payload = "y"});
  EXPECT_EQ(answers().size(), 1u);
  EXPECT_TRUE(cq.all.empty());
}

TEST_F(SendResponder, RefusesOperationsThatItDoesNotHave) {
  for (const Opcode opcode : {Opcode::rc_atomic_write, Opcode::rc_flush}) {
    make();
    expect_refused({.opcode = opcode, .psn = kFirst}, NakCode::invalid_request);
  }
}

TEST_F(SendResponder, InvalidatesTheWindowThatASendNames) {
  const MemoryRegion bindable = *table.add({.base = memory.data(),
                                            .iova = 0x1000,
                                            .length = 100,
                                            .access = kLocalWrite | kWindowBind,
                                            .pd = kPd});
  const RKey window = *table.add_window(WindowType::kType2, kPd);
  ASSERT_EQ(table.bind_window({.region_lkey = bindable.key,
                               .address = 0x1000,
                               .length = 100,
                               .access = kRemoteWrite,
                               .window = window,
                               .new_key = window},
                              kPd, kOwnQpn),
            std::errc{});
  const wire::Reth where{.virtual_address = 0x1000, .rkey = window, .dma_length = 1};
  give({.opcode = Opcode::rc_write_only, .psn = kFirst, .payload = "x", .reth = where});
  EXPECT_FALSE(responder->failing());
  post(1, 0, 100);
  exchange({.opcode = Opcode::rc_send_only_invalidate, .psn = kFirst + 1, .invalidate = window});
  ASSERT_EQ(cq.all.size(), 1u);
  EXPECT_TRUE(cq.all[0].with_invalidate);
  EXPECT_EQ(cq.all[0].immediate, window.value());
  expect_refused(
      {.opcode = Opcode::rc_write_only, .psn = kFirst + 2, .payload = "x", .reth = where},
      NakCode::remote_access_error);
}

TEST_F(SendResponder, RefusesToInvalidateWhatIsNoWindow) {
  post(1, 0, 100);
  expect_refused(
      {.opcode = Opcode::rc_send_only_invalidate, .psn = kFirst, .invalidate = RKey{region.key}},
      NakCode::remote_access_error);
  EXPECT_EQ(cq.all.at(0).status, CompletionStatus::kRemoteInvalidRequest);
}

TEST_F(SendResponder, FlushesTheReceiveOfAHalfReceivedMessage) {
  post(4, 0, 1000);
  give({.opcode = Opcode::rc_send_first, .psn = kFirst, .payload = pattern(kMtu)});
  responder->flush();
  ASSERT_EQ(cq.all.size(), 1u);
  EXPECT_EQ(cq.all[0].wr_id, 4u);
  EXPECT_EQ(cq.all[0].status, CompletionStatus::kFlushed);
}

}  // namespace
}  // namespace weft::hca::test
