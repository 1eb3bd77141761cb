"""Helpers around programs: timing."""

import time


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
        self.dict = dict
        self.synchronize = synchronize
        self.report_func = report_func
        self.elapsed = 0.0
        self.timing_results = []
        if self.dict is not None:
            self.dict.setdefault(name, [])

    def __enter__(self):
        if self.active:
            ScopedTimer.indent += 1
            self._wait()
            self.start = time.perf_counter_ns()
        return self

    def __exit__(self, *exception):
        if not self.active:
            return
        self._wait()
        self.elapsed = (time.perf_counter_ns() - self.start) / 1e6
        if self.dict is not None:
            self.dict[self.name].append(self.elapsed)
        indent = "  " * ScopedTimer.indent
        ScopedTimer.indent -= 1
        if self.report_func is not None:
            self.report_func(self.timing_results, indent)
        elif self.print:
            print(f"{indent}{self.name} took {self.elapsed:.2f} ms")

    def _wait(self):
        if self.synchronize:
            from warp.devices import synchronize

            synchronize()
