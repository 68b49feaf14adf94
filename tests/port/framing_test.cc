// SPDX-License-Identifier: Apache-2.0
#include "port/udp/framing.h"

#include "udp_fixture.h"
#include "wire/endian.h"

namespace weft::port {
namespace {

constexpr std::uint16_t kSourcePort = 50000;
constexpr std::size_t kIovMax = 1024;

std::vector<std::byte> joined(std::span<const iovec> pieces) {
  std::vector<std::byte> out;
  for (const iovec& piece : pieces) {
    const auto* const bytes = static_cast<const std::byte*>(piece.iov_base);
    out.insert(out.end(), bytes, bytes + piece.iov_len);
  }
  return out;
}

class SendFramesTest : public testing::Test {
 protected:
  // Messages of these sizes, each in pieces of at most `piece` bytes that do not touch.
  void fill(const std::vector<std::size_t>& sizes, std::size_t piece) {
    burst_.clear();
    burst_.path.sgid = burst_.path.dgid = address("127.0.0.1");
    burst_.destination = Qpn{50001};
    memory_.assign(200'000, std::byte{0x5A});
    std::size_t at = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      hca::OutPacket& packet = burst_.open();
      packet.header_length = wire::Bth::kSize;
      packet.pad = wire::pad_count_for(sizes[i]);
      wire::Bth{.opcode = wire::Opcode::rc_send_middle,
                .pad_count = packet.pad,
                .dest_qp = burst_.destination,
                .psn = Psn(static_cast<std::uint32_t>(i))}
          .write(packet.header);
      for (std::size_t left = sizes[i]; left > 0;) {
        const std::size_t now = std::min(left, piece);
        std::fill_n(memory_.begin() + static_cast<std::ptrdiff_t>(at), now,
                    static_cast<std::byte>(i));
        burst_.add_piece(packet, Bytes(memory_).subspan(at, now));
        at += now + 1;
        left -= now;
      }
      burst_.close(packet, kIcrcBytes);
    }
  }

  void build(const WireRules& rules, Identification identification) {
    const hca::Burst* const bursts[]{&burst_};
    frames_->build(bursts, rules, kSourcePort, identification);
  }

  // The frames one by one, joined, are the run; each has its bytes and the ICRC for its number.
  void check(const WireRules& rules, Identification identification) {
    build(rules, identification);
    ASSERT_LE(frames_->all().size(), kIovMax);
    const wire::IcrcFlow flow(burst_.path.sgid, burst_.path.dgid, kSourcePort,
                              rules.port_of(burst_.destination));
    std::vector<std::byte> run;
    for (std::size_t i = 0; i < burst_.size(); ++i) {
      const std::vector<std::byte> frame = joined(frames_->one(i));
      run.insert(run.end(), frame.begin(), frame.end());
      ASSERT_EQ(frame.size(), frames_->frame_length(i));
      const auto bth = wire::Bth::parse(frame).value();
      EXPECT_EQ(bth.psn.value(), i);
      const auto payload =
          Bytes(frame).subspan(wire::Bth::kSize).first(burst_.packets()[i].payload_length);
      EXPECT_TRUE(std::all_of(payload.begin(), payload.end(),
                              [&](std::byte byte) { return byte == static_cast<std::byte>(i); }));
      const bool counted =
          rules.counts_identification && identification == Identification::kCounted;
      EXPECT_EQ(flow.check(frame, static_cast<std::uint16_t>(counted ? i : 0)),
                wire::IcrcVerdict::good)
          << i;
    }
    EXPECT_EQ(run, joined(frames_->all()));
  }

  hca::Burst burst_;
  std::vector<std::byte> memory_;
  std::unique_ptr<SendFrames> frames_ = std::make_unique<SendFrames>();
};

TEST_F(SendFramesTest, CutARunIntoFramesWithAnIcrcEach) {
  for (const std::size_t size : {0, 1, 64, 1024, 1025, 2048, 4096}) {
    const std::size_t count = std::min<std::size_t>(64, 60000 / (size + 16));
    std::vector<std::size_t> sizes(count, size);
    if (size > 7) sizes.back() = size - 7;
    for (const std::size_t piece : {100'000, 777}) {
      fill(sizes, piece);
      check({}, Identification::kCounted);
    }
  }
}

TEST_F(SendFramesTest, CoverTheIdentificationThatTheKernelWillGiveOnTheStandardWire) {
  WireRules rules;
  rules.fixed_port = 4791;
  rules.counts_identification = true;
  fill(std::vector<std::size_t>(15, 4096), 100'000);
  check(rules, Identification::kCounted);
  check(rules, Identification::kZero);
  fill(std::vector<std::size_t>(64, 256), 100'000);
  check(rules, Identification::kCounted);
}

TEST_F(SendFramesTest, GiveTheKernelOneStretchOfMemoryForARun) {
  fill(std::vector<std::size_t>(15, 4096), 100'000);
  build({}, Identification::kCounted);
  EXPECT_EQ(frames_->all().size(), 1u);
}

TEST_F(SendFramesTest, ReferToBareMessagesAndCopyThoseInMorePiecesThanOneCallTakes) {
  WireRules rules;
  rules.framing = hca::UdFraming::kBare;
  for (const auto& [piece, expected] : {std::pair{1000, 90u}, {40, 1u}}) {
    const std::vector<std::size_t> sizes(30, 2048);
    fill(sizes, static_cast<std::size_t>(piece));
    build(rules, Identification::kCounted);
    EXPECT_EQ(frames_->all().size(), expected);
    std::vector<std::byte> meant;
    for (const hca::OutPacket& packet : burst_.packets()) {
      for (const Bytes part : burst_.pieces(packet))
        meant.insert(meant.end(), part.begin(), part.end());
    }
    EXPECT_EQ(joined(frames_->all()), meant);
  }
}

}  // namespace
}  // namespace weft::port
