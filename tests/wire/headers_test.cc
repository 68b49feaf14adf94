// SPDX-License-Identifier: Apache-2.0
// Every header's value type: nothing is lost between bytes and value, in either direction.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "wire/packet.h"

namespace weft::wire {
namespace {

constexpr int kHeadersRounds = 2000;

class FieldValues {
 public:
  std::uint64_t operator()() { return engine_(); }
  template <class T>
  T get() {
    return static_cast<T>(engine_());
  }
  template <class T>
  T below(unsigned limit) {
    return static_cast<T>(engine_() % limit);
  }
  bool flip() { return (engine_() & 1) != 0; }
  Gid gid() {
    std::array<std::uint8_t, 16> bytes;
    for (auto& byte : bytes)
      byte = get<std::uint8_t>();
    return Gid{bytes};
  }

 private:
  std::mt19937_64 engine_{7};
};

// For each header: a random value, and the bytes whose set bits are the header's defined ones.
template <class Header>
struct Traits;

#define WEFT_MASK(...)                      \
  static std::vector<std::uint8_t> mask() { \
    return {__VA_ARGS__};                   \
  }

template <>
struct Traits<Lrh> {
  static Lrh random(FieldValues& r) {
    return {.vl = Vl{r.get<std::uint8_t>()},
            .link_version = r.below<std::uint8_t>(16),
            .sl = Sl{r.get<std::uint8_t>()},
            .next_header = r.below<Lnh>(4),
            .dlid = Lid{r.get<std::uint16_t>()},
            .packet_words = r.below<std::uint16_t>(2048),
            .slid = Lid{r.get<std::uint16_t>()}};
  }
  WEFT_MASK(0xFF, 0xF3, 0xFF, 0xFF, 0x07, 0xFF, 0xFF, 0xFF)
};

template <>
struct Traits<RawHeader> {
  static RawHeader random(FieldValues& r) { return {.ether_type = r.get<std::uint16_t>()}; }
  WEFT_MASK(0, 0, 0xFF, 0xFF)
};

template <>
struct Traits<Grh> {
  static Grh random(FieldValues& r) {
    return {.ip_version = r.below<std::uint8_t>(16),
            .traffic_class = r.get<std::uint8_t>(),
            .flow_label = r.below<std::uint32_t>(1 << 20),
            .payload_length = r.get<std::uint16_t>(),
            .next_header = r.get<std::uint8_t>(),
            .hop_limit = r.get<std::uint8_t>(),
            .sgid = r.gid(),
            .dgid = r.gid()};
  }
  static std::vector<std::uint8_t> mask() { return std::vector<std::uint8_t>(40, 0xFF); }
};

template <>
struct Traits<Bth> {
  static Bth random(FieldValues& r) {
    return {.opcode = r.get<Opcode>(),
            .solicited = r.flip(),
            .migrated = r.flip(),
            .pad_count = r.below<std::uint8_t>(4),
            .transport_version = r.below<std::uint8_t>(16),
            .pkey = PKey{r.get<std::uint16_t>()},
            .fecn = r.flip(),
            .becn = r.flip(),
            .dest_qp = Qpn{r.get<std::uint32_t>()},
            .ack_request = r.flip(),
            .psn = Psn{r.get<std::uint32_t>()}};
  }
  WEFT_MASK(0xFF, 0xFF, 0xFF, 0xFF, 0xC0, 0xFF, 0xFF, 0xFF, 0x80, 0xFF, 0xFF, 0xFF)
};

template <>
struct Traits<Rdeth> {
  static Rdeth random(FieldValues& r) { return {.ee_context = r.below<std::uint32_t>(1 << 24)}; }
  WEFT_MASK(0, 0xFF, 0xFF, 0xFF)
};

template <>
struct Traits<Deth> {
  static Deth random(FieldValues& r) {
    return {.qkey = QKey{r.get<std::uint32_t>()}, .src_qp = Qpn{r.get<std::uint32_t>()}};
  }
  WEFT_MASK(0xFF, 0xFF, 0xFF, 0xFF, 0, 0xFF, 0xFF, 0xFF)
};

template <>
struct Traits<Reth> {
  static Reth random(FieldValues& r) {
    return {.virtual_address = r(),
            .rkey = RKey{r.get<std::uint32_t>()},
            .dma_length = r.get<std::uint32_t>()};
  }
  static std::vector<std::uint8_t> mask() { return std::vector<std::uint8_t>(16, 0xFF); }
};

template <>
struct Traits<AtomicEth> {
  static AtomicEth random(FieldValues& r) {
    return {.virtual_address = r(),
            .rkey = RKey{r.get<std::uint32_t>()},
            .swap_or_add = r(),
            .compare = r()};
  }
  static std::vector<std::uint8_t> mask() { return std::vector<std::uint8_t>(28, 0xFF); }
};

template <>
struct Traits<Aeth> {
  static Aeth random(FieldValues& r) {
    return {.syndrome = Syndrome{r.get<std::uint8_t>()}, .msn = r.below<std::uint32_t>(1 << 24)};
  }
  WEFT_MASK(0xFF, 0xFF, 0xFF, 0xFF)
};

template <>
struct Traits<AtomicAckEth> {
  static AtomicAckEth random(FieldValues& r) { return {.original = r()}; }
  static std::vector<std::uint8_t> mask() { return std::vector<std::uint8_t>(8, 0xFF); }
};

template <>
struct Traits<ImmDt> {
  static ImmDt random(FieldValues& r) { return {.value = r.get<std::uint32_t>()}; }
  WEFT_MASK(0xFF, 0xFF, 0xFF, 0xFF)
};

template <>
struct Traits<Ieth> {
  static Ieth random(FieldValues& r) { return {.rkey = RKey{r.get<std::uint32_t>()}}; }
  WEFT_MASK(0xFF, 0xFF, 0xFF, 0xFF)
};

template <>
struct Traits<Xrceth> {
  static Xrceth random(FieldValues& r) { return {.srq = r.below<std::uint32_t>(1 << 24)}; }
  WEFT_MASK(0, 0xFF, 0xFF, 0xFF)
};

template <>
struct Traits<Feth> {
  static Feth random(FieldValues& r) {
    return {.selectivity = r.below<std::uint8_t>(4), .placement = r.below<std::uint8_t>(16)};
  }
  WEFT_MASK(0, 0, 0, 0x3F)
};

#undef WEFT_MASK

template <class Header>
class EveryHeader : public testing::Test {
 protected:
  FieldValues random_;
};

using Headers = testing::Types<Lrh, RawHeader, Grh, Bth, Rdeth, Deth, Reth, AtomicEth, Aeth,
                               AtomicAckEth, ImmDt, Ieth, Xrceth, Feth>;
TYPED_TEST_SUITE(EveryHeader, Headers);

TYPED_TEST(EveryHeader, IsReadBackAsItWasWritten) {
  for (int round = 0; round < kHeadersRounds; ++round) {
    const TypeParam value = Traits<TypeParam>::random(this->random_);
    std::array<std::byte, TypeParam::kSize> bytes;
    bytes.fill(round % 2 == 0 ? std::byte{0} : std::byte{0xFF});  // every bit must be written
    value.write(bytes);
    ASSERT_EQ(TypeParam::parse(bytes), value);
  }
}

TYPED_TEST(EveryHeader, IsWrittenBackAsItWasReadWithReservedBitsZero) {
  const std::vector<std::uint8_t> mask = Traits<TypeParam>::mask();
  ASSERT_EQ(mask.size(), TypeParam::kSize);
  for (int round = 0; round < kHeadersRounds; ++round) {
    std::array<std::byte, TypeParam::kSize> bytes;
    std::array<std::byte, TypeParam::kSize> expected;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(this->random_());
      expected[i] = bytes[i] & std::byte{mask[i]};
    }
    std::array<std::byte, TypeParam::kSize> written;
    TypeParam::parse(bytes)->write(written);
    ASSERT_EQ(written, expected);
  }
}

TYPED_TEST(EveryHeader, IsNotReadFromFewerBytesThanItHas) {
  const std::array<std::byte, TypeParam::kSize> bytes{};
  EXPECT_TRUE(TypeParam::parse(bytes));
  EXPECT_FALSE(TypeParam::parse(Bytes(bytes).first(bytes.size() - 1)));
  EXPECT_FALSE(TypeParam::parse({}));
}

static_assert(Lrh::kSize == 8 && Grh::kSize == 40 && Bth::kSize == 12 && RawHeader::kSize == 4);
static_assert(Rdeth::kSize == 4 && Deth::kSize == 8 && Reth::kSize == 16 && AtomicEth::kSize == 28);
static_assert(Aeth::kSize == 4 && AtomicAckEth::kSize == 8 && ImmDt::kSize == 4);
static_assert(Ieth::kSize == 4 && Xrceth::kSize == 4 && Feth::kSize == 4);

TEST(Views, ChangeTheirFieldAndNothingElse) {
  FieldValues random;
  for (int round = 0; round < kHeadersRounds; ++round) {
    Lrh lrh = Traits<Lrh>::random(random);
    std::array<std::byte, Lrh::kSize> lrh_bytes;
    lrh.write(lrh_bytes);
    const Lrh other = Traits<Lrh>::random(random);
    LrhView view(lrh_bytes);
    view.set_vl(lrh.vl = other.vl);
    view.set_sl(lrh.sl = other.sl);
    view.set_dlid(lrh.dlid = other.dlid);
    view.set_slid(lrh.slid = other.slid);
    ASSERT_EQ(Lrh::parse(lrh_bytes), lrh);
    EXPECT_EQ(view.vl(), lrh.vl);
    EXPECT_EQ(view.sl(), lrh.sl);
    EXPECT_EQ(view.dlid(), lrh.dlid);
    EXPECT_EQ(view.slid(), lrh.slid);

    Bth bth = Traits<Bth>::random(random);
    std::array<std::byte, Bth::kSize> bth_bytes;
    bth.write(bth_bytes);
    BthView marks(bth_bytes);
    marks.set_fecn(bth.fecn = random.flip());
    marks.set_becn(bth.becn = random.flip());
    marks.set_ack_request(bth.ack_request = random.flip());
    marks.set_psn(bth.psn = Psn{random.get<std::uint32_t>()});
    ASSERT_EQ(Bth::parse(bth_bytes), bth);
    EXPECT_EQ(marks.fecn(), bth.fecn);
    EXPECT_EQ(marks.becn(), bth.becn);
    EXPECT_EQ(marks.ack_request(), bth.ack_request);
    EXPECT_EQ(marks.psn(), bth.psn);

    Grh grh = Traits<Grh>::random(random);
    std::array<std::byte, Grh::kSize> grh_bytes;
    grh.write(grh_bytes);
    GrhView hops(grh_bytes);
    hops.set_hop_limit(grh.hop_limit = random.get<std::uint8_t>());
    ASSERT_EQ(Grh::parse(grh_bytes), grh);
    EXPECT_EQ(hops.hop_limit(), grh.hop_limit);
  }
}

TEST(Syndrome, HasTheValuesOfTheWire) {
  EXPECT_EQ(Syndrome::ack().byte(), 0x1F);
  EXPECT_EQ(Syndrome::ack(5).byte(), 0x05);
  EXPECT_EQ(Syndrome::rnr_nak(12).byte(), 0x2C);
  EXPECT_EQ(Syndrome::nak(NakCode::psn_sequence_error).byte(), 0x60);
  EXPECT_EQ(Syndrome::nak(NakCode::invalid_rd_request).byte(), 0x64);
  EXPECT_EQ(Syndrome{0x62}.type(), AckType::nak);
  EXPECT_EQ(Syndrome{0x2C}.type(), AckType::rnr_nak);
  EXPECT_EQ(Syndrome{0x2C}.value(), 12);
  EXPECT_EQ(Syndrome{0x1F}.type(), AckType::ack);
  EXPECT_EQ(Syndrome{0x40}.type(), AckType::reserved);
  EXPECT_EQ(Syndrome{0x80}.type(), AckType::reserved);
}

TEST(Credits, AreTheLargestThatTheQueueCanKeep) {
  EXPECT_EQ(credits_of(0), 0u);
  EXPECT_EQ(credits_of(30), 32768u);
  EXPECT_EQ(credits_of(31), std::nullopt);
  for (std::uint8_t code = 0; code <= 30; ++code) {
    EXPECT_EQ(credit_code_for(*credits_of(code)), code);
    if (code > 0) {
      EXPECT_EQ(credit_code_for(*credits_of(code) - 1), code - 1);
    }
  }
  EXPECT_EQ(credit_code_for(5), 4);
  EXPECT_EQ(credit_code_for(0xFFFF'FFFF), 30);
}

TEST(RnrTimer, RunsFromTenMicrosecondsToTwoThirdsOfASecond) {
  EXPECT_EQ(rnr_timer(0), 655'360us);
  EXPECT_EQ(rnr_timer(1), 10us);
  EXPECT_EQ(rnr_timer(12), 640us);
  EXPECT_EQ(rnr_timer(31), 491'520us);
  for (std::uint8_t code = 2; code <= 31; ++code) {
    EXPECT_GT(rnr_timer(code), rnr_timer(static_cast<std::uint8_t>(code - 1)));
  }
}

}  // namespace
}  // namespace weft::wire
