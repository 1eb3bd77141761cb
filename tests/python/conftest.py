"""All tests share a cache of their own, so that they neither use nor fill the user's."""

import os
import tempfile

import pytest

os.environ["WARP_CACHE_PATH"] = os.environ.get("WEFT_TEST_CACHE") or os.path.join(
    tempfile.gettempdir(), f"weft-test-cache-{os.getuid()}"
)


def pytest_addoption(parser):
    parser.addoption("--device", default="cpu", help="the default device of the tests: cpu, or cuda:0")


def pytest_configure(config):
    import warp as wp

    config.addinivalue_line("markers", "host(why): is about the CPU, whatever --device says")
    wp.set_device(config.getoption("--device"))


@pytest.fixture(autouse=True)
def _device_of_the_test(request):
    """Tests that are marked `host` have the CPU as their default device."""
    if request.node.get_closest_marker("host") is None or request.config.getoption("--device") == "cpu":
        yield
        return
    import warp as wp

    with wp.ScopedDevice("cpu"):
        yield
