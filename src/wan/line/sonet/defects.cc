// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/defects.h"

#include <fmt/format.h>

#include <iterator>

#include "wan/line/sonet/pointer.h"

namespace weft::wan::sonet {
namespace {

constexpr auto action_bits(Action action) {
  return static_cast<std::uint8_t>(action);
}
constexpr std::uint8_t kStop = action_bits(Action::kStopPayload) | action_bits(Action::kDown);
constexpr std::uint8_t kLinePath = action_bits(Action::kTellLine) | action_bits(Action::kTellPath);
constexpr std::uint8_t kPathOnly = action_bits(Action::kTellPath);

constexpr std::array<DefectInfo, kDefects> kDefectTable{{
    {"LOS", "loss of signal", "20 us of zeros, or the line says so", "frame alignment is found", 0,
     0, static_cast<std::uint8_t>(kStop | kLinePath)},
    {"OOF", "out of frame", "4 frames with wrong framing octets",
     "2 frames with right ones at their distance", 0, 0, action_bits(Action::kDown)},
    {"LOF", "loss of frame", "OOF for 24 frames (3 ms)", "no OOF for 24 frames (3 ms)", 0, 0,
     static_cast<std::uint8_t>(kStop | kLinePath)},
    {"TIM-S", "trace identifier mismatch of the section", "3 other messages of J0",
     "3 messages as expected", 3, 3, action_bits(Action::kDown)},
    {"AIS-L", "alarm indication of the line", "5 frames with K2 bits 6-8 = 111", "5 others", 5, 5,
     static_cast<std::uint8_t>(kStop | kLinePath)},
    {"RDI-L", "remote defect of the line", "5 frames with K2 bits 6-8 = 110", "5 others", 5, 5,
     action_bits(Action::kDown)},
    {"SF", "signal fail", "errors of B2 as at a bit error ratio of 1e-3",
     "fewer than at a tenth of it", 0, 0, action_bits(Action::kDown)},
    {"SD", "signal degrade", "errors of B2 as at a bit error ratio of 1e-6",
     "fewer than at a tenth of it", 0, 0, 0},
    {"AIS-P", "alarm indication of the path", "3 frames with pointers of ones",
     "a pointer with new data flag, or 3 equal ones", 0, 0,
     static_cast<std::uint8_t>(kStop | kPathOnly)},
    {"LOP-P", "loss of pointer",
     "8 frames without a valid pointer, with new data flag, or without a concatenation indication",
     "3 equal valid pointers", 0, 0, static_cast<std::uint8_t>(kStop | kPathOnly)},
    {"UNEQ-P", "path unequipped", "5 containers with C2 = 00", "5 others", 5, 5,
     static_cast<std::uint8_t>(kStop | kPathOnly)},
    {"TIM-P", "trace identifier mismatch of the path", "3 other messages of J1",
     "3 messages as expected", 3, 3, static_cast<std::uint8_t>(kStop | kPathOnly)},
    {"PLM-P", "payload label mismatch", "5 containers with another C2",
     "5 containers with the expected one or 01", 5, 5, kStop},
    {"RDI-P", "remote defect of the path", "5 containers with G1 bit 5 set", "5 others", 5, 5,
     action_bits(Action::kDown)},
}};

std::string actions_text(std::uint8_t actions) {
  std::string text;
  const auto add = [&](Action action, std::string_view what) {
    if ((actions & action_bits(action)) == 0) return;
    if (!text.empty()) text += ", ";
    text += what;
  };
  add(Action::kStopPayload, "no payload, AIS downstream");
  add(Action::kTellLine, "RDI-L");
  add(Action::kTellPath, "RDI-P");
  add(Action::kDown, "session down");
  return text.empty() ? "-" : text;
}

}  // namespace

const DefectInfo& info(Defect defect) {
  return kDefectTable[static_cast<std::size_t>(defect)];
}

void Defects::set(Defect defect, bool stands) {
  in_a_row_[static_cast<std::size_t>(defect)] = 0;
  if (stands == this->stands(defect)) return;
  standing_ ^= bit(defect);
  if (stands) counters_.add_in_turn(defect);
}

void Defects::observe(Defect defect, bool seen) {
  std::uint8_t& in_a_row = in_a_row_[static_cast<std::size_t>(defect)];
  if (seen == stands(defect)) {
    in_a_row = 0;
    return;
  }
  const DefectInfo& row = info(defect);
  if (++in_a_row >= (seen ? row.enter : row.leave)) set(defect, seen);
}

void Defects::forget_from(Defect from) {
  for (auto i = static_cast<std::size_t>(from); i < kDefects; ++i)
    set(static_cast<Defect>(i), false);
}

bool Defects::asks(Action action) const {
  for (std::size_t i = 0; i < kDefects; ++i) {
    if (stands(static_cast<Defect>(i)) && (kDefectTable[i].actions & action_bits(action)) != 0) {
      return true;
    }
  }
  return false;
}

std::string Defects::text() const {
  std::string text;
  for (std::size_t i = 0; i < kDefects; ++i) {
    if (!stands(static_cast<Defect>(i))) continue;
    if (!text.empty()) text += ' ';
    text += kDefectTable[i].name;
  }
  return text;
}

// A bit of B2 covers 801 bits. At a bit error ratio of 1e-3 it is wrong in 40 % of the frames, at
// 1e-4 in 7 %, at 1e-6 in 0.08 %; there are 24 N of them. The thresholds are between.
SignalQuality::Window SignalQuality::fail_window(std::size_t n) {
  const auto bits = static_cast<std::uint32_t>(24 * n);
  return {.frames = 8, .enter = 8 * bits * 3 / 10, .leave = 8 * bits / 10};
}

SignalQuality::Window SignalQuality::degrade_window(std::size_t n) {
  return {.frames = static_cast<std::uint32_t>(5200 / n), .enter = 80, .leave = 20};
}

SignalQuality::SignalQuality(std::size_t n)
    : watches_{Watch{.defect = Defect::kSignalFail, .window = fail_window(n)},
               Watch{.defect = Defect::kSignalDegrade, .window = degrade_window(n)}} {
}

void SignalQuality::restart() {
  for (Watch& watch : watches_)
    watch.frames = watch.errors = 0;
}

void SignalQuality::frame(std::uint32_t errors, Defects& defects) {
  for (Watch& watch : watches_) {
    watch.errors += errors;
    ++watch.frames;
    if (watch.errors >= watch.window.enter) defects.set(watch.defect, true);
    if (watch.frames < watch.window.frames) continue;
    if (watch.errors < watch.window.leave) defects.set(watch.defect, false);
    watch.frames = watch.errors = 0;
  }
}

std::string defects_table() {
  std::string text =
      "| defect | meaning | entered | left | what follows |\n|---|---|---|---|---|\n";
  for (const DefectInfo& row : kDefectTable) {
    fmt::format_to(std::back_inserter(text), "| {} | {} | {} | {} | {} |\n", row.name, row.meaning,
                   row.entered, row.left, actions_text(row.actions));
  }
  return text;
}

std::string pointers_table() {
  std::string text = "| in | frames in a row | with | to |\n|---|---|---|---|\n";
  for (const PointerRow& row : pointer_rows()) {
    fmt::format_to(std::back_inserter(text), "| {} | {} | {} | {} |\n", to_text(row.from),
                   row.times, to_text(row.sign), to_text(row.to));
  }
  return text;
}

}  // namespace weft::wan::sonet
