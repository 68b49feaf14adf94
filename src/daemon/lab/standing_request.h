// SPDX-License-Identifier: Apache-2.0
// A request to the subnet administrator of a port that is to stand: a lease, or a subscription. It
// is made when the port becomes Active, again before what it asks for ends, and when the
// administrator has forgotten it, is another one, or knows the port by other names.
#pragma once

#include <cstdint>
#include <functional>

#include "base/error.h"
#include "base/time.h"
#include "fabric/node.h"
#include "io/reactor.h"
#include "mgmt/mad/mad_client.h"
#include "wire/mad.h"

namespace weft::daemon {

class StandingRequest final : private mgmt::MadClient, private fabric::Node::PortObserver {
 public:
  struct Wish {
    // The request, with this TransactionID; and the one that ends what it asks for, if any does.
    std::function<wire::MadBuffer(std::uint32_t transaction)> make;
    std::function<wire::MadBuffer(std::uint32_t transaction)> end{};
    // The answer by which it was granted, each time; false: it is as good as refused.
    std::function<bool(Bytes mad)> granted{};
    // What was granted is no more: the administrator has forgotten it, or cannot be reached now.
    std::function<void()> lost{};
    Duration renew_after{};  // once it was granted: long before it ends, so that one may be lost
    // Once it was refused, or not answered: there may be no room for it, or nobody there. Twice as
    // long each time, up to `try_at_most`.
    Duration try_after{};
    Duration try_at_most{};
  };

  // `port` as Node counts. All that is given outlives it.
  StandingRequest(fabric::Node& node, mgmt::PortNumber port, Wish wish, io::Reactor& reactor);
  StandingRequest(const StandingRequest&) = delete;
  StandingRequest& operator=(const StandingRequest&) = delete;
  // Ends what it asks for, as far as the administrator can be told now.
  ~StandingRequest() override;

  // Errors as of mgmt::MadPort::add_agent(): nothing is asked for then.
  Expected<void> start();
  // The administrator has granted it, and nothing speaks against its standing still.
  [[nodiscard]] bool stands() const { return stands_; }

 private:
  // By what the administrator knows a port: what it has granted holds as long as it stays the same.
  struct Seen {
    Lid lid;  // 0: it is not Active, or nobody has told it where the administrator is
    Lid manager;
    std::uint64_t gid_prefix = 0;
    friend bool operator==(const Seen&, const Seen&) = default;
  };

  // mgmt::MadClient
  void received(mgmt::AgentId agent, const mgmt::ReceivedMad& mad) override;
  void finished(mgmt::AgentId agent, std::uint64_t cookie, Bytes mad,
                mgmt::MadResult result) override;
  // fabric::Node::PortObserver
  void port_changed(mgmt::PortNumber port, bool reregister) override;

  [[nodiscard]] Seen see() const;
  void send(Time now);
  void again_after(Duration wait);
  void failed();
  void lose();

  fabric::Node& node_;
  const mgmt::PortNumber port_;
  const Wish wish_;
  mgmt::AgentId agent_{};
  Seen seen_;
  bool stands_ = false;
  bool asked_for_ = false;  // of the administrator of now, which may have granted it unheard
  Duration try_after_;
  std::uint32_t sent_ = 0;  // each has a TransactionID of its own
  io::Timer timer_;
};

}  // namespace weft::daemon
