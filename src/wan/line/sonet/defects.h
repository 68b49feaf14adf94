// SPDX-License-Identifier: Apache-2.0
// Defects of a receiver as data: when each is entered and left, and what follows from it (ITU-T
// G.783, 6.2; T1.231). Receivers say what they see in each frame; docs/wan-sonet.md has the table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/counters.h"

namespace weft::wan::sonet {

// In the order of the layers that find them.
enum class Defect : std::uint8_t {
  kLos,
  kOof,
  kLof,
  kTimSection,
  kAisLine,
  kRdiLine,
  kSignalFail,
  kSignalDegrade,
  kAisPath,
  kLop,
  kUnequipped,
  kTimPath,
  kPlm,
  kRdiPath,
  kCount
};
inline constexpr std::size_t kDefects = static_cast<std::size_t>(Defect::kCount);

// What follows while a defect stands.
enum class Action : std::uint8_t {
  kStopPayload = 1,  // nothing is handed on; equipment in the line sends an AIS on
  kTellLine = 2,     // the other end of the line is told: RDI-L
  kTellPath = 4,     // the other end of the path is told: RDI-P
  kDown = 8          // the session is down
};

struct DefectInfo {
  std::string_view name;
  std::string_view meaning;
  std::string_view entered;
  std::string_view left;
  // How many observations in a row enter it and leave it; 0: whoever sees it decides.
  std::uint8_t enter = 0;
  std::uint8_t leave = 0;
  std::uint8_t actions = 0;
};
[[nodiscard]] const DefectInfo& info(Defect defect);

inline constexpr std::array<CounterInfo, kDefects> kDefectCounters{{
    {"los", "times the signal was lost"},
    {"oof", "times frame alignment was lost"},
    {"lof", "times there was no frame alignment for long"},
    {"tim_s", "times the section's trace was another one"},
    {"ais_l", "times an AIS of the line began"},
    {"rdi_l", "times the other end of the line began to receive nothing"},
    {"sf", "times the line's errors became too many to use it"},
    {"sd", "times the line's errors became more than they should be"},
    {"ais_p", "times an AIS of the path began"},
    {"lop_p", "times the pointer was lost"},
    {"uneq_p", "times the path had no container"},
    {"tim_p", "times the path's trace was another one"},
    {"plm_p", "times the container was said to have something else"},
    {"rdi_p", "times the other end of the path began to receive nothing"},
}};
using DefectCounters = CounterSet<Defect, kDefectCounters>;

class Defects {
 public:
  // Enters or leaves it at once.
  void set(Defect defect, bool stands);
  // Seen or not: enters or leaves it after as many in a row as the table says.
  void observe(Defect defect, bool seen);
  // What is below a layer that is lost is not known: `from` and all that follow are left.
  void forget_from(Defect from);

  [[nodiscard]] bool stands(Defect defect) const { return (standing_ & bit(defect)) != 0; }
  // Any defect stands that asks for this.
  [[nodiscard]] bool asks(Action action) const;
  [[nodiscard]] bool any() const { return standing_ != 0; }
  // Names, with blanks between them; empty for none.
  [[nodiscard]] std::string text() const;
  // How often each was entered.
  [[nodiscard]] const DefectCounters& counters() const { return counters_; }

 private:
  static constexpr std::uint32_t bit(Defect defect) { return 1U << static_cast<unsigned>(defect); }
  std::uint32_t standing_ = 0;
  std::array<std::uint8_t, kDefects> in_a_row_{};  // of what would change it
  DefectCounters counters_;
};

// Errors of the line, in windows of frames: more than in a window of what a bit error ratio of 1e-3
// (signal fail) or 1e-6 (signal degrade) makes enter the defect, less than at a tenth leave it.
class SignalQuality {
 public:
  explicit SignalQuality(std::size_t n);
  // Errors of B2 in a frame.
  void frame(std::uint32_t errors, Defects& defects);
  void restart();

  struct Window {
    std::uint32_t frames = 0;
    std::uint32_t enter = 0;  // as many errors enter it, at once
    std::uint32_t leave = 0;  // fewer, when the window ends, leave it
  };
  [[nodiscard]] static Window fail_window(std::size_t n);
  [[nodiscard]] static Window degrade_window(std::size_t n);

 private:
  struct Watch {
    Defect defect{};
    Window window{};
    std::uint32_t frames = 0;
    std::uint32_t errors = 0;
  };
  std::array<Watch, 2> watches_;
};

// The table of docs/wan-sonet.md.
[[nodiscard]] std::string defects_table();
// The state machine of pointers, likewise.
[[nodiscard]] std::string pointers_table();

}  // namespace weft::wan::sonet
