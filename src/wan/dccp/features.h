// SPDX-License-Identifier: Apache-2.0
// What two DCCP ends negotiate (RFC 4340, 6): features, of which each end has its own value. One
// that wants another value says Change, again and again until it is answered with Confirm.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "wan/dccp/dccp_options.h"
#include "wan/dccp/sequence.h"

namespace weft::wan::dccp {

enum class Feature : std::uint8_t {
  kCcid = 1,
  kShortNumbers = 2,
  kSequenceWindow = 3,
  kEcnIncapable = 4,
  kAckRatio = 5,
  kSendAckVector = 6,
  kSendNdpCount = 7,
  kLeastCoverage = 8,
  kCheckDataChecksum = 9,
};

// Of one end.
struct FeatureValues {
  std::uint64_t sequence_window = 100;  // of its packets
  std::uint16_t ack_ratio = 2;          // of acknowledgements that it wants
  bool send_ack_vector = false;
  bool send_ndp_count = false;
  bool partial_coverage = false;  // it takes packets whose checksum does not cover the data
};

class Features {
 public:
  static constexpr std::uint64_t kLeastWindow = 32;
  static constexpr std::uint64_t kMostWindow = (std::uint64_t{1} << 46) - 1;

  // `partial`: whether this end takes, and wants to send, packets of partial coverage.
  Features(bool server, bool partial) : server_(server), partial_(partial) {}

  [[nodiscard]] const FeatureValues& own() const { return own_; }
  [[nodiscard]] const FeatureValues& peer() const { return peer_; }

  // From now on these are wanted: of this end, of the other one.
  void want_window(std::uint64_t window);
  void want_ack_ratio(std::uint16_t ratio);
  void want_of_peer();
  // Whether such is still unanswered.
  [[nodiscard]] bool pending() const { return !wanted_.empty(); }
  [[nodiscard]] bool pending_ack_ratio() const;
  // Something is to be said in the next packet: an answer.
  [[nodiscard]] bool owes_answer() const { return !answers_.empty(); }

  // A Change or Confirm of a valid packet. What is wrong with it, if the connection cannot go on.
  std::optional<ResetCode> receive(const Option& option, Sequence sequence,
                                   std::optional<Sequence> acknowledged);
  // Says what is wanted, and answers, in a packet of this number.
  void write(OptionWriter& options, Sequence sequence);

 private:
  struct Wanted {
    OptionType change;  // kChangeL: of this end, kChangeR: of the other one
    Feature feature;
    std::vector<std::byte> value;
    std::optional<Sequence> first_said;
  };
  struct Answer {
    OptionType type;
    std::vector<std::byte> value;  // the feature first
  };
  static constexpr std::size_t kMostAnswers = 16;

  void want(OptionType change, Feature feature, std::vector<std::byte> value);
  std::optional<ResetCode> changed(const Option& option);
  void confirmed(const Option& option, std::optional<Sequence> acknowledged);
  bool change_number(Feature feature, Bytes value);
  [[nodiscard]] std::vector<std::byte> allowed(Feature feature) const;
  void set(FeatureValues& values, Feature feature, std::uint8_t value);
  [[nodiscard]] std::uint8_t get(const FeatureValues& values, Feature feature) const;
  void answer(const Option& option, std::vector<std::byte> value);

  const bool server_;
  const bool partial_;
  FeatureValues own_;
  FeatureValues peer_;
  std::vector<Wanted> wanted_;
  std::vector<Answer> answers_;
  std::optional<Sequence> newest_;  // of packets whose options were looked at
};

}  // namespace weft::wan::dccp
