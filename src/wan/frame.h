// SPDX-License-Identifier: Apache-2.0
// What one datagram of the WAN holds, whatever network carries it: a head, then items: InfiniBand
// packets as they are, LRH through VCRC, and what the two ends tell each other beside them. All
// numbers are big-endian. docs/range-extension.md has the same as tables.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tl/expected.hpp>
#include <variant>

#include "base/bytes.h"
#include "base/ids.h"
#include "link/packet.h"
#include "wan/bulk_buffer.h"
#include "wan/fec_code.h"
#include "wan/tunnel_credit.h"
#include "wire/packet.h"

namespace weft::wan {

// Bytes of a frame: the most, and what every path carries at least: a hello, or a management
// packet.
inline constexpr std::size_t kLongestFrame = 65'000;
inline constexpr std::size_t kLeastFrame = 512;

enum class FrameType : std::uint8_t {
  kSession = 1,  // a hello, a refusal or an end: before there is a session
  kTraffic = 2,
};

struct FrameHead {
  static constexpr std::size_t kSize = 32;
  static constexpr std::uint8_t kVersion = 1;

  FrameType type = FrameType::kTraffic;
  // What the fabric's port at the sender's end is in, as wire::PortState; 0: not known yet.
  std::uint8_t port_state = 0;
  // How often that port went down of its own accord in this session, modulo 256.
  std::uint8_t port_downs = 0;
  // Frames before `sequence` by so many or more are settled: they have come, or never will.
  std::uint32_t open = 0;
  // Of traffic: frame_epoch(). Of a hello: what the receiver calls itself, or 0.
  std::uint64_t epoch = 0;
  // Of traffic: this frame's number in the session, from 0; none is used twice.
  std::uint64_t sequence = 0;
  // All frames of the other direction before this one have come or are settled.
  std::uint64_t acknowledged = 0;

  // `out` has room for it.
  void write(MutableBytes out) const;
};

// Whoever sees neither end's number cannot make traffic that is taken: both are drawn at random,
// and a session with another one on either side has another epoch each way.
[[nodiscard]] constexpr std::uint64_t frame_epoch(std::uint64_t receiver, std::uint64_t sender) {
  return receiver ^ std::rotl(sender, 32);
}

// Of a number that is sent with its low 32 bits: how far it is ahead of one that is near; negative
// where it is behind.
[[nodiscard]] constexpr std::int64_t ahead_of(std::uint64_t reference, std::uint32_t low) {
  return static_cast<std::int32_t>(low - static_cast<std::uint32_t>(reference));
}

// --- items ---------------------------------------------------------------------------------------

enum class ItemType : std::uint8_t {
  kFill = 0,  // nothing more follows: networks fill up short packets
  kPacket = 1,
  kSegment = 2,
  kManagement = 3,
  kCredit = 4,
  kAcknowledge = 5,
  kHello = 6,
  kRefusal = 7,
  kEnd = 8,
  kRepair = 9,
  kGroup = 10,
};

// Where a data packet stands in the stream of its egress lane.
struct PacketTag {
  Vl vl{};                     // the lane that it leaves the far end on: its FIFO's
  std::uint32_t sequence = 0;  // counts packets of the lane, modulo 2^32
  std::uint32_t position = 0;  // blocks that were sent on the lane before it, modulo 2^32
};

// A data packet, or a piece of one that does not fit into a frame.
struct PacketItem {
  static constexpr std::size_t kSize = 12;         // before the bytes of a whole packet
  static constexpr std::size_t kSegmentSize = 16;  // before those of a piece

  PacketTag tag;
  std::uint16_t offset = 0;
  std::uint16_t total = 0;  // bytes of the packet
  Bytes bytes;              // of one of a group, which is whole: those between `front` and `vcrc`
  Bytes front{};            // of one of a group; else empty, as is this:
  Bytes vcrc{};
  [[nodiscard]] bool whole() const { return grouped() || bytes.size() == total; }
  [[nodiscard]] bool grouped() const { return !front.empty(); }
};

// Whole packets whose ends stand together: of each the front and the VCRC, behind a head as any
// packet has it; behind all of these what is between, of one packet after the other. So whoever
// sends a group gives the network two stretches of memory less for each packet but the first.
struct GroupItem {
  static constexpr std::size_t kSize = 4;  // before the first of its packets
  static constexpr std::size_t kFront = link::Packet::kMaxHeader;  // bytes of each
  static constexpr std::size_t kEnds = PacketItem::kSize + kFront + wire::kVcrcSize;  // of each

  std::size_t packets = 0;
  Bytes ends;
  Bytes between;
};

// A packet of VL15: outside of credit and order.
struct ManagementItem {
  static constexpr std::size_t kSize = 4;
  Bytes packet;
};

struct CreditItem {
  static constexpr std::size_t kSize = 28;
  CreditAdvertisement credit;
  std::uint32_t settled = 0;  // packets of the other direction that have come or never will
};

// Beyond FrameHead::acknowledged: which frames have come.
struct AcknowledgeItem {
  static constexpr std::size_t kSize = 2;
  static constexpr std::size_t kRangeSize = 8;
  static constexpr std::size_t kMostRanges = 64;
  struct Range {
    std::uint32_t offset = 0;  // of the first, from `acknowledged`
    std::uint32_t length = 0;  // frames
  };
  Bytes ranges;
  [[nodiscard]] std::size_t size() const { return ranges.size() / kRangeSize; }
  [[nodiscard]] Range at(std::size_t index) const;
};

// What lost frames of a block, which have left before this one, are made of again.
struct RepairItem {
  static constexpr std::size_t kSize = 20;       // before the symbol
  static constexpr std::size_t kLengthSize = 2;  // in a symbol, before the frame
  std::uint8_t index = 0;     // which repair of its block, below FecCode::kMostRepairs
  std::uint32_t back = 0;     // by how much this frame's number is beyond that of the block's first
  std::uint64_t members = 0;  // bit n: the frame whose number is that of the first plus n
  std::uint32_t check = 0;    // CRC-32 of the block's frames, one behind the other
  Bytes symbol;               // as wan/fec_encoder.h has it
};

enum class TunnelMode : std::uint8_t {
  kBridge = 1,
  kRouter = 2,
  kRoce = 3,
  kService = 4,  // between a data service's place in a fabric and an external server
};
inline constexpr TunnelMode kLastMode = TunnelMode::kService;

struct Hello {
  static constexpr std::size_t kSize = 152;

  std::uint64_t own = 0;      // the number that the sender has drawn; not 0
  bool wants_answer = false;  // it has not heard that number back
  bool recovery = false;      // it can repeat what was lost, and wants to
  bool options = false;       // it is given what comes beside frames, and takes credit there
  bool groups = false;        // it takes packets in groups
  TunnelMode mode = TunnelMode::kBridge;
  std::uint8_t data_vls = 15;
  FecCode fec{};                    // the same at both ends
  BlockSize block;                  // that it counts its FIFOs in
  std::uint32_t longest_frame = 0;  // bytes that it takes
  std::uint32_t silence_ms = 0;     // it gives the session up when it has heard nothing so long
  // Bytes of frames that wait for it to read them find room, as in a socket's buffer; 0: any number
  std::uint32_t receive_room = 0;
  std::array<std::uint64_t, kLanes> capacity{};  // blocks of its FIFOs, 0 beyond data_vls

  friend bool operator==(const Hello&, const Hello&) = default;
};

// Why one end will not have a session with the other.
enum class Refusal : std::uint8_t {
  kVersion = 1,
  kMode = 2,
  kFrameSize = 3,
  kBuffer = 4,
  kItself = 5,
  kFec = 6,
};
inline constexpr std::uint8_t kLastRefusal = 6;

struct RefusalItem {
  static constexpr std::size_t kSize = 4;
  Refusal why = Refusal::kVersion;
};
// The sender ends the session.
struct EndItem {
  static constexpr std::size_t kSize = 4;
};

using Item = std::variant<PacketItem, ManagementItem, CreditItem, AcknowledgeItem, Hello,
                          RefusalItem, EndItem, RepairItem>;

// Each writes its kSize bytes; `out` has room for them. The bytes of a packet follow.
void write_packet_item(const PacketTag& tag, std::uint16_t length, MutableBytes out);
void write_segment_item(const PacketTag& tag, std::uint16_t offset, std::uint16_t length,
                        std::uint16_t total, MutableBytes out);
void write_group_item(std::uint16_t packets, MutableBytes out);
void write_management_item(std::uint16_t length, MutableBytes out);
void write_credit_item(const CreditItem& item, MutableBytes out);
void write_acknowledge_item(std::uint8_t ranges, MutableBytes out);
void write_range(const AcknowledgeItem::Range& range, MutableBytes out);
void write_hello_item(const Hello& hello, MutableBytes out);
void write_refusal_item(Refusal why, MutableBytes out);
void write_end_item(MutableBytes out);
void write_repair_item(const RepairItem& item, MutableBytes out);

// --- reading -------------------------------------------------------------------------------------

enum class FrameError : std::uint8_t {
  kMalformed,  // too short, or an item that cannot be
  kVersion,    // of another version of this format
};

// A frame of which every item has been looked at: its bytes stay where they are.
class FrameView {
 public:
  // With what came beside it, credit alone, which follows its own items.
  [[nodiscard]] static tl::expected<FrameView, FrameError> parse(Bytes frame, Bytes beside = {});

  [[nodiscard]] const FrameHead& head() const { return head_; }
  // The next one, and of a group each packet as an item; nothing: that was all.
  [[nodiscard]] std::optional<Item> next();
  // The next one, if it is a whole packet: next() would give the same, at several times the cost.
  [[nodiscard]] std::optional<PacketItem> next_packet();

 private:
  FrameView(const FrameHead& head, Bytes items, Bytes beside)
      : head_(head), rest_(items), beside_(beside) {}
  FrameHead head_;
  Bytes rest_;
  Bytes beside_;
  GroupItem group_;  // what is left of one that is before the rest
};

}  // namespace weft::wan
