"""All tests share a cache of their own, so that they neither use nor fill the user's."""

import os
import tempfile

os.environ["WARP_CACHE_PATH"] = os.path.join(tempfile.gettempdir(), f"weft-test-cache-{os.getuid()}")
