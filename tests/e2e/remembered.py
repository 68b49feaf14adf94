# SPDX-License-Identifier: Apache-2.0
"""What a node has of the subnet administrator that outlives its asking.

usage: remembered.py set SM_LID LID GUID    subscribes to all traps, and gives the node's port GUID
                                            as its second one; the statuses of both are printed
       remembered.py show SM_LID LID        the subscriptions that there are, by subscriber and
                                            number, and the GUIDs of the port
Written from IBA 15.2.5.12 and 15.2.5.18."""
import struct
import sys

import sa_client
from sa_client import Administrator, components

HAS_LID, HAS_BLOCK, HAS_SECOND = 1 << 0, 1 << 1, 1 << 5
action, sm_lid, lid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
administrator = Administrator(sm_lid)
block = struct.pack(">HBBI", lid, 0, 0, 0)
if action == "set":
    _, wish = components({"first": 0xFFFF, "generic": 1, "subscribe": 1, "type": 0xFFFF,
                          "trap": 0xFFFF, "producer": 0xFFFFFF}, sa_client.INFORM_FIELDS)
    print("subscribed", administrator.ask(sa_client.SET, sa_client.INFORM_INFO, 0, wish).status)
    guids = struct.pack(">QQ", 0, int(sys.argv[4], 0))
    print("given", administrator.ask(sa_client.SET, sa_client.GUID_INFO,
                                     HAS_LID | HAS_BLOCK | HAS_SECOND, block + guids).status)
else:
    for record in administrator.ask(sa_client.GET_TABLE, sa_client.INFORM_RECORD).records:
        print("subscription", record[:16].hex(), struct.unpack_from(">H", record, 16)[0])
    answer = administrator.ask(sa_client.GET, sa_client.GUID_INFO, HAS_LID | HAS_BLOCK, block)
    guids = answer.records[0].ljust(72, b"\0")[8:]
    print("guids", *(hex(guid) for guid in struct.unpack(">8Q", guids[:64])))
