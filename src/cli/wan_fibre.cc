// SPDX-License-Identifier: Apache-2.0
#include "cli/wan_fibre.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/fibre_address.h"
#include "wan/fibre_packet.h"
#include "wire/flow_control.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace weft::cli {
namespace {

constexpr std::string_view kNothing = "null";  // around packets

// Reads a stream whose pieces may end anywhere.
class FibreReader {
 public:
  FibreReader(wan::FibreCodeKind code, wan::FibreSink& sink)
      : code_(wan::make_fibre_code(code)), sink_(sink) {}

  Expected<void> take(Bytes octets) {
    bytes_.insert(bytes_.end(), octets.begin(), octets.end());
    const auto read = code_->read(bytes_, sink_);
    if (!read) {
      return fail(std::errc::protocol_error,
                  fmt::format("from octet {} on it is no fibre of this code", before_));
    }
    before_ += *read;
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(*read));
    return {};
  }
  [[nodiscard]] const wan::FibreCode& code() const { return *code_; }

 private:
  const std::unique_ptr<wan::FibreCode> code_;
  wan::FibreSink& sink_;
  std::vector<std::byte> bytes_;
  std::size_t before_ = 0;  // that are done with
};

class PacketsOut final : public wan::FibreSink {
 public:
  explicit PacketsOut(const std::function<Expected<void>(Bytes)>& out) : out_(out) {}

  bool arrived(const wan::FibreRecord& record) override {
    const bool is_packet = record.item == wan::FibreItem::kPacket;
    if (record.item == wan::FibreItem::kBadPacket) ++report.missed;
    if (!is_packet) return true;
    ++report.taken;
    if (result) result = out_(record.bytes);
    return true;
  }

  WanPackets report;
  Expected<void> result{};

 private:
  const std::function<Expected<void>(Bytes)>& out_;
};

std::string lid_text(Lid lid) {
  return fmt::format("{} ({:#06x})", lid.value(), lid.value());
}

std::vector<wan::FrameField> packet_fields(Bytes packet) {
  const auto lrh = wire::Lrh::parse(packet);
  if (!lrh) return {{"packet", fmt::format("{} octets", packet.size()), 0, packet.size()}};
  const std::size_t end = packet.size() - std::min(packet.size(), wire::kVcrcSize);
  return {{"VL", std::to_string(lrh->vl.value()), 0, 1},
          {"SL", std::to_string(lrh->sl.value()), 1, 1},
          {"LNH", std::to_string(static_cast<int>(lrh->next_header)), 1, 1},
          {"DLID", lid_text(lrh->dlid), 2, 2},
          {"PktLen", fmt::format("{} words of 4 octets", lrh->packet_words), 4, 2},
          {"SLID", lid_text(lrh->slid), 6, 2},
          {"behind the LRH", fmt::format("{} octets", end - std::min(end, wire::Lrh::kSize)),
           wire::Lrh::kSize, end - std::min(end, wire::Lrh::kSize)},
          {"VCRC",
           fmt::format("{:02x}{:02x}", std::to_integer<int>(packet[end]),
                       std::to_integer<int>(packet[packet.size() - 1])),
           end, wire::kVcrcSize}};
}

std::vector<wan::FrameField> flow_control_fields(Bytes bytes) {
  const auto packet = wire::FlowControl::parse(bytes);
  if (!packet) return {{"LPCRC", "wrong", 4, 2}};
  return {{"Op", std::to_string(static_cast<int>(packet->op)), 0, 1},
          {"FCTBS", std::to_string(packet->fctbs), 0, 2},
          {"VL", std::to_string(packet->vl.value()), 2, 1},
          {"FCCL", std::to_string(packet->fccl), 2, 2},
          {"LPCRC", "right", 4, 2}};
}

// What its octets are depends on the code, so that they are not told one by one.
std::vector<wan::FrameField> training_fields(const wan::TrainingSet& set) {
  std::vector<wan::FrameField> out{{"training of the sender", std::to_string(set.own), 0, 0},
                                   {"of the receiver, as heard", std::to_string(set.heard), 0, 0}};
  if (set.format) {
    out.push_back({"blocks", fmt::format("{} octets", 64U << set.format->scale), 0, 0});
    out.push_back({"counts", set.format->wide ? "of 24 bits" : "of 12 bits", 0, 0});
  }
  return out;
}

class UnitsOut final : public wan::FibreSink {
 public:
  explicit UnitsOut(std::size_t most) : most_(most) {}

  bool arrived(const wan::FibreRecord& record) override {
    switch (record.item) {
      case wan::FibreItem::kPacket:
        put("packet", packets_, packet_fields(record.bytes));
        break;
      case wan::FibreItem::kBadPacket:
        put("bad packet", bad_,
            {{"packet", fmt::format("{} octets", record.bytes.size()), 0, record.bytes.size()}});
        break;
      case wan::FibreItem::kFlowControl:
        put("flow-control packet", credits_, flow_control_fields(record.bytes));
        break;
      case wan::FibreItem::kTraining:
        put("training set", trainings_, training_fields(record.training));
        break;
      case wan::FibreItem::kSkip:
      case wan::FibreItem::kLost:
        break;
    }
    return true;
  }

  std::vector<wan::LineUnit> units;

 private:
  void put(const char* kind, std::size_t& count, std::vector<wan::FrameField> fields) {
    if (count++ < most_) units.push_back({.kind = kind, .fields = std::move(fields)});
  }

  const std::size_t most_;
  std::size_t packets_ = 0;
  std::size_t bad_ = 0;
  std::size_t credits_ = 0;
  std::size_t trainings_ = 0;
};

}  // namespace

std::optional<wan::FibreCodeKind> fibre_code_of(std::string_view stack) {
  if (!stack.starts_with(kNothing)) return std::nullopt;
  stack.remove_prefix(kNothing.size());
  if (stack.empty()) return wan::FibreCodeKind::kSymbols;
  if (stack.front() != '/') return std::nullopt;
  const auto* const name = std::ranges::find(kFibreCodeNames, stack.substr(1));
  if (name == kFibreCodeNames.end() || name == kFibreCodeNames.begin()) return std::nullopt;
  return static_cast<wan::FibreCodeKind>(name - kFibreCodeNames.begin());
}

Expected<WanPackets> encode_fibre(wan::FibreCodeKind kind, const std::vector<Bytes>& packets,
                                  const std::function<Expected<void>(Bytes)>& out) {
  const auto code = wan::make_fibre_code(kind);
  std::vector<std::byte> octets;
  WanPackets report;
  // In which a receiver finds its way; behind the last packet, until it has handed on all.
  code->put_training(octets, {.own = 1});
  for (const Bytes packet : packets) {
    const bool put = wan::put_packet(*code, octets, packet);
    ++(put ? report.taken : report.missed);
    if (auto done = out(octets); !done) return tl::unexpected(done.error());
    octets.clear();
  }
  code->put_skip(octets);
  if (auto done = out(octets); !done) return tl::unexpected(done.error());
  report.counters = code->counters();
  return report;
}

Expected<WanPackets> decode_fibre(wan::FibreCodeKind kind,
                                  const std::function<Expected<Bytes>()>& read,
                                  const std::function<Expected<void>(Bytes)>& out) {
  PacketsOut sink(out);
  FibreReader reader(kind, sink);
  for (;;) {
    const auto octets = read();
    if (!octets) return tl::unexpected(octets.error());
    if (octets->empty()) break;
    if (auto taken = reader.take(*octets); !taken) return tl::unexpected(taken.error());
    if (!sink.result) return tl::unexpected(sink.result.error());
  }
  sink.report.counters = reader.code().counters();
  return sink.report;
}

Expected<std::vector<wan::LineUnit>> explain_fibre(wan::FibreCodeKind kind, Bytes octets,
                                                   std::size_t most) {
  UnitsOut sink(most);
  FibreReader reader(kind, sink);
  if (auto taken = reader.take(octets); !taken && sink.units.empty()) {
    return tl::unexpected(taken.error());
  }
  return std::move(sink.units);
}

}  // namespace weft::cli
