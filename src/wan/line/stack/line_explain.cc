// SPDX-License-Identifier: Apache-2.0
#include "wan/line/stack/line_explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "wan/line/atm/aal5.h"
#include "wan/line/atm/cell_delineation.h"
#include "wan/line/atm/explain.h"
#include "wan/line/gfp/gfp_fields.h"
#include "wan/line/gfp/gfp_header.h"
#include "wan/line/payload_scrambler.h"
#include "wan/line/pcs/explain.h"
#include "wan/line/ppp/ppp_fields.h"
#include "wan/line/ppp/ppp_frame.h"
#include "wan/line/sonet/explain.h"
#include "wan/line/sonet/frame_aligner.h"
#include "wan/line/sonet/terminal.h"
#include "wan/line/stack/line_stack.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

class Units {
 public:
  Units(std::string kind, std::size_t most, std::vector<LineUnit>& out)
      : kind_(std::move(kind)), left_(most), out_(out) {}

  [[nodiscard]] bool full() const { return left_ == 0; }
  void add(std::vector<FrameField> fields) {
    if (full()) return;
    --left_;
    out_.push_back({kind_, std::move(fields)});
  }

 private:
  const std::string kind_;
  std::size_t left_;
  std::vector<LineUnit>& out_;
};

// --- SONET/SDH -----------------------------------------------------------------------------------

class FrameUnits final : public sonet::FrameSink {
 public:
  FrameUnits(sonet::Level level, Units& units) : level_(level), units_(units) {}
  void frame(Bytes line) override {
    if (!units_.full()) units_.add(sonet::explain_line(level_, line));
  }
  void alignment_lost() override {}

 private:
  const sonet::Level level_;
  Units& units_;
};

class Gathered final : public OctetSink {
 public:
  void take(Bytes octets) override { all.insert(all.end(), octets.begin(), octets.end()); }
  std::vector<std::byte> all;
};

class NoOctets final : public OctetSource {
 public:
  void fill(MutableBytes octets) override { std::ranges::fill(octets, std::byte{0}); }
};

// What the containers of a line carry.
std::vector<std::byte> payload_of(sonet::Level level, std::uint8_t label, Bytes octets) {
  NoOctets none;
  Gathered payload;
  sonet::TerminalOptions options;
  options.level = level;
  options.label = label;
  sonet::Terminal terminal(options, none, payload);
  terminal.take(octets);
  return std::move(payload.all);
}

void explain_frames(sonet::Level level, Bytes octets, std::size_t most,
                    std::vector<LineUnit>& out) {
  constexpr std::array<unsigned, sonet::kLevels> kNumbers{1, 4, 16, 64};
  Units units(fmt::format("STM-{} frame", kNumbers[static_cast<std::size_t>(level)]), most, out);
  FrameUnits frames(level, units);
  sonet::Defects defects;
  sonet::SonetCounters counters;
  sonet::FrameAligner(level, frames, defects, counters).take(octets);
}

// --- PPP -----------------------------------------------------------------------------------------

void explain_ppp(Bytes octets, std::size_t most, std::vector<LineUnit>& out) {
  Units units("PPP frame", most, out);
  std::vector<std::byte> frame;
  bool in_step = false;
  bool escaped = false;
  for (const std::byte octet : octets) {
    if (octet == kPppFlag) {
      if (in_step && !frame.empty()) units.add(ppp_fields(PppFcs::k32, frame));
      if (units.full()) return;
      in_step = true;
      escaped = false;
      frame.clear();
    } else if (octet == kPppEscape) {
      escaped = true;
    } else {
      frame.push_back(escaped ? octet ^ kPppEscapeBit : octet);
      escaped = false;
    }
  }
}

// --- GFP -----------------------------------------------------------------------------------------

std::uint32_t core_at(Bytes octets, std::size_t at) {
  return wire::load_be32(octets.data() + at) ^ kGfpCoreScramble;
}

// Where a frame begins, and another one behind it; the end: nowhere.
std::size_t find_gfp(Bytes octets) {
  for (std::size_t at = 0; at + kGfpHeader <= octets.size(); ++at) {
    if (!gfp_is_right(core_at(octets, at))) continue;
    const std::size_t pli = core_at(octets, at) >> 16;
    const std::size_t next = at + kGfpHeader + (pli < kGfpLeastPayloadArea ? 0 : pli);
    if (next + kGfpHeader > octets.size()) return at;
    if (gfp_is_right(core_at(octets, next))) return at;
  }
  return octets.size();
}

void explain_gfp(Bytes octets, std::size_t most, std::vector<LineUnit>& out) {
  Units units("GFP frame", most, out);
  PayloadDescrambler descrambler;
  std::vector<std::byte> frame;
  for (std::size_t at = find_gfp(octets); at + kGfpHeader <= octets.size() && !units.full();) {
    const GfpChecked core = gfp_check(core_at(octets, at));
    if (core.outcome == GfpChecked::Outcome::kWrong) {
      at += 1 + find_gfp(octets.subspan(at + 1));
      continue;
    }
    const std::size_t area = core.value < kGfpLeastPayloadArea ? 0 : core.value;
    if (at + kGfpHeader + area > octets.size()) return;
    frame.resize(kGfpHeader + area);
    wire::store_be32(frame.data(), core_at(octets, at));
    descrambler.descramble(octets.subspan(at + kGfpHeader, area),
                           MutableBytes(frame).subspan(kGfpHeader));
    if (core.value != 0) units.add(gfp_fields(frame));
    at += kGfpHeader + area;
  }
}

// --- ATM -----------------------------------------------------------------------------------------

class CellUnits final : public atm::CellSink {
 public:
  CellUnits(Units& cells, Units& pdus) : cells_(cells), pdus_(pdus) {}
  void take_cells(const atm::CellRun& run) override {
    for (std::size_t i = 0; i < run.count; ++i) {
      std::array<std::byte, atm::kCellSize> cell;
      atm::write_header(run.header, cell);
      const Bytes payload = run.payload(i);
      std::ranges::copy(payload, cell.begin() + atm::kHeaderSize);
      if (!cells_.full()) cells_.add(atm::explain_cell(cell));
      if (!run.header.is_user_data()) continue;
      pdu_.insert(pdu_.end(), payload.begin(), payload.end());
      if ((run.header.payload_type & atm::kLastOfPdu) == 0) continue;
      if (!pdus_.full()) pdus_.add(atm::explain_pdu(pdu_));
      pdu_.clear();
    }
  }

 private:
  Units& cells_;
  Units& pdus_;
  std::vector<std::byte> pdu_;  // of the connection that is not switched: all cells are of that
};

void explain_cells(Bytes octets, std::size_t most, std::vector<LineUnit>& out) {
  std::vector<LineUnit> later;
  Units cells("cell", most, out);
  Units pdus("AAL5 PDU", most, later);
  CellUnits units(cells, pdus);
  atm::CellDelineation(units, true).take(octets);
  std::ranges::move(later, std::back_inserter(out));
}

// --- 64b/66b -------------------------------------------------------------------------------------

// Octets in which as many blocks are.
void explain_ethernet(Bytes octets, BitOrder order, std::size_t most, std::vector<LineUnit>& out) {
  std::vector<FrameField> blocks = explain_blocks(octets, order);
  Units units("64b/66b block", most, out);
  for (FrameField& block : blocks) {
    if (block.value.find_first_of("SDTO") == std::string::npos) continue;
    units.add({std::move(block)});
    if (units.full()) return;
  }
}

void explain_mapping(std::string_view mapping, Bytes octets, std::size_t most,
                     std::vector<LineUnit>& out) {
  if (mapping == "ppp") explain_ppp(octets, most, out);
  if (mapping == "gfp") explain_gfp(octets, most, out);
  if (mapping == "aal5") explain_cells(octets, most, out);
}

}  // namespace

Expected<std::vector<LineUnit>> explain_line(std::string_view stack, Bytes octets,
                                             std::size_t most) {
  const auto names = LineStack::parse(stack);
  if (!names) return tl::unexpected(names.error());
  std::vector<LineUnit> out;
  std::vector<std::byte> payload;
  if (const auto level = names->level()) {
    explain_frames(*level, octets, most, out);
    payload = payload_of(*level, names->label(), octets);
    if (names->payload_scrambled()) PayloadDescrambler().descramble(payload);
    octets = payload;
  }
  if (names->mapping().empty()) {
    const BitOrder order = names->level() ? BitOrder::kMostFirst : BitOrder::kLeastFirst;
    explain_ethernet(octets, order, most, out);
  } else {
    explain_mapping(names->mapping(), octets, most, out);
  }
  return out;
}

}  // namespace weft::wan
