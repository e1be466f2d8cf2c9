"""What a call raises: one line, "what: why", as the program says it."""


class Error(Exception):
    """hopbound cannot do what was asked; str() is the one line. `status` is the library's name for the reason."""

    status = "unknown"


class BadQuestion(Error, ValueError):
    """The question is wrong: an unknown name, a number out of range, sizes that make no task."""


class BadFile(Error, ValueError):
    """A file is not what it should be."""


class FileError(Error, OSError):
    """A file cannot be read or written."""


class OutOfMemory(Error, MemoryError):
    """There is not enough memory."""


class Stopped(Error):
    """The call was stopped; in the main thread that is a KeyboardInterrupt."""


CLASSES = {"ENOMEM": OutOfMemory, "EIO": FileError, "EFORMAT": BadFile, "ESTOPPED": Stopped, "ESHAPE": BadFile,
           "EDOMAIN": BadQuestion, "ERANGE": BadQuestion, "EUNKNOWN": BadQuestion, "EUSAGE": BadQuestion}


def make(status, line):
    """The exception for a status's name."""
    error = CLASSES.get(status, Error)(line)
    error.status = status
    return error
