// SPDX-License-Identifier: Apache-2.0
#include "wan/dccp/features.h"

#include <algorithm>
#include <array>

namespace weft::wan::dccp {
namespace {

constexpr std::uint8_t kLastFeature = 9;

std::vector<std::byte> number_bytes(std::uint64_t number, std::size_t size) {
  std::vector<std::byte> out(size);
  for (std::size_t i = 0; i < size; ++i)
    out[i] = static_cast<std::byte>(number >> (8 * (size - 1 - i)));
  return out;
}

std::uint64_t number_of(Bytes value) {
  std::uint64_t number = 0;
  for (const std::byte b : value)
    number = number << 8 | std::to_integer<std::uint64_t>(b);
  return number;
}

// Whether the one whose feature it is sets it, and both take that (RFC 4340, 6.3.2).
bool is_number(Feature feature) {
  return feature == Feature::kSequenceWindow || feature == Feature::kAckRatio;
}

bool contains(Bytes values, std::byte value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// The server's first that the client has too (RFC 4340, 6.3.1).
std::optional<std::byte> choose(Bytes of_server, Bytes of_client) {
  for (const std::byte value : of_server) {
    if (contains(of_client, value)) return value;
  }
  return std::nullopt;
}

}  // namespace

void Features::want(OptionType change, Feature feature, std::vector<std::byte> value) {
  std::erase_if(wanted_, [&](const Wanted& wanted) {
    return wanted.change == change && wanted.feature == feature;
  });
  wanted_.push_back(
      {.change = change, .feature = feature, .value = std::move(value), .first_said = {}});
}

void Features::want_window(std::uint64_t window) {
  want(OptionType::kChangeL, Feature::kSequenceWindow, number_bytes(window, 6));
}

void Features::want_ack_ratio(std::uint16_t ratio) {
  want(OptionType::kChangeL, Feature::kAckRatio, number_bytes(ratio, 2));
}

void Features::want_of_peer() {
  want(OptionType::kChangeR, Feature::kSendAckVector, {std::byte{1}});
  want(OptionType::kChangeR, Feature::kSendNdpCount, {std::byte{1}, std::byte{0}});
  if (partial_) want(OptionType::kChangeR, Feature::kLeastCoverage, {std::byte{1}, std::byte{0}});
}

bool Features::pending_ack_ratio() const {
  return std::ranges::find(wanted_, Feature::kAckRatio, &Wanted::feature) != wanted_.end();
}

std::vector<std::byte> Features::allowed(Feature feature) const {
  switch (feature) {
    case Feature::kCcid:
      return {std::byte{2}};
    case Feature::kSendAckVector:
    case Feature::kSendNdpCount:
      return {std::byte{1}, std::byte{0}};
    case Feature::kLeastCoverage:
      if (partial_) return {std::byte{1}, std::byte{0}};
      break;
    default:
      break;
  }
  return {std::byte{0}};
}

void Features::set(FeatureValues& values, Feature feature, std::uint8_t value) {
  if (feature == Feature::kSendAckVector) values.send_ack_vector = value != 0;
  if (feature == Feature::kSendNdpCount) values.send_ndp_count = value != 0;
  if (feature == Feature::kLeastCoverage) values.partial_coverage = value == 1;
}

std::uint8_t Features::get(const FeatureValues& values, Feature feature) const {
  switch (feature) {
    case Feature::kCcid:
      return 2;
    case Feature::kSendAckVector:
      return values.send_ack_vector ? 1 : 0;
    case Feature::kSendNdpCount:
      return values.send_ndp_count ? 1 : 0;
    case Feature::kLeastCoverage:
      return values.partial_coverage ? 1 : 0;
    default:
      return 0;
  }
}

std::optional<ResetCode> Features::receive(const Option& option, Sequence sequence,
                                           std::optional<Sequence> acknowledged) {
  // What was overtaken says nothing any more (RFC 4340, 6.6.4).
  if (newest_ && sequence.after(*newest_) < 0) return std::nullopt;
  newest_ = sequence;
  if (option.value.empty()) {
    return option.mandatory ? std::optional(ResetCode::kMandatoryError) : std::nullopt;
  }
  if (option.type == OptionType::kChangeL || option.type == OptionType::kChangeR) {
    return changed(option);
  }
  confirmed(option, acknowledged);
  return std::nullopt;
}

// The other end wants a value: of its own feature, with L, or of this end's, with R.
std::optional<ResetCode> Features::changed(const Option& option) {
  const auto number = std::to_integer<std::uint8_t>(option.value[0]);
  const auto feature = static_cast<Feature>(number);
  const Bytes wanted = option.value.subspan(1);
  const auto refused = option.mandatory ? std::optional(ResetCode::kMandatoryError) : std::nullopt;
  if (number == 0 || number > kLastFeature) {
    answer(option, {option.value[0]});  // an empty one: it is not known
    return refused;
  }
  if (is_number(feature)) {
    if (option.type != OptionType::kChangeL || !change_number(feature, wanted)) return refused;
    answer(option, {option.value.begin(), option.value.end()});
    return std::nullopt;
  }
  FeatureValues& values = option.type == OptionType::kChangeL ? peer_ : own_;
  const auto allows = allowed(feature);
  const auto chosen = server_ ? choose(allows, wanted) : choose(wanted, allows);
  if (!chosen && option.mandatory) return refused;
  if (chosen) set(values, feature, std::to_integer<std::uint8_t>(*chosen));
  std::vector<std::byte> value{option.value[0],
                               chosen.value_or(static_cast<std::byte>(get(values, feature)))};
  value.insert(value.end(), allows.begin(), allows.end());
  answer(option, std::move(value));
  return std::nullopt;
}

bool Features::change_number(Feature feature, Bytes value) {
  const std::uint64_t number = number_of(value);
  if (feature == Feature::kSequenceWindow) {
    if (value.size() != 6 || number < kLeastWindow || number > kMostWindow) return false;
    peer_.sequence_window = number;
    return true;
  }
  if (value.size() != 2 || number == 0) return false;
  peer_.ack_ratio = static_cast<std::uint16_t>(number);
  return true;
}

void Features::answer(const Option& option, std::vector<std::byte> value) {
  const auto type =
      option.type == OptionType::kChangeL ? OptionType::kConfirmR : OptionType::kConfirmL;
  std::erase_if(answers_, [&](const Answer& given) {
    return given.type == type && given.value[0] == value[0];
  });
  if (answers_.size() < kMostAnswers) {
    answers_.push_back({.type = type, .value = std::move(value)});
  }
}

// It answers what this end wants, which is said until it has.
void Features::confirmed(const Option& option, std::optional<Sequence> acknowledged) {
  const auto feature = static_cast<Feature>(std::to_integer<std::uint8_t>(option.value[0]));
  const auto change =
      option.type == OptionType::kConfirmR ? OptionType::kChangeL : OptionType::kChangeR;
  const auto wanted = std::ranges::find_if(wanted_, [&](const Wanted& each) {
    return each.change == change && each.feature == feature;
  });
  if (wanted == wanted_.end() || !wanted->first_said || !acknowledged) return;
  if (acknowledged->after(*wanted->first_said) < 0) return;
  const Bytes value = option.value.subspan(1);
  FeatureValues& values = change == OptionType::kChangeL ? own_ : peer_;
  if (feature == Feature::kSequenceWindow) {
    if (std::ranges::equal(value, wanted->value)) values.sequence_window = number_of(value);
  } else if (feature == Feature::kAckRatio) {
    if (std::ranges::equal(value, wanted->value)) {
      values.ack_ratio = static_cast<std::uint16_t>(number_of(value));
    }
  } else if (!value.empty() && contains(allowed(feature), value[0])) {
    set(values, feature, std::to_integer<std::uint8_t>(value[0]));
  }
  wanted_.erase(wanted);
}

void Features::write(OptionWriter& options, Sequence sequence) {
  std::erase_if(answers_, [&](const Answer& each) { return options.put(each.type, each.value); });
  for (Wanted& wanted : wanted_) {
    std::vector<std::byte> value{static_cast<std::byte>(wanted.feature)};
    value.insert(value.end(), wanted.value.begin(), wanted.value.end());
    // Without Ack Vectors there is no CCID 2 (RFC 4341, 4).
    const bool mandatory = wanted.feature == Feature::kSendAckVector;
    if (options.put(wanted.change, value, mandatory) && !wanted.first_said) {
      wanted.first_said = sequence;
    }
  }
}

}  // namespace weft::wan::dccp
