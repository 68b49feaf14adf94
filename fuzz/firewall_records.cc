// SPDX-License-Identifier: Apache-2.0
// What another instance of a firewall says of its connections and flows: a record is read as it is
// written, tables stay within their bounds, nothing is known that the rules here would not have let
// begin, packets that go by meanwhile are decided about, everything ends in time, and an instance
// that is told all of it knows the same.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "input.h"
#include "packets.h"
#include "service/firewall/firewall.h"
#include "steps.h"
#include "wire/cm_connect.h"
#include "wire/cm_disconnect.h"

namespace {

using namespace weft;
using namespace weft::service;
using namespace weft::service::firewall;
using fuzz::Input;
using fuzz::require;
using Record = std::vector<std::byte>;

constexpr FirewallOptions kFirewallLimits{
    .connections = {.most = 12, .most_half_open = 5, .half_open = 5s, .idle = 60s, .closing = 2s},
    .flows = {.most = 10, .unanswered = 3s, .answered = 30s, .answered_tcp = 90s, .fragments = 2s}};
// LIDs up to this one may begin something.
constexpr std::uint64_t kLastAllowed = 3;

Program rules() {
  auto parsed = RuleSet::parse(
      "table t {\nchain forward {\nhook forward; policy drop;\nct state established accept\n"
      "slid 1-3 cm message != req accept\nslid 1-3 cm private-data 0/1 0-127 accept\n"
      "slid 1-3 traffic { datagram, ipoib } accept\n}\n}\n",
      "rules");
  require(parsed.has_value());
  auto program = Program::compile(std::move(*parsed));
  require(program.has_value());
  return std::move(*program);
}

class AllRecords final : public Service::RecordSink {
 public:
  explicit AllRecords(const Firewall& of) {
    of.snapshot(*this);
    std::ranges::sort(records);
  }
  void take(Bytes record) override { records.emplace_back(record.begin(), record.end()); }
  std::vector<Record> records;
};

std::uint64_t count_of(const Firewall& firewall, std::string_view name) {
  const auto counters = firewall.counters();
  const auto found = std::ranges::find(counters, name, &CounterValue::name);
  require(found != counters.end());
  return found->value;
}

class Fuzzer {
 public:
  explicit Fuzzer(Input& input) : input_(input) {}

  void step() {
    switch (input_.one_of(7)) {
      case 0: {
        const Bytes any = input_.some();
        apply({any.begin(), any.end()});
        break;
      }
      case 1:
        apply(record_of(connection()));
        break;
      case 2: {
        const Flows::Id id = flow_id();
        const bool answered = (input_.byte() & 1) != 0;
        apply(record_of(id, answered, request()));
        break;
      }
      case 3:
        apply(damaged());
        break;
      case 4:
        apply(test::make(packet()));
        break;
      case 5: {
        const test::Buffer bytes = test::make(packet());
        static_cast<void>(firewall_.decide(Fields::parse(bytes), bytes, now_));
        break;
      }
      default:
        now_ += Duration(100ms) * input_.byte();
        firewall_.run(now_);
    }
    check();
  }

  void finish() {
    const AllRecords all(firewall_);
    Firewall other(rules(), kFirewallLimits);
    for (const Record& record : all.records) {
      require(record.size() <= Host::kMostRecord);
      other.apply(record, now_);
    }
    require(AllRecords(other).records == all.records);
    for (unsigned rounds = 0; firewall_.deadline(); ++rounds) {
      require(rounds < 10'000);
      now_ = std::max(now_, *firewall_.deadline());
      firewall_.run(now_);
      check();
    }
    require(firewall_.connections() == 0 && firewall_.flows() == 0);
  }

 private:
  // Few of each, so that they meet.
  MatchKey request() {
    MatchKey key;
    const std::uint8_t what = input_.byte();
    key.set(Field::slid, 1u + input_.one_of(5));
    key.set(Field::traffic, what & 0xFu);
    if ((what & 0x10) != 0) key.set(Field::cm_message, 0x10u + input_.one_of(16));
    if ((what & 0x20) == 0) key.set(Field::state, std::uint64_t{1});
    if ((what & 0x40) != 0) key.set(Field::state, std::uint64_t{input_.byte()});
    if ((what & 0x80) != 0) key.set(Field::sgid, Wide(test::gid(input_.one_of(4))));
    return key;
  }
  ConnectionEnd end() {
    ConnectionEnd out;
    const std::uint8_t flags = input_.byte();
    const std::uint16_t who = flags & 3;
    out.party = {.address = (flags & 4) != 0 ? Wide(test::gid(who)) : Wide(who),
                 .global = (flags & 4) != 0};
    out.lid = Lid{static_cast<std::uint16_t>((flags & 8) != 0 ? 7 : who)};
    if ((flags & 16) != 0) out.gid = test::gid(who);
    out.qpn = Qpn{0x10u + (flags >> 6)};
    out.comm_id = wire::CommId{input_.one_of(6)};
    out.partitions = {1, static_cast<std::uint16_t>((flags & 32) != 0 ? 1 : 2)};
    return out;
  }
  Connection connection() {
    Connection out;
    const std::uint8_t flags = input_.byte();
    out.sidr = (flags & 1) != 0;
    out.phase = static_cast<Phase>(flags >> 1 & 3);
    out.transport = static_cast<wire::CmTransport>(flags >> 3 & 1);
    out.qkey = QKey{flags};
    out.active = end();
    out.passive = end();
    out.private_data.assign(flags >> 6, std::byte{input_.byte()});
    out.request = request();
    return out;
  }
  Flows::Id flow_id() {
    const std::uint8_t flags = input_.byte();
    constexpr std::array<std::uint8_t, 4> kKinds{6, 17, Flows::kDatagrams, 1};
    return {.from = Wide(test::gid(flags & 3)),
            .to = Wide(test::gid(flags >> 2 & 3)),
            .from_port = input_.one_of(3),
            .to_port = input_.one_of(3),
            .partition = 1,
            .kind = kKinds[flags >> 4 & 3],
            .global = (flags & 64) != 0};
  }
  // Of one that is known, a byte.
  Record damaged() {
    const AllRecords all(firewall_);
    if (all.records.empty()) return {};
    Record record = all.records[input_.byte() % all.records.size()];
    record[input_.byte() % record.size()] ^= std::byte{input_.byte()};
    return record;
  }
  test::Made packet() {
    const std::uint8_t flags = input_.byte();
    const wire::CommId id{input_.one_of(6)};
    test::Made made;
    if ((flags & 0xC0) == 0) {
      wire::CmReq req{.local_comm_id = id, .service_id = wire::ServiceId{7}};
      req.local_qpn = Qpn{0x10u + (flags >> 4)};
      req.primary.local_lid = req.primary.remote_lid = Lid{0xFFFF};
      made = test::cm(req);
    } else if ((flags & 0xC0) == 0x40) {
      wire::CmRep rep{.local_comm_id = id, .remote_comm_id = wire::CommId{input_.one_of(6)}};
      rep.local_qpn = Qpn{0x10u + (flags >> 4 & 3)};
      made = test::cm(rep);
    } else if ((flags & 0xC0) == 0x80) {
      made = test::cm(wire::CmDreq{.local_comm_id = id,
                                   .remote_comm_id = wire::CommId{input_.one_of(6)},
                                   .remote_qpn = Qpn{0x10}});
    } else {
      made.bth.opcode =
          (flags & 0x20) != 0 ? wire::Opcode::ud_send_only : wire::Opcode::rc_send_only;
      made.bth.dest_qp = Qpn{0x10u + (flags >> 4 & 1)};
      made.payload.resize(8);
    }
    made.slid = Lid{static_cast<std::uint16_t>(flags & 3)};
    made.dlid = Lid{static_cast<std::uint16_t>(flags >> 2 & 3)};
    if (input_.one_of(2) == 1) {
      made.gids = {test::gid(made.slid.value()), test::gid(made.dlid.value())};
    }
    return made;
  }

  void apply(const Record& record) {
    const bool none = !is_state_record(record);
    const auto read = none ? std::nullopt : read_state_record(record);
    if (read) require(written(*read) == record);
    const std::uint64_t good = count_of(firewall_, "applied");
    const std::uint64_t bad = count_of(firewall_, "bad_records");
    firewall_.apply(record, now_);
    const bool counted = count_of(firewall_, "applied") == good + 1;
    require(none || counted == read.has_value());
    require(count_of(firewall_, "bad_records") == bad + (counted ? 0 : 1));
  }
  static Record written(const StateRecord& record) {
    if (const auto* const flow = std::get_if<FlowState>(&record)) {
      return record_of(flow->id, flow->answered, flow->request);
    }
    return record_of(std::get<Connection>(record));
  }

  void check() {
    require(firewall_.connections() <= kFirewallLimits.connections.most);
    require(firewall_.half_open() <= kFirewallLimits.connections.most_half_open);
    require(firewall_.flows() <= kFirewallLimits.flows.most);
    for (const Record& record : AllRecords(firewall_).records) {
      const auto read = read_state_record(record);
      require(read && written(*read) == record);
      const auto* const flow = std::get_if<FlowState>(&*read);
      const MatchKey& key = flow != nullptr ? flow->request : std::get<Connection>(*read).request;
      const std::uint64_t slid = key.has(Field::slid) ? key.narrow(Field::slid) : 0;
      require(slid > 0 && slid <= kLastAllowed);
    }
  }

  Input& input_;
  Firewall firewall_{rules(), kFirewallLimits};
  Time now_{1h};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  Fuzzer fuzzer(input);
  return fuzz::run(fuzzer, input);
}
