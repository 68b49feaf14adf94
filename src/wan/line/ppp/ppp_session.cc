// SPDX-License-Identifier: Apache-2.0
#include "wan/line/ppp/ppp_session.h"

#include <algorithm>
#include <cstring>

#include "wire/endian.h"

namespace weft::wan {
namespace {

using OnSession = ControlEvent;

// Control packets that wait, either way: who sends more at once is not negotiating.
constexpr std::size_t kMostWaiting = 64;
// Of a packet whose protocol is not known here, what is sent back.
constexpr std::size_t kProtocolRejectOctets = 64;

PppProtocol data_protocol(PppPayload payload) {
  switch (payload) {
    case PppPayload::kIpv6:
      return PppProtocol::kIpv6;
    case PppPayload::kIpv4:
      return PppProtocol::kIpv4;
    case PppPayload::kMpls:
      return PppProtocol::kMpls;
    case PppPayload::kInfiniBand:
      break;
  }
  return PppProtocol::kVendor;
}

// Of a packet of InfiniBand: none, and this one is not used.
PppProtocol control_protocol(PppPayload payload) {
  switch (payload) {
    case PppPayload::kIpv4:
      return PppProtocol::kIpcp;
    case PppPayload::kMpls:
      return PppProtocol::kMplscp;
    case PppPayload::kIpv6:
    case PppPayload::kInfiniBand:
      break;
  }
  return PppProtocol::kIpv6cp;
}

}  // namespace

std::vector<std::byte> ppp_data_header(PppPayload payload) {
  const auto header = ppp_header(data_protocol(payload));
  std::vector<std::byte> out(header.begin(), header.end());
  if (payload != PppPayload::kInfiniBand) return out;
  out.resize(kPppHeader + kVendorHeader);
  wire::store_be24(out.data() + kPppHeader + 4, kInfiniBandOui);
  return out;
}

PppSession::PppSession(const PppSessionOptions& options, PacketSource& out, PacketSink& in,
                       Entropy& entropy)
    : options_(options),
      out_(out),
      in_(in),
      link_options_(options.receive_unit, entropy, *this, *this, counters_),
      network_options_(control_protocol(options.payload), options.network, entropy),
      link_(PppProtocol::kLcp, options.times, link_options_, *this, counters_),
      network_(control_protocol(options.payload), options.times, network_options_, *this,
               counters_),
      has_network_(options.payload != PppPayload::kInfiniBand) {
  std::ranges::copy(ppp_data_header(options.payload), header_.begin());
}

ControlState PppSession::network_state() const {
  return has_network_ ? network_.state() : ControlState::kInitial;
}

// --- time ----------------------------------------------------------------------------------------

Time PppSession::next_deadline() const {
  Time next = std::min(link_.deadline(), network_.deadline());
  if (next_echo_) next = std::min(next, *next_echo_);
  if (retry_at_) next = std::min(next, *retry_at_);
  return next;
}

void PppSession::advance(Time now) {
  follow_line(now);
  work_through(now);
  link_.run(now);
  network_.run(now);
  retry(now);
  echo(now);
  if (!std::exchange(restarts_, false)) return;
  end_link(now);
  begin_link(now);
}

void PppSession::follow_line(Time now) {
  if (opened_ != wanted_) {
    opened_ = wanted_;
    link_.happen(wanted_ ? OnSession::kOpen : OnSession::kClose, now);
  }
  if (line_up_ == line_present_) return;
  if (line_present_) {
    begin_link(now);
  } else {
    end_link(now);
  }
}

void PppSession::begin_link(Time now) {
  if (line_up_ || !line_present_) return;
  line_up_ = true;
  link_options_.begin();
  link_.happen(OnSession::kUp, now);
}

void PppSession::end_link(Time now) {
  if (!line_up_) return;
  line_up_ = false;
  retry_at_.reset();
  link_.happen(OnSession::kDown, now);
}

// Nobody agrees, or nobody answers: there may be another end later.
void PppSession::retry(Time now) {
  const bool stopped = link_.state() == ControlState::kStopped ||
                       (link_.opened() && network_.state() == ControlState::kStopped);
  if (!stopped) {
    retry_at_.reset();
  } else if (!retry_at_) {
    count(PppCounter::kGivenUp);
    retry_at_ = now + options_.pause;
  } else if (now >= *retry_at_) {
    retry_at_.reset();
    restarts_ = true;
  }
}

void PppSession::work_through(Time now) {
  while (!inbox_.empty()) {
    const auto [protocol, information] = std::move(inbox_.front());
    inbox_.pop_front();
    const auto packet = ControlPacket::parse(information);
    if (!packet) {
      count(PppCounter::kControlMalformed);
    } else if (protocol == PppProtocol::kLcp) {
      link_.receive(*packet, now);
    } else if (link_.opened()) {
      network_.receive(*packet, now);
    } else {
      count(PppCounter::kControlUnasked);
    }
  }
}

// --- what LCP says -------------------------------------------------------------------------------

void PppSession::link_up(Time now) {
  count(PppCounter::kOpened);
  echoed_ = false;
  echo_pending_ = false;
  echoes_lost_ = 0;
  next_echo_ = now;
  if (!has_network_) return;
  network_options_.begin();
  network_.happen(OnSession::kOpen, now);
  network_.happen(OnSession::kUp, now);
}

void PppSession::link_down() {
  next_echo_.reset();
  echoed_ = false;
  // That happens without anything being sent, at whatever time.
  if (has_network_) network_.happen(OnSession::kDown, Time{});
}

bool PppSession::can_do_without(PppProtocol protocol) {
  return protocol != data_protocol(options_.payload) &&
         (!has_network_ || protocol != network_.protocol());
}

void PppSession::echo(Time now) {
  if (!next_echo_ || now < *next_echo_) return;
  if (echo_pending_) {
    count(PppCounter::kEchoesLost);
    if (++echoes_lost_ >= options_.echo_failures) {
      count(PppCounter::kQualityFailures);
      restarts_ = true;
      return;
    }
  }
  std::array<std::byte, 4> magic{};
  wire::store_be32(magic.data(), link_options_.magic());
  echo_identifier_ = link_.next_identifier();
  echo_pending_ = true;
  next_echo_ = now + options_.echo_period;
  count(PppCounter::kEchoesSent);
  send(PppProtocol::kLcp,
       {.code = ControlCode::kEchoRequest, .identifier = echo_identifier_, .data = magic});
}

void PppSession::echoed(std::uint8_t identifier) {
  if (!echo_pending_ || identifier != echo_identifier_) {
    count(PppCounter::kControlUnasked);
    return;
  }
  count(PppCounter::kEchoesAnswered);
  echo_pending_ = false;
  echoed_ = true;
  echoes_lost_ = 0;
}

// --- frames --------------------------------------------------------------------------------------

void PppSession::send(PppProtocol protocol, const ControlPacket& packet) {
  if (outbox_.size() >= kMostWaiting) {
    count(PppCounter::kControlOverflow);
    return;
  }
  const auto header = ppp_header(protocol);
  std::vector<std::byte> frame(header.begin(), header.end());
  const std::vector<std::byte> information = packet.bytes();
  frame.insert(frame.end(), information.begin(), information.end());
  outbox_.push_back(std::move(frame));
}

PppFrame PppSession::next() {
  if (!outbox_.empty()) {
    present_ = std::move(outbox_.front());
    outbox_.pop_front();
    return {.header = present_, .information = {}};
  }
  if (!carries()) return {};
  const std::size_t vendor = has_network_ ? 0 : kVendorHeader;
  for (Bytes packet = out_.next(); !packet.empty(); packet = out_.next()) {
    if (packet.size() + vendor > link_options_.send_unit()) {
      count(PppCounter::kTooLongForPeer);
      continue;
    }
    count(PppCounter::kPacketsSent);
    if (vendor != 0) wire::store_be32(header_.data() + kPppHeader, link_options_.magic());
    return {.header = Bytes(header_).first(kPppHeader + vendor), .information = packet};
  }
  return {};
}

void PppSession::frame(PppProtocol protocol, Bytes information) {
  if (protocol == data_protocol(options_.payload)) {
    take_packet(information);
    return;
  }
  const bool controls =
      protocol == PppProtocol::kLcp || (has_network_ && protocol == network_.protocol());
  if (!controls) {
    reject_protocol(protocol, information);
  } else if (inbox_.size() >= kMostWaiting) {
    count(PppCounter::kControlOverflow);
  } else {
    inbox_.emplace_back(protocol, std::vector<std::byte>(information.begin(), information.end()));
  }
}

void PppSession::take_packet(Bytes information) {
  if (!carries()) {
    count(PppCounter::kNotOpen);
    return;
  }
  if (!has_network_) {
    if (information.size() < kVendorHeader ||
        wire::load_be24(information.data() + 4) != kInfiniBandOui) {
      count(PppCounter::kOtherVendor);
      return;
    }
    const std::uint32_t magic = wire::load_be32(information.data());
    if (magic != 0 && magic == link_options_.magic()) {
      count(PppCounter::kOwnVendorPacket);
      return;
    }
    information = information.subspan(kVendorHeader);
  }
  if (information.empty()) {
    count(PppCounter::kEmpty);
    return;
  }
  count(PppCounter::kPacketsReceived);
  in_.packet(information);
}

// RFC 1661, 5.7: only once LCP is opened.
void PppSession::reject_protocol(PppProtocol protocol, Bytes information) {
  if (!link_.opened()) {
    count(PppCounter::kProtocolsDiscarded);
    return;
  }
  count(PppCounter::kProtocolsRejected);
  std::vector<std::byte> data(2);
  wire::store_be16(data.data(), static_cast<std::uint16_t>(protocol));
  const Bytes rejected = information.first(std::min(information.size(), kProtocolRejectOctets));
  data.insert(data.end(), rejected.begin(), rejected.end());
  send(PppProtocol::kLcp,
       {.code = ControlCode::kProtocolReject, .identifier = link_.next_identifier(), .data = data});
}

}  // namespace weft::wan
