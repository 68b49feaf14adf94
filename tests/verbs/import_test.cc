// SPDX-License-Identifier: Apache-2.0
// Objects that are reached once more, through a duplicate of a context's cmd_fd.
#include <fcntl.h>
#include <unistd.h>

#include "connected_fixture.h"

namespace weft::verbs_test {
namespace {

class Import : public Connected {
 protected:
  void SetUp() override {
    Connected::SetUp();
    imported_.reset(ibv_import_device(dup(context_->cmd_fd)));
    ASSERT_NE(imported_, nullptr);
  }
  Context imported_;
};

TEST_F(Import, DomainsAndRegionsServeQueuePairsOfBothContexts) {
  ibv_pd* const pd = ibv_import_pd(imported_.get(), pd_->handle);
  ASSERT_NE(pd, nullptr);
  ibv_mr* const mr = ibv_import_mr(pd, remote_mr_->handle);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->rkey, remote_mr_->rkey);
  EXPECT_EQ(mr->length, remote_mr_->length);
  {
    ibv_qp_init_attr attributes = attributes_of(IBV_QPT_RC);
    const QueuePair from(ibv_create_qp(pd, &attributes));
    const QueuePair to(ibv_create_qp(pd_.get(), &attributes));
    bring_up(from.get(), connection(to->qp_num));
    bring_up(to.get(), connection(from->qp_num));
    write(0, "shared");
    ibv_sge piece{base(), 6, mr->lkey};
    ibv_send_wr writing = rdma(IBV_WR_RDMA_WRITE, &piece);
    writing.wr.rdma.rkey = mr->rkey;
    post(from.get(), writing);
    EXPECT_EQ(wait_for_one().status, IBV_WC_SUCCESS);
    EXPECT_EQ(read(kRemote, 6), "shared");
  }
  ibv_unimport_mr(mr);
  ibv_unimport_pd(pd);
}

TEST_F(Import, DeviceMemoryIsTheSameMemory) {
  ibv_alloc_dm_attr attributes{};
  attributes.length = 8;
  ibv_dm* const dm = ibv_alloc_dm(context_.get(), &attributes);
  ibv_dm* const again = ibv_import_dm(imported_.get(), dm->handle);
  ASSERT_NE(again, nullptr);
  std::array<char, 4> bytes{'a', 'b', 'c', 'd'};
  EXPECT_EQ(ibv_memcpy_to_dm(dm, 4, bytes.data(), 4), 0);
  bytes.fill(0);
  EXPECT_EQ(ibv_memcpy_from_dm(bytes.data(), again, 4, 4), 0);
  EXPECT_EQ(std::string_view(bytes.data(), 4), "abcd");
  ibv_unimport_dm(again);
  const std::uint32_t handle = dm->handle;
  EXPECT_EQ(ibv_free_dm(dm), 0);
  EXPECT_EQ(ibv_import_dm(imported_.get(), handle), nullptr);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(Import, TheDeviceStaysOpenUntilTheLastContextIsClosed) {
  Pd pd(ibv_alloc_pd(imported_.get()));
  mr_.reset();
  remote_mr_.reset();
  cq_.reset();
  pd_.reset();
  context_.reset();
  ibv_port_attr port{};
  EXPECT_EQ(ibv_query_port(imported_.get(), 1, &port), 0);
  EXPECT_NE(pd, nullptr);
}

TEST_F(Import, WhatIsNotThereIsRefused) {
  EXPECT_EQ(ibv_import_pd(imported_.get(), 0xFFFF), nullptr);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(ibv_import_mr(pd_.get(), remote_mr_->handle ^ 0x5A5A), nullptr);
  EXPECT_EQ(errno, ENOENT);
  const int other = open("/dev/null", O_RDWR);
  EXPECT_EQ(ibv_import_device(other), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  close(other);
}

}  // namespace
}  // namespace weft::verbs_test
