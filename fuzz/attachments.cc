// SPDX-License-Identifier: Apache-2.0
// Programs on the adapters of a running fabric that do whatever they like, while cables are pulled
// and the subnet manager changes its mind. Whatever arrives at a program is for it, comes from a
// port and a queue pair that are what they say, and is nothing that no program may send, as long as
// no raw queue pair of the node that carries a data service has sent; what comes to one of these is
// what its rules say. In the end nothing stays behind.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/random.h"
#include "fabric/channel_adapter.h"
#include "running_fabric.h"
#include "steps.h"
#include "wire/deth.h"
#include "wire/endian.h"
#include "wire/link_crc.h"
#include "wire/packet.h"

namespace {

using namespace weft;
using namespace weft::fabric;
using fuzz::Input;
using fuzz::require;

constexpr std::string_view kLab = R"(
[switch]
s = { ports = 4 }
[node]
a = {}
b = { ports = 2 }
[[link]]
ends = ["a:1", "s:1"]
[[link]]
ends = ["b:1", "s:2"]
[[link]]
ends = ["b:2", "s:3"]
)";

constexpr std::size_t kPlaces = 3;  // ports of adapters, one at each link
constexpr std::size_t kPrograms = 5;
// Port n has LIDs from its own eight only, so that a LID tells whose it is.
constexpr std::uint16_t kLids = 8;

struct Place {
  ChannelAdapter* adapter = nullptr;
  mgmt::PortNumber number = 1;
  std::set<Qpn> numbers;  // that programs here have or had
  [[nodiscard]] NodePort& port() const { return adapter->port(number); }
};

class FuzzedProgram final : public Program {
 public:
  explicit FuzzedProgram(std::array<Place, kPlaces>& places) : places_(places) {}

  void attach(std::size_t place) {
    place_ = &places_[place];
    attachment = *place_->adapter->attach(place_->number, *this);
  }
  void detach() {
    attachment.reset();
    raw.clear();
    numbers.clear();
    had_.clear();
  }
  void allocate() {
    if (numbers.size() >= 8) return;
    const auto qpn = attachment->allocate();
    require(qpn.has_value() && *qpn > kQp1 && *qpn != kMulticastQpn);
    numbers.push_back(*qpn);
    had_.insert(*qpn);
    place_->numbers.insert(*qpn);
  }
  [[nodiscard]] Place& place() const { return *place_; }

  std::unique_ptr<Attachment> attachment;
  std::vector<Qpn> numbers;
  std::map<Qpn, std::vector<RawRule>> raw;  // of these, with their rules
  std::size_t room = 4;
  static inline bool raw_has_sent = false;

 private:
  void deliver(link::PacketPtr& packet, Time) override {
    check(*packet);
    if (room == 0) return;
    --room;
    packet.reset();
  }
  void deliver_raw(link::PacketPtr& packet, Qpn to, Time) override {
    // It may have waited while its queue pair was given back, or lost its rule.
    require(had_.contains(to));
    require(!packet->sealed || packet->icrc_good());
    require(packet->vl() != Vl{15});
    if (room == 0) return;
    --room;
    packet.reset();
  }
  void may_send(Time) override {}
  void port_changed(bool, Time) override {}

  void check(const link::Packet& packet) const {
    std::vector<std::byte> bytes(packet.size());
    packet.copy_to(bytes);
    const auto walked = wire::walk_link_packet(bytes);
    // What a service sends beyond the BTH is its own; the receiver drops what makes no sense.
    if (raw_has_sent && !walked) return;
    require(walked.has_value() && walked->transport && wire::check_link_crcs(bytes).vcrc_good);
    const wire::Bth& bth = walked->transport->bth;
    require(walked->lrh.vl != Vl{15} && bth.dest_qp > kQp1);
    const bool multicast = walked->lrh.dlid.value() >= 0xC000;
    // It may have waited while its queue pair was given back.
    require(multicast ? bth.dest_qp == kMulticastQpn : had_.contains(bth.dest_qp));
    if (raw_has_sent) return;
    const std::size_t from = walked->lrh.slid.value() / kLids - 1u;
    require(from < kPlaces);
    if (!walked->transport->deth) return;
    require((walked->transport->deth->qkey.value() & kPrivilegedQKeyBit) == 0);
    require(places_[from].numbers.contains(walked->transport->deth->src_qp));
  }

  std::array<Place, kPlaces>& places_;
  Place* place_ = nullptr;
  std::set<Qpn> had_;  // since it was attached
};

class Stage {
 public:
  explicit Stage(const Input& input)
      : input_(input), lab_(kLab, {.packets = 4096, .payload_blocks = 4096}) {
    places_[0].adapter = lab_.fabric.find_adapter("a");
    places_[1].adapter = places_[2].adapter = lab_.fabric.find_adapter("b");
    places_[2].number = 2;
    places_[2].adapter->carry_service(entropy_);
    FuzzedProgram::raw_has_sent = false;
    configure();
    for (std::size_t i = 0; i < kPrograms; ++i) {
      programs_.push_back(std::make_unique<FuzzedProgram>(places_));
      programs_.back()->attach(i % kPlaces);
      programs_.back()->allocate();
    }
  }
  [[nodiscard]] bool empty() const { return input_.empty(); }

  void step() {
    FuzzedProgram& program = *programs_[input_.one_of(kPrograms)];
    switch (input_.one_of(14)) {
      case 0:
        return numbers(program);
      case 1:
        return groups(program);
      case 2:
        program.room = input_.one_of(16);
        return program.attachment->resume(lab_.now);
      case 3:
        program.detach();
        program.attach(input_.one_of(kPlaces));
        return program.allocate();
      case 4:
        return change(program.place());
      case 5:
        return plug();
      case 6:
        lab_.now += Duration(input_.word() * 10'000);
        return lab_.settle();
      case 12:
      case 13:
        return raw(program);
      default:
        return send(program);
    }
  }

  void finish() {
    lab_.settle();
    for (auto& program : programs_)
      program->detach();
    lab_.run_off();
    require(lab_.fabric.packets_in_use() == 0);
  }

 private:
  // All links active, LIDs for all ports, and one multicast group that goes everywhere.
  void configure() {
    lab_.activate();
    for (Place& place : places_)
      set_lid(place, 0, 0);
    wire::LinearBlock block = fuzz::no_routes();
    for (std::uint16_t lid = kLids; lid < kLids * (kPlaces + 1); ++lid)
      block.ports.at(lid) = static_cast<std::uint8_t>(lid / kLids);
    lab_.route("s", block, Lid{63}, 0xE);
  }
  void set_lid(Place& place, std::uint16_t offset, std::uint8_t lmc) {
    const auto index = static_cast<std::uint16_t>(&place - places_.data());
    lab_.give_lid(*place.adapter, place.number,
                  Lid{static_cast<std::uint16_t>((index + 1) * kLids + offset)}, lmc);
  }

  void change(Place& place) {
    mgmt::ManagedNode& node = *place.adapter;
    switch (input_.one_of(4)) {
      case 0: {
        const std::uint8_t lmc = input_.one_of(4);
        const auto offset = static_cast<std::uint16_t>(input_.one_of(kLids) >> lmc << lmc);
        return set_lid(place, offset, lmc);
      }
      case 1: {
        wire::PKeyBlock keys;
        keys.pkeys[0] = kDefaultPKey;
        keys.pkeys[1] = PKey{input_.word()};
        return node.set_pkeys(place.number, 0, keys);
      }
      case 2: {
        wire::SlToVl lanes;
        for (Vl& vl : lanes.vls)
          vl = Vl{input_.byte()};
        return node.set_sl_to_vl(0, place.number, lanes);
      }
      default: {
        wire::PortInfo info = node.port_info(place.number);
        info.neighbor_mtu = static_cast<std::uint8_t>(1 + input_.one_of(5));
        return node.set_port_info(place.number, info, lab_.now);
      }
    }
  }

  void plug() {
    link::Link& link = lab_.fabric.link(input_.one_of(kPlaces));
    link.set_plugged(!link.plugged(), lab_.now);
    lab_.settle();
    configure();
  }

  void numbers(FuzzedProgram& program) {
    if (input_.one_of(2) == 0) return program.allocate();
    const Qpn qpn = some_number(program);
    const auto own = std::find(program.numbers.begin(), program.numbers.end(), qpn);
    require(program.attachment->release(qpn).has_value() == (own != program.numbers.end()));
    if (own != program.numbers.end()) program.numbers.erase(own);
    program.raw.erase(qpn);
  }
  Qpn some_number(const FuzzedProgram& program) {
    const std::uint8_t index = input_.byte();
    if (index < program.numbers.size()) return program.numbers[index];
    return Qpn{input_.word()};
  }
  // Raw queue pairs are for programs of b, and rules for raw queue pairs.
  void raw(FuzzedProgram& program) {
    const Qpn qpn = some_number(program);
    const bool own =
        std::find(program.numbers.begin(), program.numbers.end(), qpn) != program.numbers.end();
    if (input_.one_of(3) == 0) {
      const bool may = own && program.place().adapter == places_[2].adapter;
      require(program.attachment->make_raw(qpn).has_value() == may);
      if (may) program.raw[qpn];
      return;
    }
    const auto found = program.raw.find(qpn);
    const RawRule rule = some_rule(program);
    if (found == program.raw.end()) {
      return require(!program.attachment->divert(qpn, rule) &&
                     !program.attachment->restore(qpn, rule));
    }
    auto& rules = found->second;
    const auto has = std::find(rules.begin(), rules.end(), rule);
    if (input_.one_of(2) == 0) {
      if (program.attachment->divert(qpn, rule) && has == rules.end()) rules.push_back(rule);
      return;
    }
    require(program.attachment->restore(qpn, rule).has_value() == (has != rules.end()));
    if (has != rules.end()) rules.erase(has);
  }
  RawRule some_rule(const FuzzedProgram& program) {
    switch (input_.one_of(5)) {
      case 0:
        return Lid{static_cast<std::uint16_t>(input_.one_of(kLids * (kPlaces + 1)))};
      case 1: {
        std::array<std::uint8_t, 16> gid{0xFE, 0x80};
        wire::store_be64(std::as_writable_bytes(std::span(gid)).data() + 8,
                         program.place().port().guid().value());
        return GidPrefix(Gid(gid), input_.byte() % 129u);
      }
      case 2:
        return OtherLids{};
      case 3:
        return OtherGids{};
      default:
        return Everything{};
    }
  }
  [[nodiscard]] static Gid group(std::uint8_t number) {
    return Gid{std::array<std::uint8_t, 16>{0xFF, 0x12, number}};
  }
  void groups(FuzzedProgram& program) {
    const Qpn qpn = some_number(program);
    const Gid gid = group(input_.one_of(3));
    if (input_.one_of(2) == 0) {
      (void)program.attachment->join(qpn, gid);
    } else {
      (void)program.attachment->leave(qpn, gid);
    }
  }

  // A right one, of which some bytes may be changed.
  std::vector<std::byte> some_packet(const FuzzedProgram& program, Qpn source) {
    const std::size_t payload = 4u * input_.byte();
    const bool global = input_.one_of(2) == 1;
    const std::size_t at = wire::Lrh::kSize + (global ? wire::Grh::kSize : 0);
    std::vector<std::byte> bytes(at + wire::Bth::kSize + wire::Deth::kSize + payload +
                                 wire::kIcrcSize + wire::kVcrcSize);
    const MutableBytes all(bytes);
    const FuzzedProgram& to = *programs_[input_.one_of(kPrograms)];
    const bool multicast = global && input_.one_of(2) == 1;
    const NodePort& port = program.place().port();
    wire::Lrh{.sl = Sl{input_.byte()},
              .next_header = global ? wire::Lnh::iba_global : wire::Lnh::iba_local,
              .dlid = multicast ? Lid{0xC000} : to.place().port().lid(),
              .packet_words = static_cast<std::uint16_t>((bytes.size() - 2) / 4),
              .slid = port.lid()}
        .write(all);
    if (global) {
      wire::Grh grh{.payload_length = static_cast<std::uint16_t>(bytes.size() - 2 - at)};
      std::array<std::uint8_t, 16> gid{0xFE, 0x80};
      wire::store_be64(std::as_writable_bytes(std::span(gid)).data() + 8, port.guid().value());
      grh.sgid = Gid{gid};
      grh.dgid = multicast ? group(input_.one_of(3)) : grh.sgid;
      grh.write(all.subspan(wire::Lrh::kSize));
    }
    const Qpn dest = to.numbers.empty() ? Qpn{3} : to.numbers.front();
    wire::Bth{.opcode = wire::Opcode::ud_send_only,
              .pkey = kDefaultPKey,
              .dest_qp = multicast ? kMulticastQpn : dest}
        .write(all.subspan(at));
    wire::Deth{.src_qp = source}.write(all.subspan(at + wire::Bth::kSize));
    for (std::uint8_t changes = input_.one_of(4); changes > 0; --changes)
      bytes[input_.byte() % (bytes.size() - 2)] ^= std::byte{input_.byte()};
    return bytes;
  }

  void send(FuzzedProgram& program) {
    const Qpn source = some_number(program);
    std::vector<std::byte> bytes = some_packet(program, source);
    if (wire::walk_link_packet(bytes)) wire::seal_link_packet(bytes);
    link::PacketPtr packet = lab_.fabric.pool().copy(bytes);
    if (packet == nullptr) return;
    packet->sealed = input_.one_of(4) != 0;
    const std::uint32_t epoch = program.attachment->epoch() + 1u - input_.one_of(3);
    const NodeCounters& counters = program.place().port().counters();
    FuzzedProgram::raw_has_sent |= program.raw.contains(source);
    const std::uint64_t before = counters.get(NodeCounter::kForged);
    const Sent sent = program.attachment->send(packet, source, epoch, lab_.now);
    require((packet == nullptr) == (sent != Sent::kNotNow));
    require(counters.get(NodeCounter::kForged) - before == (sent == Sent::kForged ? 1u : 0u));
    if (input_.one_of(4) != 0) lab_.settle();
  }

  Input input_;
  SeededEntropy entropy_{Random(1)};
  fuzz::RunningFabric lab_;
  std::array<Place, kPlaces> places_;
  std::vector<std::unique_ptr<FuzzedProgram>> programs_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Stage stage{Input(std::as_bytes(std::span(data, size)))};
  while (!stage.empty())
    stage.step();
  stage.finish();
  return 0;
}
