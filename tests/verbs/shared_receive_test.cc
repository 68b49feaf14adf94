// SPDX-License-Identifier: Apache-2.0
// Shared receive queues, and XRC, whose queue pairs have nothing else to receive into.
#include <fcntl.h>

#include <cstdio>

#include "connected_fixture.h"

namespace weft::verbs_test {
namespace {

class SharedReceive : public Connected {
 protected:
  Srq make_srq(std::uint32_t depth = 8) {
    ibv_srq_init_attr attributes{};
    attributes.srq_context = this;
    attributes.attr = {depth, 2, 0};
    Srq srq(ibv_create_srq(pd_.get(), &attributes));
    EXPECT_NE(srq, nullptr);
    return srq;
  }
  Pair make_sharing_pair(ibv_srq* srq) {
    ibv_qp_init_attr attributes = attributes_of(IBV_QPT_RC);
    attributes.srq = srq;
    return make_pair(attributes);
  }
  int post_shared(ibv_srq* srq, std::uint64_t id, std::size_t offset, std::uint32_t length) {
    ibv_sge piece = sge(offset, length);
    ibv_recv_wr request{id, nullptr, &piece, 1};
    ibv_recv_wr* bad = nullptr;
    return ibv_post_srq_recv(srq, &request, &bad);
  }
  void send(ibv_qp* from) {
    ibv_sge piece = sge(0, 4);
    post(from, request(IBV_WR_SEND, &piece));
    for (const ibv_wc& wc : wait_for(2))
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
  }
};

TEST_F(SharedReceive, QueuePairsTakeFromOneQueueInTheOrderOfArrival) {
  const Srq srq = make_srq();
  const Pair first = make_sharing_pair(srq.get());
  const Pair second = make_sharing_pair(srq.get());
  for (std::uint64_t id = 0; id < 4; ++id)
    ASSERT_EQ(post_shared(srq.get(), id, kRemote + id * 64, 64), 0);
  write(0, "data");
  std::uint64_t expected = 0;
  for (const Pair* pair : {&first, &second, &second, &first}) {
    ibv_sge piece = sge(0, 4);
    post(pair->from.get(), request(IBV_WR_SEND, &piece));
    const auto all = wait_for(2);
    const ibv_wc& receive = of_opcode(all, IBV_WC_RECV);
    EXPECT_EQ(receive.wr_id, expected);
    EXPECT_EQ(receive.qp_num, pair->to->qp_num);
    EXPECT_EQ(read(kRemote + expected * 64, 4), "data");
    ++expected;
  }
}

TEST_F(SharedReceive, AQueuePairThatSharesHasNoReceiveQueueOfItsOwn) {
  const Srq srq = make_srq();
  const Pair pair = make_sharing_pair(srq.get());
  ibv_recv_wr request{};
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_recv(pair.to.get(), &request, &bad), EINVAL);
  EXPECT_EQ(bad, &request);
  EXPECT_EQ(ibv_destroy_srq(srq.get()), EBUSY);
}

TEST_F(SharedReceive, OneEventTellsThatTheLimitIsReached) {
  const Srq srq = make_srq();
  const Pair pair = make_sharing_pair(srq.get());
  for (std::uint64_t id = 0; id < 4; ++id)
    ASSERT_EQ(post_shared(srq.get(), id, kRemote, 64), 0);
  ibv_srq_attr attributes{};
  attributes.srq_limit = 3;
  ASSERT_EQ(ibv_modify_srq(srq.get(), &attributes, IBV_SRQ_LIMIT), 0);
  send(pair.from.get());
  EXPECT_FALSE(has_event());
  send(pair.from.get());
  EXPECT_EQ(event_of(IBV_EVENT_SRQ_LIMIT_REACHED).element.srq, srq.get());
  send(pair.from.get());
  EXPECT_FALSE(has_event());
  ASSERT_EQ(ibv_query_srq(srq.get(), &attributes), 0);
  EXPECT_EQ(attributes.srq_limit, 0U);
}

TEST_F(SharedReceive, GrowsAndShrinksToNoLessThanWhatWaits) {
  const Srq srq = make_srq(2);
  for (std::uint64_t id = 0; id < 2; ++id)
    ASSERT_EQ(post_shared(srq.get(), id, kRemote, 64), 0);
  EXPECT_EQ(post_shared(srq.get(), 2, kRemote, 64), ENOMEM);
  ibv_srq_attr attributes{};
  attributes.max_wr = 3;
  ASSERT_EQ(ibv_modify_srq(srq.get(), &attributes, IBV_SRQ_MAX_WR), 0);
  EXPECT_EQ(post_shared(srq.get(), 2, kRemote, 64), 0);
  ASSERT_EQ(ibv_query_srq(srq.get(), &attributes), 0);
  EXPECT_EQ(attributes.max_wr, 3U);
  EXPECT_EQ(attributes.max_sge, 2U);
  attributes.max_wr = 2;
  EXPECT_EQ(ibv_modify_srq(srq.get(), &attributes, IBV_SRQ_MAX_WR), EINVAL);
  attributes.max_wr = 1 << 20;
  EXPECT_EQ(ibv_modify_srq(srq.get(), &attributes, IBV_SRQ_MAX_WR), EINVAL);
  ibv_recv_wr request{};
  request.num_sge = 3;
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_srq_recv(srq.get(), &request, &bad), EINVAL);
}

TEST_F(SharedReceive, AQueuePairInErrorSaysThatItTakesNothingMore) {
  const Srq srq = make_srq();
  const Pair pair = make_sharing_pair(srq.get());
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(pair.to.get(), &attributes, IBV_QP_STATE), 0);
  EXPECT_EQ(event_of(IBV_EVENT_QP_LAST_WQE_REACHED).element.qp, pair.to.get());
}

TEST_F(SharedReceive, OnlyAnXrcQueueHasANumber) {
  const Srq srq = make_srq();
  std::uint32_t number = 0;
  EXPECT_EQ(ibv_get_srq_num(srq.get(), &number), EINVAL);
  ibv_srq_init_attr wrong{};
  EXPECT_EQ(ibv_create_srq(pd_.get(), &wrong), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(SharedReceive, DatagramQueuePairsTakeFromOneQueueBehindTheirNetworkHeader) {
  const Srq srq = make_srq();
  ibv_qp_init_attr attributes = ud_attributes();
  attributes.srq = srq.get();
  const QueuePair from = make_qp();
  const QueuePair first = make_ready(ibv_create_qp(pd_.get(), &attributes));
  EXPECT_EQ(attributes.cap.max_recv_wr, 0U);
  const QueuePair second = make_ready(ibv_create_qp(pd_.get(), &attributes));
  const Ah ah = make_ah();
  for (std::uint64_t id = 0; id < 3; ++id)
    ASSERT_EQ(post_shared(srq.get(), id, kRemote + id * 64, 64), 0);
  ibv_srq_attr limit{};
  limit.srq_limit = 2;
  ASSERT_EQ(ibv_modify_srq(srq.get(), &limit, IBV_SRQ_LIMIT), 0);
  write(0, "data");
  std::uint64_t expected = 0;
  for (const QueuePair* to : {&first, &second}) {
    ibv_sge piece = sge(0, 4);
    post(from.get(), send_request(ah.get(), (*to)->qp_num, &piece));
    const auto all = wait_for(2);
    const ibv_wc& receive = of_opcode(all, IBV_WC_RECV);
    EXPECT_EQ(receive.status, IBV_WC_SUCCESS);
    EXPECT_EQ(receive.wr_id, expected);
    EXPECT_EQ(receive.qp_num, (*to)->qp_num);
    EXPECT_EQ(receive.byte_len, kGrh + 4);
    EXPECT_NE(receive.wc_flags & IBV_WC_GRH, 0U);
    EXPECT_EQ(read(kRemote + expected * 64 + kGrh, 4), "data");
    ++expected;
  }
  EXPECT_EQ(event_of(IBV_EVENT_SRQ_LIMIT_REACHED).element.srq, srq.get());
  EXPECT_EQ(ibv_destroy_srq(srq.get()), EBUSY);
  ibv_recv_wr request{};
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_recv(first.get(), &request, &bad), EINVAL);
  ibv_qp_attr change{};
  change.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(first.get(), &change, IBV_QP_STATE), 0);
  EXPECT_EQ(event_of(IBV_EVENT_QP_LAST_WQE_REACHED).element.qp, first.get());
}

TEST_F(SharedReceive, OfAnotherDomainIsRefusedToADatagramQueuePair) {
  const Srq srq = make_srq();
  ibv_pd* const other = ibv_alloc_pd(context_.get());
  ibv_qp_init_attr attributes = ud_attributes();
  attributes.srq = srq.get();
  EXPECT_EQ(ibv_create_qp(other, &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_dealloc_pd(other), 0);
}

class Xrc : public SharedReceive {
 protected:
  static ibv_xrcd* open_domain(ibv_context* context, int fd, int flags) {
    ibv_xrcd_init_attr attributes{};
    attributes.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    attributes.fd = fd;
    attributes.oflags = flags;
    return ibv_open_xrcd(context, &attributes);
  }
  Srq make_xrc_srq(ibv_xrcd* domain) {
    ibv_srq_init_attr_ex attributes{};
    attributes.attr = {8, 1, 0};
    attributes.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
                           IBV_SRQ_INIT_ATTR_CQ;
    attributes.srq_type = IBV_SRQT_XRC;
    attributes.pd = pd_.get();
    attributes.xrcd = domain;
    attributes.cq = cq_.get();
    Srq srq(ibv_create_srq_ex(context_.get(), &attributes));
    EXPECT_NE(srq, nullptr);
    return srq;
  }
  QueuePair make_target(ibv_xrcd* domain) {
    ibv_qp_init_attr_ex attributes{};
    attributes.qp_type = IBV_QPT_XRC_RECV;
    attributes.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    attributes.xrcd = domain;
    QueuePair target(ibv_create_qp_ex(context_.get(), &attributes));
    EXPECT_NE(target, nullptr);
    return target;
  }
  QueuePair make_initiator() {
    // As perftest does: the plain function gets the extended attributes.
    ibv_qp_init_attr_ex attributes{};
    attributes.qp_type = IBV_QPT_XRC_SEND;
    attributes.send_cq = cq_.get();
    attributes.cap = {8, 0, 1, 0, 0};
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
    attributes.pd = pd_.get();
    QueuePair initiator(ibv_create_qp_ex(context_.get(), &attributes));
    EXPECT_NE(initiator, nullptr);
    return initiator;
  }
};

TEST_F(Xrc, OneConnectionReachesEveryQueueOfTheDomain) {
  const Xrcd domain(open_domain(context_.get(), -1, O_CREAT));
  ASSERT_NE(domain, nullptr);
  const Srq one = make_xrc_srq(domain.get());
  const Srq two = make_xrc_srq(domain.get());
  const QueuePair target = make_target(domain.get());
  const QueuePair initiator = make_initiator();
  bring_up(target.get(), connection(initiator->qp_num));
  bring_up(initiator.get(), connection(target->qp_num));
  write(0, "to one");
  for (ibv_srq* srq : {one.get(), two.get()}) {
    std::uint32_t number = 0;
    ASSERT_EQ(ibv_get_srq_num(srq, &number), 0);
    ASSERT_EQ(post_shared(srq, number, kRemote, 64), 0);
    ibv_sge piece = sge(0, 6);
    ibv_send_wr sending = request(IBV_WR_SEND, &piece);
    sending.qp_type.xrc.remote_srqn = number;
    post(initiator.get(), sending);
    const auto all = wait_for(2);
    const ibv_wc& receive = of_opcode(all, IBV_WC_RECV);
    EXPECT_EQ(receive.status, IBV_WC_SUCCESS);
    EXPECT_EQ(receive.wr_id, number);
    EXPECT_EQ(receive.qp_num, target->qp_num);
    EXPECT_EQ(read(kRemote, 6), "to one");
  }
}

TEST_F(Xrc, ATargetIsOpenedOnceMoreAndGoesWithItsLastHandle) {
  const Xrcd domain(open_domain(context_.get(), -1, O_CREAT));
  QueuePair target = make_target(domain.get());
  ibv_qp_open_attr attributes{};
  attributes.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE |
                         IBV_QP_OPEN_ATTR_CONTEXT;
  attributes.qp_num = target->qp_num;
  attributes.xrcd = domain.get();
  attributes.qp_context = this;
  attributes.qp_type = IBV_QPT_XRC_RECV;
  QueuePair again(ibv_open_qp(context_.get(), &attributes));
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->qp_num, target->qp_num);
  EXPECT_EQ(again->qp_context, this);
  target.reset();
  EXPECT_EQ(to_init(again.get(), connection(1)), 0);
  again.reset();
  errno = 0;
  EXPECT_EQ(ibv_open_qp(context_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(Xrc, AFileNamesADomain) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  const int fd = fileno(file.get());
  EXPECT_EQ(open_domain(context_.get(), fd, 0), nullptr);
  EXPECT_EQ(errno, ENOENT);
  const Xrcd first(open_domain(context_.get(), fd, O_CREAT));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(open_domain(context_.get(), fd, O_CREAT | O_EXCL), nullptr);
  EXPECT_EQ(errno, EEXIST);
  Xrcd second(open_domain(context_.get(), fd, 0));
  ASSERT_NE(second, nullptr);
  Srq srq = make_xrc_srq(second.get());
  second.reset();
  EXPECT_EQ(ibv_close_xrcd(first.get()), EBUSY);
}

}  // namespace
}  // namespace weft::verbs_test
