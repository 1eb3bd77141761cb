"""Runs rows for bench/__main__.py, in the interpreter of one implementation of Warp."""

import worker_loop

answers = worker_loop.answers()

import warp as wp  # noqa: E402

wp.config.quiet = True
wp.init()

from subjects import ROWS  # noqa: E402


class Worker(worker_loop.Worker):
    def device(self, name):
        wp.set_device(name)

    def threads(self, count):
        wp.config.cpu_threads = int(count)

    def row(self, name):
        row = ROWS[name]
        self.work = row.make(**row.sizes)
        self.work.run()
        wp.synchronize()
        self.work.check()

    def save(self, path):
        self.work.problem.save(path)

    def run(self, times):
        told = [self.work.run() for _ in range(times)]
        wp.synchronize()
        return None if told[0] is None else sum(told)


Worker().serve(answers)
