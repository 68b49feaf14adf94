// SPDX-License-Identifier: Apache-2.0
#include "phy/conformance/scenarios.h"

#include <utility>

#include "wire/endian.h"
#include "wire/sm/smp.h"

namespace weft::phy::conformance {
namespace {

constexpr std::uint64_t kStrangeNumber = 0x5EED'0000;  // of messages that are not to be answered
constexpr std::uint16_t kNodeInfo = 0x0011;

Scenario usual(std::string_view id, std::string_view text) {
  Scenario made{.id = id, .text = text};
  made.port.transmit_configurations = 3;
  made.port.receive_configurations = 4;
  made.port.first_id = 0x100;
  return made;
}

wire::MadBuffer strange_mad(const Advertisement& message, unsigned number) {
  return make_advertisement_mad({message, kStrangeNumber << 32 | number});
}

wire::MadBuffer with_header(wire::MadBuffer mad,
                            const std::function<void(wire::MadHeader&)>& change) {
  wire::MadHeader header = *wire::MadHeader::parse(mad);
  change(header);
  header.write(mad);
  return mad;
}

// Requests that break the specification in one point each.
std::vector<wire::MadBuffer> forbidden_mads(const Advertisement& good) {
  std::vector<wire::MadBuffer> out;
  unsigned number = 0;
  const auto add = [&](const std::function<void(Advertisement&)>& change) {
    Advertisement bad = good;
    change(bad);
    out.push_back(strange_mad(bad, ++number));
  };
  add([](Advertisement& bad) { bad.iterations = 0; });
  add([](Advertisement& bad) { bad.iterations = 10; });
  add([](Advertisement& bad) { bad.bandwidth = 2500; });
  add([](Advertisement& bad) {
    bad.no_sweep = true;
    bad.iterations = 9;
  });
  out.push_back(with_header(strange_mad(good, ++number), [](wire::MadHeader& header) {
    header.method = wire::MadMethod::kGet;
  }));
  out.push_back(with_header(strange_mad(good, ++number),
                            [](wire::MadHeader& header) { header.attribute_modifier = 1; }));
  return out;
}

std::vector<wire::MadBuffer> other_mads(const Advertisement& good) {
  const auto change = [](wire::MadHeader& header) { header.attribute_id = kNodeInfo; };
  const auto neighbour = [](wire::MadHeader& header) { header.attribute_id += 1; };
  const auto lid_routed = [](wire::MadHeader& header) {
    header.mgmt_class = wire::MgmtClass::kSubnLid;
  };
  return {with_header(strange_mad(good, 0x21), change),
          with_header(strange_mad(good, 0x22), neighbour),
          with_header(strange_mad(good, 0x23), lid_routed)};
}

void add_successes(std::vector<Scenario>& out) {
  out.push_back(usual("usual", "All that either says arrives."));

  Scenario more = usual("longer-sweep", "The peer wants more iterations, and longer ones.");
  more.peer.capabilities.iterations = more.peer.configurations = 9;
  more.peer.capabilities.iteration_ms = 800;
  more.peer.chooses = 8;
  out.push_back(std::move(more));

  Scenario fewer = usual("shorter-sweep", "The peer wants one iteration, and a short one.");
  fewer.peer.capabilities.iterations = fewer.peer.configurations = 1;
  fewer.peer.capabilities.iteration_ms = 20;
  fewer.peer.chooses = 2;
  out.push_back(std::move(fewer));

  Scenario some = usual("one-that-works", "The port receives with one pair of settings alone.");
  some.bench.quality = [](unsigned receiver, std::uint32_t transmit, std::uint32_t receive) {
    const bool good = receiver != kTested || (transmit == 2 && receive == 1);
    return LaneMeasurement{.matched = true, .symbol_errors = good ? 0U : 3U, .eye = 1};
  };
  out.push_back(std::move(some));

  Scenario late = usual("late-answers", "The peer answers after 2.5 ms.");
  late.peer.answers_after = 2500us;
  out.push_back(std::move(late));

  Scenario slow =
      usual("last-moment", "The peer does not hear but the last of the port's requests.");
  slow.peer.misses = {3, 3};
  out.push_back(std::move(slow));

  Scenario reserved = usual("reserved-bits", "The peer sets reserved bits, which mean nothing.");
  reserved.peer.reserved = 0x0000'0F00;
  out.push_back(std::move(reserved));

  Scenario forbidden = usual("forbidden-fields",
                             "The peer first sends messages with fields that the specification "
                             "forbids.");
  forbidden.peer.before_capabilities = forbidden_mads(forbidden.peer.capabilities);
  out.push_back(std::move(forbidden));

  Scenario other = usual("other-attributes", "The peer first sends SMPs with other attributes.");
  other.peer.before_capabilities = other_mads(other.peer.capabilities);
  out.push_back(std::move(other));

  Scenario replay = usual("replay", "The peer's first request comes again among the results.");
  replay.peer.repeats_capabilities = true;
  out.push_back(std::move(replay));
}

void add_missed(std::vector<Scenario>& out, Role role) {
  Scenario missed = usual("missed-acknowledgement",
                          "The peer misses the port's acknowledgements, as in figure 2.");
  missed.peer.hears_answers = {false, false};
  out.push_back(std::move(missed));
  // Of these, a peer that waits to be asked and does not answer would be silent.
  if (role == Role::kResponder) {
    Scenario unanswered = usual(
        "no-acknowledgement", "The peer asks, but does not answer, and waits for the port to go.");
    unanswered.peer.answers = {false, false};
    unanswered.peer.lingers = 50ms;
    out.push_back(std::move(unanswered));
  }
}

void add_no_sweep(std::vector<Scenario>& out) {
  Scenario peer = usual("no-sweep", "The peer asks to do without a sweep.");
  peer.peer.capabilities.no_sweep = true;
  peer.peer.capabilities.iterations = 1;  // the chosen one
  out.push_back(std::move(peer));

  Scenario port = usual("no-sweep-of-port", "The port is set to ask to do without a sweep.");
  port.port.no_sweep = true;
  port.port.default_iteration = 2;
  out.push_back(std::move(port));
}

void add_failures(std::vector<Scenario>& out, Role role) {
  Scenario refused = usual("not-capable", "The peer answers 5G = 0.");
  refused.peer.capabilities.ddr = false;
  refused.lasts = 3s;
  out.push_back(std::move(refused));

  Scenario deaf = usual("nothing-found", "The port receives nothing free of errors.");
  deaf.bench.quality = [](unsigned, std::uint32_t, std::uint32_t) {
    return LaneMeasurement{.matched = true, .symbol_errors = 7, .eye = 0.1};
  };
  out.push_back(std::move(deaf));

  Scenario none = usual("nothing-found-by-peer", "The peer has found no settings.");
  none.peer.chooses.reset();
  out.push_back(std::move(none));

  Scenario untrained = usual("no-link-at-ddr", "The link does not come up at DDR.");
  untrained.bench.trains_at_ddr = false;
  out.push_back(std::move(untrained));

  if (role == Role::kRequester) {
    Scenario silent = usual("silent", "The peer knows nothing of the protocol.");
    silent.peer.asks = PeerScript::Asks::kNever;
    silent.peer.misses = {PeerScript::kNever, PeerScript::kNever};
    silent.lasts = 3s;
    out.push_back(std::move(silent));

    Scenario mute = usual("silent-after-sweep", "The peer says nothing more after the sweep.");
    mute.peer.misses[1] = PeerScript::kNever;
    out.push_back(std::move(mute));
  }
}

}  // namespace

std::vector<Scenario> scenarios(Role role, const Rules& rules) {
  std::vector<Scenario> out;
  add_successes(out);
  add_missed(out, role);
  add_no_sweep(out);
  add_failures(out, role);
  for (Scenario& scenario : out) {
    if (role == Role::kRequester && scenario.peer.asks == PeerScript::Asks::kFirst) {
      scenario.peer.asks = PeerScript::Asks::kWhenAsked;
    }
    scenario.port.burst_len = rules.burst_len;
    scenario.port.max_retry = rules.max_retry;
    scenario.port.xmit_time_out = rules.xmit_time_out;
    scenario.port.ddr_time_out = rules.ddr_time_out;
  }
  return out;
}

std::string_view role_name(Role role) {
  return role == Role::kRequester ? "requester" : "responder";
}

}  // namespace weft::phy::conformance
