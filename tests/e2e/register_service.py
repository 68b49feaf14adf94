# SPDX-License-Identifier: Apache-2.0
"""register_service.py PORT_GUID SM_LID ID LEASE: a program on a node tells the subnet
administrator, by libibumad, that the port offers a service for LEASE seconds; the status of the
answer is printed.
Written from IBA 15.2.5.14 and libibumad's manual pages."""
import ctypes
import struct
import sys

SIZE_OF_MAD = 256
CLASS_SUBN_ADM, VERSION, SET, SERVICE_RECORD = 3, 2, 2, 0x31
HAS_ID, HAS_GID, HAS_LEASE, HAS_NAME = 1 << 0, 1 << 1, 1 << 4, 1 << 6
GSI_QKEY = 0x80010000
LINK_LOCAL = 0xFE80000000000000

guid, sm_lid, service, lease = (int(word, 0) for word in sys.argv[1:5])

mad = struct.pack(">BBBBHHQHHI", 1, CLASS_SUBN_ADM, VERSION, SET, 0, 0, 1, SERVICE_RECORD, 0, 0)
mad += bytes(12)  # RMPP
mad += struct.pack(">QHHQ", 0, 0, 0, HAS_ID | HAS_GID | HAS_LEASE | HAS_NAME)
mad += struct.pack(">QQQHHI", service, LINK_LOCAL, guid, 0, 0, lease)
mad += bytes(16) + b"remembered".ljust(64, b"\0") + bytes(64)
mad = mad.ljust(SIZE_OF_MAD, b"\0")

umad = ctypes.CDLL("libibumad.so.3")
umad.umad_get_mad.restype = ctypes.c_void_p
assert umad.umad_init() == 0
port = umad.umad_open_port(None, 0)
assert port >= 0, port
agent = umad.umad_register(port, CLASS_SUBN_ADM, VERSION, 0, None)
assert agent >= 0, agent
datagram = ctypes.create_string_buffer(umad.umad_size() + SIZE_OF_MAD)
ctypes.memmove(umad.umad_get_mad(datagram), mad, SIZE_OF_MAD)
umad.umad_set_addr(datagram, sm_lid, 1, 0, ctypes.c_int(GSI_QKEY - (1 << 32)))
assert umad.umad_send(port, agent, datagram, SIZE_OF_MAD, 1000, 5) == 0
length = ctypes.c_int(SIZE_OF_MAD)
assert umad.umad_recv(port, datagram, ctypes.byref(length), 10000) >= 0
answer = ctypes.string_at(umad.umad_get_mad(datagram), SIZE_OF_MAD)
print("status", struct.unpack_from(">H", answer, 4)[0])
