"""What tests tell a stand-in for a GPU's driver, ask it, and expect of each call of the driver that can fail."""

import ctypes
import gc

import pytest

import warp as wp


class FakeDriver:
    """The stand-in of this process; `kinds` of objects are counted, a launch is told in `numbers` numbers."""

    def __init__(self, library, kinds, numbers):
        self.library = ctypes.CDLL(library)
        self._kinds, self._numbers = kinds, numbers

    def fail(self, function, result, calls=0, times=1):
        """After `calls` more of this function `times` calls give this result."""
        self.library.fake_fail(function.encode(), calls, times, result)

    def fail_launch(self, result, launches=0):
        """The launch after `launches` more ends badly, which later calls tell; 0: launches end well again."""
        self.library.fake_fail_launch(launches, result)

    def pending(self):
        """How many failures are still to come."""
        return self.library.fake_pending()

    def count(self, function):
        return self.library.fake_count(function.encode())

    def last_launch(self):
        """Blocks of the last launch, threads of a block; where there are such, blocks of a cluster."""
        return tuple(self.library.fake_last_launch(which) for which in range(self._numbers))

    def alive(self):
        """How many objects of each kind there are."""
        return {kind: self.library.fake_alive(kind.encode()) for kind in self._kinds}

    def wrong(self):
        """How often what is not alive was given back."""
        return self.library.fake_wrong()

    def settled(self):
        """What is alive once the garbage is collected."""
        gc.collect()
        wp.synchronize()
        return self.alive()

    def fails_once(self, action, function, result, text, calls=0, error=RuntimeError):
        """The action raises this when the function fails, leaves nothing, and works afterwards."""
        action()
        before = self.settled()
        self.fail(function, result, calls)
        with pytest.raises(error, match=text) as raised:
            action()
        del raised
        assert self.settled() == before
        action()
        assert self.settled() == before

    def device(self, name):
        """For a fixture: a test begins with this GPU as the default device, and must leave no failure behind."""
        wp.set_device(name)
        yield wp.get_device()
        assert self.pending() == 0, "a failure that was asked for did not come"
        self.fail_launch(0)
        assert self.wrong() == 0
