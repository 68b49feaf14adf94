// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/terminal.h"

namespace weft::wan::sonet {

Terminal::Terminal(const TerminalOptions& options, OctetSource& payload, OctetSink& sink)
    : silence_(options.silence),
      path_receiver_(options.level, options.expected_path_trace, options.label, sink, defects_,
                     counters_),
      receiver_(options.level, options.expected_section_trace, path_receiver_, defects_, counters_),
      path_transmitter_(options.level, options.path_trace, options.label, options.pointer, payload,
                        &path_receiver_),
      transmitter_(options.level, options.section_trace, options.sdh, path_transmitter_, &receiver_,
                   counters_) {
}

bool Terminal::up() const {
  return receiver_.aligner().aligned() && receiver_.pointer().value().has_value() &&
         !defects_.asks(Action::kDown);
}

Time Terminal::next_deadline() const {
  if (!listens_ || defects_.stands(Defect::kLos)) return Time::max();
  return heard_ + silence_;
}

void Terminal::advance(Time now) {
  const std::uint64_t octets = receiver_.aligner().octets();
  if (!listens_ || octets != octets_heard_) {
    listens_ = true;
    octets_heard_ = octets;
    heard_ = now;
    return;
  }
  if (now >= next_deadline()) lose_signal();
}

}  // namespace weft::wan::sonet
