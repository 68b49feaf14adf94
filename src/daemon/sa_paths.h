// SPDX-License-Identifier: Apache-2.0
// Asks the administrator of a port's subnet for paths, as any host does (PathRecord, IBA
// 15.2.5.16), and reads what it answers.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "fabric/node.h"
#include "mgmt/mad/mad_layer.h"
#include "service/path_cache.h"
#include "wire/sa/path_record.h"

namespace weft::daemon {

// The components of `like` that `mask` names; that paths are reversible, and that one is enough, is
// asked for besides.
struct SaPathQuestion {
  std::uint64_t mask = 0;
  wire::PathRecord like{};
};
// What a data service asks on behalf of who has sent a packet.
[[nodiscard]] SaPathQuestion sa_path_question(const service::PathQuestion& question);

// What became of a question.
struct SaPathAnswer {
  enum class Outcome : std::uint8_t {
    kFound,       // `record` is the path
    kAbsent,      // there is none
    kBusy,        // the administrator has no time now, and may be asked again
    kUnanswered,  // it has said nothing in time, after all attempts
  };
  Outcome outcome = Outcome::kAbsent;
  mgmt::PortNumber port = 0;  // by which it was asked
  wire::PathRecord record{};

  // For a data service; nothing: it was not found.
  [[nodiscard]] std::optional<service::Path> path() const;
};

// Of a path of a service's own: what answers on it comes to one of the service's LIDs, `own`, and
// not to the engine of the port. Without any, it stays as it is.
void lead_back(service::Path& path, std::span<const Lid> own);

class SaPathUser {
 public:
  virtual ~SaPathUser() = default;
  // Once for each question that was sent.
  virtual void path_answered(std::uint64_t number, const SaPathAnswer& answer) = 0;
};

// At one port, by its MAD layer, wherever that is.
class SaPathAsker final : private mgmt::MadClient {
 public:
  // `layer`: that of port `port`; it lives until close(). `user` outlives the asker.
  SaPathAsker(mgmt::MadLayer& layer, mgmt::PortNumber port, SaPathUser& user)
      : layer_(layer), port_(port), user_(user) {}
  SaPathAsker(const SaPathAsker&) = delete;
  SaPathAsker& operator=(const SaPathAsker&) = delete;
  ~SaPathAsker() override { close(); }

  // Errors as of mgmt::MadLayer::add_agent().
  Expected<void> open();
  // Nothing more is said of what was asked.
  void close();
  // `number` comes back with the answer. False: it was not sent.
  bool ask(Lid administrator, Sl sl, std::uint64_t number, const SaPathQuestion& question,
           Time now);

 private:
  void received(mgmt::AgentId agent, const mgmt::ReceivedMad& mad) override;
  void finished(mgmt::AgentId agent, std::uint64_t cookie, Bytes mad,
                mgmt::MadResult result) override;

  mgmt::MadLayer& layer_;
  const mgmt::PortNumber port_;
  SaPathUser& user_;
  std::optional<mgmt::AgentId> agent_;  // nothing: it is closed
};

// At all ports of a node in this process.
class SaPaths final {
 public:
  // `user` outlives it, and `node` until close(). It is told from inside the fabric's run().
  SaPaths(fabric::Node& node, SaPathUser& user) : node_(node), user_(user) {}

  // Errors: a port of the node has no room for its questions.
  Expected<void> open();
  void close() { askers_.clear(); }

  // The GID that the port has in its subnet.
  [[nodiscard]] Gid gid_of(mgmt::PortNumber port) const;
  // Whether it is one of the 2^LMC LIDs that the port has in its subnet.
  [[nodiscard]] bool is_own(mgmt::PortNumber port, Lid lid) const;
  // What a service asks that is at the port and has these LIDs there: on a sender's behalf; with
  // `question.port`, which is that port then, as its own, or of what it has brought there from
  // another subnet. The answer to the latter two is to lead_back().
  [[nodiscard]] SaPathQuestion of_service(mgmt::PortNumber port,
                                          const service::PathQuestion& question,
                                          std::span<const Lid> lids) const;
  // Whether the subnet manager has made the port Active, and has said where it is.
  [[nodiscard]] bool can_ask(mgmt::PortNumber port) const;
  // As SaPathAsker::ask().
  bool ask(mgmt::PortNumber port, std::uint64_t number, const SaPathQuestion& question, Time now);

 private:
  fabric::Node& node_;
  SaPathUser& user_;
  std::deque<SaPathAsker> askers_;  // of port 1 and up; they stay where they are
};

}  // namespace weft::daemon
