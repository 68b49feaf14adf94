// SPDX-License-Identifier: Apache-2.0
// What ports of the tests' own are made of, and how queue pairs on them get ready.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <memory>
#include <vector>

#include "host/context.h"
#include "io/unique_fd.h"

namespace weft::host::test {

inline const Gid kOwnGid = Gid::from_ipv4(0x0A000001);
inline const Gid kPeerGid = Gid::from_ipv4(0x0A000002);
inline constexpr Qpn kPeerQpn{0x99};
inline constexpr Psn kPsn{0x1000};

// Where nothing arrives.
class SilentInlet : public port::Inlet {
 public:
  std::size_t receive(port::DatagramSink&, std::size_t) override { return 0; }
  [[nodiscard]] std::vector<int> descriptors() const override { return {event_.get()}; }
  [[nodiscard]] std::uint32_t capacity() const override { return 1u << 20; }

 protected:
  [[nodiscard]] int event() const { return event_.get(); }

 private:
  io::UniqueFd event_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

// An endpoint in no group.
class TestEnd : public port::Endpoint {
 public:
  TestEnd(Qpn qpn, std::shared_ptr<port::Inlet> inlet) : qpn_(qpn), inlet_(std::move(inlet)) {}
  [[nodiscard]] Qpn qpn() const override { return qpn_; }
  [[nodiscard]] const std::shared_ptr<port::Inlet>& inlet() const override { return inlet_; }
  Expected<void> attach(const Gid&) override { return {}; }
  Expected<void> detach(const Gid&) override { return {}; }

 private:
  const Qpn qpn_;
  const std::shared_ptr<port::Inlet> inlet_;
};

// A port with kOwnGid and one P_Key.
class TestPort : public port::Port {
 public:
  [[nodiscard]] port::PortAttributes attributes(std::uint8_t) override {
    port::PortAttributes attributes;
    attributes.gids = {{kOwnGid, 1}};
    attributes.pkeys = {kDefaultPKey};
    return attributes;
  }
  [[nodiscard]] hca::UdFraming framing() const override { return hca::UdFraming::kBth; }
  [[nodiscard]] Gid group_address(const Gid& group) const override { return group; }
  Expected<std::unique_ptr<port::Endpoint>> open_management() override {
    return fail(std::errc::operation_not_supported, "none");
  }
  [[nodiscard]] bool weft_peers_only() const override { return false; }
  [[nodiscard]] std::vector<CounterValue> counters() const override { return {}; }
};

// Of a connection with kPeerQpn, which nobody answers.
inline hca::QpAttributes to_peer(std::uint32_t path_mtu, const Gid& peer = kPeerGid) {
  hca::QpAttributes attributes;
  attributes.port = 1;
  attributes.path = {.sgid = kOwnGid, .dgid = peer};
  attributes.path_mtu = path_mtu;
  attributes.peer = kPeerQpn;
  attributes.rq_psn = attributes.sq_psn = kPsn;
  attributes.rnr_timer = 12;
  attributes.max_reads_in = attributes.max_reads_out = 1;
  return attributes;
}

inline void modify(QueuePair& queue_pair, hca::QpState state, std::uint32_t mask,
                   hca::QpAttributes attributes) {
  attributes.state = state;
  const auto done = queue_pair.modify(attributes, hca::kAttrState | mask);
  EXPECT_TRUE(done) << done.error().message;
}

inline void make_ready_to_receive(QueuePair& queue_pair, hca::QpType type,
                                  const hca::QpAttributes& attributes) {
  modify(queue_pair, hca::QpState::kInit, hca::kAttrPKeyIndex | hca::kAttrPort | hca::kAttrAccess,
         attributes);
  const unsigned reliable = hca::is_reliable(type) ? hca::kAttrMaxReadsIn | hca::kAttrRnrTimer : 0u;
  modify(queue_pair, hca::QpState::kRtr,
         hca::kAttrPath | hca::kAttrPathMtu | hca::kAttrPeer | hca::kAttrRqPsn | reliable,
         attributes);
}

// After that.
inline void make_ready_to_send(QueuePair& queue_pair, hca::QpType type,
                               const hca::QpAttributes& attributes) {
  const unsigned reliable = hca::is_reliable(type) ? hca::kAttrAckTimeout | hca::kAttrRetryCount |
                                                         hca::kAttrRnrRetry | hca::kAttrMaxReadsOut
                                                   : 0u;
  modify(queue_pair, hca::QpState::kRts, hca::kAttrSqPsn | reliable, attributes);
}

}  // namespace weft::host::test
