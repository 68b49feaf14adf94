// SPDX-License-Identifier: Apache-2.0
// What the firewall costs: one worker, RC packets of 1,000 connections, 10 to 10,000 rules that end
// connections, all of which the packets have to come by; beside plain forwarding by the same
// runtime in the same run. Then what it costs to ask the rules for each packet, which happens where
// the runtime does not know the flow: packets of connections, packets to queue pairs that somebody
// guesses, and requests that are refused.
//
// Prints nanoseconds for each packet as JSON; bench/firewall shows them.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "service/firewall/firewall.h"
#include "service/firewall/packet_key.h"
#include "service_worker.h"
#include "turns.h"
#include "wire/cm_connect.h"
#include "wire/deth.h"

namespace {

using namespace weft;
using namespace weft::bench;
using service::firewall::Firewall;
using service::firewall::Program;
using service::firewall::RuleSet;

// So many rules that do not match: by GIDs, LIDs, services and opcodes, as tenants would have them.
std::string rules_text(unsigned count) {
  std::string text = "table bench {\nchain forward {\nhook forward; policy drop;\n";
  for (unsigned i = 0; i + 3 < count; ++i) {
    switch (i % 4) {
      case 0:
        text += fmt::format("sgid fd00::{:x} dgid fd01::{:x} accept\n", i, i);
        break;
      case 1:
        text += fmt::format("slid {} dqp {} drop\n", 0x2000 + i, i);
        break;
      case 2:
        text += fmt::format("service {:#x} opcode rdma-read drop\n", 0x100000 + i);
        break;
      default:
        text += fmt::format("partition {} dgid fe80::1:{:x} drop\n", 2 + i % 1000, i);
    }
  }
  return text +
         "ct state established accept\ncm message req service 0x1000 accept\nopaque drop\n}\n}\n";
}

std::unique_ptr<Firewall> firewall_of(unsigned count) {
  auto rules = RuleSet::parse(rules_text(count), "bench");
  auto program = rules ? Program::compile(std::move(*rules)) : tl::unexpected(rules.error());
  if (!program) {
    fmt::print(stderr, "firewall: {}\n", program.error().message);
    std::exit(1);
  }
  return std::make_unique<Firewall>(std::move(*program), service::firewall::FirewallOptions{});
}

// The end's LID of packet_of(), and its GID.
struct Ends {
  Lid a, b;
  Gid a_gid, b_gid;
};
Ends ends_of(std::size_t flow) {
  const auto a = static_cast<std::uint16_t>(flow % 100 + 1);
  const auto b = static_cast<std::uint16_t>(flow % 10 + 1000);
  return {Lid{a}, Lid{b}, gid(a), gid(b)};
}

template <class Message>
std::vector<std::byte> cm_packet(const Message& message, const Ends& from_to) {
  constexpr std::size_t kTransport =
      wire::Bth::kSize + wire::Deth::kSize + wire::kMadSize + wire::kIcrcSize;
  std::vector<std::byte> bytes(wire::Lrh::kSize + wire::Grh::kSize + kTransport + wire::kVcrcSize);
  const MutableBytes out(bytes);
  wire::Lrh{.next_header = wire::Lnh::iba_global,
            .dlid = kServiceLid,
            .packet_words = static_cast<std::uint16_t>((bytes.size() - 2) / 4),
            .slid = from_to.a}
      .write(out);
  wire::Grh{
      .payload_length = kTransport, .hop_limit = 1, .sgid = from_to.a_gid, .dgid = from_to.b_gid}
      .write(out.subspan(8));
  wire::Bth{.opcode = wire::Opcode::ud_send_only, .pkey = PKey{1}, .dest_qp = kQp1}.write(
      out.subspan(48));
  wire::Deth{.qkey = kGsiQKey, .src_qp = kQp1}.write(out.subspan(60));
  wire::MadHeader{.mgmt_class = wire::MgmtClass::kCommMgt,
                  .class_version = wire::kCmClassVersion,
                  .method = wire::MadMethod::kSend,
                  .attribute_id = static_cast<std::uint16_t>(Message::kId)}
      .write(out.subspan(68));
  message.write(out.subspan(92));
  wire::seal_link_packet(bytes);
  return bytes;
}

// As both ends would make them.
void connect_all(Firewall& firewall) {
  for (std::size_t flow = 0; flow < kFlows; ++flow) {
    const Ends ends = ends_of(flow);
    const auto id = static_cast<std::uint32_t>(flow + 1);
    wire::CmReq req{.local_comm_id = wire::CommId{id}, .service_id = wire::ServiceId{0x1000}};
    req.local_qpn = Qpn{0x9000 + id};
    req.pkey = PKey{1};
    req.primary.local_lid = ends.a;
    req.primary.local_gid = ends.a_gid;
    req.primary.remote_gid = ends.b_gid;
    wire::CmRep rep{.local_comm_id = wire::CommId{0x10000 + id},
                    .remote_comm_id = wire::CommId{id}};
    rep.local_qpn = Qpn{static_cast<std::uint32_t>(0x1000 + flow)};
    const auto asked = cm_packet(req, ends);
    const auto answered = cm_packet(rep, {ends.b, ends.a, ends.b_gid, ends.a_gid});
    for (const auto& packet : {asked, answered})
      (void)firewall.decide(service::Fields::parse(packet), packet, Time{1s});
  }
  if (firewall.connections() == kFlows) return;
  fmt::print(stderr, "firewall: {} connections of {}\n", firewall.connections(), kFlows);
  std::exit(1);
}

constexpr std::array<unsigned, 3> kRules{10, 100, 10'000};
using Firewalls = std::array<std::unique_ptr<Firewall>, kRules.size()>;

Firewalls make_firewalls() {
  Firewalls out;
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    out[i] = firewall_of(kRules[i]);
    connect_all(*out[i]);
  }
  return out;
}

// With `plain` before them, if that is there.
std::string json_of(const double* plain, std::span<const double, kRules.size()> with) {
  constexpr double kEach = 1e9 / kFlows;
  std::string out = plain == nullptr ? "{" : fmt::format("{{\"plain\": {:.2f}, ", *plain * kEach);
  for (std::size_t i = 0; i < kRules.size(); ++i)
    out += fmt::format("{}\"{}\": {:.2f}", i == 0 ? "" : ", ", kRules[i], with[i] * kEach);
  return out + "}";
}

std::string measure_forwarding(std::size_t payload) {
  const Firewalls firewalls = make_firewalls();
  Worker plain(payload, {});
  Worker ten(payload, {.services = {firewalls[0].get()}});
  Worker hundred(payload, {.services = {firewalls[1].get()}});
  Worker many(payload, {.services = {firewalls[2].get()}});
  const auto times = seconds_of_bursts(
      100, [&] { plain.turn(); }, [&] { ten.turn(); }, [&] { hundred.turn(); },
      [&] { many.turn(); });
  for (Worker* const worker : {&plain, &ten, &hundred, &many})
    worker->check();
  return json_of(times.data(), std::span(times).subspan<1, kRules.size()>());
}

using Packets = std::vector<std::vector<std::byte>>;

Packets of_connections() {
  Packets out;
  for (std::size_t flow = 0; flow < kFlows; ++flow)
    out.push_back(packet_of(flow * 7 % kFlows, 256));
  return out;
}

// Nobody's.
Packets to_guessed_queue_pairs() {
  Packets out;
  for (std::size_t flow = 0; flow < kFlows; ++flow)
    out.push_back(packet_of(0x10'0000 + flow * 100, 256));
  return out;
}

Packets refused_requests() {
  Packets out;
  for (std::size_t flow = 0; flow < kFlows; ++flow) {
    const Ends ends = ends_of(flow);
    wire::CmReq req{.local_comm_id = wire::CommId{static_cast<std::uint32_t>(0x20000 + flow)},
                    .service_id = wire::ServiceId{0x2000 + flow}};
    req.local_qpn = Qpn{static_cast<std::uint32_t>(0x9000 + flow)};
    req.pkey = PKey{1};
    req.primary.local_lid = ends.a;
    req.primary.local_gid = ends.a_gid;
    req.primary.remote_gid = ends.b_gid;
    out.push_back(cm_packet(req, ends));
  }
  return out;
}

// Each packet asked for anew.
std::string measure_asking(const Packets& packets, bool accepted) {
  const Firewalls firewalls = make_firewalls();
  std::uint64_t wrong = 0;
  const auto ask = [&](Firewall& firewall) {
    for (const auto& packet : packets) {
      const auto decision = firewall.decide(service::Fields::parse(packet), packet, Time{1s});
      wrong += (decision.action == service::firewall::Action::accept) == accepted ? 0 : 1;
    }
  };
  const auto times = seconds_of_bursts(
      20, [&] { ask(*firewalls[0]); }, [&] { ask(*firewalls[1]); }, [&] { ask(*firewalls[2]); });
  if (wrong != 0) {
    fmt::print(stderr, "firewall: {} packets have another verdict than they should\n", wrong);
    std::exit(1);
  }
  return json_of(nullptr, times);
}

}  // namespace

int main() {
  fmt::print("{{\"256\": {},\n", measure_forwarding(256));
  fmt::print("\"4096\": {},\n", measure_forwarding(4096));
  fmt::print("\"of connections\": {},\n", measure_asking(of_connections(), true));
  fmt::print("\"to guessed queue pairs\": {},\n", measure_asking(to_guessed_queue_pairs(), false));
  fmt::print("\"refused requests\": {},\n", measure_asking(refused_requests(), false));
  const auto many = firewall_of(10'000);
  const auto most = many->program().most();
  fmt::print("\"tables\": {{\"KiB\": {}, \"tables\": {}, \"rules\": {}, \"words\": {}}}}}\n",
             many->program().table_bytes() / 1024, most.tables, most.rules, most.words);
  return 0;
}
