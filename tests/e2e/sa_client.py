# SPDX-License-Identifier: Apache-2.0
"""Asks the subnet administrator what no tool asks: any method of any attribute, through the
libibumad that is there. Written from IBA 15, apart from src/."""
import ctypes
import struct

GET, SET, GET_TABLE, GET_MULTI, DELETE = 0x01, 0x02, 0x12, 0x14, 0x15
CLASS_PORT_INFO, INFORM_INFO, NODE, PORT_INFO, SL_TO_VL, SWITCH_INFO = 1, 3, 0x11, 0x12, 0x13, 0x14
LINEAR, MULTICAST, SM_INFO, LINK, GUID_INFO, SERVICE = 0x15, 0x17, 0x18, 0x20, 0x30, 0x31
PKEY, PATH, VL_ARBITRATION, MEMBER, TRACE, MULTI_PATH, INFORM_RECORD = (
    0x33, 0x35, 0x36, 0x38, 0x39, 0x3A, 0xF3)

CLASS, VERSION = 3, 2
MAD_HEADER, DATA = 24, 56
WELL_KNOWN_QKEY = 0x80010000
ANSWER_SIZE = 1 << 16


class Answer:
    """`status` is None: none came."""

    def __init__(self, mad=b""):
        self.method = self.status = None
        self.records = []
        if not mad:
            return
        self.method, self.status = mad[3], struct.unpack_from(">H", mad, 4)[0]
        size = struct.unpack_from(">H", mad, 44)[0] * 8
        data = mad[DATA:]
        if self.status or not data:
            return
        if self.method in (GET_TABLE | 0x80, GET_MULTI | 0x80):
            self.records = [data[at:at + size] for at in range(0, len(data) - size + 1, size or 1)
                            if size]
        else:
            self.records = [data.rstrip(b"\0")]


class Administrator:
    """At the LID, asked from the first port of the first adapter."""

    def __init__(self, lid):
        self.lid = lid
        self.last = 0
        self.umad = ctypes.CDLL("libibumad.so.3", use_errno=True)
        self.umad.umad_get_mad.restype = ctypes.c_void_p
        self.umad.umad_size.restype = ctypes.c_size_t
        self.umad.umad_init()
        self.port = self.umad.umad_open_port(None, 0)
        self.agent = self.umad.umad_register(self.port, CLASS, VERSION, 1, None)
        if self.port < 0 or self.agent < 0:
            raise OSError(ctypes.get_errno(), "no port for datagrams")
        self.buffer = ctypes.create_string_buffer(self.umad.umad_size() + ANSWER_SIZE)

    def ask(self, method, attribute, mask=0, data=b"", modifier=0, sm_key=0):
        self.last += 1
        mad = struct.pack(">BBBBHHQHHI", 1, CLASS, VERSION, method, 0, 0, self.last, attribute, 0,
                          modifier)
        # What may be long to ask is sent as a message of RMPP.
        mad += bytes((1, 1, 1)).ljust(12, b"\0") if method == GET_MULTI else bytes(12)
        mad += struct.pack(">QHHQ", sm_key, 0, 0, mask)
        mad += data.ljust(200, b"\0")
        where = self.umad.umad_get_mad(self.buffer)
        ctypes.memmove(where, mad, len(mad))
        self.umad.umad_set_addr(self.buffer, self.lid, 1, 0, WELL_KNOWN_QKEY)
        if self.umad.umad_send(self.port, self.agent, self.buffer, len(mad), 500, 3) < 0:
            raise OSError(ctypes.get_errno(), "a question was not sent")
        length = ctypes.c_int(ANSWER_SIZE)
        if self.umad.umad_recv(self.port, self.buffer, ctypes.byref(length), 5000) < 0:
            return Answer()
        if self.umad.umad_status(self.buffer):
            return Answer()
        return Answer(ctypes.string_at(where, length.value))


def components(fields, layout):
    """Mask and data of the fields that are given. `layout` has, for each field, its component, its
    offset in bits and its width in bits."""
    mask, value = 0, 0
    for name, content in fields.items():
        component, offset, width = layout[name]
        mask |= 1 << component
        value |= (content & ((1 << width) - 1)) << (1600 - offset - width)
    return mask, value.to_bytes(200, "big")


PATH_FIELDS = {
    "dgid": (2, 64, 128), "sgid": (3, 192, 128), "dlid": (4, 320, 16), "slid": (5, 336, 16),
    "raw": (6, 352, 1), "flow": (8, 356, 20), "hops": (9, 376, 8), "class": (10, 384, 8),
    "reversible": (11, 392, 1), "paths": (12, 393, 7), "pkey": (13, 400, 16),
    "qos": (14, 416, 12), "sl": (15, 428, 4), "mtu_selector": (16, 432, 2), "mtu": (17, 434, 6),
    "rate_selector": (18, 440, 2), "rate": (19, 442, 6), "life_selector": (20, 448, 2),
    "life": (21, 450, 6),
}
MEMBER_FIELDS = {
    "mgid": (0, 0, 128), "gid": (1, 128, 128), "qkey": (2, 256, 32), "mlid": (3, 288, 16),
    "mtu_selector": (4, 304, 2), "mtu": (5, 306, 6), "class": (6, 312, 8), "pkey": (7, 320, 16),
    "rate_selector": (8, 336, 2), "rate": (9, 338, 6), "life_selector": (10, 344, 2),
    "life": (11, 346, 6), "sl": (12, 352, 4), "flow": (13, 356, 20), "hops": (14, 376, 8),
    "scope": (15, 384, 4), "state": (16, 388, 4), "proxy": (17, 392, 1),
}
SERVICE_FIELDS = {
    "id": (0, 0, 64), "gid": (1, 64, 128), "pkey": (2, 192, 16), "lease": (4, 224, 32),
    "key": (5, 256, 128), "name": (6, 384, 512), "data": (7, 896, 8),
}
INFORM_FIELDS = {
    "gid": (0, 0, 128), "first": (1, 128, 16), "last": (2, 144, 16), "generic": (4, 176, 8),
    "subscribe": (5, 184, 8), "type": (6, 192, 16), "trap": (7, 208, 16), "qpn": (8, 224, 24),
    "producer": (12, 264, 24),
}
MULTI_PATH_FIELDS = {
    "reversible": (5, 40, 1), "paths": (6, 41, 7), "pkey": (7, 48, 16), "sl": (9, 76, 4),
    "independent": (17, 112, 2), "sources": (19, 120, 8), "destinations": (20, 128, 8),
}
