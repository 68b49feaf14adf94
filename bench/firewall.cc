// SPDX-License-Identifier: Apache-2.0
// What the firewall costs: one worker, RC packets of 1,000 connections, 10 to 10,000 rules that end
// connections, all of which the packets have to come by; beside plain forwarding by the same
// runtime in the same run. Then what it costs to ask the rules for each packet, which happens where
// the runtime does not know the flow.
#include "service/firewall/firewall.h"

#include <fmt/format.h>

#include <memory>
#include <string>

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

void measure_forwarding(std::size_t payload) {
  Worker plain(payload, {});
  const auto ten = firewall_of(10);
  const auto hundred = firewall_of(100);
  const auto many = firewall_of(10'000);
  Worker with_ten(payload, {.services = {ten.get()}});
  Worker with_hundred(payload, {.services = {hundred.get()}});
  Worker with_many(payload, {.services = {many.get()}});
  for (Firewall* const firewall : {ten.get(), hundred.get(), many.get()})
    connect_all(*firewall);
  const auto times = seconds_of_bursts(
      100, [&] { plain.turn(); }, [&] { with_ten.turn(); }, [&] { with_hundred.turn(); },
      [&] { with_many.turn(); });
  for (Worker* const worker : {&plain, &with_ten, &with_hundred, &with_many})
    worker->check();
  const auto ns = [&](std::size_t i) { return times[i] * 1e9 / kFlows; };
  fmt::print(
      "packets of {} bytes of payload, {} connections: plain {:.0f} ns, 10 rules {:.0f} ns, 100 "
      "{:.0f} ns, 10,000 {:.0f} ns\n",
      payload, kFlows, ns(0), ns(1), ns(2), ns(3));
  fmt::print("result: million packets a second, 100 rules, {} bytes = {:.2f}\n", payload,
             1e3 / ns(2));
  fmt::print("result: 100 rules / plain, {} bytes = {:.2f}\n", payload, ns(0) / ns(2));
  fmt::print("result: 10,000 rules / 10 rules, {} bytes = {:.2f}\n", payload, ns(1) / ns(3));
}

// Each packet asked for anew, as new flows are.
void measure_asking() {
  const auto ten = firewall_of(10);
  const auto many = firewall_of(10'000);
  for (Firewall* const firewall : {ten.get(), many.get()})
    connect_all(*firewall);
  std::vector<std::vector<std::byte>> packets;
  for (std::size_t flow = 0; flow < kFlows; ++flow)
    packets.push_back(packet_of(flow * 7 % kFlows, 256));
  std::uint64_t accepted = 0;
  const auto ask = [&](Firewall& firewall) {
    for (const auto& packet : packets) {
      const auto decision = firewall.decide(service::Fields::parse(packet), packet, Time{1s});
      accepted += decision.action == service::firewall::Action::accept ? 1 : 0;
    }
  };
  const auto times = seconds_of_bursts(
      20, [&] { ask(*ten); }, [&] { ask(*many); });
  const auto ns = [&](std::size_t i) { return times[i] * 1e9 / kFlows; };
  fmt::print("each packet asked for: 10 rules {:.0f} ns, 10,000 {:.0f} ns; tables {} and {} KiB\n",
             ns(0), ns(1), ten->program().classifier().bytes() / 1024,
             many->program().classifier().bytes() / 1024);
  fmt::print("result: 10,000 rules / 10 rules, each packet asked for = {:.2f}\n", ns(0) / ns(1));
  if (accepted % kFlows != 0 || accepted == 0) std::exit(1);
}

}  // namespace

int main() {
  measure_forwarding(256);
  measure_forwarding(4096);
  measure_asking();
  return 0;
}
