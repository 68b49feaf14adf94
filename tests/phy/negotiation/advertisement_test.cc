// SPDX-License-Identifier: Apache-2.0
#include "phy/negotiation/advertisement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <variant>

#include "wire/endian.h"

namespace weft::phy {
namespace {

constexpr std::size_t kData = 64;  // of an SMP's attribute in its MAD

AdvertisementMad some_capabilities() {
  return {{.ddr = true, .iteration_ms = 750, .iterations = 3}, 0x0000'0007'0000'0001};
}

wire::MadBuffer changed(const AdvertisementMad& mad, std::size_t offset, std::uint32_t value) {
  wire::MadBuffer bytes = make_advertisement_mad(mad);
  wire::store_be32(bytes.data() + offset, value);
  return bytes;
}

AdvertisementFault fault_of(const wire::MadBuffer& bytes) {
  return std::get<AdvertisementFault>(parse_advertisement_mad(bytes));
}
Advertisement taken(const wire::MadBuffer& bytes) {
  return std::get<AdvertisementMad>(parse_advertisement_mad(bytes)).advertisement;
}

TEST(Advertisement, is_the_mad_of_tables_1_and_2_byte_for_byte) {
  const wire::MadBuffer bytes = make_advertisement_mad({{.acknowledge = true,
                                                         .serdes_configured = true,
                                                         .no_sweep = true,
                                                         .ddr = true,
                                                         .iteration_ms = 0x01020304,
                                                         .iterations = 8},
                                                        0x1122334455667788});
  std::array<std::uint8_t, 256> expected{};
  const std::array<std::uint8_t, 24> header{
      1,    0x81, 1,    0x03,                           // versions, class, Send
      0,    0,    0,    0,                              // status, hop pointer and count
      0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,   // TransactionID
      0x02, 0xC9, 0,    0,    0,    0,    0x02, 0xC9};  // attribute, modifier
  std::copy(header.begin(), header.end(), expected.begin());
  std::fill_n(expected.begin() + 32, 4, std::uint8_t{0xFF});  // permissive LIDs
  const std::array<std::uint8_t, 16> fields{0xE0, 0, 0, 1, 0, 0, 0x13, 0x88,
                                            1,    2, 3, 4, 0, 0, 0,    8};
  std::copy(fields.begin(), fields.end(), expected.begin() + kData);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    EXPECT_EQ(wire::load_u8(bytes.data() + i), expected[i]) << "byte " << i;
}

TEST(Advertisement, has_each_flag_in_its_own_bit) {
  const auto flags = [](const Advertisement& advertisement) {
    const wire::MadBuffer bytes = make_advertisement_mad({advertisement, 0});
    return wire::load_be32(bytes.data() + kData);
  };
  EXPECT_EQ(flags({.acknowledge = true}), 1U << 31);
  EXPECT_EQ(flags({.serdes_configured = true}), 1U << 30);
  EXPECT_EQ(flags({.no_sweep = true}), 1U << 29);
  EXPECT_EQ(flags({.ddr = true}), 1U);
}

TEST(Advertisement, is_read_as_it_was_written) {
  for (unsigned flags = 0; flags < 16; ++flags) {
    const AdvertisementMad mad{{.acknowledge = (flags & 1) != 0,
                                .serdes_configured = (flags & 2) != 0,
                                .no_sweep = (flags & 4) != 0,
                                .ddr = (flags & 8) != 0,
                                .iteration_ms = 500,
                                .iterations = 5},
                               99};
    const auto parsed = parse_advertisement_mad(make_advertisement_mad(mad));
    ASSERT_TRUE(std::holds_alternative<AdvertisementMad>(parsed)) << flags;
    EXPECT_EQ(std::get<AdvertisementMad>(parsed).advertisement, mad.advertisement);
    EXPECT_EQ(std::get<AdvertisementMad>(parsed).transaction_id, 99U);
  }
}

TEST(Advertisement, of_another_class_or_attribute_is_for_somebody_else) {
  EXPECT_EQ(fault_of(changed(some_capabilities(), 0, 0x01010103)),
            AdvertisementFault::kOtherAttribute);
  EXPECT_EQ(fault_of(changed(some_capabilities(), 16, 0x00150000)),
            AdvertisementFault::kOtherAttribute);
}

TEST(Advertisement, with_another_header_is_refused_for_what_is_wrong) {
  EXPECT_EQ(std::get<AdvertisementFault>(parse_advertisement_mad(Bytes{})),
            AdvertisementFault::kSize);
  const wire::MadBuffer whole = make_advertisement_mad(some_capabilities());
  EXPECT_EQ(std::get<AdvertisementFault>(parse_advertisement_mad(Bytes(whole).first(255))),
            AdvertisementFault::kSize);
  EXPECT_EQ(fault_of(changed(some_capabilities(), 0, 0x02810103)), AdvertisementFault::kVersion);
  EXPECT_EQ(fault_of(changed(some_capabilities(), 0, 0x01810203)), AdvertisementFault::kVersion);
  EXPECT_EQ(fault_of(changed(some_capabilities(), 0, 0x01810102)), AdvertisementFault::kMethod);
  EXPECT_EQ(fault_of(changed(some_capabilities(), 0, 0x01810183)), AdvertisementFault::kMethod);
  EXPECT_EQ(fault_of(changed(some_capabilities(), 20, 0x2CA)), AdvertisementFault::kModifier);
  EXPECT_EQ(fault_of(changed(some_capabilities(), 32, 0x0001FFFF)), AdvertisementFault::kRoute);
  EXPECT_EQ(fault_of(changed(some_capabilities(), 32, 0xFFFF0001)), AdvertisementFault::kRoute);
}

TEST(Advertisement, with_another_bandwidth_is_refused) {
  for (const std::uint32_t bandwidth : {0U, 4999U, 5001U, 2500U, 0xFFFFFFFFU}) {
    EXPECT_EQ(fault_of(changed(some_capabilities(), kData + 4, bandwidth)),
              AdvertisementFault::kBandwidth);
  }
}

TEST(Advertisement, of_a_sweep_takes_one_to_nine_iterations) {
  EXPECT_EQ(fault_of(changed(some_capabilities(), kData + 12, 0)),
            AdvertisementFault::kNoIterations);
  EXPECT_EQ(taken(changed(some_capabilities(), kData + 12, 1)).iterations, 1U);
  EXPECT_EQ(taken(changed(some_capabilities(), kData + 12, 9)).iterations, 9U);
  EXPECT_EQ(fault_of(changed(some_capabilities(), kData + 12, 10)),
            AdvertisementFault::kTooManyIterations);
  EXPECT_EQ(fault_of(changed(some_capabilities(), kData + 12, 0xFFFFFFFF)),
            AdvertisementFault::kTooManyIterations);
}

TEST(Advertisement, of_a_choice_takes_iterations_zero_to_eight) {
  for (const bool no_sweep : {false, true}) {
    const AdvertisementMad mad{{.serdes_configured = !no_sweep, .no_sweep = no_sweep, .ddr = true},
                               1};
    EXPECT_EQ(taken(changed(mad, kData + 12, 0)).iterations, 0U);
    EXPECT_EQ(taken(changed(mad, kData + 12, 8)).iterations, 8U);
    EXPECT_EQ(fault_of(changed(mad, kData + 12, 9)), AdvertisementFault::kChoice);
  }
}

TEST(Advertisement, without_5g_may_have_any_number_of_iterations) {
  const AdvertisementMad mad{{.ddr = false}, 1};
  EXPECT_EQ(taken(changed(mad, kData + 12, 0)).ddr, false);
  EXPECT_EQ(taken(changed(mad, kData + 12, 77)).ddr, false);
}

TEST(Advertisement, says_of_each_reserved_bit_that_it_was_set_and_is_read_all_the_same) {
  EXPECT_FALSE(taken(make_advertisement_mad(some_capabilities())).reserved_set);
  for (unsigned bit = 1; bit <= 28; ++bit) {
    const Advertisement read = taken(changed(some_capabilities(), kData, 1U | 1U << bit));
    EXPECT_TRUE(read.reserved_set) << bit;
    EXPECT_TRUE(read.ddr && !read.acknowledge && !read.no_sweep && !read.serdes_configured) << bit;
  }
  for (std::size_t offset = 0x10; offset < 0x40; offset += 4)
    EXPECT_TRUE(taken(changed(some_capabilities(), kData + offset, 1)).reserved_set) << offset;
  // What is beyond the attribute is of the route.
  EXPECT_FALSE(taken(changed(some_capabilities(), kData + 0x40, 0x00010000)).reserved_set);
}

TEST(Advertisement, says_in_words_what_it_is) {
  EXPECT_EQ(advertisement_name({}), "Capabilities Advertisement");
  EXPECT_EQ(advertisement_name({.acknowledge = true}), "Capabilities Advertisement + ACK");
  EXPECT_EQ(advertisement_name({.serdes_configured = true}), "Result Advertisement");
  EXPECT_EQ(advertisement_name({.acknowledge = true, .serdes_configured = true}),
            "Result Advertisement + ACK");
  EXPECT_EQ(advertisement_text(some_capabilities().advertisement), "5G, 3 iterations of 750 ms");
  EXPECT_EQ(advertisement_text({.no_sweep = true, .ddr = true, .iterations = 2}),
            "5G, NoSweep, chosen iteration 2");
  EXPECT_EQ(advertisement_text({.serdes_configured = true}), "not 5G");
}

}  // namespace
}  // namespace weft::phy
