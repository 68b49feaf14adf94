// SPDX-License-Identifier: Apache-2.0
// What the agent says of itself when it is asked.
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "agent_fixture.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;

class AgentReport : public AgentFixture {
 protected:
  static door::Hello asking() { return Client::hello(door::kReport, 0); }
  // What a reader gets; null when that is no report.
  Json report() {
    Client reader(config_.socket);
    const auto welcome = reader.greet(asking());
    if (!welcome || welcome->error != 0) return {};
    struct stat status {};
    if (fstat(reader.descriptor(), &status) != 0) return {};
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    if (pread(reader.descriptor(), text.data(), text.size(), 0) != status.st_size) return {};
    vanish(reader);
    return Json::parse(text, nullptr, false);
  }
  static const Json& by_state(const Json& wire, const char* state) {
    static const Json none;
    for (const Json& each : wire["cm_ids"]) {
      if (each["state"] == state) return each;
    }
    return none;
  }
};

TEST_F(AgentReport, OfAnAgentThatNobodyUsesIsEmpty) {
  serve();
  const Json said = report();
  EXPECT_EQ(said["version"], 1);
  EXPECT_EQ(said["pid"], getpid());
  EXPECT_TRUE(said["programs"].empty());
  EXPECT_TRUE(said["wires"].empty());
  EXPECT_GT(said["since"], 0);
}

TEST_F(AgentReport, NamesProgramsAndTheirConnections) {
  serve();
  Client listening = opened();
  listening.listen(listening.create_id(1), loopback_, 7471);
  Client connecting = opened();
  const std::uint32_t id = connecting.create_id(2);
  connecting.resolve(id, loopback_, 7471);
  connecting.connect(id, 0x111);
  const auto request = listening.await(abi::Event::kConnectRequest);
  listening.accept(request.id, 0x222);
  connecting.await(abi::Event::kConnectResponse);

  const Json said = report();
  ASSERT_EQ(said["programs"].size(), 1u);  // this process, with both
  EXPECT_EQ(said["programs"][0]["pid"], getpid());
  EXPECT_EQ(said["programs"][0]["files"], 2);
  ASSERT_EQ(said["wires"].size(), 1u);
  const Json& wire = said["wires"][0];
  EXPECT_EQ(wire["wire"], "udp");
  EXPECT_EQ(wire["udp_port"], cm_port_);
  EXPECT_EQ(wire["cm_id_count"], 3);
  EXPECT_GE(wire["counters"]["qp1_tx_mads"], 2);  // REQ and REP
  EXPECT_EQ(by_state(wire, "LISTEN")["src_addr"], "127.0.0.1:7471");
  const Json& connection = by_state(wire, "CONNECT");
  EXPECT_EQ(connection["pid"], getpid());
  EXPECT_EQ(connection["ps"], "TCP");
  EXPECT_EQ(connection["type"], "RC");
  EXPECT_NE(connection["cm_state"], Json());
}

TEST_F(AgentReport, HasTheSlotsThatAreLeased) {
  serve();
  Client owner(config_.socket);
  const auto welcome = owner.greet(Client::hello(door::kSlot, 0));
  ASSERT_TRUE(welcome && welcome->error == 0);
  Json said = report();
  ASSERT_EQ(said["programs"].size(), 1u);
  EXPECT_EQ(said["programs"][0]["slots"], Json::array({welcome->slot}));
  EXPECT_EQ(said["wires"][0]["wire"], "roce");
  vanish(owner);
  said = report();
  EXPECT_TRUE(said["programs"].empty());
}

TEST_F(AgentReport, TellsWhoDidNotKeepToTheProtocol) {
  serve();
  Client client(config_.socket);
  ASSERT_EQ(client.say(Bytes(std::vector<std::byte>(1))), 0);
  ASSERT_TRUE(client.is_dropped());
  EXPECT_EQ(report()["counters"]["agent_nonsense"], 1);
}

TEST_F(AgentReport, IsNotWhatKeepsAnAgentAlive) {
  config_.idle = 1ms;
  open();
  std::vector<Client> readers;
  for (int i = 0; i < 3; ++i) {
    Client& reader = readers.emplace_back(config_.socket);
    ASSERT_EQ(reader.say(asking()), 0);
  }
  run();
  for (Client& reader : readers) {
    const auto welcome = reader.read_welcome();
    ASSERT_TRUE(welcome && welcome->error == 0);
  }
  // And although they stay.
  ASSERT_EQ(running_.wait_for(20s), std::future_status::ready);
}

TEST_F(AgentReport, CannotBeChangedByItsReader) {
  serve();
  Client reader(config_.socket);
  ASSERT_TRUE(reader.greet(asking()));
  EXPECT_LT(write(reader.descriptor(), "x", 1), 0);
  EXPECT_NE(ftruncate(reader.descriptor(), 0), 0);
}

TEST_F(AgentReport, IsGivenAgainToWhoAsksAgain) {
  serve();
  Client reader(config_.socket);
  for (int i = 0; i < 3; ++i) {
    const auto welcome = reader.greet(asking());
    ASSERT_TRUE(welcome);
    EXPECT_EQ(welcome->error, 0);
  }
  expect_service();
}

}  // namespace
}  // namespace weft::daemon
