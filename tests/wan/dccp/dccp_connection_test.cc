// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "dccp_stage.h"
#include "wan/dccp/dccp_options.h"

namespace weft::wan::dccp {
namespace {

Packet parsed(std::size_t from, Bytes packet) {
  const auto read = parse(packet, address(from), address(1 - from));
  EXPECT_TRUE(read);
  return *read;
}

std::string_view text(PacketType type) {
  constexpr std::array<std::string_view, 10> kNames{"Request", "Response", "Data",  "Ack",
                                                    "DataAck", "CloseReq", "Close", "Reset",
                                                    "Sync",    "SyncAck"};
  return kNames.at(static_cast<std::size_t>(type));
}

// What both ends have sent, as "0:Request 1:Response".
struct Trace {
  explicit Trace(World& world) {
    world.tap = [this](std::size_t from, Bytes packet) {
      words +=
          std::to_string(from) + ':' + std::string(text(parsed(from, packet).header.type)) + ' ';
    };
  }
  std::string take() { return std::exchange(words, {}); }
  std::string words;
};

std::vector<std::byte> frame_of(std::size_t size) {
  return std::vector<std::byte>(size, std::byte{0x42});
}

TEST(DccpConnection, IsSetUpInThreeSteps) {
  World world(1);
  Trace trace(world);
  EXPECT_TRUE(world.path(0).is_client());
  EXPECT_FALSE(world.path(1).is_client());
  EXPECT_EQ(world.path(1).state_text(), "listening");
  ASSERT_TRUE(world.connect());
  world.run(1s);
  EXPECT_EQ(trace.take().substr(0, 30), "0:Request 1:Response 0:Ack 1:A");
  EXPECT_EQ(world.path(0).state_text(), "open");
  EXPECT_EQ(world.path(0).connection()->state(), Connection::State::kOpen);
  EXPECT_EQ(world.path(1).connection()->state(), Connection::State::kOpen);
  EXPECT_EQ(world.count(0, "dccp_connections"), 1u);
  // What both negotiate, they have.
  for (std::size_t end = 0; end < 2; ++end) {
    const Features& features = world.path(end).connection()->features();
    EXPECT_FALSE(features.pending());
    for (const FeatureValues& values : {features.own(), features.peer()}) {
      EXPECT_EQ(values.sequence_window, Connection::kSequenceWindow);
      EXPECT_TRUE(values.send_ack_vector);
      EXPECT_TRUE(values.send_ndp_count);
      EXPECT_FALSE(values.partial_coverage);
    }
  }
  // Then nothing is said any more.
  world.run(10s);
  trace.take();
  world.run(60s);
  EXPECT_EQ(trace.take(), "");
}

TEST(DccpConnection, IsSetUpWhicheverOfItsFirstPacketsIsLost) {
  for (int lost = 1; lost <= 6; ++lost) {
    World world(static_cast<std::uint64_t>(lost));
    int sent = 0;
    world.loses = [&](std::size_t, Bytes) { return ++sent == lost; };
    EXPECT_TRUE(world.connect(5s)) << lost;
    world.run(5s, [&] {
      world.fill(0, 3);
      world.fill(1, 3);
    });
    EXPECT_EQ(world.path(0).connection()->state(), Connection::State::kOpen) << lost;
    EXPECT_EQ(world.path(1).connection()->state(), Connection::State::kOpen) << lost;
    EXPECT_GE(world.got(0).size() + world.got(1).size(), 5u) << lost;
  }
}

TEST(DccpConnection, CarriesFramesAsTheyAre) {
  World world(2);
  ASSERT_TRUE(world.connect());
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{2}, std::size_t{513}, world.path(0).longest_frame()}) {
    const auto frame = frame_of(size);
    world.send(0, frame);
    world.run(100ms);
    ASSERT_FALSE(world.got(1).empty());
    EXPECT_EQ(world.got(1).back(), frame);
  }
  world.run(20s, [&] {
    world.fill(0, 2000);
    world.fill(1, 2000);
  });
  EXPECT_EQ(world.got(1).size(), 2004u);
  EXPECT_EQ(world.got(0).size(), 2000u);
  EXPECT_EQ(world.count(0, "dccp_lost"), 0u);
}

TEST(DccpConnection, AcknowledgesEverySecondPacketAndTheLastOneSoon) {
  World world(3);
  ASSERT_TRUE(world.connect());
  world.run(1s);
  Trace trace(world);
  for (int i = 0; i < 3; ++i)
    world.send(0, frame_of(100));
  world.run(8ms);
  EXPECT_EQ(trace.take(), "0:Data 0:Data 0:Data 1:Ack ");
  world.run(60ms);
  EXPECT_EQ(trace.take(), "1:Ack ");
  EXPECT_EQ(world.path(0).connection()->congestion().pipe(), 0u);
}

TEST(DccpConnection, HandsWhatLeavesTogetherToThePathBelowAtOnce) {
  World world(4);
  ASSERT_TRUE(world.connect());
  world.run(5s, [&] { world.fill(0, 1000); });
  world.run(1s);
  ASSERT_GE(world.path(0).connection()->room(), 8u);
  const std::array before{world.calls(0), world.calls(1)};
  const std::size_t had = world.got(1).size();
  world.send(0, frame_of(100), 8);
  EXPECT_EQ(world.calls(0) - before[0], 1u);
  world.run(8ms);
  EXPECT_EQ(world.got(1).size() - had, 8u);
  EXPECT_EQ(world.calls(1) - before[1], 1u) << "four acknowledgements";
}

TEST(DccpConnection, HasWhatFindsNoRoomLeaveOnceThereIsSome) {
  World world(5);
  ASSERT_TRUE(world.connect());
  const std::size_t room = world.path(0).connection()->room();
  world.send(0, frame_of(100), room + 200);
  EXPECT_FALSE(world.path(0).ready());
  world.run(20s);
  EXPECT_TRUE(world.path(0).ready());
  EXPECT_EQ(world.got(1).size(), room + 200);
  for (const auto& frame : world.got(1))
    EXPECT_EQ(frame, frame_of(100));
}

TEST(DccpConnection, AcknowledgesWithDataWhereThereAreSuch) {
  World world(4);
  ASSERT_TRUE(world.connect());
  world.run(1s);
  world.send(0, frame_of(100));
  world.run(6ms);
  Trace trace(world);
  world.send(1, frame_of(100));
  EXPECT_EQ(trace.take(), "1:DataAck ");
}

TEST(DccpConnection, IsReadyAsFarAsItsWindowGoes) {
  World world(5);
  ASSERT_TRUE(world.connect());
  DccpPath& path = world.path(0);
  const std::size_t room = path.connection()->room();
  EXPECT_EQ(path.burst(), room * path.longest_frame());
  for (std::size_t i = 0; i < room; ++i) {
    EXPECT_TRUE(path.ready());
    world.send(0, frame_of(10));
  }
  EXPECT_FALSE(path.ready());
  // One more waits, and goes when there is room.
  static_cast<void>(path.take_changed());
  world.send(0, frame_of(11));
  world.run(100ms);
  EXPECT_EQ(world.got(1).back().size(), 11u);
  EXPECT_TRUE(path.ready());
  EXPECT_TRUE(path.take_changed());
}

TEST(DccpConnection, EndsAsBothSay) {
  for (std::size_t end = 0; end < 2; ++end) {
    World world(6);
    ASSERT_TRUE(world.connect());
    world.run(1s);
    Trace trace(world);
    world.path(end).stop(world.now);
    world.run(30ms);
    const std::string last = trace.take();
    EXPECT_EQ(last, end == 0 ? "0:Close 1:Reset " : "1:CloseReq 0:Close 1:Reset ");
    EXPECT_FALSE(world.path(0).established());
    EXPECT_FALSE(world.path(1).established());
    EXPECT_EQ(world.path(end).connection(), nullptr);
  }
}

TEST(DccpConnection, EndsWithoutTheOtherEndInTime) {
  World world(7);
  ASSERT_TRUE(world.connect());
  world.cut = true;
  world.path(0).stop(world.now);
  EXPECT_EQ(world.path(0).state_text(), "closing");
  world.run(70s);
  EXPECT_EQ(world.path(0).connection(), nullptr);
  EXPECT_FALSE(world.path(0).deadline());
}

TEST(DccpConnection, IsSetUpAgainWhenEitherEndBeginsAnew) {
  for (std::size_t end = 0; end < 2; ++end) {
    World world(8 + end);
    ASSERT_TRUE(world.connect());
    world.begin(end);
    // The other one still says something, as tunnels do.
    world.run(5s, [&] {
      if (world.path(1 - end).ready() && world.path(1 - end).established() &&
          world.got(end).size() < 50 && world.path(1 - end).burst() > 0) {
        world.fill(1 - end, 20);
      }
    });
    ASSERT_TRUE(world.path(0).established()) << end;
    ASSERT_TRUE(world.path(1).established()) << end;
    world.send(end, frame_of(77));
    world.run(100ms);
    EXPECT_EQ(world.got(1 - end).back().size(), 77u);
  }
}

TEST(DccpConnection, GoesOnAfterACut) {
  World world(10);
  ASSERT_TRUE(world.connect());
  world.cut = true;
  world.run(5s, [&] { world.fill(0, 500); });
  world.cut = false;
  world.run(20s, [&] { world.fill(0, 500); });
  EXPECT_GE(world.got(1).size(), 490u);
  EXPECT_GE(world.count(0, "dccp_timeouts"), 1u);
  EXPECT_EQ(world.count(0, "dccp_connections"), 1u);
}

TEST(DccpConnection, IsRefusedByWhoHasAnotherService) {
  World world(11);
  // A client with another service code, which is at byte 16.
  Header header{.source_port = 50000,
                .destination_port = 7472,
                .type = PacketType::kRequest,
                .sequence = Sequence(1000),
                .acknowledged = {},
                .service_code = 1};
  std::vector<std::byte> request(header_bytes(header, 0));
  write(header, {}, {}, address(0), address(1), request);
  std::optional<Header> answer;
  world.tap = [&](std::size_t from, Bytes packet) {
    if (from == 1) answer = parsed(1, packet).header;
  };
  world.inject(1, request);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->type, PacketType::kReset);
  EXPECT_EQ(answer->reset_code, ResetCode::kBadServiceCode);
  EXPECT_EQ(answer->destination_port, 50000);
}

TEST(DccpConnection, LeavesDataOutOfItsChecksumWhereBothWantThat) {
  for (const bool both : {false, true}) {
    World world(12, {}, true);
    if (!both) world.begin(1, false);
    ASSERT_TRUE(world.connect());
    world.run(1s);
    std::size_t coverage = 99;
    world.tap = [&](std::size_t from, Bytes packet) {
      const Packet read = parsed(from, packet);
      if (!read.data.empty()) coverage = read.header.coverage;
    };
    world.send(0, frame_of(100));
    world.run(50ms);
    EXPECT_EQ(coverage, both ? 1u : 0u);
    EXPECT_EQ(world.got(1).size(), 1u);
    EXPECT_EQ(world.count(1, "dccp_rx_coverage"), 0u);
  }
}

TEST(DccpConnection, FollowsCongestionAsItsCountersSay) {
  World world(13, {.mark = 0.05});
  ASSERT_TRUE(world.connect());
  world.run(5s, [&] { world.fill(0, 5000); });
  EXPECT_GT(world.count(0, "dccp_marked"), 10u);
  EXPECT_GT(world.count(0, "dccp_reductions"), 10u);
  EXPECT_EQ(world.count(0, "dccp_lost"), 0u);
}

// A line of 50 packets: what is lost is what overflows it, and most of it is used.
TEST(DccpConnection, UsesALineAndGivesWayWhereItOverflows) {
  World world(14, {.queue = 50});
  ASSERT_TRUE(world.connect());
  world.run(20s, [&] { world.fill(0, 1'000'000); });
  const std::size_t window = world.path(0).connection()->congestion().window();
  EXPECT_GE(window, 20u);
  EXPECT_LE(window, 60u);
  EXPECT_GT(world.count(0, "dccp_reductions"), 3u);
  EXPECT_LT(world.count(0, "dccp_lost"), world.count(0, "dccp_tx_data") / 100);
  // 50 packets in each 10 ms of 20 s would be 100,000.
  EXPECT_GT(world.got(1).size(), 60'000u);
}

TEST(DccpConnection, EchoesATimestamp) {
  World world(15);
  ASSERT_TRUE(world.connect());
  world.run(1s);
  std::optional<Header> last;
  world.tap = [&](std::size_t from, Bytes packet) {
    if (from == 0) last = parsed(0, packet).header;
  };
  world.send(0, frame_of(10));
  world.run(100ms);
  ASSERT_TRUE(last);
  const std::array stamp{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  OptionWriter options(100);
  ASSERT_TRUE(options.put(OptionType::kTimestamp, stamp));
  Header header = *last;
  header.type = PacketType::kData;
  header.acknowledged.reset();
  header.sequence = last->sequence + 1;
  std::vector<std::byte> packet(header_bytes(header, options.bytes().size()));
  const std::array data{std::byte{9}};
  const std::array<Bytes, 1> pieces{data};
  write(header, options.bytes(), pieces, address(0), address(1), packet);
  packet.push_back(data[0]);
  std::string echoed;
  world.tap = [&](std::size_t from, Bytes bytes) {
    OptionReader reader(parsed(from, bytes).options);
    while (const auto option = reader.next()) {
      if (option->type == OptionType::kTimestampEcho && from == 1) {
        echoed = std::to_string(wire::load_be32(option->value.data())) + ' ' +
                 std::to_string(wire::load_be32(option->value.data() + 4));
      }
    }
  };
  world.inject(1, packet);
  world.run(100ms);
  EXPECT_EQ(echoed, "16909060 2000");  // after the 20 ms of a late acknowledgement
}

TEST(DccpConnection, SaysAgainTheCookieOfAServer) {
  World world(16);
  std::optional<Header> request;
  world.tap = [&](std::size_t from, Bytes packet) {
    if (from == 0 && !request) request = parsed(0, packet).header;
  };
  world.cut = true;
  world.run(10ms);
  ASSERT_TRUE(request);
  const std::array cookie{std::byte{7}, std::byte{8}};
  OptionWriter options(100);
  ASSERT_TRUE(options.put(OptionType::kInitCookie, cookie));
  const Header response{.source_port = request->destination_port,
                        .destination_port = request->source_port,
                        .type = PacketType::kResponse,
                        .sequence = Sequence(77),
                        .acknowledged = request->sequence,
                        .service_code = DccpPath::kServiceCode};
  std::vector<std::byte> packet(header_bytes(response, options.bytes().size()));
  write(response, options.bytes(), {}, address(1), address(0), packet);
  std::size_t cookies = 0;
  world.tap = [&](std::size_t from, Bytes bytes) {
    const Packet read = parsed(from, bytes);
    OptionReader reader(read.options);
    while (const auto option = reader.next())
      cookies += option->type == OptionType::kInitCookie && read.header.type == PacketType::kAck;
  };
  world.inject(0, packet);
  world.run(1s);
  EXPECT_GE(cookies, 2u);
  EXPECT_FALSE(world.path(0).established());  // before the server has taken it
}

}  // namespace
}  // namespace weft::wan::dccp
