// SPDX-License-Identifier: Apache-2.0
// The numbers that messages of the communication manager carry: what sort of message it is, service
// IDs, reasons and statuses (IBA 12.6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ids.h"

namespace weft::wire {

using ServiceId = Id<struct ServiceIdTag, std::uint64_t, 64>;  // IBA 12.7.3
// Local or remote communication ID (IBA 12.7.1), or the request ID of a SIDR exchange.
using CommId = Id<struct CommIdTag, std::uint32_t, 32>;

// Attribute IDs of class CommMgt (IBA 16.7.3).
enum class CmMessage : std::uint16_t {
  kReq = 0x0010,
  kMra = 0x0011,
  kRej = 0x0012,
  kRep = 0x0013,
  kRtu = 0x0014,
  kDreq = 0x0015,
  kDrep = 0x0016,
  kSidrReq = 0x0017,
  kSidrRep = 0x0018,
  kLap = 0x0019,
  kApr = 0x001A,
};

// "REQ", "SIDR_REP"; "unknown message" for other values.
std::string_view to_string(CmMessage message);

// Which message an MRA acknowledges or a REJ refuses (IBA 12.6.6, 12.6.7): two bits. What follows
// kRep is kLap in an MRA and "no message", such as a timeout, in a REJ.
enum class CmAnswered : std::uint8_t { kReq = 0, kRep = 1, kLap = 2, kNone = 2 };

// IBA 12.6.5, transport service type, with the extended transport of annex A14 for XRC.
enum class CmTransport : std::uint8_t { kRc = 0, kUc = 1, kRd = 2, kXrc = 3 };

// IBA 12.6.7.2. A peer may send values that have no name here.
enum class RejectReason : std::uint16_t {
  kNoQp = 1,
  kNoEec = 2,
  kNoResources = 3,
  kTimeout = 4,
  kUnsupportedRequest = 5,
  kInvalidCommId = 6,
  kInvalidCommInstance = 7,
  kInvalidServiceId = 8,
  kInvalidTransportServiceType = 9,
  kStaleConnection = 10,
  kRdcDoesNotExist = 11,
  kPrimaryGidRejected = 12,
  kPrimaryLidRejected = 13,
  kInvalidPrimarySl = 14,
  kInvalidPrimaryTrafficClass = 15,
  kInvalidPrimaryHopLimit = 16,
  kInvalidPrimaryPacketRate = 17,
  kAlternateGidRejected = 18,
  kAlternateLidRejected = 19,
  kInvalidAlternateSl = 20,
  kInvalidAlternateTrafficClass = 21,
  kInvalidAlternateHopLimit = 22,
  kInvalidAlternatePacketRate = 23,
  kPortAndCmRedirection = 24,
  kPortRedirection = 25,
  kInvalidPathMtu = 26,
  kInsufficientResponderResources = 27,
  kConsumerReject = 28,
  kRnrRetryCountReject = 29,
  kDuplicateLocalCommId = 30,
  kInvalidClassVersion = 31,
  kInvalidPrimaryFlowLabel = 32,
  kInvalidAlternateFlowLabel = 33,
  kVendorOptionNotSupported = 35,
};

// "stale connection"; "reason unknown to IBA" for other values.
std::string_view to_string(RejectReason reason);

// IBA 12.11.1.4.
enum class SidrStatus : std::uint8_t {
  kValid = 0,
  kServiceNotSupported = 1,
  kRejected = 2,
  kNoQp = 3,
  kRedirected = 4,
  kVersionNotSupported = 5,
};

// IBA 12.8.3: what became of a LAP.
enum class AlternatePathStatus : std::uint8_t {
  kLoaded = 0,
  kInvalidCommId = 1,
  kNotSupported = 2,
  kRejected = 3,
  kRedirected = 4,
  kIsCurrentPath = 5,
  kWrongQpn = 6,
  kLidRejected = 7,
  kGidRejected = 8,
  kFlowLabelRejected = 9,
  kTrafficClassRejected = 10,
  kHopLimitRejected = 11,
  kPacketRateRejected = 12,
  kSlRejected = 13,
};

// Bytes of private data that each message has (IBA 12.6). All of them are always sent.
inline constexpr std::size_t kReqPrivateData = 92;
inline constexpr std::size_t kMraPrivateData = 222;
inline constexpr std::size_t kRejPrivateData = 148;
inline constexpr std::size_t kRepPrivateData = 196;
inline constexpr std::size_t kRtuPrivateData = 224;
inline constexpr std::size_t kDreqPrivateData = 220;
inline constexpr std::size_t kDrepPrivateData = 224;
inline constexpr std::size_t kSidrReqPrivateData = 216;
inline constexpr std::size_t kSidrRepPrivateData = 136;
inline constexpr std::size_t kLapPrivateData = 168;
inline constexpr std::size_t kAprPrivateData = 148;
inline constexpr std::size_t kMaxPrivateData = 224;
inline constexpr std::size_t kMaxAdditionalInfo = 72;  // of REJ, APR and SIDR_REP

}  // namespace weft::wire
