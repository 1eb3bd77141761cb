"""The old place of DLPack conversions: forwards to where they are."""

from warp.array_makers import from_dlpack, to_dlpack
