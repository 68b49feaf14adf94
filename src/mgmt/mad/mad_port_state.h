// SPDX-License-Identifier: Apache-2.0
// The inside of MadPort: what waits for answers, what is being sent and put together, and when.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "mgmt/mad/agent_table.h"
#include "mgmt/mad/mad_port.h"
#include "mgmt/mad/rmpp_receiver.h"
#include "mgmt/mad/rmpp_sender.h"

namespace weft::mgmt {

// What names one direction of an exchange. TransactionIDs of our own requests are unique on this
// port; those of others count with whoever uses them.
struct ExchangeKey {
  bool ours = false;  // the TransactionID was given out here
  std::uint8_t mgmt_class = 0;
  std::uint64_t transaction_id = 0;
  std::uint16_t lid = 0;  // these two are 0 when it is ours
  std::uint32_t qpn = 0;
  friend auto operator<=>(const ExchangeKey&, const ExchangeKey&) = default;
};

// The earliest of many deadlines, each of which can be moved.
class Deadlines {
 public:
  void move(const ExchangeKey& key, std::optional<Time>& present, std::optional<Time> when) {
    if (present) queue_.erase({*present, key});
    if (when) queue_.insert({*when, key});
    present = when;
  }
  [[nodiscard]] std::optional<Time> first() const {
    if (queue_.empty()) return std::nullopt;
    return queue_.begin()->first;
  }
  [[nodiscard]] const ExchangeKey& first_key() const { return queue_.begin()->second; }

 private:
  std::set<std::pair<Time, ExchangeKey>> queue_;
};

struct MadPort::State {
  // A request that waits for an answer, or a long message that is being acknowledged.
  struct Exchange {
    AgentId agent{};
    std::uint64_t cookie = 0;
    MadAddress to;
    MadEnvelope envelope;
    std::vector<std::byte> mad;  // one datagram; empty: `sender` has it
    std::optional<RmppSender> sender{};
    bool awaits_answer = false;
    Duration timeout{};
    unsigned retries = 0;  // as asked for
    unsigned retries_left = 0;
    std::optional<Time> deadline{};
    [[nodiscard]] Bytes bytes() const { return sender ? sender->message() : Bytes(mad); }
  };
  // A long message that is coming in.
  struct Reassembly {
    AgentId agent{};
    RmppReceiver receiver;
    std::size_t counted = 0;  // bytes in `reassembly_bytes`
    std::optional<Time> deadline{};
  };

  State(ManagedNode& managed, PortNumber number, MadOutlet& out, const MadLimits& most)
      : node(managed), port(number), outlet(out), limits(most), agents(most.agents) {}

  // --- mad_port.cc: datagrams
  Expected<void> send(AgentId id, const MadRequest& request, Time now);
  Expected<void> check(const AgentTable::Agent& agent, const MadRequest& request, bool rmpp) const;
  Expected<void> track(const ExchangeKey& key, Exchange&& exchange, Time now);
  bool receive(const MadEnvelope& envelope, wire::MadBytes mad, Time now);
  bool receive_answer(const MadEnvelope& envelope, wire::MadBytes mad);
  void forget(AgentId id);
  void run(Time now);
  void expire(const ExchangeKey& key, Time now);
  // Removes it; what is left of it is returned.
  Exchange close(const ExchangeKey& key);
  void finish(const ExchangeKey& key, MadResult result);
  void deliver(AgentId id, const MadEnvelope& envelope, Bytes mad,
               std::optional<std::uint64_t> cookie);
  void transmit(const MadEnvelope& envelope, Bytes mad);
  // The exchange of ours that `mad` from there answers; null key: none.
  [[nodiscard]] std::optional<ExchangeKey> answered_by(const MadEnvelope& envelope,
                                                       wire::MadBytes mad) const;

  // --- mad_port_rmpp.cc: long messages
  bool receive_rmpp(const MadEnvelope& envelope, wire::MadBytes mad, const wire::RmppHeader& header,
                    Time now);
  bool receive_data(const MadEnvelope& envelope, wire::MadBytes mad, const wire::RmppHeader& header,
                    Time now);
  // False when there is no room, or it is not a beginning; the sender has been told.
  bool begin_reassembly(const ExchangeKey& key, AgentId id, const MadEnvelope& envelope,
                        wire::MadBytes mad, const wire::RmppHeader& header);
  void receive_ack(const ExchangeKey& key, wire::MadBytes mad, const wire::RmppHeader& header,
                   Time now);
  void transmit_window(Exchange& exchange);
  void await_acknowledgement(const ExchangeKey& key, Exchange& exchange, Time now);
  void expire_rmpp(const ExchangeKey& key, Exchange& exchange, Time now);
  void end_reassembly(const ExchangeKey& key);
  // Back to where `envelope` came from.
  void reply(const MadEnvelope& envelope, wire::MadBytes mad);
  // The long message of ours that an acknowledgement, stop or abort from there is about.
  [[nodiscard]] std::optional<ExchangeKey> acknowledged_by(const MadEnvelope& envelope,
                                                           wire::MadBytes mad) const;

  // --- mad_address.cc: addresses
  [[nodiscard]] Expected<MadEnvelope> envelope_to(const MadAddress& to,
                                                  wire::MgmtClass mgmt_class) const;
  [[nodiscard]] MadAddress address_of(const MadEnvelope& envelope) const;

  ManagedNode& node;
  PortNumber port;
  MadOutlet& outlet;
  MadLimits limits;
  AgentTable agents;
  std::map<ExchangeKey, Exchange> exchanges;
  Deadlines deadlines;
  std::map<ExchangeKey, Reassembly> reassemblies;
  Deadlines reassembly_deadlines;
  std::size_t reassembly_bytes = 0;
};

}  // namespace weft::mgmt
