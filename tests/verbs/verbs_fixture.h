// SPDX-License-Identifier: Apache-2.0
// What the tests of the library share: they are programs like any other, which include the
// distribution's verbs.h and call the library through it.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft::verbs_test {

template <auto kDestroy>
struct Destroyer {
  template <class Object>
  void operator()(Object* object) const {
    EXPECT_EQ(kDestroy(object), 0);
  }
};

using Context = std::unique_ptr<ibv_context, Destroyer<ibv_close_device>>;
using Pd = std::unique_ptr<ibv_pd, Destroyer<ibv_dealloc_pd>>;
using Mr = std::unique_ptr<ibv_mr, Destroyer<ibv_dereg_mr>>;
using Channel = std::unique_ptr<ibv_comp_channel, Destroyer<ibv_destroy_comp_channel>>;
using Cq = std::unique_ptr<ibv_cq, Destroyer<ibv_destroy_cq>>;
using QueuePair = std::unique_ptr<ibv_qp, Destroyer<ibv_destroy_qp>>;
using Ah = std::unique_ptr<ibv_ah, Destroyer<ibv_destroy_ah>>;

inline constexpr std::uint32_t kQKey = 0x1234;
inline constexpr std::size_t kGrh = 40;
// As a number: ibv_reg_mr is a macro, in which clang sees enumerators of two types meet.
inline constexpr int kLocalWrite = IBV_ACCESS_LOCAL_WRITE;

inline ibv_context* open_loopback() {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ibv_context* context = nullptr;
  for (int i = 0; i < count; ++i) {
    if (std::string_view(ibv_get_device_name(list[i])) == "weft_lo") {
      context = ibv_open_device(list[i]);
    }
  }
  ibv_free_device_list(list);
  return context;
}

// weft_lo, opened, with one completion queue and buffers.
class Loopback : public testing::Test {
 protected:
  void SetUp() override {
    context_.reset(open_loopback());
    ASSERT_NE(context_, nullptr);
    pd_.reset(ibv_alloc_pd(context_.get()));
    cq_.reset(ibv_create_cq(context_.get(), 64, this, nullptr, 0));
    ASSERT_NE(cq_, nullptr);
    mr_.reset(ibv_reg_mr(pd_.get(), buffer_.data(), buffer_.size(), kLocalWrite));
    ASSERT_NE(mr_, nullptr);
  }

  [[nodiscard]] ibv_qp_init_attr ud_attributes() const {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = cq_.get();
    attributes.recv_cq = cq_.get();
    attributes.cap = {16, 16, 4, 4, 64};
    attributes.qp_type = IBV_QPT_UD;
    return attributes;
  }

  QueuePair make_ready(ibv_qp* created) {
    QueuePair qp(created);
    EXPECT_NE(qp, nullptr);
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qkey = kQKey;
    EXPECT_EQ(ibv_modify_qp(qp.get(), &attributes,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
              0);
    attributes.qp_state = IBV_QPS_RTR;
    EXPECT_EQ(ibv_modify_qp(qp.get(), &attributes, IBV_QP_STATE), 0);
    attributes.qp_state = IBV_QPS_RTS;
    EXPECT_EQ(ibv_modify_qp(qp.get(), &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
    return qp;
  }
  QueuePair make_qp() {
    ibv_qp_init_attr attributes = ud_attributes();
    return make_ready(ibv_create_qp(pd_.get(), &attributes));
  }

  // An address handle to the GID at `index` of this port, from itself.
  Ah make_ah(int index = 0) {
    ibv_ah_attr attributes{};
    EXPECT_EQ(ibv_query_gid(context_.get(), 1, index, &attributes.grh.dgid), 0);
    attributes.is_global = 1;
    attributes.port_num = 1;
    attributes.grh.sgid_index = static_cast<std::uint8_t>(index);
    return Ah(ibv_create_ah(pd_.get(), &attributes));
  }

  ibv_sge sge(std::size_t offset, std::uint32_t length) {
    return {reinterpret_cast<std::uintptr_t>(buffer_.data() + offset), length, mr_->lkey};
  }
  void post_receive(ibv_qp* qp, std::uint64_t id, std::size_t offset, std::uint32_t length) {
    ibv_sge piece = sge(offset, length);
    ibv_recv_wr request{id, nullptr, &piece, 1};
    ibv_recv_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_recv(qp, &request, &bad), 0);
  }
  static ibv_send_wr send_request(ibv_ah* ah, std::uint32_t qpn, ibv_sge* piece) {
    ibv_send_wr request{};
    request.sg_list = piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.ud = {ah, qpn, kQKey};
    return request;
  }
  // Polls until `count` completions are there. The test's own time limit ends a wait for nothing.
  std::vector<ibv_wc> wait_for(std::size_t count) {
    std::vector<ibv_wc> all;
    while (all.size() < count) {
      std::array<ibv_wc, 8> some{};
      const int got = ibv_poll_cq(cq_.get(), static_cast<int>(some.size()), some.data());
      EXPECT_GE(got, 0);
      all.insert(all.end(), some.begin(), some.begin() + got);
    }
    return all;
  }
  static const ibv_wc& of_opcode(const std::vector<ibv_wc>& all, ibv_wc_opcode opcode) {
    for (const ibv_wc& wc : all) {
      if (wc.opcode == opcode) return wc;
    }
    ADD_FAILURE() << "no completion of opcode " << opcode;
    return all.front();
  }
  void write(std::size_t offset, std::string_view text) {
    std::memcpy(buffer_.data() + offset, text.data(), text.size());
  }
  [[nodiscard]] std::string_view read(std::size_t offset, std::size_t length) const {
    return {reinterpret_cast<const char*>(buffer_.data()) + offset, length};
  }

  std::array<std::byte, 16384> buffer_{};
  Context context_;
  Pd pd_;
  Mr mr_;
  Cq cq_;
};

}  // namespace weft::verbs_test
