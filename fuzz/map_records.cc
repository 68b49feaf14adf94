// SPDX-License-Identifier: Apache-2.0
// What another instance of a service says of queue pair numbers and connections: a record is read
// as it is written, tables stay within their bounds and hold together whatever comes, everything
// that is to end does so in time, and an instance that is told all of it knows the same.
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "base/random.h"
#include "input.h"
#include "service/mapper.h"
#include "steps.h"

namespace {

using namespace weft;
using namespace weft::service;
using fuzz::Input;
using fuzz::require;

using Record = std::array<std::byte, MapRecord::kSize>;

class Sink final : public Service::RecordSink {
 public:
  void take(Bytes record) override {
    require(record.size() == MapRecord::kSize);
    Record& one = records.emplace_back();
    std::memcpy(one.data(), record.data(), one.size());
  }
  std::vector<Record> records;
};

class Fuzzer {
 public:
  explicit Fuzzer(Input& input) : input_(input) {}

  void step() {
    switch (input_.one_of(5)) {
      case 0:
        apply(any_bytes());
        break;
      case 1:
        apply(queue_pair());
        break;
      case 2:
        apply(connection());
        break;
      case 3:
        now_ += Duration(1s) * input_.byte();
        mapper_.run(now_);
        break;
      default:
        require(!mapper_.apply(Bytes(queue_pair()).first(input_.one_of(MapRecord::kSize)), now_));
    }
    check();
  }

  void finish() {
    Sink sink;
    mapper_.snapshot(sink);
    SeededEntropy entropy{Random(2)};
    Mapper other(kOptions, entropy);
    std::size_t connections = 0;
    for (const Record& record : sink.records) {
      const auto read = MapRecord::parse(record);
      require(read && !read->gone && read->bytes() == record);
      // Numbers come before connections, of which those that end take theirs with them.
      const bool number = std::holds_alternative<MappedQp>(read->of);
      require(!number || connections == 0);
      connections += number ? 0 : 1;
      require(other.apply(record, now_));
    }
    require(other.connections() == connections);
    // Everything that has an end comes to it.
    for (unsigned rounds = 0; mapper_.deadline(); ++rounds) {
      require(rounds < 10'000);
      now_ = std::max(now_, *mapper_.deadline());
      mapper_.run(now_);
      check();
    }
    mapper_.queue_pairs().for_each([](const MappedQp& entry) { require(entry.established); });
  }

 private:
  static constexpr Mapper::Options kOptions{
      .queue_pairs = {.entries = 24, .entries_each = 10},
      .connections = {.connections = 12, .unanswered_each = 4}};

  Record any_bytes() {
    Record out;
    for (std::byte& byte : out)
      byte = std::byte{input_.byte()};
    return out;
  }
  Gid end() {
    std::array<std::uint8_t, 16> bytes{0xFE, 0x80};
    bytes[15] = input_.one_of(4);
    return Gid{bytes};
  }
  // Few of each, so that they meet.
  Record queue_pair() {
    MapRecord record{.gone = input_.one_of(8) == 0, .of = MappedQp{}};
    auto& entry = std::get<MappedQp>(record.of);
    const std::uint8_t flags = input_.byte();
    entry.number = Qpn{2u + input_.one_of(48)};
    entry.real = Qpn{2u + input_.one_of(16)};
    entry.owner = end();
    entry.peer = end();
    entry.has_qkey = (flags & 1) != 0;
    entry.established = (flags & 2) != 0;
    entry.datagram = (flags & 4) != 0;
    return record.bytes();
  }
  Record connection() {
    MapRecord record{.of = CmConnection{}};
    auto& one = std::get<CmConnection>(record.of);
    one.requester = end();
    one.responder = end();
    one.requester_id = wire::CommId{input_.one_of(8)};
    one.responder_id = wire::CommId{input_.one_of(8)};
    one.state = static_cast<CmConnection::State>(input_.one_of(5));
    one.requester_number = Qpn{2u + input_.one_of(48)};
    one.responder_number = Qpn{2u + input_.one_of(48)};
    return record.bytes();
  }

  void apply(const Record& record) {
    const auto read = MapRecord::parse(record);
    const bool done = mapper_.apply(record, now_);
    require(read || !done);
    if (!read) return;
    const Record written = read->bytes();
    const auto again = MapRecord::parse(written);
    require(again && again->bytes() == written && again->gone == read->gone &&
            again->of.index() == read->of.index());
    // Whoever has said it knows it.
    require(mapper_.take_news().empty());
  }

  void check() {
    QpMap& map = mapper_.queue_pairs();
    require(map.size() <= kOptions.queue_pairs.entries);
    require(mapper_.connections() <= kOptions.connections.connections);
    std::map<std::array<std::uint8_t, 16>, std::size_t> owned;
    std::vector<MappedQp> all;
    map.for_each([&](const MappedQp& entry) { all.push_back(entry); });
    for (const MappedQp& entry : all) {
      require(entry.number.value() > 1 && entry.number != kMulticastQpn);
      require(++owned[entry.owner.bytes()] <= kOptions.queue_pairs.entries_each);
      const MappedQp* const found = map.find(entry.owner, entry.real, entry.peer);
      // Beside those that close there may be one that has begun anew.
      require(entry.closing ? found == nullptr || !found->closing
                            : found != nullptr && found == map.find(entry.number));
    }
  }

  Input& input_;
  SeededEntropy entropy_{Random(1)};
  Mapper mapper_{kOptions, entropy_};
  Time now_{1h};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  Fuzzer fuzzer(input);
  return fuzz::run(fuzzer, input);
}
