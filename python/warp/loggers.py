"""Messages of the package: levels, the logger that writes them, and the scopes that replace either.

Warnings pass Python's own filters; errors are never left out.
"""

import sys
import threading
import typing
import warnings

from warp import config

LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR = 10, 20, 30, 40


class Logger(typing.Protocol):
    """What a logger must have."""

    def debug(self, message: str) -> None: ...

    def info(self, message: str) -> None: ...

    def warning(self, message: str, category=None, stacklevel: int = 1) -> None: ...

    def error(self, message: str) -> None: ...


_METHODS = ("debug", "info", "warning", "error")
_format_lock = threading.RLock()


class BasicLogger:
    """Writes debug and info to stdout, warnings and errors to stderr."""

    def debug(self, message):
        sys.stdout.write(f"{message}\n")

    info = debug

    def warning(self, message, category=None, stacklevel=1):
        category = category or UserWarning
        frame, depth = sys._getframe(0), stacklevel - 1
        while frame.f_back is not None and depth > 0:
            frame, depth = frame.f_back, depth - 1

        def text(message, category, filename, lineno, line=None):
            place = f" ({filename}:{lineno})" if config.verbose_warnings else ""
            return f"Warp {category.__name__}: {message}{place}\n"

        # Python's filters decide, and what programs put in place of its output; only the text is ours.
        with _format_lock:
            saved, warnings.formatwarning = warnings.formatwarning, text
            try:
                warnings.warn_explicit(
                    message,
                    category,
                    frame.f_code.co_filename,
                    frame.f_lineno,
                    module=frame.f_globals.get("__name__", "warp"),
                )
            finally:
                warnings.formatwarning = saved

    def error(self, message):
        sys.stderr.write(f"Warp Error: {message}\n")


_logger = BasicLogger()
_seen = set()


def get_logger():
    return _logger


def set_logger(logger):
    """The logger of all messages: an object with debug, info, warning and error; None: the package's own."""
    global _logger
    if logger is None:
        logger = BasicLogger()
    missing = [m for m in _METHODS if not callable(getattr(logger, m, None))]
    if missing:
        raise TypeError(f"a logger has the methods {', '.join(_METHODS)}; {logger!r} lacks {', '.join(missing)}")
    _logger = logger


class ScopedLogger:
    """Replaces the logger inside a `with` block."""

    def __init__(self, logger):
        self.logger = logger

    def __enter__(self):
        self._saved = _logger
        set_logger(self.logger)
        return self

    def __exit__(self, *exception):
        global _logger
        _logger = self._saved


class ScopedLogLevel:
    """Sets `config.log_level` inside a `with` block."""

    def __init__(self, log_level):
        self.log_level = log_level

    def __enter__(self):
        self._saved = config.log_level
        config.log_level = self.log_level
        return self

    def __exit__(self, *exception):
        config.log_level = self._saved


def log_debug(message):
    if config.log_level <= LOG_DEBUG:
        _logger.debug(message)


def log_info(message):
    if config.log_level <= LOG_INFO:
        _logger.info(message)


def log_warning(message, category=None, once=False, stacklevel=1):
    """A warning, located at the nearest caller outside the package. Deprecations appear once each."""
    if config.log_level > LOG_WARNING:
        return
    if once or category is DeprecationWarning:
        if (category, message) in _seen:
            return
        _seen.add((category, message))
    depth, frame = 3, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "warp" and _inside(frame):
        frame, depth = frame.f_back, depth + 1
    _logger.warning(message, category, stacklevel=depth + stacklevel - 1)


config.EFFECTS["tell"] = log_warning


def _inside(frame):
    """Whether a frame is the package's own code (tests and examples below its name are not)."""
    return frame.f_globals["__name__"] not in ("warp.tests", "warp.examples") and not frame.f_globals[
        "__name__"
    ].startswith(("warp.tests.", "warp.examples."))


def log_error(message):
    _logger.error(message)
