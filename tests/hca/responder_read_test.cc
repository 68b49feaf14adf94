// SPDX-License-Identifier: Apache-2.0
// RDMA READs and atomics: their answers, in order, again when they are lost, and exactly once.
#include <thread>

#include "responder_fixture.h"

namespace weft::hca::test {
namespace {

using wire::NakCode;
using wire::Opcode;

class ResponderReads : public ResponderTest {
 protected:
  [[nodiscard]] Request read(Psn psn, std::size_t offset, std::size_t length) const {
    return {.opcode = Opcode::rc_read_request, .psn = psn, .reth = reth(offset, length)};
  }
  [[nodiscard]] Request add(Psn psn, std::size_t offset, std::uint64_t value) const {
    return {
        .opcode = Opcode::rc_fetch_add,
        .psn = psn,
        .atomic = {
            .virtual_address = address(offset), .rkey = RKey{region.key}, .swap_or_add = value}};
  }
  [[nodiscard]] Request swap(Psn psn, std::size_t offset, std::uint64_t compare,
                             std::uint64_t value) const {
    Request request = add(psn, offset, value);
    request.opcode = Opcode::rc_compare_swap;
    request.atomic.compare = compare;
    return request;
  }
  [[nodiscard]] std::uint64_t word(std::size_t offset) const {
    std::uint64_t value = 0;
    std::memcpy(&value, memory.data() + offset, sizeof value);
    return value;
  }
  void store_word(std::size_t offset, std::uint64_t value) {
    std::memcpy(memory.data() + offset, &value, sizeof value);
  }
  static std::string joined(const std::vector<Sent>& sent) {
    std::string all;
    for (const Sent& packet : sent)
      all += packet.payload;
    return all;
  }
};

TEST_F(ResponderReads, AnswersAReadInPacketsOfThePathMtu) {
  const std::string data = pattern(3 * kMtu + 5);
  store(100, data);
  const auto sent = exchange(read(kFirst, 100, data.size()));
  ASSERT_EQ(sent.size(), 4u);
  const std::array opcodes{Opcode::rc_read_response_first, Opcode::rc_read_response_middle,
                           Opcode::rc_read_response_middle, Opcode::rc_read_response_last};
  for (std::size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(sent[i].bth.opcode, opcodes[i]);
    EXPECT_EQ(sent[i].bth.psn, kFirst + static_cast<std::uint32_t>(i));
    EXPECT_FALSE(sent[i].bth.ack_request);
  }
  EXPECT_EQ(joined(sent), data);
  EXPECT_EQ(sent[0].aeth.msn, 1u);
  EXPECT_EQ(sent[3].aeth.msn, 1u);
  EXPECT_TRUE(exchange(read(kFirst + 4, 0, 1)).at(0).bth.psn == kFirst + 4)
      << "the answer has used up as many numbers as it has packets";
}

TEST_F(ResponderReads, AnswersAReadOfNothingWithoutAKey) {
  Request request = read(kFirst, 0, 0);
  request.reth.rkey = RKey{};
  const auto sent = exchange(request);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.opcode, Opcode::rc_read_response_only);
  EXPECT_EQ(sent[0].payload, "");
}

TEST_F(ResponderReads, SendsALongAnswerInLongBursts) {
  connection.mtu = 1024;
  const std::string data = pattern(200'000);
  store(0, data);
  const auto sent = exchange(read(kFirst, 0, data.size()));
  EXPECT_EQ(joined(sent), data);
  // 196 packets: the first and one more, then as many as 65,507 bytes hold.
  EXPECT_LE(bursts.size(), 6u);
}

TEST_F(ResponderReads, AnswersAWeftPeerInPacketsOfOneLength) {
  connection.config.extensions = true;
  const std::string data = pattern(8 * kMtu);
  store(100, data);
  give(read(kFirst, 100, 4 * kMtu));
  give(read(kFirst + 4, 100 + 4 * kMtu, 4 * kMtu));
  const auto sent = answers();
  ASSERT_EQ(sent.size(), 8u);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(sent[i].bth.opcode,
              i % 4 == 3 ? Opcode::rc_read_response_last : Opcode::rc_read_response_first);
    EXPECT_EQ(sent[i].bth.psn, kFirst + static_cast<std::uint32_t>(i));
    EXPECT_EQ(sent[i].aeth.msn, i < 4 ? 1u : 2u);
  }
  EXPECT_EQ(joined(sent), data);
  EXPECT_EQ(bursts, std::vector<std::size_t>{8});
}

TEST_F(ResponderReads, EndsAnAnswerWhereTheRegionEndsByNow) {
  for (const bool weft : {false, true}) {
    connection.config.extensions = weft;
    make();
    const std::string data = pattern(20 * kMtu);
    store(0, data);
    give(read(kFirst, 0, data.size()));
    const RegionChange::Range less{
        .base = memory.data(), .iova = region.iova, .length = 7 * kMtu + 9};
    ASSERT_TRUE(table.change(region.key, {.range = less}));
    auto sent = answers();
    ASSERT_EQ(sent.size(), 8u);
    expect_nak({sent.back()}, NakCode::remote_access_error, kFirst + 7);
    sent.pop_back();
    EXPECT_EQ(joined(sent), data.substr(0, 7 * kMtu));
    const RegionChange::Range all{
        .base = memory.data(), .iova = region.iova, .length = memory.size()};
    ASSERT_TRUE(table.change(region.key, {.range = all}));
  }
}

TEST_F(ResponderReads, AcknowledgesWhatWasBeforeByTheAnswerItself) {
  post(1, 0, 100);
  give({.psn = kFirst, .payload = "x"});
  give(read(kFirst + 1, 0, 10));
  const auto sent = answers();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.opcode, Opcode::rc_read_response_only);
  EXPECT_EQ(sent[0].aeth.msn, 2u);
}

TEST_F(ResponderReads, AcknowledgesWhatCameAfterAReadBehindItsAnswer) {
  post(1, 1000, 100);
  store(0, "0123456789");
  give(read(kFirst, 0, 10));
  give({.psn = kFirst + 1, .payload = "x"});
  const auto sent = answers();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].payload, "0123456789");
  EXPECT_EQ(sent[1].bth.opcode, Opcode::rc_acknowledge);
  EXPECT_EQ(sent[1].bth.psn, kFirst + 1);
}

TEST_F(ResponderReads, NamesAGapBehindTheAnswersBeforeIt) {
  give(read(kFirst, 0, 10));
  give({.psn = kFirst + 5, .payload = "x"});
  const auto sent = answers();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].bth.opcode, Opcode::rc_read_response_only);
  EXPECT_EQ(sent[1].aeth.syndrome, wire::Syndrome::nak(NakCode::psn_sequence_error));
  EXPECT_EQ(sent[1].bth.psn, kFirst + 1);
}

TEST_F(ResponderReads, RefusesMoreReadsAtATimeThanWereAgreed) {
  for (unsigned i = 0; i < 4; ++i)
    give(read(kFirst + i, 0, 1));
  EXPECT_FALSE(responder->failing());
  give(read(kFirst + 4, 0, 1));
  EXPECT_TRUE(responder->failing());
  const auto sent = answers();
  ASSERT_EQ(sent.size(), 5u) << "what was asked before is answered";
  EXPECT_EQ(sent[4].aeth.syndrome, wire::Syndrome::nak(NakCode::invalid_request));
  EXPECT_EQ(sent[4].bth.psn, kFirst + 4);
}

TEST_F(ResponderReads, CountsAReadAsAnsweredWhenItsAnswerIsOnItsWay) {
  for (unsigned i = 0; i < 4; ++i)
    give(read(kFirst + i, 0, 1));
  ASSERT_TRUE(responder->fill(burst, now));
  give(read(kFirst + 4, 0, 1));  // the peer may have the answers before we hear of it
  EXPECT_FALSE(responder->failing());
  responder->sent(burst, {}, now);
  EXPECT_EQ(answers().size(), 1u);
}

TEST_F(ResponderReads, RefusesReadsOfMemoryThatThePeerMayNotRead) {
  expect_refused(read(kFirst, memory.size() - 9, 10), NakCode::remote_access_error);
  make();
  Request request = read(kFirst, 0, 10);
  request.reth.rkey = RKey{region.key + 1};
  expect_refused(request, NakCode::remote_access_error);
  make();
  const MemoryRegion hidden = *table.add({.base = memory.data(),
                                          .iova = 0x1000,
                                          .length = 100,
                                          .access = kLocalWrite | kRemoteWrite,
                                          .pd = kPd});
  request.reth = {.virtual_address = 0x1000, .rkey = RKey{hidden.key}, .dma_length = 1};
  expect_refused(request, NakCode::remote_access_error);
}

TEST_F(ResponderReads, RefusesAReadOfMoreThanAMessageMayHave) {
  Request request = read(kFirst, 0, 0);
  request.reth.dma_length = (1u << 31) + 1;
  expect_refused(request, NakCode::invalid_request);
}

TEST_F(ResponderReads, EndsAnAnswerWhoseMemoryIsDeregisteredMeanwhile) {
  connection.mtu = 4096;
  give(read(kFirst, 0, 200'000));
  ASSERT_TRUE(responder->fill(burst, now));
  const std::size_t first = burst.size();
  responder->sent(burst, {}, now);
  ASSERT_TRUE(table.remove(region.key)) << "no pin is left once the burst is sent";
  expect_nak(answers(), NakCode::remote_access_error, kFirst + static_cast<std::uint32_t>(first));
  EXPECT_TRUE(responder->failed());
}

// The peer may have read all that it wanted and have said so, and its program here has taken the
// memory back, when a request arrives that was on its way twice.
TEST_F(ResponderReads, GoesOnWhenTheMemoryOfAReadThatWasAnsweredIsGone) {
  exchange(read(kFirst, 0, 2 * kMtu));
  give(read(kFirst, 0, 2 * kMtu));
  give(read(kFirst + 1, kMtu, kMtu));
  ASSERT_TRUE(table.remove(region.key));
  expect_nak(answers(), NakCode::remote_access_error, kFirst);
  EXPECT_FALSE(responder->failing());
  EXPECT_EQ(responder->take_events(), 0u) << "nobody has broken a rule";
  post(1, 8000, 10);
  const auto sent = exchange({.psn = kFirst + 2, .payload = ""});
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].aeth.syndrome.type(), wire::AckType::ack);
}

TEST_F(ResponderReads, OffersAnAnswerAgainThatTheWireDidNotTake) {
  const std::string data = pattern(10 * kMtu);
  store(0, data);
  post(1, 8000, 10);
  give(read(kFirst, 0, data.size()));
  give({.psn = kFirst + 10, .payload = "x"});
  responder->end_run(now);
  std::string got;
  bool ack = false;
  for (unsigned i = 0; responder->fill(burst, now); ++i) {
    RecordingSink sink;
    if (i % 2 == 0) sink.answers.push_back({SendOutcome::kWouldBlock, {}});
    responder->sent(burst, sink.send(burst), now);
    for (const auto& datagram : sink.datagrams()) {
      const Sent sent = Sent::parse(datagram);
      got += sent.payload;
      ack |= sent.bth.opcode == Opcode::rc_acknowledge;
    }
  }
  EXPECT_EQ(got, data);
  EXPECT_TRUE(ack);
}

TEST_F(ResponderReads, BlamesTheReadWhoseMemoryTheWireCannotRead) {
  give(read(kFirst, 0, 10));
  give(read(kFirst + 1, 100, 10));
  ASSERT_TRUE(responder->fill(burst, now));
  ASSERT_EQ(burst.size(), 2u);
  const SendResult bad{SendOutcome::kRefused, CompletionStatus::kLocalProtectionError};
  responder->sent(burst, bad, now);
  ASSERT_TRUE(responder->fill(burst, now));
  ASSERT_EQ(burst.size(), 1u) << "one by one, to find which";
  responder->sent(burst, {}, now);
  ASSERT_TRUE(responder->fill(burst, now));
  responder->sent(burst, bad, now);
  expect_nak(answers(), NakCode::remote_access_error, kFirst + 1);
  EXPECT_TRUE(responder->failed());
}

TEST_F(ResponderReads, TakesAnAnswerThatHasNoRouteForLost) {
  give(read(kFirst, 0, 10));
  ASSERT_TRUE(responder->fill(burst, now));
  responder->sent(burst, {SendOutcome::kRefused, CompletionStatus::kSuccess}, now);
  EXPECT_FALSE(responder->has_work());
  EXPECT_EQ(exchange(read(kFirst, 0, 10)).size(), 1u) << "the peer asks again";
}

TEST_F(ResponderReads, ReadsAgainForADuplicate) {
  store(0, "old!");
  exchange(read(kFirst, 0, 4));
  store(0, "new!");
  const auto sent = exchange(read(kFirst, 0, 4));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].payload, "new!");
  EXPECT_EQ(sent[0].aeth.msn, 1u);
  EXPECT_EQ(count(ConnectedCounter::kRxReadsReplayed), 1u);
}

TEST_F(ResponderReads, AnswersAnyPartOfAnOldReadAgain) {
  const std::string data = pattern(4 * kMtu + 9);
  store(0, data);
  exchange(read(kFirst, 0, data.size()));
  auto sent = exchange(read(kFirst + 3, 3 * kMtu, kMtu + 9));
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].bth.opcode, Opcode::rc_read_response_first);
  EXPECT_EQ(sent[0].bth.psn, kFirst + 3);
  EXPECT_EQ(joined(sent), data.substr(3 * kMtu));
  sent = exchange(read(kFirst + 1, kMtu, kMtu));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.opcode, Opcode::rc_read_response_only);
  EXPECT_EQ(sent[0].payload, data.substr(kMtu, kMtu));
}

TEST_F(ResponderReads, AnswersNothingThatAnOldReadDidNotAskFor) {
  exchange(read(kFirst, 0, 4 * kMtu));
  EXPECT_TRUE(exchange(read(kFirst + 1, 0, kMtu)).empty()) << "another address";
  EXPECT_TRUE(exchange(read(kFirst + 1, kMtu, 4 * kMtu)).empty()) << "too long";
  Request request = read(kFirst, 0, 4);
  request.reth.rkey = RKey{region.key + 1};
  EXPECT_TRUE(exchange(request).empty()) << "another key";
  EXPECT_TRUE(exchange(read(kFirst - 1, 0, 4)).empty()) << "never asked";
  EXPECT_TRUE(exchange(add(kFirst, 0, 1)).empty()) << "was no atomic";
  EXPECT_FALSE(responder->failing());
}

TEST_F(ResponderReads, DoesNotAnswerAReadInPlaceOfAnAtomic) {
  exchange(add(kFirst, 0, 1));
  EXPECT_TRUE(exchange(read(kFirst, 0, 8)).empty());
}

TEST_F(ResponderReads, AnswersADuplicateOnceWhileItWaits) {
  give(read(kFirst, 0, 4));
  give(read(kFirst, 0, 4));
  give(read(kFirst, 0, 4));
  EXPECT_EQ(answers().size(), 1u);
}

TEST_F(ResponderReads, AnswersADuplicateAgainWhenTheFirstAnswerIsOnItsWay) {
  give(read(kFirst, 0, 4));
  ASSERT_TRUE(responder->fill(burst, now));
  give(read(kFirst, 0, 4));  // it may be lost
  responder->sent(burst, {}, now);
  EXPECT_EQ(answers().size(), 1u);
}

TEST_F(ResponderReads, KeepsNoMoreRepetitionsThanAFew) {
  give(read(kFirst, 0, 600 * kMtu));
  for (unsigned i = 0; i < 600; ++i)
    give(read(kFirst + i, i * kMtu, kMtu));
  EXPECT_LE(count(ConnectedCounter::kRxReadsReplayed), 300u);
}

TEST_F(ResponderReads, AddsAndTellsWhatWasThere) {
  store_word(64, 40);
  auto sent = exchange(add(kFirst, 64, 2));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].bth.opcode, Opcode::rc_atomic_acknowledge);
  EXPECT_EQ(sent[0].original, 40u);
  EXPECT_EQ(sent[0].aeth.msn, 1u);
  EXPECT_EQ(word(64), 42u);
}

TEST_F(ResponderReads, SwapsOnlyWhatCompares) {
  store_word(64, 40);
  EXPECT_EQ(exchange(swap(kFirst, 64, 41, 7)).at(0).original, 40u);
  EXPECT_EQ(word(64), 40u);
  EXPECT_EQ(exchange(swap(kFirst + 1, 64, 40, 7)).at(0).original, 40u);
  EXPECT_EQ(word(64), 7u);
}

TEST_F(ResponderReads, RepeatsTheResultOfAnAtomicButNotTheAtomic) {
  store_word(64, 40);
  exchange(add(kFirst, 64, 2));
  store_word(64, 1000);
  const auto sent = exchange(add(kFirst, 64, 2));
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].original, 40u);
  EXPECT_EQ(word(64), 1000u);
  EXPECT_EQ(count(ConnectedCounter::kRxAtomicsReplayed), 1u);
}

TEST_F(ResponderReads, RemembersAsManyAtomicsAsThePeerMayHaveOutstanding) {
  for (unsigned i = 0; i < 6; ++i)
    exchange(add(kFirst + i, 64, 1));
  for (unsigned i = 2; i < 6; ++i)
    EXPECT_EQ(exchange(add(kFirst + i, 64, 1)).at(0).original, i);
  EXPECT_TRUE(exchange(add(kFirst + 1, 64, 1)).empty());
  EXPECT_EQ(word(64), 6u);
}

TEST_F(ResponderReads, RefusesAtomicsThatAreNotAligned) {
  expect_refused(add(kFirst, 60, 1), NakCode::invalid_request);
  EXPECT_EQ(word(60), 0u);
}

TEST_F(ResponderReads, RefusesAtomicsOnMemoryThatTheProcessorCannotAddTo) {
  const MemoryRegion odd = *table.add({.base = memory.data() + 4,
                                       .iova = 0x1000,
                                       .length = 100,
                                       .access = kLocalWrite | kRemoteAtomic,
                                       .pd = kPd});
  Request request = add(kFirst, 0, 1);
  request.atomic.virtual_address = 0x1000;
  request.atomic.rkey = RKey{odd.key};
  expect_refused(request, NakCode::remote_operational_error);
}

TEST_F(ResponderReads, RefusesAtomicsWhereOnlyWritesAreAllowed) {
  const MemoryRegion other = *table.add({.base = memory.data(),
                                         .iova = 0x1000,
                                         .length = 100,
                                         .access = kLocalWrite | kRemoteWrite,
                                         .pd = kPd});
  Request request = add(kFirst, 0, 1);
  request.atomic.virtual_address = 0x1000;
  request.atomic.rkey = RKey{other.key};
  expect_refused(request, NakCode::remote_access_error);
}

TEST_F(ResponderReads, RefusesAtomicsOnMemoryThatMayNotBeWritten) {
  BrokenMemory::begin = memory.data();
  BrokenMemory::end = memory.data() + 4096;
  expect_refused(add(kFirst, 64, 1), NakCode::remote_access_error);
  EXPECT_EQ(word(64), 0u);
}

TEST_F(ResponderReads, LosesNoAdditionToAnotherQueuePair) {
  constexpr unsigned kEach = 20'000;
  const auto run = [this](std::uint32_t qpn) {
    Connection own;
    own.config = connection.config;
    own.config.qpn = Qpn{qpn};
    own.mtu = kMtu;
    own.peer_access = kRights;
    own.max_reads_in = 1;
    Completions completions;
    SharedReceiveQueue none(1, 1);
    hca::Responder other(own, table, completions, none, nullptr);
    other.start(Psn{0});
    Burst out;
    for (unsigned i = 0; i < kEach; ++i) {
      const Request request = add(Psn{i}, 64, 1);
      const auto extended = request.extended();
      other.receive({.opcode = request.opcode,
                     .info = &wire::info(request.opcode),
                     .psn = request.psn,
                     .extended = extended,
                     .payload = {}},
                    now);
      ASSERT_TRUE(other.fill(out, now));
      other.sent(out, {}, now);
    }
  };
  std::thread second(run, 11);
  run(10);
  second.join();
  EXPECT_EQ(word(64), 2u * kEach);
}

TEST_F(ResponderReads, RemembersMoreWhenTheLimitIsRaised) {
  for (unsigned i = 0; i < 5; ++i)
    exchange(add(kFirst + i, 64, 1));
  connection.max_reads_in = 6;
  for (unsigned i = 5; i < 7; ++i)
    exchange(add(kFirst + i, 64, 1));
  for (unsigned i = 1; i < 7; ++i)
    EXPECT_EQ(exchange(add(kFirst + i, 64, 1)).at(0).original, i);
}

TEST_F(ResponderReads, ForgetsABurstThatIsOutWhenItIsReset) {
  give(read(kFirst, 0, 10));
  ASSERT_TRUE(responder->fill(burst, now));
  responder->reset();
  responder->sent(burst, {}, now);
  EXPECT_FALSE(responder->has_work());
  responder->start(kFirst);
  EXPECT_EQ(exchange(read(kFirst, 0, 10)).size(), 1u);
}

}  // namespace
}  // namespace weft::hca::test
