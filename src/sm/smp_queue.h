// SPDX-License-Identifier: Apache-2.0
// The subnet management packets of a manager: many on their way at a time, each with whoever waits
// for its answer. How many, the fabric decides: what is lost shows that it was too many for some
// buffer of VL15. What others ask of the manager, and report to it, comes in here too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/error.h"
#include "base/time.h"
#include "mgmt/mad/mad_layer.h"
#include "wire/sm/notice.h"
#include "wire/sm/sm_info.h"
#include "wire/sm/smp.h"

namespace weft::sm {

// The ports by which to leave, hop by hop, from the manager's node on; empty: that node itself.
using DirectedRoute = std::vector<std::uint8_t>;

struct SmpResult {
  enum class Outcome : std::uint8_t {
    kAnswered,
    kRefused,   // with a status other than 0
    kTimedOut,  // no answer to any of the retries, or not sent for want of any before it
  };
  Outcome outcome = Outcome::kTimedOut;
  std::uint16_t status = 0;
  Bytes data{};  // 64 bytes of attribute, until the handler returns

  [[nodiscard]] bool answered() const { return outcome == Outcome::kAnswered; }
};

struct SmpLimits {
  Duration timeout = 200ms;
  unsigned retries = 3;
  // Of one node in a row that may stay without an answer. Nothing more is sent to it then until the
  // queue is idle: a switch may have tens of thousands of tables, and say nothing.
  unsigned most_unanswered = 8;
  std::size_t window = 128;  // on their way at a time, at most
  std::uint64_t mkey = 0;
};

struct SmpCounts {
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  std::uint64_t refused = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t given_up = 0;
  std::uint64_t traps = 0;
  std::uint64_t requests = 0;  // of other managers, for SMInfo
};

// Each of them by its name.
struct SmpCountInfo {
  CounterInfo info;
  std::uint64_t SmpCounts::*count;
};
inline constexpr std::array<SmpCountInfo, 7> kSmpCounts{{
    {{"smps_sent", "subnet management packets that the manager sent, repeats not counted"},
     &SmpCounts::sent},
    {{"smps_answered", "packets of the manager that were answered with what was asked for"},
     &SmpCounts::answered},
    {{"smps_refused", "packets of the manager that were answered with a status other than 0"},
     &SmpCounts::refused},
    {{"smps_timed_out", "packets of the manager that nobody answered, to the last repeat"},
     &SmpCounts::timed_out},
    {{"smps_given_up", "packets of the manager that it did not send: to who answered none before"},
     &SmpCounts::given_up},
    {{"traps", "traps that nodes sent to the manager"}, &SmpCounts::traps},
    {{"sm_info_requests", "what other managers asked this one, or commanded, by SMInfo"},
     &SmpCounts::requests},
}};

// A trap that has come in, and is answered already.
struct ReceivedTrap {
  wire::Notice notice;
  Lid from{};                        // says its packet
  std::uint64_t mkey = 0;            // says its sender
  std::uint64_t transaction_id = 0;  // of its datagram: the same when it comes again
};

// What another manager asks of this one, or commands.
struct SmInfoRequest {
  bool set = false;
  std::uint32_t modifier = 0;  // of a Set, what is commanded
  std::uint64_t mkey = 0;
  wire::SmInfo info;              // of a Set, its own
  std::vector<std::uint8_t> way;  // by which it came: no two managers' is the same
};

struct SmInfoAnswer {
  wire::MadStatus status{};
  wire::SmInfo info;
};

class SmpQueue final : private mgmt::MadClient {
 public:
  using Handler = std::function<void(const SmpResult&)>;

  // `port` is that of the manager, and outlives this.
  SmpQueue(mgmt::MadLayer& port, const SmpLimits& limits) : port_(port), limits_(limits) {}
  ~SmpQueue() override;
  SmpQueue(const SmpQueue&) = delete;
  SmpQueue& operator=(const SmpQueue&) = delete;

  // Both from inside of the port's calls. A request without an answer is dropped.
  using TrapHandler = std::function<void(const ReceivedTrap&)>;
  using RequestHandler = std::function<std::optional<SmInfoAnswer>(const SmInfoRequest&)>;

  // Errors: the port has no room for another agent; another manager is at this port.
  Expected<void> open(TrapHandler traps, RequestHandler requests);

  // Each handler is called once, from inside of the port's calls or of run(); it may ask for more.
  void get(const DirectedRoute& route, wire::SmAttribute attribute, std::uint32_t modifier,
           Handler handler);
  void set(const DirectedRoute& route, wire::SmAttribute attribute, std::uint32_t modifier,
           Bytes data, Handler handler);
  // Reports to the manager at a LID; its TrapRepress is the answer.
  void trap(Lid to, const wire::Notice& notice, Handler handler);

  // What is asked from now on by that route, is asked with this M_Key, and not with that of the
  // limits; until they are forgotten.
  void use_key(const DirectedRoute& route, std::uint64_t mkey);
  [[nodiscard]] std::uint64_t key_of(const DirectedRoute& route) const;
  void forget_keys() { keys_.clear(); }

  // Sends what the window allows. Call it after anything else was called.
  void run(Time now);
  // Nothing waits, and nothing is on its way.
  [[nodiscard]] bool idle() const { return waiting_.empty() && flying_.empty(); }
  [[nodiscard]] const SmpCounts& counts() const { return counts_; }

 private:
  struct Smp {
    Lid to = wire::kPermissiveLid;
    wire::MadBuffer mad;
    std::optional<DirectedRoute> route;  // nothing: to a LID
    Handler handler;
  };
  struct Flying {
    std::optional<DirectedRoute> route;
    Handler handler;
  };
  Expected<void> listen(wire::MgmtClass mgmt_class, std::initializer_list<wire::MadMethod> methods);
  void queue(wire::MadMethod method, const DirectedRoute& route, wire::SmAttribute attribute,
             std::uint32_t modifier, Bytes data, Handler handler);
  void received(mgmt::AgentId agent, const mgmt::ReceivedMad& mad) override;
  void finished(mgmt::AgentId agent, std::uint64_t cookie, Bytes mad,
                mgmt::MadResult result) override;
  void finish(std::uint64_t cookie, const SmpResult& result);
  [[nodiscard]] bool is_given_up(const Smp& smp) const;
  void send(Smp smp);
  void take_trap(const mgmt::ReceivedMad& mad);
  void take_request(mgmt::AgentId agent, const mgmt::ReceivedMad& mad);

  mgmt::MadLayer& port_;
  const SmpLimits limits_;
  std::vector<mgmt::AgentId> agents_;  // the first sends
  TrapHandler traps_;
  RequestHandler requests_;
  Time now_{};
  std::map<DirectedRoute, std::uint64_t> keys_;  // that are not limits_.mkey
  std::deque<Smp> waiting_;
  std::unordered_map<std::uint64_t, Flying> flying_;  // by cookie
  std::map<DirectedRoute, unsigned> unanswered_;      // in a row
  std::uint64_t last_cookie_ = 0;
  std::size_t window_ = 16;
  std::size_t good_in_row_ = 0;
  SmpCounts counts_;
};

}  // namespace weft::sm
