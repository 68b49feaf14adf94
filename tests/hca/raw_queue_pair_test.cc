// SPDX-License-Identifier: Apache-2.0
// Queue pairs that send and receive whole packets.
#include "hca/raw_queue_pair.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "fixture.h"
#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/grh.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"

namespace weft::hca::test {
namespace {

using Buffer = std::vector<std::byte>;

// A UD SEND of somebody to somebody, with a GRH, LRH through VCRC.
Buffer packet(std::size_t payload = 63) {
  const std::uint8_t pad = wire::pad_count_for(payload);
  const std::size_t headers = 8 + 40 + 12 + 8;
  Buffer out(headers + payload + pad + 6);
  wire::Lrh{.next_header = wire::Lnh::iba_global,
            .dlid = Lid{0xF},
            .packet_words = static_cast<std::uint16_t>((out.size() - 2) / 4),
            .slid = Lid{0xA}}
      .write(out);
  wire::Grh{.payload_length = static_cast<std::uint16_t>(out.size() - 50)}.write(
      MutableBytes(out).subspan(8));
  wire::Bth{.opcode = wire::Opcode::ud_send_only, .pad_count = pad, .dest_qp = Qpn{9}}.write(
      MutableBytes(out).subspan(48));
  wire::Deth{.src_qp = Qpn{8}}.write(MutableBytes(out).subspan(60));
  for (std::size_t i = 0; i < payload; ++i)
    out[headers + i] = static_cast<std::byte>(i);
  wire::seal_link_packet(out);
  return out;
}
constexpr std::size_t kHeaders = 68;

class RawQueuePairTest : public WithMemory {
 protected:
  RawQueuePairTest() : WithMemory(64 * 1024, kLocalWrite) { start({}); }

  void start(RawConfig config) {
    config.qpn = kOwnQpn;
    config.pd = kPd;
    config.max_sends = config.max_receives = 64;
    config.max_send_pieces = config.max_receive_pieces = 4;
    config.max_inline = 128;
    qp.emplace(config, table, send_cq, receive_cq);
    EXPECT_TRUE(move(QpState::kInit, kAttrPort));
    EXPECT_TRUE(move(QpState::kRtr));
    EXPECT_TRUE(move(QpState::kRts));
  }
  Expected<void> move(QpState to, std::uint32_t mask = 0) {
    return qp->modify({.state = to, .port = 1}, mask | kAttrState);
  }
  std::errc post_receive(std::uint64_t wr_id, std::span<const Sge> pieces) {
    return qp->post_receive({.wr_id = wr_id, .pieces = pieces});
  }
  void post_room(std::uint64_t wr_id = 1) {
    const std::array pieces{sge(0, 8'192)};
    ASSERT_EQ(post_receive(wr_id, pieces), std::errc{});
  }
  // Cut as packets lie in memory: headers, payload, pad and CRCs.
  void arrive(const Buffer& bytes, bool sealed = true, std::size_t trailer = 7) {
    const Bytes all(bytes);
    const RawPacket raw{.to = kOwnQpn,
                        .header = all.first(kHeaders),
                        .payload = all.subspan(kHeaders, all.size() - kHeaders - trailer),
                        .trailer = all.last(trailer),
                        .sealed = sealed};
    InDatagram datagram;
    datagram.raw = &raw;
    qp->receive(datagram, now);
  }
  // Puts it into memory and posts it, but for the last bytes.
  std::errc post(const Buffer& bytes, std::size_t without = 2, SendRequest request = {}) {
    std::copy(bytes.begin(), bytes.end(), memory.begin() + 16'384);
    const std::array pieces{sge(16'384, 20), sge(16'404, bytes.size() - 20 - without)};
    request.pieces = pieces;
    request.signaled = true;
    return qp->post_send(request);
  }
  Buffer at(std::size_t offset, std::size_t size) {
    const auto from = memory.begin() + static_cast<std::ptrdiff_t>(offset);
    return {from, from + static_cast<std::ptrdiff_t>(size)};
  }
  std::uint64_t count(RawCounter counter) { return qp->counters().get(counter); }
  void transmit() {
    while (qp->next_burst(burst, now)) {
      raw.push_back(burst.raw);
      const auto result = sink.send(burst);
      qp->sent(burst, result, now);
      if (result.outcome == SendOutcome::kWouldBlock) return;
    }
  }

  Time now{1s};
  Completions send_cq, receive_cq;
  std::optional<RawQueuePair> qp;
  RecordingSink sink;
  Burst burst;
  std::vector<std::optional<Burst::Raw>> raw;
};

TEST_F(RawQueuePairTest, ReceivesAPacketAsItLiesOnTheLink) {
  post_room(77);
  const Buffer bytes = packet();
  arrive(bytes);
  EXPECT_EQ(at(0, bytes.size()), bytes);
  ASSERT_EQ(receive_cq.all.size(), 1u);
  EXPECT_EQ(receive_cq.all[0].wr_id, 77u);
  EXPECT_EQ(receive_cq.all[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(receive_cq.all[0].byte_length, bytes.size());
  EXPECT_EQ(count(RawCounter::kRxPackets), 1u);
  EXPECT_EQ(count(RawCounter::kRxBytes), bytes.size());
}

TEST_F(RawQueuePairTest, FindsTheIcrcWhereverItLies) {
  const Buffer bytes = packet();
  for (const std::size_t trailer : {2U, 3U, 4U, 5U, 6U, 7U}) {
    post_room();
    arrive(bytes, true, trailer);
  }
  EXPECT_EQ(count(RawCounter::kRxPackets), 6u);
}

TEST_F(RawQueuePairTest, MakesTheCrcsOfWhatComesFromMemoryWithoutThem) {
  post_room();
  const Buffer sealed = packet();
  Buffer bytes = sealed;
  for (std::size_t i = bytes.size() - 6; i < bytes.size(); ++i)
    bytes[i] = std::byte{0xEE};
  arrive(bytes, false);
  EXPECT_EQ(at(0, sealed.size()), sealed);
  // A trailer that has no room for them.
  post_room();
  arrive(bytes, false, 5);
  EXPECT_EQ(count(RawCounter::kRxMalformed), 1u);
}

TEST_F(RawQueuePairTest, DropsWhatHasAWrongIcrcAndKeepsTheReceive) {
  post_room();
  Buffer bytes = packet();
  bytes[kHeaders + 1] ^= std::byte{4};
  arrive(bytes);
  EXPECT_EQ(count(RawCounter::kRxBadIcrc), 1u);
  arrive(packet());
  EXPECT_EQ(receive_cq.all.size(), 1u);
}

TEST_F(RawQueuePairTest, PutsHeadersApartFromWhatFollowsThem) {
  const std::array pieces{sge(0, 128), sge(4'096, 5'000)};
  ASSERT_EQ(post_receive(1, pieces), std::errc{});
  const Buffer bytes = packet(1'024);
  arrive(bytes, true, 6);
  const Buffer headers(bytes.begin(), bytes.begin() + kHeaders);
  const Buffer rest(bytes.begin() + kHeaders, bytes.end());
  EXPECT_EQ(at(0, kHeaders), headers);
  EXPECT_EQ(at(4'096, rest.size()), rest);
  // Room for all of it, but not where it is to be: that one fails, and the next comes in.
  const std::array short_pieces{sge(0, 4'096), sge(4'096, 128)};
  ASSERT_EQ(post_receive(2, short_pieces), std::errc{});
  ASSERT_EQ(post_receive(3, pieces), std::errc{});
  arrive(bytes, true, 6);
  arrive(bytes, true, 6);
  ASSERT_EQ(receive_cq.all.size(), 3u);
  EXPECT_EQ(receive_cq.all[1].status, CompletionStatus::kLocalLengthError);
  EXPECT_EQ(receive_cq.all[2].status, CompletionStatus::kSuccess);
  EXPECT_EQ(count(RawCounter::kRxTooLong), 1u);
}

TEST_F(RawQueuePairTest, CountsEachDrop) {
  arrive(packet());
  EXPECT_EQ(count(RawCounter::kRxNoReceive), 1u);
  const std::array small{sge(0, 64)};
  ASSERT_EQ(post_receive(1, small), std::errc{});
  arrive(packet());
  EXPECT_EQ(count(RawCounter::kRxTooLong), 1u);
  Buffer longer = packet();
  longer.resize(longer.size() + 4);
  arrive(longer);
  EXPECT_EQ(count(RawCounter::kRxMalformed), 1u);
  InDatagram datagram;
  qp->receive(datagram, now);
  EXPECT_EQ(count(RawCounter::kRxNotRaw), 1u);
  ASSERT_TRUE(move(QpState::kErr));
  arrive(packet());
  EXPECT_EQ(count(RawCounter::kRxWrongState), 1u);
  ASSERT_EQ(receive_cq.all.size(), 1u);
  EXPECT_EQ(receive_cq.all[0].status, CompletionStatus::kFlushed);
}

TEST_F(RawQueuePairTest, StopsWhenItsReceivesNameNoMemory) {
  std::array pieces{sge(0, 8'192)};
  pieces[0].lkey = LKey{1};
  ASSERT_EQ(post_receive(1, pieces), std::errc{});
  arrive(packet());
  ASSERT_EQ(receive_cq.all.size(), 1u);
  EXPECT_EQ(receive_cq.all[0].status, CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(qp->state(), QpState::kErr);
}

TEST_F(RawQueuePairTest, SendsWhatIsPostedWithoutLookingIntoIt) {
  const Buffer bytes = packet();
  ASSERT_EQ(post(bytes), std::errc{});
  transmit();
  ASSERT_EQ(sink.datagrams().size(), 1u);
  EXPECT_EQ(sink.datagrams()[0], Buffer(bytes.begin(), bytes.end() - 2));
  ASSERT_TRUE(raw[0]);
  EXPECT_EQ(*raw[0], Burst::Raw{});
  ASSERT_EQ(send_cq.all.size(), 1u);
  EXPECT_EQ(send_cq.all[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(count(RawCounter::kTxPackets), 1u);
}

TEST_F(RawQueuePairTest, SendsTogetherWhatAsksForTheSame) {
  const Buffer bytes = packet();
  post(bytes);
  post(bytes);
  post(bytes, 2, {.make_icrc = true});
  post(bytes, 2, {.make_icrc = true, .pkey = PKey{0x8005}});
  post(bytes, 2, {.make_icrc = true, .pkey = PKey{0x8005}});
  transmit();
  ASSERT_EQ(sink.bursts.size(), 3u);
  EXPECT_EQ(sink.bursts[0].datagrams.size(), 2u);
  EXPECT_EQ(*raw[1], (Burst::Raw{.make_icrc = true, .pkey = {}}));
  EXPECT_EQ(sink.bursts[2].datagrams.size(), 2u);
  EXPECT_EQ(*raw[2], (Burst::Raw{.make_icrc = true, .pkey = PKey{0x8005}}));
  EXPECT_EQ(send_cq.all.size(), 5u);
}

TEST_F(RawQueuePairTest, FailsTheRequestThatTheWireRefusesAndNoOther) {
  const Buffer bytes = packet();
  sink.answers = {{SendOutcome::kRefused, CompletionStatus::kLocalLengthError},
                  {SendOutcome::kSent},
                  {SendOutcome::kRefused, CompletionStatus::kLocalLengthError}};
  for (std::uint64_t id = 1; id <= 3; ++id)
    post(bytes, 2, {.wr_id = id});
  transmit();
  ASSERT_EQ(send_cq.all.size(), 3u);
  EXPECT_EQ(send_cq.all[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(send_cq.all[1].status, CompletionStatus::kLocalLengthError);
  EXPECT_EQ(send_cq.all[2].status, CompletionStatus::kFlushed);
  EXPECT_EQ(qp->state(), QpState::kSqe);
  ASSERT_TRUE(move(QpState::kRts));
  post(bytes);
  transmit();
  EXPECT_EQ(send_cq.all[3].status, CompletionStatus::kSuccess);
}

TEST_F(RawQueuePairTest, KeepsWhatTheWireHasNoRoomFor) {
  sink.answers = {{SendOutcome::kWouldBlock}};
  post(packet());
  transmit();
  EXPECT_TRUE(send_cq.all.empty());
  EXPECT_TRUE(qp->has_work());
  transmit();
  EXPECT_EQ(send_cq.all.size(), 1u);
}

TEST_F(RawQueuePairTest, CompletesNothingThatWasOutWhenItWasReset) {
  post(packet());
  ASSERT_TRUE(qp->next_burst(burst, now));
  ASSERT_TRUE(move(QpState::kReset));
  qp->sent(burst, {SendOutcome::kSent}, now);
  EXPECT_TRUE(send_cq.all.empty());
  EXPECT_EQ(qp->queued_packets(), 0u);
  EXPECT_EQ(qp->queued_bytes(), 0u);
}

TEST_F(RawQueuePairTest, RefusesWhatNoPacketCanBe) {
  EXPECT_EQ(post(packet(), 0, {.opcode = SendOpcode::kRdmaWrite}), std::errc::invalid_argument);
  const std::array<Sge, 1> seven{sge(0, 7)};
  ASSERT_EQ(qp->post_send({.pieces = seven}), std::errc{});
  transmit();
  ASSERT_EQ(send_cq.all.size(), 1u);
  EXPECT_EQ(send_cq.all[0].status, CompletionStatus::kLocalLengthError);
  EXPECT_FALSE(qp->attach(kGroup));
  EXPECT_EQ(
      qp->modify({.state = QpState::kRts, .qkey = QKey{1}}, kAttrState | kAttrQKey).error().code,
      std::errc::invalid_argument);
}

TEST_F(RawQueuePairTest, SendsInlineDataThatIsGoneAfterwards) {
  Buffer bytes = packet(40);
  const std::array pieces{Sge{.address = std::bit_cast<std::uintptr_t>(bytes.data()),
                              .length = static_cast<std::uint32_t>(bytes.size()),
                              .lkey = {}}};
  const Buffer before = bytes;
  ASSERT_EQ(qp->post_send({.inline_data = true, .pieces = pieces}), std::errc{});
  std::fill(bytes.begin(), bytes.end(), std::byte{});
  transmit();
  EXPECT_EQ(sink.datagrams().at(0), before);
}

}  // namespace
}  // namespace weft::hca::test
