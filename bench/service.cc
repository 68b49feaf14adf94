// SPDX-License-Identifier: Apache-2.0
// How many packets a second one worker passes through a service: RC packets of 1,000 flows, with a
// GRH, to a service LID, whose true LID the runtime finds by their GIDs. Beside it in the same run:
// plain forwarding, the same runtime without a service; and what a copy of the packet takes, which
// whoever has them in one piece has paid.
#include <fmt/format.h>

#include <cstdint>

#include "service_worker.h"
#include "turns.h"

namespace {

using namespace weft;
using namespace weft::bench;

// A service that lets all pass, flow by flow.
class Passing final : public Service {
 public:
  std::string_view name() const override { return "passing"; }
  Verdict handle(Packet&, Time) override { return Verdict::forward().for_flow(1, &tally_); }
  const Tally& tally() const { return tally_; }

 private:
  Tally tally_;
};

// One that looks at each packet.
class Looking final : public Service {
 public:
  std::string_view name() const override { return "looking"; }
  Verdict handle(Packet& packet, Time) override {
    bytes_ += packet.fields().payload_size;
    return Verdict::forward();
  }

 private:
  std::uint64_t bytes_ = 0;
};

void measure(std::size_t payload) {
  Passing passing;
  Passing keyed_passing;
  Looking looking;
  Worker plain(payload, {});
  Worker service(payload, {.services = {&passing}});
  Worker keyed(payload, {.services = {&keyed_passing},
                         .pkeys = {{.from = PKey{0x0001}, .to = PKey{0x8001}}}});
  Worker looked(payload, {.services = {&looking}});
  const auto times = bench::seconds_of_bursts(
      100, [&] { plain.turn(); }, [&] { service.turn(); }, [&] { keyed.turn(); },
      [&] { looked.turn(); });
  for (Worker* const worker : {&plain, &service, &keyed, &looked})
    worker->check();
  const auto ns = [&](std::size_t i) { return times[i] * 1e9 / kFlows; };
  fmt::print(
      "packets of {} bytes of payload, {} flows: plain {:.0f} ns, a service that decides by "
      "flow {:.0f} ns, with another P_Key {:.0f} ns, one that looks at each {:.0f} ns\n",
      payload, kFlows, ns(0), ns(1), ns(2), ns(3));
  fmt::print("result: million packets a second, plain, {} bytes = {:.2f}\n", payload, 1e3 / ns(0));
  fmt::print("result: million packets a second, by flow, {} bytes = {:.2f}\n", payload,
             1e3 / ns(1));
  fmt::print("result: by flow / plain, {} bytes = {:.2f}\n", payload, ns(0) / ns(1));
  fmt::print("result: P_Key / plain, {} bytes = {:.2f}\n", payload, ns(0) / ns(2));
  fmt::print("result: each packet / plain, {} bytes = {:.2f}\n", payload, ns(0) / ns(3));
}

}  // namespace

int main() {
  measure(256);
  measure(4096);
  return 0;
}
