// SPDX-License-Identifier: Apache-2.0
// Raw queue pairs of a program on a fabric: whole packets that it sends, and that arrive for it.
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>

#include "fabric_port_fixture.h"
#include "port/ring/raw_rule_code.h"
#include "wire/grh.h"

namespace weft::port {
namespace {

using testing::Each;
using testing::ElementsAre;

using Buffer = std::vector<std::byte>;

constexpr hca::SendOutcome kSent = hca::SendOutcome::kSent;

class RawEndpointTest : public FabricPortTest {
 protected:
  void open_raw() {
    open();
    auto raw = port_->open_raw_endpoint();
    ASSERT_TRUE(raw) << raw.error().message;
    raw_ = std::move(*raw);
  }

  // An RC SEND of somebody to somebody, with a GRH, of so many bytes in all.
  static Buffer packet(std::size_t size, Qpn to = Qpn{9}) {
    Buffer out(size);
    const MutableBytes all(out);
    wire::Lrh{.next_header = wire::Lnh::iba_global,
              .dlid = Lid{0xF},
              .packet_words = static_cast<std::uint16_t>((size - 2) / 4),
              .slid = Lid{0xA}}
        .write(all);
    wire::Grh{.payload_length = static_cast<std::uint16_t>(size - 50)}.write(all.subspan(8));
    wire::Bth{.opcode = wire::Opcode::rc_send_only, .pkey = kDefaultPKey, .dest_qp = to}.write(
        all.subspan(48));
    for (std::size_t i = 60; i < size; ++i)
      out[i] = static_cast<std::byte>(i * 7);
    wire::seal_link_packet(out);
    return out;
  }
  // Posts all of these, each in two pieces and without its last bytes.
  hca::SendResult send(std::span<const Buffer> packets, std::size_t without,
                       hca::Burst::Raw how = {}) {
    burst_.clear();
    burst_.raw = how;
    for (const Buffer& each : packets) {
      hca::OutPacket& out = burst_.open();
      out.header_length = 0;
      const Bytes posted = Bytes(each).first(each.size() - without);
      const std::size_t front = std::min<std::size_t>(posted.size(), 30);
      burst_.add_piece(out, posted.first(front));
      burst_.add_piece(out, posted.subspan(front));
      burst_.close(out, 0);
    }
    return raw_->send(burst_);
  }
  hca::SendResult send(const Buffer& packet, std::size_t without, hca::Burst::Raw how = {}) {
    return send(std::span(&packet, 1), without, how);
  }
  // What was handed over last.
  [[nodiscard]] Buffer last() const { return lab_.packet(lab_.sent() - 1); }
  [[nodiscard]] const ring::SendSlot& last_slot() const { return lab_.slot(lab_.sent() - 1); }

  std::unique_ptr<Endpoint> raw_;
};

TEST_F(RawEndpointTest, SendsAPacketWithTheIcrcOfItsMakerAndAVcrcOfItsOwn) {
  open_raw();
  // Around the size of what a slot has room for beside a block.
  for (const std::size_t size : {66U, 126U, 130U, 134U, 138U, 142U, 1'010U, 2'170U}) {
    const Buffer bytes = packet(size);
    for (const std::size_t without : {2U, 0U}) {
      SCOPED_TRACE(testing::Message() << size << " bytes without " << without);
      Buffer posted = bytes;
      if (without == 0) posted.back() ^= std::byte{1};  // a VCRC that does not count
      ASSERT_EQ(send(posted, without).outcome, kSent);
      EXPECT_EQ(last(), bytes);
      EXPECT_EQ(last_slot().unsealed, 0);
      EXPECT_EQ(last_slot().source, raw_->qpn().value());
      EXPECT_EQ(last_slot().block == ring::kNoBlock, last_slot().payload_size == 0);
      lab_.accept_all();
    }
  }
}

TEST_F(RawEndpointTest, LeavesTheCrcsToOthersWhereNoIcrcWasPostedOrANewOneIsWanted) {
  open_raw();
  for (const std::size_t size : {66U, 134U, 138U, 1'010U}) {
    const Buffer bytes = packet(size);
    for (const bool posted : {false, true}) {
      ASSERT_EQ(send(bytes, posted ? 2 : 6, {.make_icrc = posted, .pkey = {}}).outcome, kSent);
      EXPECT_EQ(last_slot().unsealed, 1);
      EXPECT_EQ(last_slot().trailer_size, 6);
      Buffer sealed = last();
      ASSERT_EQ(sealed.size(), size);
      wire::seal_link_packet(sealed);
      EXPECT_EQ(sealed, bytes);
      lab_.accept_all();
    }
  }
}

TEST_F(RawEndpointTest, PutsAPKeyInAndCorrectsTheIcrcByThatAlone) {
  open_raw();
  for (const std::size_t size : {66U, 1'010U}) {
    Buffer bytes = packet(size);
    ASSERT_EQ(send(bytes, 2, {.make_icrc = false, .pkey = PKey{0x8005}}).outcome, kSent);
    EXPECT_TRUE(wire::check_link_crcs(last()).good());
    EXPECT_EQ(wire::Bth::parse(Bytes(last()).subspan(48))->pkey, PKey{0x8005});
    // What was damaged before stays so.
    bytes[62] ^= std::byte{1};
    ASSERT_EQ(send(bytes, 2, {.make_icrc = false, .pkey = PKey{0x8005}}).outcome, kSent);
    EXPECT_FALSE(wire::check_link_crcs(last()).icrc_good);
    EXPECT_TRUE(wire::check_link_crcs(last()).vcrc_good);
  }
}

TEST_F(RawEndpointTest, SendsPacketsThatHaveNoTransport) {
  open_raw();
  Buffer bytes(8 + 40 + 2);
  wire::Lrh{.next_header = wire::Lnh::raw_ipv6, .dlid = Lid{0xF}, .packet_words = 12}.write(bytes);
  wire::seal_link_packet(bytes);
  ASSERT_EQ(send(bytes, 2).outcome, kSent);
  EXPECT_EQ(last(), bytes);
  EXPECT_EQ(last_slot().trailer_size, 2);
  EXPECT_EQ(send(bytes, 2, {.make_icrc = false, .pkey = PKey{1}}).reason,
            hca::CompletionStatus::kLocalLengthError)
      << "it has none";
}

// Each would have the program cut off.
TEST_F(RawEndpointTest, RefusesWhatTheAdapterWouldNotLetOutAndNothingElseWithIt) {
  open_raw();
  const Buffer good = packet(1'010);
  std::vector<Buffer> bad;
  const auto but = [&](std::size_t at, int value) {
    bad.push_back(good);
    bad.back()[at] = static_cast<std::byte>(value);
  };
  but(0, 0xF0);   // VL15
  but(0, 0x01);   // LVer
  but(5, 0xFF);   // PktLen
  but(8, 0x40);   // IPVer
  but(13, 0x55);  // PayLen
  but(14, 0x11);  // NxtHdr
  bad.push_back(packet(1'010, kQp0));
  bad.emplace_back(7);
  for (const Buffer& each : bad) {
    const auto result = send(each, 2);
    EXPECT_EQ(result.outcome, hca::SendOutcome::kRefused);
    EXPECT_EQ(result.reason, hca::CompletionStatus::kLocalLengthError);
  }
  for (const std::size_t without : {1U, 3U, 5U, 7U})
    EXPECT_EQ(send(good, without).outcome, hca::SendOutcome::kRefused) << without;
  EXPECT_EQ(send(std::vector{good, bad[0]}, 2).outcome, hca::SendOutcome::kRefused);
  EXPECT_EQ(lab_.sent(), 0u);
  // No block was lost.
  for (std::uint32_t i = 0; i < ring::kBlocks / 2; ++i)
    ASSERT_EQ(send(std::vector{good, good}, 2).outcome, kSent);
  EXPECT_EQ(send(good, 2).outcome, hca::SendOutcome::kWouldBlock);
  EXPECT_EQ(counter("ring_tx_blocked"), 1u);
}

TEST_F(RawEndpointTest, DropsWhatItsPortDoesNotTakeNow) {
  open_raw();
  ASSERT_EQ(send(packet(2'048 + 126), 2).outcome, kSent);
  EXPECT_EQ(lab_.sent(), 1u);
  EXPECT_EQ(send(packet(2'048 + 130), 2).outcome, kSent);
  EXPECT_EQ(counter("ring_tx_too_long"), 1u);
  told([&] {
    lab_.facts.epoch = 2;
    lab_.facts.state = 2;
    lab_.tell_facts();
  });
  EXPECT_EQ(send(packet(66), 2).outcome, kSent);
  EXPECT_EQ(counter("ring_tx_inactive"), 1u);
  lab_.end();
  port_->hear_news();
  EXPECT_EQ(send(packet(66), 2).outcome, hca::SendOutcome::kRefused);
  EXPECT_EQ(counter("ring_tx_gone"), 1u);
  EXPECT_EQ(lab_.sent(), 1u);
}

TEST_F(RawEndpointTest, AsksForAPlaceAndForWhatItsRulesSay) {
  open_raw();
  std::array<std::uint8_t, 16> prefix{0xFD, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const std::vector<hca::RawRule> rules{Lid{0xF}, GidPrefix(Gid(prefix), 120), hca::OtherLids{},
                                        hca::OtherGids{}, hca::Everything{}};
  for (const hca::RawRule& rule : rules)
    ASSERT_TRUE(raw_->divert(rule));
  EXPECT_EQ(raw_->divert(rules[0]).error().code, std::errc::file_exists);
  EXPECT_EQ(raw_->move_to(1).error().code, std::errc::device_or_resource_busy);
  for (const hca::RawRule& rule : rules)
    ASSERT_TRUE(raw_->restore(rule));
  ASSERT_TRUE(raw_->move_to(1));
  const auto requests = lab_.requests();
  std::vector<std::uint32_t> actions;
  std::vector<std::optional<hca::RawRule>> read;
  for (const attach::Request& request : requests) {
    actions.push_back(request.action);
    if (request.action == attach::kDivert) read.push_back(read_rule(request));
  }
  using namespace attach;
  EXPECT_THAT(actions, ElementsAre(kAllocate, kAllocate, kMakeRaw, kDivert, kDivert, kDivert,
                                   kDivert, kDivert, kRestore, kRestore, kRestore, kRestore,
                                   kRestore, kMove, kMakeRaw));
  ASSERT_EQ(read.size(), rules.size());
  for (std::size_t i = 0; i < rules.size(); ++i)
    EXPECT_EQ(read[i], rules[i]) << i;
}

TEST(RawRuleCode, ReadsNoRuleOfWhatIsNone) {
  attach::Request request{};
  EXPECT_FALSE(read_rule(request));
  request.rule = attach::kEverything + 1;
  EXPECT_FALSE(read_rule(request));
  request.rule = attach::kToLid;
  request.value = 0x1'0000;
  EXPECT_FALSE(read_rule(request));
  request.rule = attach::kToGids;
  request.value = 129;
  EXPECT_FALSE(read_rule(request));
}

class Whole final : public DatagramSink {
 public:
  void deliver(const hca::InDatagram& datagram) override {
    ASSERT_NE(datagram.raw, nullptr);
    Buffer& bytes = packets.emplace_back();
    for (const Bytes part : {datagram.raw->header, datagram.raw->payload, datagram.raw->trailer})
      bytes.insert(bytes.end(), part.begin(), part.end());
    to.push_back(datagram.raw->to);
    sealed.push_back(datagram.raw->sealed);
  }
  void end_run() override {}
  std::vector<Buffer> packets;
  std::vector<Qpn> to;
  std::vector<bool> sealed;
};

TEST_F(RawEndpointTest, IsHandedWhatArrivesForItAsItIs) {
  open_raw();
  const Buffer bytes = packet(1'010);
  for (const std::uint8_t unsealed : {std::uint8_t{0}, std::uint8_t{1}}) {
    lab_.push(bytes, 60, unsealed, unsealed);
    lab_.daemon().slots[unsealed].raw = raw_->qpn().value();
  }
  Whole sink;
  EXPECT_EQ(raw_->inlet()->receive(sink, 9), 2u);
  EXPECT_THAT(sink.packets, ElementsAre(bytes, bytes));
  EXPECT_THAT(sink.to, Each(raw_->qpn()));
  EXPECT_THAT(sink.sealed, ElementsAre(true, false));
  EXPECT_EQ(raw_->attach(lab_.gids[0]).error().code, std::errc::invalid_argument);
}

TEST_F(RawEndpointTest, IsNothingThatOtherQueuePairsHave) {
  open_raw();
  EXPECT_EQ(endpoint_->divert(hca::Everything{}).error().code, std::errc::operation_not_supported);
  EXPECT_EQ(endpoint_->restore(hca::Everything{}).error().code, std::errc::operation_not_supported);
}

}  // namespace
}  // namespace weft::port
