"""All tests share a cache of their own, so that they neither use nor fill the user's."""

import os
import tempfile

os.environ["WARP_CACHE_PATH"] = os.path.join(tempfile.gettempdir(), f"weft-test-cache-{os.getuid()}")


def pytest_addoption(parser):
    parser.addoption("--device", default="cpu", help="the default device of the tests: cpu, or cuda:0")


def pytest_configure(config):
    import warp as wp

    wp.set_device(config.getoption("--device"))
