"""Timing: `wp.ScopedTimer`, and the names of CUDA's activities that it could select."""

import contextlib
import time

from warp.devices import synchronize

TIMING_KERNEL, TIMING_KERNEL_BUILTIN, TIMING_MEMCPY, TIMING_MEMSET, TIMING_GRAPH = 1, 2, 4, 8, 16
TIMING_ALL = 0xFFFFFFFF


class TimingResult:
    """One activity of a device."""

    def __init__(self, device, name, filter, elapsed):
        self.device, self.name, self.filter, self.elapsed = device, name, filter, elapsed


def timing_begin(cuda_filter=TIMING_ALL, synchronize=True):
    """Begins to collect activities of CUDA devices."""


def timing_end(synchronize=True):
    """The activities collected since: none without a CUDA device."""
    return []


def timing_print(results, indent=""):
    """Prints activities, and their sums by name."""
    if not results:
        print(f"{indent}No activity")
        return
    sums = {}
    for result in results:
        print(f"{indent}{result.elapsed:12.6f} ms | {result.device} | {result.name}")
        count, elapsed = sums.get(result.name, (0, 0.0))
        sums[result.name] = count + 1, elapsed + result.elapsed
    for name, (count, elapsed) in sums.items():
        print(f"{indent}{elapsed:12.6f} ms | {count} x {name}")


class ScopedTimer:
    """Prints how long a `with` block took; `elapsed` holds the milliseconds afterwards."""

    indent = -1
    enabled = True

    def __init__(
        self,
        name,
        active=True,
        print=True,
        detailed=False,
        dict=None,
        use_nvtx=False,
        color="rapids",
        synchronize=False,
        cuda_filter=0,
        report_func=None,
        skip_tape=False,
    ):
        self.name = name
        self.active = active and self.enabled
        self.print = print
        self.detailed = detailed
        self.dict = dict
        self.use_nvtx, self.color = use_nvtx, color
        self.synchronize = synchronize
        self.cuda_filter = cuda_filter
        self.report_func = report_func
        self.skip_tape = skip_tape
        self.elapsed = 0.0
        self.timing_results = []
        if self.dict is not None:
            self.dict.setdefault(name, [])

    def _tape(self):
        from warp import _core

        return None if self.skip_tape else _core.get_tape()

    def __enter__(self):
        if self.active:
            tape = self._tape()
            if tape is not None:
                tape.record_scope_begin(self.name)
            ScopedTimer.indent += 1
            self._wait()
            if self.detailed:
                import cProfile  # which few programs need

                self.profile = cProfile.Profile()
                self.profile.enable()
            self.start = time.perf_counter_ns()
        return self

    def __exit__(self, kind, error, trace):
        if not self.active:
            return
        try:
            self._wait()
        except RuntimeError:
            # What the body raised tells more than what its launches left behind.
            if error is None:
                raise
        finally:
            self.elapsed = (time.perf_counter_ns() - self.start) / 1e6
            self._end()

    def _end(self):
        if self.detailed:
            self.profile.disable()
            with contextlib.suppress(TypeError):
                self.profile.print_stats(sort="cumtime")
        tape = self._tape()
        if tape is not None:
            tape.record_scope_end()
        if self.dict is not None:
            self.dict[self.name].append(self.elapsed)
        indent = "\t" * ScopedTimer.indent
        ScopedTimer.indent -= 1
        if self.report_func is not None:
            self.report_func(self.timing_results, indent)
        elif self.print:
            print(f"{indent}{self.name} took {self.elapsed:.2f} ms")

    def _wait(self):
        if self.synchronize:
            synchronize()
