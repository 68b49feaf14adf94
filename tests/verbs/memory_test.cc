// SPDX-License-Identifier: Apache-2.0
// Memory windows, regions that change, device memory, on-demand paging, parent domains.
#include <sys/mman.h>

#include <limits>

#include "connected_fixture.h"

namespace weft::verbs_test {
namespace {

class Windows : public Connected {
 protected:
  Mw make_window(ibv_mw_type type) {
    Mw window(ibv_alloc_mw(pd_.get(), type));
    EXPECT_NE(window, nullptr);
    return window;
  }
  [[nodiscard]] ibv_mw_bind_info whole_remote_half(unsigned access) const {
    return {remote_mr_.get(), remote(), kRemote, access};
  }
  ibv_wc bind_type_2(ibv_qp* qp, ibv_mw* window, std::uint32_t key) {
    ibv_send_wr binding = request(IBV_WR_BIND_MW, nullptr);
    binding.bind_mw.mw = window;
    binding.bind_mw.rkey = key;
    binding.bind_mw.bind_info =
        whole_remote_half(IBV_ACCESS_REMOTE_WRITE | unsigned{IBV_ACCESS_REMOTE_READ});
    post(qp, binding);
    return wait_for_one();
  }
  ibv_wc_status write_with(ibv_qp* from, std::uint32_t key) {
    ibv_sge piece = sge(0, 4);
    ibv_send_wr writing = rdma(IBV_WR_RDMA_WRITE, &piece);
    writing.wr.rdma.rkey = key;
    post(from, writing);
    return wait_for_one().status;
  }
};

TEST_F(Windows, OfType1AreBoundByTheVerbAndRevokedByAnEmptyBind) {
  const Pair pair = make_pair();
  const Mw window = make_window(IBV_MW_TYPE_1);
  const std::uint32_t before = window->rkey;
  ibv_mw_bind bind{};
  bind.wr_id = 3;
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = whole_remote_half(IBV_ACCESS_REMOTE_WRITE);
  ASSERT_EQ(ibv_bind_mw(pair.to.get(), window.get(), &bind), 0);
  EXPECT_NE(window->rkey, before);
  const ibv_wc bound = wait_for_one();
  EXPECT_EQ(bound.status, IBV_WC_SUCCESS);
  EXPECT_EQ(bound.opcode, IBV_WC_BIND_MW);
  EXPECT_EQ(bound.wr_id, 3U);
  write(0, "thru");
  EXPECT_EQ(write_with(pair.from.get(), window->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(read(kRemote, 4), "thru");

  const std::uint32_t revoked = window->rkey;
  bind.bind_info = {};
  ASSERT_EQ(ibv_bind_mw(pair.to.get(), window.get(), &bind), 0);
  EXPECT_EQ(wait_for_one().status, IBV_WC_SUCCESS);
  EXPECT_EQ(write_with(pair.from.get(), revoked), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Windows, OfType2HaveTheKeyThatTheProgramChoseUntilInvalidatedHere) {
  const Pair pair = make_pair();
  const Mw window = make_window(IBV_MW_TYPE_2);
  const std::uint32_t key = ibv_inc_rkey(window->rkey);
  EXPECT_EQ(bind_type_2(pair.to.get(), window.get(), key).status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dereg_mr(remote_mr_.get()), EBUSY) << "a window is bound to it";
  EXPECT_EQ(write_with(pair.from.get(), key), IBV_WC_SUCCESS);
  ibv_send_wr invalidate = request(IBV_WR_LOCAL_INV, nullptr);
  invalidate.invalidate_rkey = key;
  post(pair.to.get(), invalidate);
  const ibv_wc done = wait_for_one();
  EXPECT_EQ(done.status, IBV_WC_SUCCESS);
  EXPECT_EQ(done.opcode, IBV_WC_LOCAL_INV);
  EXPECT_EQ(write_with(pair.from.get(), key), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Windows, OfType2AreInvalidatedByThePeersSend) {
  const Pair pair = make_pair();
  const Mw window = make_window(IBV_MW_TYPE_2);
  const std::uint32_t key = ibv_inc_rkey(window->rkey);
  EXPECT_EQ(bind_type_2(pair.to.get(), window.get(), key).status, IBV_WC_SUCCESS);
  post_receive(pair.to.get(), 1, kRemote, 64);
  ibv_sge piece = sge(0, 4);
  ibv_send_wr sending = request(IBV_WR_SEND_WITH_INV, &piece);
  sending.invalidate_rkey = key;
  post(pair.from.get(), sending);
  const auto all = wait_for(2);
  const ibv_wc& receive = of_opcode(all, IBV_WC_RECV);
  EXPECT_EQ(receive.status, IBV_WC_SUCCESS);
  EXPECT_EQ(receive.wc_flags, unsigned{IBV_WC_WITH_INV});
  EXPECT_EQ(receive.invalidated_rkey, key);
  // It may be bound again, with another key.
  const std::uint32_t next = ibv_inc_rkey(key);
  EXPECT_EQ(bind_type_2(pair.to.get(), window.get(), next).status, IBV_WC_SUCCESS);
  EXPECT_EQ(write_with(pair.from.get(), next), IBV_WC_SUCCESS);
}

TEST_F(Windows, ABindThatIsNotAllowedCompletesInError) {
  const Pair pair = make_pair();
  const Mw window = make_window(IBV_MW_TYPE_2);
  ibv_send_wr binding = request(IBV_WR_BIND_MW, nullptr);
  binding.bind_mw.mw = window.get();
  binding.bind_mw.rkey = ibv_inc_rkey(window->rkey);
  binding.bind_mw.bind_info = {mr_.get(), base(), 16, IBV_ACCESS_REMOTE_READ};  // no MW_BIND right
  post(pair.to.get(), binding);
  EXPECT_EQ(wait_for_one().status, IBV_WC_MW_BIND_ERR);
}

TEST_F(Windows, OfAnUnknownTypeAreRefused) {
  EXPECT_EQ(ibv_alloc_mw(pd_.get(), static_cast<ibv_mw_type>(3)), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

class Regions : public Windows {};

TEST_F(Regions, ChangeTheirRightsAndKeepTheirKeys) {
  const Pair pair = make_pair();
  const Mr region(
      ibv_reg_mr_iova2(pd_.get(), buffer_.data(), buffer_.size(), base(), IBV_ACCESS_LOCAL_WRITE));
  const std::uint32_t key = region->rkey;
  const int writable = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  ASSERT_EQ(ibv_rereg_mr(region.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, writable),
            0);
  EXPECT_EQ(region->rkey, key);
  EXPECT_EQ(write_with(pair.from.get(), key), IBV_WC_SUCCESS);
  ASSERT_EQ(ibv_rereg_mr(region.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                         IBV_ACCESS_LOCAL_WRITE),
            0);
  EXPECT_EQ(write_with(pair.from.get(), key), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Regions, ChangeTheirPlaceAndTheirDomain) {
  Pd other(ibv_alloc_pd(context_.get()));
  const Mr region(ibv_reg_mr_iova2(pd_.get(), buffer_.data(), 16, base(), IBV_ACCESS_LOCAL_WRITE));
  ASSERT_EQ(ibv_rereg_mr(region.get(), IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD,
                         other.get(), buffer_.data() + 64, 32, 0),
            0);
  EXPECT_EQ(region->addr, buffer_.data() + 64);
  EXPECT_EQ(region->length, 32U);
  EXPECT_EQ(region->pd, other.get());
  EXPECT_EQ(ibv_dealloc_pd(other.get()), EBUSY);
  ASSERT_EQ(ibv_rereg_mr(region.get(), IBV_REREG_MR_CHANGE_PD, pd_.get(), nullptr, 0, 0), 0);
  EXPECT_EQ(ibv_dealloc_pd(other.release()), 0);
}

TEST_F(Regions, StayAsTheyAreWhenAChangeIsRefused) {
  const Mr region(ibv_reg_mr_iova2(pd_.get(), buffer_.data(), 16, base(), IBV_ACCESS_LOCAL_WRITE));
  EXPECT_EQ(ibv_rereg_mr(region.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                         IBV_ACCESS_REMOTE_WRITE),  // without local write
            IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_rereg_mr(region.get(), 1 << 5, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(region->length, 16U);
  EXPECT_EQ(region->pd, pd_.get());
}

TEST_F(Regions, OfTheWholeAddressSpaceAreForThoseWhoPageOnDemand) {
  constexpr std::size_t kEverything = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(ibv_reg_mr_iova2(pd_.get(), nullptr, kEverything, 0, kAllRights), nullptr);
  const Mr implicit(ibv_reg_mr_iova2(pd_.get(), nullptr, kEverything, 0,
                                     kAllRights | unsigned{IBV_ACCESS_ON_DEMAND}));
  ASSERT_NE(implicit, nullptr);
  const Pair pair = make_pair();
  void* const later =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(later, MAP_FAILED);
  write(0, "here");
  ibv_sge piece{base(), 4, implicit->lkey};
  ibv_send_wr writing = rdma(IBV_WR_RDMA_WRITE, &piece);
  writing.wr.rdma = {reinterpret_cast<std::uintptr_t>(later), implicit->rkey};
  post(pair.from.get(), writing);
  EXPECT_EQ(wait_for_one().status, IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(later, "here", 4), 0);
  ibv_sge range{reinterpret_cast<std::uintptr_t>(later), 4096, implicit->lkey};
  EXPECT_EQ(ibv_advise_mr(pd_.get(), IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &range, 1), 0);
  range.lkey ^= 0x5A5A;
  EXPECT_EQ(ibv_advise_mr(pd_.get(), IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &range, 1), EFAULT);
  munmap(later, 4096);
}

TEST_F(Regions, OfDeviceMemoryAreReachedFromAfarByOffset) {
  ibv_alloc_dm_attr attributes{};
  attributes.length = 256;
  ibv_dm* const dm = ibv_alloc_dm(context_.get(), &attributes);
  ASSERT_NE(dm, nullptr);
  Mr region(ibv_reg_dm_mr(pd_.get(), dm, 64, 128, kAllRights | unsigned{IBV_ACCESS_ZERO_BASED}));
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(ibv_free_dm(dm), EBUSY);
  const Pair pair = make_pair();
  write(0, "deep");
  ibv_sge piece = sge(0, 4);
  ibv_send_wr writing = rdma(IBV_WR_RDMA_WRITE, &piece);
  writing.wr.rdma = {8, region->rkey};
  post(pair.from.get(), writing);
  EXPECT_EQ(wait_for_one().status, IBV_WC_SUCCESS);
  std::array<char, 4> got{};
  EXPECT_EQ(ibv_memcpy_from_dm(got.data(), dm, 72, 4), 0);
  EXPECT_EQ(std::string_view(got.data(), 4), "deep");
  EXPECT_EQ(ibv_memcpy_to_dm(dm, 2, got.data(), 4), EINVAL);
  EXPECT_EQ(ibv_memcpy_to_dm(dm, 256, got.data(), 4), EINVAL);
  EXPECT_EQ(ibv_reg_dm_mr(pd_.get(), dm, 0, 260, IBV_ACCESS_ZERO_BASED), nullptr);
  region.reset();
  EXPECT_EQ(ibv_free_dm(dm), 0);
  attributes.length = std::size_t{1} << 40;
  EXPECT_EQ(ibv_alloc_dm(context_.get(), &attributes), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(Regions, ServeQueuePairsOfAParentDomain) {
  ibv_td_init_attr thread{};
  ibv_td* const td = ibv_alloc_td(context_.get(), &thread);
  ASSERT_NE(td, nullptr);
  ibv_parent_domain_init_attr attributes{};
  attributes.pd = pd_.get();
  attributes.td = td;
  Pd parent(ibv_alloc_parent_domain(context_.get(), &attributes));
  ASSERT_NE(parent, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(pd_.get()), EBUSY);
  ibv_qp_init_attr init = attributes_of(IBV_QPT_RC);
  QueuePair from(ibv_create_qp(parent.get(), &init));
  const QueuePair to(ibv_create_qp(pd_.get(), &init));
  bring_up(from.get(), connection(to->qp_num));
  bring_up(to.get(), connection(from->qp_num));
  EXPECT_EQ(write_with(from.get(), remote_mr_->rkey), IBV_WC_SUCCESS);
  from.reset();
  parent.reset();
  EXPECT_EQ(ibv_dealloc_td(td), 0);
}

}  // namespace
}  // namespace weft::verbs_test
