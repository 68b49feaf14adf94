// SPDX-License-Identifier: Apache-2.0
#include "wan/line/equipment/cell_line.h"

#include "wan/line/atm/cell_delineation.h"
#include "wan/line/atm/cell_source.h"
#include "wan/line/equipment/equipment_parts.h"
#include "wan/line/sonet/overhead.h"
#include "wan/line/stack/line_parts.h"

namespace weft::wan {
namespace {

class CellLine final : public Line, private LineSession {
 public:
  CellLine(atm::CellFeed& feed, atm::CellSink& sink)
      : source_({&feed}, true), delineation_(sink, true) {}

  OctetSource& out() override { return source_; }
  OctetSink& in() override { return delineation_; }
  LineSession& session() override { return *this; }
  [[nodiscard]] std::size_t longest_packet() const override { return atm::kPayloadSize; }
  [[nodiscard]] std::vector<CounterValue> counters() const override {
    return delineation_.counters().snapshot();
  }

 private:
  [[nodiscard]] bool up() const override {
    return delineation_.state() == atm::DelineationState::kSync;
  }
  [[nodiscard]] Time next_deadline() const override { return Time::max(); }
  void advance(Time) override {}

  atm::CellSource source_;
  atm::CellDelineation delineation_;
};

}  // namespace

std::unique_ptr<Line> make_cell_line(std::string_view name, atm::CellFeed& feed,
                                     atm::CellSink& sink) {
  const auto level = level_of(name);
  if (!level && name != "cells") return nullptr;
  auto cells = std::make_unique<CellLine>(feed, sink);
  if (!level) return cells;
  return make_framed_line({.level = *level, .label = sonet::label::kAtm}, std::move(cells));
}

}  // namespace weft::wan
