// SPDX-License-Identifier: Apache-2.0
#include "rdmacm/path_record.h"
#include "two_hosts.h"

namespace weft::rdmacm {
namespace {

using Identities = TwoHosts;
using wire::PortSpace;

constexpr std::uint16_t kIdentityPort = 7174;

Address any(Family family, std::uint16_t port = 0) {
  Address out;
  out.family = family;
  out.port = port;
  return out;
}

std::uint16_t source_port(const rdma_ucm_query_addr_resp& response) {
  return Address::parse(abi::bytes_of(response.src_addr))->port;
}

TEST_F(Identities, OnAnyAddressHaveNoDevice) {
  Program program(server);
  const auto id = program.create(PortSpace::kTcp, 1).value();
  ASSERT_EQ(program.bind(id, any(Family::kIpv4)), std::errc{});
  const auto response = program.query_address(id);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->node_guid, 0U);
  EXPECT_GE(source_port(*response), 32768);
  EXPECT_FALSE(program.attributes(id, hca::QpState::kInit));
}

// What librdmacm does when it starts, with its own lock held: a device in the answer would hang it.
TEST_F(Identities, OfInfinibandOnAnyAddressHaveNoDevice) {
  Program program(server);
  const auto id = program.create(PortSpace::kIb, 1, 2).value();
  rdma_ucm_bind command{};
  command.id = id;
  command.addr_size = 48;
  std::array<std::byte, Address::kStorage> raw{};
  const std::uint16_t family = 27;
  std::memcpy(raw.data(), &family, sizeof family);
  wire::store_be64(raw.data() + 24, 0x0000000001060000);
  wire::store_be64(raw.data() + 32, 0xFFFFFFFFFFFF0000);
  std::memcpy(&command.addr, raw.data(), raw.size());
  ASSERT_TRUE(program.run(RDMA_USER_CM_CMD_BIND, command));
  const auto response = program.query_address(id);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->node_guid, 0U);
  EXPECT_EQ(response->src_size, 48);
}

TEST_F(Identities, OnAnAddressOfOursHaveItsDevice) {
  Program program(server);
  const auto id = program.create(PortSpace::kTcp, 1).value();
  ASSERT_EQ(program.bind(id, Address::ip(server.address, kIdentityPort)), std::errc{});
  const auto response = program.query_address(id);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->node_guid, abi::network_order(std::uint64_t{0x101}));
  EXPECT_EQ(response->port_num, 1);
  EXPECT_EQ(response->src_size, 16);
  EXPECT_EQ(source_port(*response), kIdentityPort);
}

TEST_F(Identities, OnALoopbackAddressHaveADeviceOnceTheyHaveADestination) {
  server.address = Gid::from_ipv4(0x7F000001);
  Program program(server);
  const auto id = program.create(PortSpace::kTcp, 1).value();
  ASSERT_EQ(program.bind(id, Address::ip(server.address, kIdentityPort)), std::errc{});
  EXPECT_EQ(program.query_address(id)->node_guid, 0U);
  EXPECT_TRUE(program.attributes(id, hca::QpState::kInit));
  ASSERT_EQ(program.resolve(id, Address::ip(server.address, kIdentityPort)), std::errc{});
  EXPECT_EQ(program.query_address(id)->node_guid, abi::network_order(std::uint64_t{0x101}));
}

TEST_F(Identities, CannotBindWhatIsNotOurs) {
  Program program(server);
  const auto id = program.create(PortSpace::kTcp, 1).value();
  EXPECT_EQ(program.bind(id, Address::ip(client.address, kIdentityPort)),
            std::errc::no_such_device);
  EXPECT_EQ(program.bind(id, any(static_cast<Family>(77))),
            std::errc::invalid_argument);  // no length
  // A refused bind leaves it as it was.
  EXPECT_EQ(program.bind(id, Address::ip(server.address, kIdentityPort)), std::errc{});
}

TEST_F(Identities, ShareAPortOnlyIfBothWantToAndNobodyListens) {
  Program program(server);
  const auto first = program.create(PortSpace::kTcp, 1).value();
  const auto second = program.create(PortSpace::kTcp, 2).value();
  const std::int32_t yes = 1;
  const Address address = Address::ip(server.address, kIdentityPort);
  ASSERT_EQ(program.set_option(first, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, abi::bytes_of(yes)),
            std::errc{});
  ASSERT_EQ(program.bind(first, address), std::errc{});
  EXPECT_EQ(program.bind(second, address), std::errc::address_in_use);
  EXPECT_EQ(program.bind(second, any(Family::kIpv4, kIdentityPort)),
            std::errc::address_not_available);
  ASSERT_EQ(
      program.set_option(second, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, abi::bytes_of(yes)),
      std::errc{});
  EXPECT_EQ(program.bind(second, address), std::errc{});
  EXPECT_EQ(program.listen(first), std::errc::address_in_use);
  ASSERT_TRUE(program.destroy(second));
  EXPECT_EQ(program.listen(first), std::errc{});
}

TEST_F(Identities, OfDifferentPortSpacesHaveDifferentPorts) {
  Program program(server);
  for (const auto space : {PortSpace::kTcp, PortSpace::kUdp, PortSpace::kIpoib}) {
    const auto id = program.create(space, 1).value();
    EXPECT_EQ(program.bind(id, Address::ip(server.address, kIdentityPort)), std::errc{});
    EXPECT_EQ(program.listen(id), std::errc{});
  }
  EXPECT_FALSE(program.create(static_cast<PortSpace>(0x0199), 1));
}

TEST_F(Identities, GiveTheirPortBackWhenDestroyed) {
  Program program(server);
  for (int i = 0; i < 3; ++i) {
    const auto id = program.create(PortSpace::kTcp, 1).value();
    ASSERT_EQ(program.bind(id, Address::ip(server.address, kIdentityPort)), std::errc{});
    ASSERT_EQ(program.listen(id), std::errc{});
    EXPECT_EQ(program.destroy(id).value(), 0U);
  }
}

TEST_F(Identities, LearnByAnEventThatThereIsNoRoute) {
  Program program(client);
  client.has_route = false;
  const auto id = program.create(PortSpace::kTcp, 7).value();
  ASSERT_EQ(program.resolve(id, Address::ip(server.address, kIdentityPort)), std::errc{});
  const auto event = program.expect(abi::Event::kAddrError);
  EXPECT_EQ(event.uid, 7U);
  EXPECT_EQ(static_cast<std::int32_t>(event.status), -ENETUNREACH);
  // And may try again.
  client.has_route = true;
  ASSERT_EQ(program.resolve(id, Address::ip(server.address, kIdentityPort)), std::errc{});
  program.expect(abi::Event::kAddrResolved);
}

TEST_F(Identities, CountTheEventsThatTheProgramHasSeen) {
  Program program(client);
  const auto id = start_client(program, kIdentityPort);
  ASSERT_EQ(program.connect(id, parameters(0x111)), std::errc{});
  settle();  // refused: that event stays unread
  EXPECT_EQ(client.waiting[program.channel], 1U);
  EXPECT_EQ(program.destroy(id).value(), 2U);
  EXPECT_EQ(client.waiting[program.channel], 0U);
}

TEST_F(Identities, MoveToAnotherChannelWithTheirEvents) {
  Program first(client);
  Program second(client);
  const auto id = start_client(first, kIdentityPort);
  ASSERT_EQ(first.connect(id, parameters(0x111)), std::errc{});
  settle();
  const rdma_ucm_migrate_id command{0, id, 0};
  const auto moved =
      second.run<rdma_ucm_migrate_resp>(RDMA_USER_CM_CMD_MIGRATE_ID, command, {}, first.channel);
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->events_reported, 2U);
  EXPECT_FALSE(first.event());
  EXPECT_EQ(client.waiting[first.channel], 0U);
  second.expect(abi::Event::kRejected);
  EXPECT_EQ(first.destroy(id).error(), std::errc::invalid_argument);
  EXPECT_TRUE(second.destroy(id));
}

TEST_F(Identities, OfOtherChannelsAreOutOfReach) {
  Program first(server);
  Program second(server);
  const auto id = first.create(PortSpace::kTcp, 1).value();
  EXPECT_EQ(second.destroy(id).error(), std::errc::invalid_argument);
  EXPECT_EQ(second.destroy(id + 100).error(), std::errc::no_such_file_or_directory);
}

TEST_F(Identities, LearnThatTheirDeviceIsGone) {
  Program program(client);
  const auto id = start_client(program, kIdentityPort);
  client.core->interfaces_changed();
  EXPECT_FALSE(program.event());
  client.has_address = false;
  client.core->interfaces_changed();
  EXPECT_EQ(program.expect(abi::Event::kDeviceRemoval).id, id);
}

TEST_F(Identities, HaveNoRouteWithoutADevice) {
  Program program(client);
  const auto id = program.create(PortSpace::kTcp, 1).value();
  ASSERT_EQ(program.resolve(id, Address::ip(server.address, kIdentityPort)), std::errc{});
  program.expect(abi::Event::kAddrResolved);
  client.has_address = false;
  client.core->interfaces_changed();
  program.expect(abi::Event::kDeviceRemoval);
  EXPECT_EQ(program.resolve_route(id), std::errc::no_such_device);
}

TEST_F(Identities, TakeOnlyOptionsThatThereAre) {
  Program program(client);
  const auto id = program.create(PortSpace::kTcp, 1).value();
  const std::uint8_t byte = 40;
  const std::int32_t number = 1;
  using std::errc;
  const auto set = [&](std::uint32_t level, std::uint32_t name, Bytes value) {
    return program.set_option(id, level, name, value);
  };
  EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, abi::bytes_of(byte)), errc{});
  EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, abi::bytes_of(number)), errc::invalid_argument);
  EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, abi::bytes_of(number)), errc{});
  EXPECT_EQ(set(RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, abi::bytes_of(byte)),
            errc::invalid_argument);
  EXPECT_EQ(set(RDMA_OPTION_ID, 99, abi::bytes_of(byte)), errc::function_not_supported);
  EXPECT_EQ(set(7, 0, abi::bytes_of(byte)), errc::function_not_supported);
}

TEST_F(Identities, UseThePathThatTheProgramKnows) {
  Program program(client);
  const auto id = program.create(PortSpace::kTcp, 1).value();
  ASSERT_EQ(program.resolve(id, Address::ip(server.address, kIdentityPort)), std::errc{});
  program.expect(abi::Event::kAddrResolved);
  PathRecord record;
  record.sgid = client.address;
  record.dgid = server.address;
  const ib_path_rec_data data = record.packed();
  ASSERT_EQ(program.set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, abi::bytes_of(data)),
            std::errc{});
  program.expect(abi::Event::kRouteResolved);
}

TEST_F(Identities, AnswerWithPathsOnceTheRouteIsKnown) {
  Program program(client);
  const auto id = start_client(program, kIdentityPort);
  struct Paths {
    std::uint32_t count;
    std::uint32_t reserved;
    ib_path_rec_data path;
  };
  rdma_ucm_query command{};
  command.id = id;
  command.option = RDMA_USER_CM_QUERY_PATH;
  const auto paths = program.run<Paths>(RDMA_USER_CM_CMD_QUERY, command);
  ASSERT_TRUE(paths);
  ASSERT_EQ(paths->count, 1U);
  const PathRecord path = PathRecord::parse(paths->path);
  EXPECT_EQ(path.dgid, server.address);
  EXPECT_EQ(path.sgid, client.address);
  EXPECT_EQ(path.mtu, 2048U);
  const auto route = program.run<rdma_ucm_query_route_resp>(RDMA_USER_CM_CMD_QUERY_ROUTE, command);
  ASSERT_TRUE(route);
  EXPECT_EQ(route->num_paths, 1U);
  EXPECT_EQ(Gid(std::to_array(route->ib_route[0].dgid)), server.address);
}

TEST_F(Identities, AreLimitedInNumber) {
  CoreConfig config;
  config.max_ids = 3;
  Host small(wire, 9, config);
  Program program(small);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(program.create(PortSpace::kTcp, 1));
  EXPECT_EQ(program.create(PortSpace::kTcp, 1).error(), std::errc::not_enough_memory);
  program.close();
  Program other(small);
  EXPECT_EQ(other.create(PortSpace::kTcp, 1).value(), 1U);
}

// Every command, cut off at every length, with every byte of it wrong in turn.
TEST_F(Identities, SurviveCommandsThatMakeNoSense) {
  Program program(server);
  DrawnEntropy entropy(5);
  std::array<std::byte, 700> bytes{};
  for (int round = 0; round < 20'000; ++round) {
    const std::uint64_t draw = entropy.draw();
    for (std::size_t i = 0; i < bytes.size(); i += 8) {
      // Few bits, so that identifiers, families and sizes come true now and then.
      const std::uint64_t word = entropy.draw() & entropy.draw() & 0x0303'0303'0303'0303;
      std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(8, bytes.size() - i));
    }
    const rdma_ucm_cmd_hdr header{static_cast<std::uint32_t>(draw % 25),
                                  static_cast<std::uint16_t>(draw >> 8 & 0x3FF),
                                  static_cast<std::uint16_t>(draw >> 20 & 0x3FF)};
    std::memcpy(bytes.data(), &header, sizeof header);
    const std::size_t size = draw >> 32 & 1 ? bytes.size() : (draw >> 33) % bytes.size();
    const Bytes extra = Bytes(bytes).subspan(8, (draw >> 43) % 100);
    const Reply reply = server.core->execute(program.channel, Bytes(bytes).first(size), extra,
                                             draw >> 50 & 3, server.now);
    EXPECT_LE(reply.size, header.out);
    settle();
  }
  program.close();
  EXPECT_EQ(server.core->identities(), 0U);
}

}  // namespace
}  // namespace weft::rdmacm
