// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>

#include <chrono>

#include "verbs_fixture.h"

namespace weft::verbs_test {
namespace {

using Datagram = Loopback;
constexpr std::size_t kDatagramIn = 4096;  // offset of the receive buffer

TEST_F(Datagram, ArrivesAfterFortyBytesOfNetworkHeaderWithItsSendersNumber) {
  const QueuePair from = make_qp();
  const QueuePair to = make_qp();
  const Ah ah = make_ah();
  post_receive(to.get(), 7, kDatagramIn, 256);
  write(0, "over the wire");
  ibv_sge piece = sge(0, 13);
  ibv_send_wr request = send_request(ah.get(), to->qp_num, &piece);
  request.wr_id = 9;
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(from.get(), &request, &bad), 0);

  const auto all = wait_for(2);
  const ibv_wc& sent = of_opcode(all, IBV_WC_SEND);
  EXPECT_EQ(sent.wr_id, 9U);
  EXPECT_EQ(sent.status, IBV_WC_SUCCESS);
  EXPECT_EQ(sent.qp_num, from->qp_num);
  const ibv_wc& got = of_opcode(all, IBV_WC_RECV);
  EXPECT_EQ(got.wr_id, 7U);
  EXPECT_EQ(got.status, IBV_WC_SUCCESS);
  EXPECT_EQ(got.vendor_err, 0U);
  EXPECT_EQ(got.byte_len, 13U + kGrh);
  EXPECT_EQ(got.qp_num, to->qp_num);
  EXPECT_EQ(got.src_qp, from->qp_num);
  EXPECT_EQ(got.wc_flags, static_cast<unsigned>(IBV_WC_GRH));
  EXPECT_EQ(read(kDatagramIn + kGrh, 13), "over the wire");
}

TEST_F(Datagram, CarriesAnImmediateAndGathersInlinePieces) {
  const QueuePair from = make_qp();
  const QueuePair to = make_qp();
  const Ah ah = make_ah();
  post_receive(to.get(), 1, kDatagramIn, 256);
  std::string first = "in";
  std::string second = "line";
  // No key: inline pieces are copied by the call.
  ibv_sge pieces[2]{{reinterpret_cast<std::uintptr_t>(first.data()), 2, 0},
                    {reinterpret_cast<std::uintptr_t>(second.data()), 4, 0}};
  ibv_send_wr request = send_request(ah.get(), to->qp_num, pieces);
  request.num_sge = 2;
  request.opcode = IBV_WR_SEND_WITH_IMM;
  request.imm_data = htonl(0xC0FFEE);
  request.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(from.get(), &request, &bad), 0);
  first.assign(first.size(), '-');
  second.assign(second.size(), '-');

  const auto all = wait_for(2);
  const ibv_wc& got = of_opcode(all, IBV_WC_RECV);
  EXPECT_EQ(got.wc_flags, static_cast<unsigned>(IBV_WC_GRH | IBV_WC_WITH_IMM));
  EXPECT_EQ(ntohl(got.imm_data), 0xC0FFEEU);
  EXPECT_EQ(read(kDatagramIn + kGrh, 6), "inline");
}

TEST_F(Datagram, IsAnsweredThroughAnAddressHandleMadeFromItsCompletion) {
  for (int index = 0; index < 2; ++index) {
    ibv_gid gid{};
    if (ibv_query_gid(context_.get(), 1, index, &gid) != 0) continue;  // no IPv6 on this machine
    SCOPED_TRACE(index);
    const QueuePair from = make_qp();
    const QueuePair to = make_qp();
    const Ah ah = make_ah(index);
    ASSERT_NE(ah, nullptr);
    post_receive(to.get(), 1, kDatagramIn, 256);
    post_receive(from.get(), 2, 2 * kDatagramIn, 256);
    ibv_sge piece = sge(0, 5);
    ibv_send_wr request = send_request(ah.get(), to->qp_num, &piece);
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_send(from.get(), &request, &bad), 0);
    const auto all = wait_for(2);
    ibv_wc got = of_opcode(all, IBV_WC_RECV);
    // Bit 3 is UDP; UCX looks for IPv4 by the rest.
    in6_addr address{};
    std::memcpy(&address, gid.raw, sizeof address);
    EXPECT_EQ(got.sl, IN6_IS_ADDR_V4MAPPED(&address) ? 8 + 2 : 8 + 1);

    auto* grh = reinterpret_cast<ibv_grh*>(buffer_.data() + kDatagramIn);
    ibv_ah_attr attributes{};
    ASSERT_EQ(ibv_init_ah_from_wc(context_.get(), 1, &got, grh, &attributes), 0);
    EXPECT_EQ(attributes.is_global, 1);
    EXPECT_EQ(attributes.sl, 0);
    EXPECT_EQ(attributes.grh.sgid_index, index);
    EXPECT_EQ(std::memcmp(attributes.grh.dgid.raw, gid.raw, sizeof gid.raw), 0);

    const Ah back(ibv_create_ah_from_wc(pd_.get(), &got, grh, 1));
    ASSERT_NE(back, nullptr);
    write(0, "reply");
    request = send_request(back.get(), got.src_qp, &piece);
    ASSERT_EQ(ibv_post_send(to.get(), &request, &bad), 0);
    wait_for(2);
    EXPECT_EQ(read(2 * kDatagramIn + kGrh, 5), "reply");
  }
}

TEST_F(Datagram, HeaderOfNeitherIpVersionGivesNoAddress) {
  ibv_grh grh{};
  ibv_wc wc{};
  wc.wc_flags = IBV_WC_GRH;
  ibv_ah_attr attributes{};
  EXPECT_EQ(ibv_init_ah_from_wc(context_.get(), 1, &wc, &grh, &attributes), EBADMSG);
  EXPECT_EQ(ibv_create_ah_from_wc(pd_.get(), &wc, &grh, 1), nullptr);
}

TEST_F(Datagram, WakesWhoeverSleepsOnTheChannelOfItsQueue) {
  const Channel channel(ibv_create_comp_channel(context_.get()));
  ASSERT_NE(channel, nullptr);
  int mark = 0;
  Cq cq(ibv_create_cq(context_.get(), 16, &mark, channel.get(), 0));
  EXPECT_EQ(channel->refcnt, 1);
  EXPECT_EQ(ibv_destroy_comp_channel(channel.get()), EBUSY);
  ibv_qp_init_attr attributes = ud_attributes();
  attributes.recv_cq = cq.get();
  const QueuePair to = make_ready(ibv_create_qp(pd_.get(), &attributes));
  const QueuePair from = make_qp();
  const Ah ah = make_ah();
  post_receive(to.get(), 1, kDatagramIn, 256);
  ASSERT_EQ(ibv_req_notify_cq(cq.get(), 1), 0);
  ibv_sge piece = sge(0, 1);
  ibv_send_wr request = send_request(ah.get(), to->qp_num, &piece);
  request.send_flags |= IBV_SEND_SOLICITED;
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(from.get(), &request, &bad), 0);

  pollfd ready{channel->fd, POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, -1), 1);
  ibv_cq* which = nullptr;
  void* user = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel.get(), &which, &user), 0);
  EXPECT_EQ(which, cq.get());
  EXPECT_EQ(user, &mark);
  ibv_ack_cq_events(which, 1);
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(cq.get(), 1, &wc), 1);

  ASSERT_EQ(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(ibv_get_cq_event(channel.get(), &which, &user), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Datagram, ReachesEveryQueuePairAttachedToItsGroup) {
  const QueuePair from = make_qp();
  const QueuePair one = make_qp();
  const QueuePair two = make_qp();
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.port_num = 1;
  const std::uint8_t mapped[12]{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  std::memcpy(attributes.grh.dgid.raw, mapped, sizeof mapped);
  const std::uint8_t group[4]{239, 1, 2, 3};
  std::memcpy(attributes.grh.dgid.raw + 12, group, sizeof group);
  attributes.grh.hop_limit = 1;
  const ibv_gid mgid = attributes.grh.dgid;
  ASSERT_EQ(ibv_attach_mcast(one.get(), &mgid, 0xC001), 0);
  ASSERT_EQ(ibv_attach_mcast(two.get(), &mgid, 0), 0);
  const Ah ah(ibv_create_ah(pd_.get(), &attributes));
  ASSERT_NE(ah, nullptr);
  post_receive(one.get(), 1, kDatagramIn, 256);
  post_receive(two.get(), 2, 2 * kDatagramIn, 256);
  write(0, "all");
  ibv_sge piece = sge(0, 3);
  ibv_send_wr request = send_request(ah.get(), 0xFFFFFF, &piece);
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(from.get(), &request, &bad), 0);
  wait_for(3);
  EXPECT_EQ(read(kDatagramIn + kGrh, 3), "all");
  EXPECT_EQ(read(2 * kDatagramIn + kGrh, 3), "all");
  EXPECT_EQ(ibv_detach_mcast(one.get(), &mgid, 0), 0);
  EXPECT_EQ(ibv_detach_mcast(one.get(), &mgid, 0), EINVAL);
  EXPECT_EQ(ibv_detach_mcast(two.get(), &mgid, 0), 0);
}

TEST_F(Datagram, RequestsPostedBeforeARefusedOneStillGoOut) {
  const QueuePair from = make_qp();
  const QueuePair to = make_qp();
  const Ah ah = make_ah();
  post_receive(to.get(), 1, kDatagramIn, 256);
  ibv_sge piece = sge(0, 1);
  ibv_send_wr good = send_request(ah.get(), to->qp_num, &piece);
  ibv_send_wr wrong = send_request(ah.get(), to->qp_num, &piece);
  wrong.opcode = IBV_WR_RDMA_WRITE;
  good.next = &wrong;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(from.get(), &good, &bad), EINVAL);
  EXPECT_EQ(bad, &wrong);
  wait_for(2);
}

// rsockets says "would block" by errno, gives credit back with a post, and returns.
TEST_F(Datagram, LeavesErrnoAloneWhenItIsPostedOrPolledFor) {
  const QueuePair from = make_qp();
  const QueuePair to = make_qp();
  const Ah ah = make_ah();
  constexpr int kOfTheProgram = E2BIG;  // which nothing here can mean
  errno = kOfTheProgram;
  ibv_wc completion{};
  EXPECT_EQ(ibv_poll_cq(cq_.get(), 1, &completion), 0);
  EXPECT_EQ(errno, kOfTheProgram) << "an empty queue's sockets were asked";
  EXPECT_EQ(ibv_req_notify_cq(cq_.get(), 0), 0);
  EXPECT_EQ(errno, kOfTheProgram);
  ibv_sge piece = sge(0, 4);
  ibv_send_wr request = send_request(ah.get(), to->qp_num, &piece);
  ibv_send_wr* bad = nullptr;
  constexpr int kSends = 8;
  for (int i = 0; i < kSends; ++i) {
    EXPECT_EQ(ibv_post_send(from.get(), &request, &bad), 0);
    ASSERT_EQ(errno, kOfTheProgram) << "post " << i;
  }
  wait_for(kSends);
}

// Whoever makes the queue smaller counts what was posted, also while the library's thread is
// sending it: some 20 us after the post.
TEST_F(Datagram, ThatWasPostedCountsWhenItsQueueIsResized) {
  const QueuePair from = make_qp();
  const QueuePair to = make_qp();
  const Ah ah = make_ah();
  ibv_sge piece = sge(0, 13);
  ibv_send_wr request = send_request(ah.get(), to->qp_num, &piece);
  ibv_send_wr* bad = nullptr;
  for (int round = 0; round < 3000; ++round) {
    constexpr int kSends = 4;
    for (int i = 0; i < kSends; ++i)
      ASSERT_EQ(ibv_post_send(from.get(), &request, &bad), 0);
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(round % 60);
    while (std::chrono::steady_clock::now() < until) {
    }
    ASSERT_EQ(ibv_resize_cq(cq_.get(), 1), EINVAL) << "round " << round;
    wait_for(kSends);
  }
}

}  // namespace
}  // namespace weft::verbs_test
