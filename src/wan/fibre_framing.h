// SPDX-License-Identifier: Apache-2.0
// What is on a fibre that is a stream of bytes: the symbols of one lane of an InfiniBand link as
// IBA Volume 2, chapter 5 has them, without the 8b/10b code beneath. All of it is in steps of four
// symbols.
//
//   SDP  LRH … VCRC  EGP                  a packet, as it is; EBP at its end: it is to be dropped
//   SLP  6 bytes     EGP                  a flow-control packet
//   COM  lane 0      14 of training       a training set: what this end says of itself
//   COM  SKP SKP SKP                      nothing, so that silence means that nobody is there
//
// How long a packet is its LRH says. Whoever does not find an end where one must be is out of step,
// and there is no way back into step but a new stream.
#pragma once

#include <tl/expected.hpp>
#include <vector>

#include "base/bytes.h"
#include "wan/fibre_code.h"

namespace weft::wan {

// The first one in there.
[[nodiscard]] tl::expected<FibreRecord, FibreError> parse_fibre(Bytes bytes);

// To the end of `out`. False: its LRH says another length than it has, and it stays out.
[[nodiscard]] bool put_packet(std::vector<std::byte>& out, const link::Packet& packet);
void put_flow_control(std::vector<std::byte>& out, link::SignalBytes packet);
void put_training(std::vector<std::byte>& out, const TrainingSet& set);
void put_skip(std::vector<std::byte>& out);

// The same as a code.
class SymbolCode final : public FibreCode {
 public:
  void restart() override {}
  [[nodiscard]] bool put_packet(std::vector<std::byte>& out, const link::Packet& packet) override {
    return wan::put_packet(out, packet);
  }
  void put_flow_control(std::vector<std::byte>& out, link::SignalBytes packet) override {
    wan::put_flow_control(out, packet);
  }
  void put_training(std::vector<std::byte>& out, const TrainingSet& set) override {
    wan::put_training(out, set);
  }
  void put_skip(std::vector<std::byte>& out) override { wan::put_skip(out); }
  [[nodiscard]] tl::expected<std::size_t, FibreError> read(Bytes bytes, FibreSink& sink) override;
};

}  // namespace weft::wan
