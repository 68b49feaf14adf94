// SPDX-License-Identifier: Apache-2.0
// rdma_cm between ports of a fabric: what others than the peer say, and hosts behind a router.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "mgmt/cm_outbox.h"
#include "two_nodes.h"
#include "wire/cm_connect.h"
#include "wire/cm_disconnect.h"
#include "wire/cm_ip.h"
#include "wire/cm_refuse.h"

namespace weft::rdmacm {
namespace {

// What the client would ask for, from the LID that its path says and from others.
class HostileOnFabric : public OnFabric {
 protected:
  wire::CmReq request() const {
    return {.local_comm_id = wire::CommId{0xC0FFEE},
            .service_id = wire::ip_service_id(wire::PortSpace::kTcp, 7000),
            .local_qpn = Qpn{0x500},
            .pkey = kDefaultPKey,
            .path_mtu = 3,
            .primary = {.local_lid = client.lid,
                        .remote_lid = server.lid,
                        .local_gid = client.gid,
                        .remote_gid = server.gid,
                        .subnet_local = true}};
  }
  hca::Path from(Lid lid) const {
    hca::Path path;
    path.sgid = server.gid;
    path.dlid = lid;
    path.global = false;
    return path;
  }
  template <class Message>
  void send(const Message& message, Lid lid) {
    server.manager->receive(mgmt::make_mad(message, ++transaction_), from(lid), kDefaultPKey,
                            server.now);
  }
  // Why the server refuses; nothing when it does not.
  std::optional<mgmt::RejectReason> refusal(const wire::CmReq& req, Lid lid) {
    std::optional<mgmt::RejectReason> out;
    wire.sees = [&](Bytes mad) {
      const auto header = wire::MadHeader::parse(mad);
      if (header->attribute_id != static_cast<std::uint16_t>(wire::CmMessage::kRej)) return;
      out = wire::CmRej::parse(mad.subspan(wire::MadHeader::kSize))->reason;
    };
    send(req, lid);
    settle();
    wire.sees = {};
    return out;
  }

 private:
  std::uint64_t transaction_ = 0;
};

TEST_F(HostileOnFabric, PathsMustLeadToUsAndBackToTheirSender) {
  using Reason = mgmt::RejectReason;
  start_listener(listening);
  wire::CmReq bad = request();
  bad.primary.remote_lid = Lid{static_cast<std::uint16_t>(server.lid.value() + 4)};
  EXPECT_EQ(refusal(bad, client.lid), Reason::kPrimaryLidRejected) << "none of the four";
  for (const unsigned lid : {0U, 0xC000U, 0xFFFFU}) {
    bad = request();
    bad.primary.local_lid = Lid{static_cast<std::uint16_t>(lid)};
    EXPECT_EQ(refusal(bad, client.lid), Reason::kPrimaryLidRejected) << lid;
  }
  EXPECT_EQ(refusal(request(), Lid{99}), Reason::kUnsupportedRequest) << "somebody else's LID";
  bad = request();
  bad.primary.remote_gid = gid_of(9);
  EXPECT_EQ(refusal(bad, client.lid), Reason::kPrimaryGidRejected);
  bad = request();
  bad.alternate = bad.primary;
  bad.alternate.remote_lid = Lid{1};
  EXPECT_EQ(refusal(bad, client.lid), Reason::kAlternateLidRejected);
  bad = request();
  bad.pkey = PKey{0x8123};
  EXPECT_EQ(refusal(bad, client.lid), Reason::kUnsupportedRequest) << "not a member";
  server.has_lid = false;
  EXPECT_EQ(refusal(request(), client.lid), Reason::kPrimaryLidRejected) << "it has lost its LID";
  server.has_lid = true;
  EXPECT_FALSE(listening.event().has_value());

  wire::CmReq good = request();
  wire::CmIpHeader::between(client.address, 1, server.address)
      .write(MutableBytes(good.private_data).first(wire::CmIpHeader::kSize));
  EXPECT_EQ(refusal(good, client.lid), std::nullopt);
  listening.expect(abi::Event::kConnectRequest);
}

TEST_F(HostileOnFabric, NobodyElseMayAnswerForAPeer) {
  start_listener(listening);
  const auto id = start_routed_client(connecting);
  ASSERT_EQ(connecting.connect(id, parameters(0x111)), std::errc{});
  settle();
  const auto asked = listening.expect(abi::Event::kConnectRequest);
  ASSERT_EQ(listening.accept(asked.id, parameters(0x222), 0xA2), std::errc{});
  settle();
  connecting.expect(abi::Event::kConnectResponse);
  wire::CommId ours{};
  wire::CommId theirs{};
  wire.sees = [&](Bytes mad) {
    const auto rtu = wire::CmRtu::parse(mad.subspan(wire::MadHeader::kSize));
    theirs = rtu->local_comm_id;
    ours = rtu->remote_comm_id;
  };
  ASSERT_EQ(connecting.accept(id, {}, 0), std::errc{});
  settle();
  wire.sees = {};
  listening.expect(abi::Event::kEstablished);

  const wire::CmDreq dreq{
      .local_comm_id = theirs, .remote_comm_id = ours, .remote_qpn = Qpn{0x222}};
  const auto strangers = [&] {
    return server.core->manager().counters().get(mgmt::CmCounter::kRxWrongPeer);
  };
  const auto before = strangers();
  send(dreq, Lid{99});
  EXPECT_EQ(strangers(), before + 1);
  EXPECT_FALSE(listening.event().has_value());
  send(dreq, Lid{2 * kFirstLid + 3});
  listening.expect(abi::Event::kDisconnected);
}

// Hosts of other subnets, behind one router.
class RoutedToFabric : public HostileOnFabric {
 protected:
  static constexpr Lid kRouter{99};
  static Gid far(std::uint8_t number) {
    return Gid{{0xFD, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, number}};
  }
  wire::CmReq routed_request(std::uint8_t host) const {
    wire::CmReq req = request();
    req.primary = {.local_lid = Lid{wire::CmPath::kPermissiveLid},
                   .remote_lid = Lid{wire::CmPath::kPermissiveLid},
                   .local_gid = far(host),
                   .remote_gid = server.gid,
                   .hop_limit = 60};
    wire::CmIpHeader::between(far(host), 1, server.address)
        .write(MutableBytes(req.private_data).first(wire::CmIpHeader::kSize));
    return req;
  }
  void arrive(const wire::CmReq& req, const Gid& source) {
    hca::Path by = from(kRouter);
    by.global = true;
    by.dgid = source;
    by.sl = Sl{3};
    by.source_path_bits = 2;
    server.manager->receive(mgmt::make_mad(req, ++transaction_), by, kDefaultPKey, server.now);
    settle();
  }
  std::uint64_t refused() const {
    return server.core->manager().counters().get(mgmt::CmCounter::kRefusedInvalid);
  }

 private:
  std::uint64_t transaction_ = 100;
};

TEST_F(RoutedToFabric, AnswersByTheWayThatARequestCame) {
  start_listener(listening);
  arrive(routed_request(1), far(1));
  const auto asked = listening.expect(abi::Event::kConnectRequest);
  const auto path = listening.attributes(asked.id, hca::QpState::kRtr).value().ah_attr;
  EXPECT_EQ(path.dlid, kRouter.value());
  EXPECT_EQ(path.src_path_bits, 2);
  EXPECT_EQ(path.sl, 3);
  EXPECT_EQ(path.is_global, 1);
  EXPECT_EQ(path.grh.hop_limit, 60);
  EXPECT_EQ(std::memcmp(path.grh.dgid, far(1).bytes().data(), 16), 0);
}

TEST_F(RoutedToFabric, TellsHostsBehindARouterApart) {
  start_listener(listening);
  arrive(routed_request(1), far(1));
  arrive(routed_request(2), far(2));  // with the same communication ID, and the same queue pair
  const auto first = listening.expect(abi::Event::kConnectRequest);
  const auto second = listening.expect(abi::Event::kConnectRequest);
  EXPECT_NE(first.id, second.id);
  EXPECT_EQ(refused(), 0u);
}

TEST_F(RoutedToFabric, IsNotMadeToSendToSomebodyWhoHasNotAsked) {
  start_listener(listening);
  arrive(routed_request(1), far(2));
  EXPECT_EQ(refused(), 1u);
  EXPECT_EQ(refusal(routed_request(1), kRouter), mgmt::RejectReason::kUnsupportedRequest)
      << "without a GRH";
  EXPECT_FALSE(listening.event().has_value());
}

}  // namespace
}  // namespace weft::rdmacm
