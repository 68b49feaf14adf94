/* SPDX-License-Identifier: Apache-2.0
 * Queue pairs of whole packets (IBV_QPT_RAW_PACKET) on a node of a lab: what the standard verbs
 * have no words for. Everything here goes through ibv_create_flow() and ibv_post_send(); a program
 * that includes this needs no other library. Installed as <weft/raw_packet.h>; docs/verbs.md has
 * the rest.
 */
#pragma once

#include <infiniband/verbs.h>
#include <stdint.h>

/* Specifications for a flow of type IBV_FLOW_ATTR_NORMAL, which has one specification. (The
 * standard one that fits is IBV_FLOW_SPEC_IPV6: dst_ip with a mask that is a prefix is the DGID of
 * the GRH.) */
enum weft_flow_spec_type {
  WEFT_FLOW_SPEC_LIDS = 0x8000,       /* struct weft_flow_spec_lids */
  WEFT_FLOW_SPEC_OTHER_LIDS = 0x8001, /* struct weft_flow_spec_others */
  WEFT_FLOW_SPEC_OTHER_GIDS = 0x8002, /* struct weft_flow_spec_others */
};

/* Packets to these LIDs, such as service LIDs (IBA 7.7.5, DLID). They may be the port's own: then
 * its applications get only what the service sends to them. EINVAL: not unicast LIDs (1 to 0xBFFF),
 * or the last one comes before the first. EEXIST: one of them goes to a service of the lab's
 * daemon. */
struct weft_flow_spec_lids {
  uint32_t type; /* WEFT_FLOW_SPEC_LIDS */
  uint16_t size; /* of this structure, bytes */
  uint16_t first_lid;
  uint16_t last_lid; /* host order, as LIDs are everywhere in verbs.h */
  uint16_t reserved; /* 0 */
};

/* Packets that are not for the port itself: whose DLID is none of its LIDs, or whose GRH has a DGID
 * that is none of its GIDs, whichever these are at the time. */
struct weft_flow_spec_others {
  uint32_t type; /* WEFT_FLOW_SPEC_OTHER_LIDS or WEFT_FLOW_SPEC_OTHER_GIDS */
  uint16_t size; /* of this structure, bytes */
  uint16_t reserved;
};

/* The opcode of a send that puts another P_Key into the packet: the low 16 bits of imm_data, which
 * is in network order, as ever. An ICRC that was posted is corrected by that, so that it goes on
 * protecting what its maker sent. */
#define WEFT_WR_SEND_PKEY IBV_WR_DRIVER1
