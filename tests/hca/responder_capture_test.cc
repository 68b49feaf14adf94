// SPDX-License-Identifier: Apache-2.0
// The requests of one Linux rxe to another, replayed into a responder, whose answers are held
// against those of rxe, byte for byte. The one difference is MigReq, which rxe leaves clear (IBA
// 17.2.8.1 has it set in the migrated state, as adapters do).
#include "../wire/capture.h"
#include "responder_fixture.h"
#include "wire/roce_frame.h"

namespace weft::hca::test {
namespace {

constexpr std::size_t kIcrc = 4;

struct Capture {
  const char* file;
  std::uint32_t mtu;
  std::uint32_t rkey;           // that the server gave away
  std::uint32_t first = 0x100;  // PSN
  QpType type = QpType::kRc;
  bool answers_lost = false;  // between rxe and where it was captured
};

std::ostream& operator<<(std::ostream& out, const Capture& capture) {
  return out << capture.file;
}

struct Frame {
  std::string where;
  wire::Bth bth;
  const wire::OpcodeInfo* info;
  std::vector<std::byte> transport;  // without ICRC

  [[nodiscard]] MutableBytes extended() {
    return MutableBytes(transport).subspan(wire::Bth::kSize, info->headers_size);
  }
  [[nodiscard]] Bytes payload() const {
    const Bytes rest = Bytes(transport).subspan(wire::Bth::kSize + info->headers_size);
    return rest.first(rest.size() - bth.pad_count);
  }
};

class ResponderCapture : public ::testing::TestWithParam<Capture> {
 protected:
  // Receive requests as rxe had them: none where it said so.
  struct Receives final : ReceiveSource {
    Take take_for(std::uint64_t, TakenReceive& out) override {
      if (none) return Take::kNone;
      out.length = 8192;
      out.pieces = {piece};
      return Take::kTaken;
    }
    [[nodiscard]] std::size_t size() const override { return 0; }
    [[nodiscard]] bool shared() const override { return true; }
    Sge piece{};
    bool none = false;
  };

  // What the client asked of the server, and what it got.
  void load() {
    static const auto all = wire::test::roce_frames();
    Gid client;
    for (const auto& packet : all) {
      if (!packet.where.starts_with(GetParam().file)) continue;
      const auto parsed = wire::parse_ethernet(packet.bytes);
      const Bytes transport = parsed->transport.first(parsed->transport.size() - kIcrc);
      Frame frame{packet.where,
                  *wire::Bth::parse(transport),
                  nullptr,
                  {transport.begin(), transport.end()}};
      frame.info = &wire::info(frame.bth.opcode);
      if (client.is_zero()) client = parsed->datagram.src;
      const bool from_client = parsed->datagram.src == client;
      if (from_client && !frame.info->is_response)
        requests.push_back(std::move(frame));
      else if (!from_client && frame.info->is_response)
        answers.push_back(std::move(frame));
    }
    ASSERT_FALSE(requests.empty());
  }

  // One region, with the server's addresses, and another for receives.
  void register_memory() {
    std::uint64_t low = ~std::uint64_t{0};
    std::uint64_t high = 0;
    for (Frame& frame : requests) {
      if (!frame.info->has(wire::kReth) && !frame.info->has(wire::kAtomicEth)) continue;
      const auto reth = *wire::Reth::parse(frame.extended());  // an AtomicETH begins the same
      const std::uint64_t length = frame.info->has(wire::kReth) ? reth.dma_length : 8;
      low = std::min(low, reth.virtual_address & ~std::uint64_t{7});
      high = std::max(high, reth.virtual_address + length);
    }
    if (high > 0) {
      memory.resize(high - low + 8);
      region = *table.add({.base = memory.data(),
                           .iova = low,
                           .length = memory.size(),
                           .access = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic,
                           .pd = kPd});
    }
    buffer.resize(8192);
    const MemoryRegion own = *table.add({.base = buffer.data(),
                                         .iova = 0x1000,
                                         .length = buffer.size(),
                                         .access = kLocalWrite | kWindowBind,
                                         .pd = kPd});
    receives.piece = {.address = 0x1000, .length = 8192, .lkey = LKey{own.key}};
  }

  // Keys are drawn anew in each table: the captured one is replaced by ours.
  void translate(Frame& frame) {
    const MutableBytes extended = frame.extended();
    if (frame.info->has(wire::kReth) || frame.info->has(wire::kAtomicEth)) {
      const std::uint32_t key = wire::load_be32(extended.data() + 8);
      if (key == GetParam().rkey) wire::store_be32(extended.data() + 8, region.key);
    }
    if (frame.info->has(wire::kIeth)) wire::store_be32(extended.data(), bound_window().value());
  }
  RKey bound_window() {
    const RKey window = *table.add_window(WindowType::kType2, kPd);
    EXPECT_EQ(table.bind_window({.region_lkey = receives.piece.lkey.value(),
                                 .address = 0x1000,
                                 .length = 8,
                                 .access = kRemoteRead,
                                 .window = window,
                                 .new_key = window},
                                kPd, kOwnQpn),
              std::errc{});
    return window;
  }

  // Memory as rxe's was: what its answers show of it.
  void prepare_memory(Frame& request) {
    if (request.info->operation == wire::Operation::read_request) {
      const auto reth = *wire::Reth::parse(request.extended());
      for (const Frame& answer : answers) {
        const std::int32_t packet = Psn::diff(answer.bth.psn, request.bth.psn);
        const std::uint64_t offset = static_cast<std::uint64_t>(packet) * GetParam().mtu;
        if (answer.info->operation != wire::Operation::read_response || packet < 0 ||
            offset >= std::max(reth.dma_length, 1u)) {
          continue;
        }
        const Bytes data = answer.payload();
        std::copy(data.begin(), data.end(),
                  memory.begin() +
                      static_cast<std::ptrdiff_t>(reth.virtual_address + offset - region.iova));
      }
    } else if (request.info->has(wire::kAtomicEth)) {
      const auto eth = *wire::AtomicEth::parse(request.extended());
      if (!std::exchange(atomics_begun[eth.virtual_address], true)) {
        for (const Frame& answer : answers) {
          if (answer.bth.psn != request.bth.psn) continue;
          const std::uint64_t value =
              wire::load_be64(answer.transport.data() + wire::Bth::kSize + wire::Aeth::kSize);
          std::memcpy(memory.data() + (eth.virtual_address - region.iova), &value, sizeof value);
        }
      }
    }
  }

  // The RNR NAK that rxe gave for this packet next, if it did.
  [[nodiscard]] bool was_not_ready(const Frame& request) const {
    if (ours.size() >= answers.size()) return false;
    const Frame& next = answers[ours.size()];
    return next.bth.psn == request.bth.psn && next.info->has(wire::kAeth) &&
           wire::Aeth::parse(Bytes(next.transport).subspan(wire::Bth::kSize))->syndrome.type() ==
               wire::AckType::rnr_nak;
  }

  void replay() {
    connection.config.qpn = kOwnQpn;
    connection.config.pd = kPd;
    connection.config.type = GetParam().type;
    connection.mtu = GetParam().mtu;
    connection.peer_access = kRemoteWrite | kRemoteRead | kRemoteAtomic;
    connection.max_reads_in = 16;
    connection.rnr_timer = 12;
    if (!answers.empty()) connection.peer = answers[0].bth.dest_qp;
    hca::Responder responder(connection, table, completions, receives, nullptr);
    responder.start(Psn{GetParam().first});
    Burst burst;
    for (Frame& request : requests) {
      translate(request);
      prepare_memory(request);
      receives.none = was_not_ready(request);
      responder.receive({.opcode = request.bth.opcode,
                         .info = request.info,
                         .psn = request.bth.psn,
                         .ack_request = request.bth.ack_request,
                         .solicited = request.bth.solicited,
                         .pad = request.bth.pad_count,
                         .extended = request.extended(),
                         .payload = request.payload()},
                        now);
      responder.end_run(now);  // rxe puts no acknowledgement off
      while (responder.fill(burst, now)) {
        RecordingSink sink;
        responder.sent(burst, sink.send(burst), now);
        for (auto& datagram : sink.datagrams()) {
          EXPECT_TRUE(reliable() || datagram.empty());
          datagram[1] &= ~std::byte{0x40};  // MigReq
          ours.push_back(std::move(datagram));
        }
      }
    }
  }
  [[nodiscard]] bool reliable() const { return GetParam().type == QpType::kRc; }

  SeededEntropy entropy{Random(1)};
  std::vector<std::byte> memory;
  std::vector<std::byte> buffer;
  MemoryTable table{entropy};
  MemoryRegion region;
  Completions completions;
  Receives receives;
  Connection connection;
  std::vector<Frame> requests;
  std::vector<Frame> answers;
  std::map<std::uint64_t, bool> atomics_begun;
  std::vector<std::vector<std::byte>> ours;
  Time now{1s};
};

TEST_P(ResponderCapture, AnswersAsRxeDid) {
  load();
  register_memory();
  replay();
  if (!GetParam().answers_lost) {
    EXPECT_EQ(ours.size(), answers.size());
  }
  std::size_t at = 0;
  for (const Frame& answer : answers) {
    if (GetParam().answers_lost) {
      while (at < ours.size() && ours[at] != answer.transport)
        ++at;
    }
    ASSERT_LT(at, ours.size()) << answer.where;
    ASSERT_EQ(ours[at], answer.transport)
        << answer.where << ": " << answer.info->name << " of " << answer.bth.psn.value()
        << ", ours " << wire::info(wire::Bth::parse(ours[at])->opcode).name << " of "
        << wire::Bth::parse(ours[at])->psn.value();
    ++at;
  }
  for (const Completion& completion : completions.all)
    EXPECT_EQ(completion.status, CompletionStatus::kSuccess);
  std::map<std::uint32_t, bool> consuming;
  for (const Frame& request : requests) {
    if (request.info->ends_message() &&
        (request.info->operation == wire::Operation::send || request.info->has(wire::kImmDt))) {
      consuming[request.bth.psn.value()] = true;
    }
  }
  EXPECT_EQ(completions.all.size(), consuming.size()) << "each message once";
  EXPECT_EQ(connection.counters.get(ConnectedCounter::kRxMessagesAbandoned), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Rxe, ResponderCapture,
    ::testing::Values(Capture{"rc-send-256.pcap", 256, 613}, Capture{"rc-write-256.pcap", 256, 798},
                      Capture{"rc-read-256.pcap", 256, 1081},
                      Capture{"rc-all-1024-ip6.pcap", 1024, 6441},
                      Capture{"rc-atomic.pcap", 1024, 5080}, Capture{"rc-rnr.pcap", 1024, 8858},
                      Capture{"rc-nak-access.pcap", 1024, 8098},
                      Capture{"rc-pipeline.pcap", 1024, 5311},
                      Capture{"rc-psn-wrap.pcap", 1024, 5554, 0xFFFFFD},
                      Capture{"rc-loss-client.pcap", 1024, 9301},
                      Capture{"rc-loss-server.pcap", 1024, 9204, 0x100, QpType::kRc, true},
                      Capture{"uc-256.pcap", 256, 1383, 0x100, QpType::kUc},
                      Capture{"uc-1024-ip6.pcap", 1024, 7335, 0x100, QpType::kUc}),
    [](const auto& test) {
      std::string name = test.param.file;
      name.resize(name.find('.'));
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace weft::hca::test
