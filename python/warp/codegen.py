"""The old place of structs: forwards to where they are. There is no code generator in Python."""

from warp.errors import WarpCodegenError
from warp.structs import struct, struct_base

StructInstance = struct_base
Struct = type
