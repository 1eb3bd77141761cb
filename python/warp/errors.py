"""The exceptions that Weft raises. Each one also derives from what programs written for Warp catch."""

from warp import _core


class WarpError(RuntimeError):
    """An error in the user's program. The message shows the source line with a caret under the place, if there is one.

    Attributes: `message` (without the source line), `kind`, `notes`, and for located errors `filename`, `lineno`,
    `offset` (column, from 0), `end_lineno`, `end_offset`, `text` (the source line); None otherwise.
    """

    message: str | None = None
    kind: str | None = None
    notes: list[str] = []  # noqa: RUF012 - replaced, never changed
    filename: str | None = None
    lineno: int | None = None
    offset: int | None = None
    end_lineno: int | None = None
    end_offset: int | None = None
    text: str | None = None

    # KeyError, a base of some subclasses, would quote the message.
    __str__ = Exception.__str__


class WarpCodegenError(WarpError):
    """A kernel or function does not compile."""


WarpCompileError = WarpCodegenError


class WarpSyntaxError(WarpCodegenError):
    """A construct that the kernel language does not have."""


class WarpCodegenAttributeError(WarpCodegenError, AttributeError):
    """An unknown attribute."""


class WarpCodegenKeyError(WarpCodegenError, KeyError):
    """An unknown name."""

    __str__ = Exception.__str__


class WarpNameError(WarpCodegenAttributeError, WarpCodegenKeyError):
    """An unknown name or attribute."""

    __str__ = Exception.__str__


class WarpCodegenTypeError(WarpCodegenError, TypeError):
    """Operands, arguments or annotations of the wrong type, or the wrong number of arguments."""


class WarpCodegenValueError(WarpCodegenError, ValueError):
    """A value that is not acceptable."""


class WarpCodegenIndexError(WarpCodegenValueError, IndexError):
    """An index out of range."""


class WarpLaunchError(WarpError, TypeError, ValueError):
    """A launch whose arguments do not fit the kernel."""


class WarpGradientError(WarpCodegenError):
    """A derivative that would be wrong, and is therefore refused."""


class WarpUnsupportedError(WarpError, NotImplementedError):
    """Valid, but not available on this device or in this build."""


class WarpRuntimeError(WarpError):
    """Found while a kernel ran: a failed assert, an index out of bounds."""


class WarpHardwareError(WarpError):
    """The device cannot do what was asked."""


class WarpDeterminismError(WarpError):
    """A result could not be made reproducible."""


class WarpInternalError(RuntimeError):
    """A bug in Weft."""


_core.set_error_classes(
    {
        "syntax": WarpSyntaxError,
        "name": WarpNameError,
        "type": WarpCodegenTypeError,
        "argument": WarpCodegenTypeError,
        "value": WarpCodegenValueError,
        "launch": WarpLaunchError,
        "gradient": WarpGradientError,
        "unsupported": WarpUnsupportedError,
        "runtime": WarpRuntimeError,
        "internal": WarpInternalError,
    }
)
