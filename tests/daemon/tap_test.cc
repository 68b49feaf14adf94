// SPDX-License-Identifier: Apache-2.0
// What `weft run --capture` and `--fault` ask of queue pair 1, program by program.

#include "agent_fixture.h"
#include "io/pcapng_writer.h"

namespace weft::daemon {
namespace {

class ProgramTaps : public AgentFixture {
 protected:
  // A greeting and what follows it.
  [[nodiscard]] std::vector<std::byte> greeting(const std::string& faults,
                                                const std::string& capture) const {
    door::Hello hello = Client::hello(door::kOpen, cm_port_);
    hello.fault_size = static_cast<std::uint32_t>(faults.size());
    hello.capture_size = static_cast<std::uint32_t>(capture.size());
    std::vector<std::byte> out;
    for (const Bytes part : {abi::bytes_of(hello), std::as_bytes(std::span(faults)),
                             std::as_bytes(std::span(capture))})
      out.insert(out.end(), part.begin(), part.end());
    return out;
  }
  // errno of the welcome, or 0.
  int greet(Client& client, const std::string& faults, const std::string& capture) {
    EXPECT_EQ(client.say(Bytes(greeting(faults, capture))), 0);
    const auto welcome = client.read_welcome();
    EXPECT_TRUE(welcome);
    return welcome ? welcome->error : EIO;
  }
  std::string created_capture() {
    const std::string path = config_.socket + ".pcapng";
    const std::vector<io::CaptureInterface> interfaces{{"lo", "weft_lo"}};
    EXPECT_TRUE(io::PcapngFile::create(path, interfaces));
    return path;
  }
  std::uint32_t connecting(Client& client, std::uint16_t port, std::uint32_t qpn) {
    const std::uint32_t id = client.create_id(2);
    client.resolve(id, loopback_, port);
    client.connect(id, qpn);
    return id;
  }
};

TEST_F(ProgramTaps, SpoilWhatComesForTheirProgramAndNothingElse) {
  serve();
  Client listening = opened();
  listening.listen(listening.create_id(1), loopback_, 7471);
  Client deaf(config_.socket);
  ASSERT_EQ(greet(deaf, "loss=100%", ""), 0);
  connecting(deaf, 7471, 0x111);
  auto request = listening.await(abi::Event::kConnectRequest);  // what it sends is not spoilt
  listening.accept(request.id, 0x211);

  Client hearing = opened();
  connecting(hearing, 7471, 0x112);
  request = listening.await(abi::Event::kConnectRequest);
  listening.accept(request.id, 0x212);
  EXPECT_EQ(hearing.await(abi::Event::kConnectResponse).param.conn.qp_num, 0x212u);

  pollfd watched{deaf.descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&watched, 1, 0), 0) << "its answer was before the other one's, and is lost";
}

TEST_F(ProgramTaps, SpoilRequestsToAProgramThatListens) {
  serve();
  Client listening(config_.socket);
  ASSERT_EQ(greet(listening, "loss=100%", ""), 0);
  listening.listen(listening.create_id(1), loopback_, 7471);
  Client asking = opened();
  connecting(asking, 7471, 0x111);
  // It was there and gone when another one, sent later, is answered.
  Client other = opened();
  other.listen(other.create_id(1), loopback_, 7472);
  connecting(asking, 7472, 0x112);
  other.await(abi::Event::kConnectRequest);
  pollfd watched{listening.descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&watched, 1, 0), 0);
}

TEST_F(ProgramTaps, LetGoInTimeOfWhatTheyHoldBack) {
  serve();
  Client listening = opened();
  listening.listen(listening.create_id(1), loopback_, 7471);
  Client slow(config_.socket);
  ASSERT_EQ(greet(slow, "delay=20ms", ""), 0);
  connecting(slow, 7471, 0x111);
  const auto request = listening.await(abi::Event::kConnectRequest);
  listening.accept(request.id, 0x211);
  slow.await(abi::Event::kConnectResponse);
}

TEST_F(ProgramTaps, RecordWhatIsOfTheirProgramAtOnce) {
  const std::string path = created_capture();
  const auto empty = std::filesystem::file_size(path);
  serve();
  Client listening = opened();
  listening.listen(listening.create_id(1), loopback_, 7471);
  Client recorded(config_.socket);
  ASSERT_EQ(greet(recorded, "", path), 0);
  Client other = opened();
  connecting(other, 7471, 0x112);
  listening.accept(listening.await(abi::Event::kConnectRequest).id, 0x212);
  other.await(abi::Event::kConnectResponse);
  EXPECT_EQ(std::filesystem::file_size(path), empty) << "another program's";

  connecting(recorded, 7471, 0x111);
  listening.accept(listening.await(abi::Event::kConnectRequest).id, 0x211);
  recorded.await(abi::Event::kConnectResponse);
  // REQ and REP, each in a block of at least a management datagram and all its headers.
  constexpr std::size_t kPacket = 14 + 20 + 8 + 12 + 8 + 256 + 4;
  EXPECT_GE(std::filesystem::file_size(path), empty + 2 * kPacket);
  EXPECT_LT(std::filesystem::file_size(path), empty + 3 * kPacket);
}

TEST_F(ProgramTaps, AreRefusedWithTheirProgramWhenTheyMakeNoSense) {
  serve();
  EXPECT_EQ(greet(*std::make_unique<Client>(config_.socket), "loss=lots", ""), EINVAL);
  EXPECT_EQ(greet(*std::make_unique<Client>(config_.socket), "", "/no/such/file"), ENOENT);
  EXPECT_NE(greet(*std::make_unique<Client>(config_.socket), "", config_.socket), 0);
  expect_service();
}

TEST_F(ProgramTaps, AreNonsenseWhenTheirLengthsLie) {
  serve();
  for (const std::ptrdiff_t more : {-1, 1}) {
    auto message = greeting("loss=1%", "x");
    message.resize(static_cast<std::size_t>(std::ssize(message) + more));
    Client client(config_.socket);
    ASSERT_EQ(client.say(Bytes(message)), 0);
    EXPECT_TRUE(client.is_dropped());
  }
  for (const std::size_t size : {door::kMostFault + 1, door::kMostCapture + 1}) {
    Client client(config_.socket);
    ASSERT_EQ(client.say(Bytes(greeting(std::string(size, 'x'), ""))), 0);
    EXPECT_TRUE(client.is_dropped());
  }
  EXPECT_EQ(count(AgentCounter::kNonsense), 4u);
}

}  // namespace
}  // namespace weft::daemon
