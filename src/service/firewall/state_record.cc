// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/state_record.h"

#include <algorithm>
#include <cassert>
#include <span>
#include <utility>

#include "service/service.h"
#include "wire/grh.h"

namespace weft::service::firewall {
namespace {

constexpr std::byte kFlow{0x1F};
constexpr std::byte kConnection{0x2F};
constexpr unsigned kAnswered = 1;
constexpr unsigned kFlowGlobal = 2;
constexpr std::size_t kMostPrivateData = 216;  // of SIDR_REQ, IBA 12.11.1

class Writer {
 public:
  explicit Writer(std::byte kind) : out_{kind} {}

  void number(std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = bytes; i > 0; --i)
      out_.push_back(static_cast<std::byte>(value >> 8 * (i - 1)));
  }
  void wide(const Wide& value) {
    number(value.high, 8);
    number(value.low, 8);
  }
  void bytes(Bytes all) { out_.insert(out_.end(), all.begin(), all.end()); }
  void gid(const Gid& gid) { bytes(std::as_bytes(std::span(gid.bytes()))); }
  void key(const MatchKey& key) {
    number(key.present(), 8);
    for (std::size_t i = 0; i < kFields; ++i) {
      const auto field = static_cast<Field>(i);
      if (!key.has(field)) continue;
      if (is_wide(field)) {
        wide(key.wide(field));
      } else {
        number(key.narrow(field), 8);
      }
    }
  }
  void end(const ConnectionEnd& end) {
    number(end.party.global ? 1 : 0, 1);
    wide(end.party.address);
    number(end.lid.value(), 2);
    gid(end.gid);
    number(end.qpn.value(), 4);
    number(end.comm_id.value(), 4);
    for (const std::uint16_t partition : end.partitions)
      number(partition, 2);
  }
  std::vector<std::byte> take() {
    assert(out_.size() <= Host::kMostRecord);
    return std::move(out_);
  }

 private:
  std::vector<std::byte> out_;
};

// Once something is missing, or cannot be, all that follows is zero, and good() is false.
class Reader {
 public:
  explicit Reader(Bytes record) : cursor_(record) {}

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return good_ && cursor_.remaining() == 0; }
  void require(bool so) { good_ = good_ && so; }

  std::uint64_t number(std::size_t bytes) {
    std::uint64_t out = 0;
    for (const std::byte each : take(bytes))
      out = out << 8 | static_cast<std::uint64_t>(each);
    return out;
  }
  // Not above `most`.
  template <class Number>
  Number number_to(std::size_t bytes, std::uint64_t most) {
    const std::uint64_t value = number(bytes);
    require(value <= most);
    return static_cast<Number>(good_ ? value : 0);
  }
  Bytes take(std::size_t bytes) {
    const auto taken = good_ ? cursor_.take(bytes) : std::nullopt;
    require(taken.has_value());
    return taken.value_or(Bytes{});
  }
  Wide wide() {
    const std::uint64_t high = number(8);
    return {high, number(8)};
  }
  Gid gid() {
    const Bytes bytes = take(16);
    return bytes.empty() ? Gid{} : wire::load_gid(bytes.data());
  }
  MatchKey key() {
    MatchKey out;
    const std::uint64_t present = number(8);
    require(present >> kFields == 0);
    for (std::size_t i = 0; i < kFields && good_; ++i) {
      const auto field = static_cast<Field>(i);
      if ((present >> i & 1) == 0) continue;
      if (is_wide(field)) {
        out.set(field, wide());
      } else {
        out.set(field, number(8));
      }
    }
    return out;
  }
  // Of what something has begun with. Rules are asked about it anew, and must not be told that it
  // is part of what they let through before.
  MatchKey request() {
    const MatchKey out = key();
    require(out.has(Field::state) &&
            out.narrow(Field::state) == static_cast<std::uint64_t>(ConnectionState::fresh));
    return out;
  }
  ConnectionEnd end() {
    ConnectionEnd out;
    out.party.global = number_to<std::uint8_t>(1, 1) != 0;
    out.party.address = wide();
    out.lid = Lid{number_to<std::uint16_t>(2, 0xFFFF)};
    out.gid = gid();
    out.qpn = Qpn{number_to<std::uint32_t>(4, 0xFF'FFFF)};
    out.comm_id = wire::CommId{number_to<std::uint32_t>(4, 0xFFFF'FFFF)};
    for (std::uint16_t& partition : out.partitions)
      partition = number_to<std::uint16_t>(2, 0x7FFF);
    return out;
  }

 private:
  ByteCursor cursor_;
  bool good_ = true;
};

FlowState read_flow(Reader& reader) {
  FlowState out;
  const auto flags = reader.number_to<unsigned>(1, kAnswered | kFlowGlobal);
  out.answered = (flags & kAnswered) != 0;
  out.id.global = (flags & kFlowGlobal) != 0;
  out.id.partition = reader.number_to<std::uint16_t>(2, 0x7FFF);
  out.id.kind = reader.number_to<std::uint8_t>(1, 0xFF);
  reader.require(out.id.kind != Flows::kFragments && out.id.kind != Flows::kParts);
  out.id.from_port = reader.number_to<std::uint32_t>(4, 0xFFFF'FFFF);
  out.id.to_port = reader.number_to<std::uint32_t>(4, 0xFFFF'FFFF);
  out.id.from = reader.wide();
  out.id.to = reader.wide();
  out.request = reader.request();
  return out;
}

Connection read_connection(Reader& reader) {
  Connection out;
  out.sidr = reader.number_to<std::uint8_t>(1, 1) != 0;
  out.phase = reader.number_to<Phase>(1, static_cast<std::uint64_t>(Phase::closing));
  out.transport =
      reader.number_to<wire::CmTransport>(1, static_cast<std::uint64_t>(wire::CmTransport::kXrc));
  out.qkey = QKey{reader.number_to<std::uint32_t>(4, 0xFFFF'FFFF)};
  out.active = reader.end();
  out.passive = reader.end();
  const Bytes data = reader.take(reader.number_to<std::size_t>(2, kMostPrivateData));
  out.private_data.assign(data.begin(), data.end());
  out.request = reader.request();
  return out;
}

}  // namespace

std::vector<std::byte> record_of(const Flows::Id& id, bool answered, const MatchKey& request) {
  Writer out(kFlow);
  out.number((answered ? kAnswered : 0) | (id.global ? kFlowGlobal : 0), 1);
  out.number(id.partition, 2);
  out.number(id.kind, 1);
  out.number(id.from_port, 4);
  out.number(id.to_port, 4);
  out.wide(id.from);
  out.wide(id.to);
  out.key(request);
  return out.take();
}

std::vector<std::byte> record_of(const Connection& connection) {
  Writer out(kConnection);
  out.number(connection.sidr ? 1 : 0, 1);
  out.number(static_cast<std::uint64_t>(connection.phase), 1);
  out.number(static_cast<std::uint64_t>(connection.transport), 1);
  out.number(connection.qkey.value(), 4);
  out.end(connection.active);
  out.end(connection.passive);
  const Bytes data = Bytes(connection.private_data)
                         .first(std::min(connection.private_data.size(), kMostPrivateData));
  out.number(data.size(), 2);
  out.bytes(data);
  out.key(connection.request);
  return out.take();
}

std::optional<StateRecord> read_state_record(Bytes record) {
  if (record.empty()) return std::nullopt;
  Reader reader(record.subspan(1));
  std::optional<StateRecord> out;
  if (record.front() == kFlow) {
    out = read_flow(reader);
  } else if (record.front() == kConnection) {
    out = read_connection(reader);
  }
  return out && reader.at_end() ? std::move(out) : std::nullopt;
}

}  // namespace weft::service::firewall
