"""The shared library, by ctypes: what python/flat/flat.h declares. Each call lets go of the GIL."""
import ctypes
import os
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_uint64, c_void_p

from . import errors

_HERE = os.path.dirname(os.path.abspath(__file__))
PATH = os.environ.get("HOPBOUND_LIBRARY") or os.path.join(_HERE, "hopflat.so")
WHY = 400  # letters of hop_error

# name: result, arguments
_FUNCTIONS = {
    "watch_new": (c_void_p,),
    "watch_free": (None, c_void_p),
    "watch_stop": (None, c_void_p),
    "watch_read": (c_bool, c_void_p, POINTER(c_double), POINTER(c_double), c_char_p),
    "free": (None, c_void_p),
    "version": (c_char_p,),
    "status_name": (c_char_p, c_int),
    "verbs": (c_void_p,),
    "ask": (c_int, c_char_p, c_char_p, c_void_p, POINTER(c_void_p), POINTER(c_int)),
    "network_open": (c_int, c_char_p, POINTER(c_void_p), c_char_p),
    "network_save": (c_int, c_void_p, c_char_p, c_char_p),
    "network_free": (None, c_void_p),
    "network_weights": (c_int64, c_void_p),
    "network_weight": (c_int, c_void_p, c_int64, POINTER(c_char_p), POINTER(c_int64), POINTER(c_void_p)),
    "network_sizes": (None, c_void_p, POINTER(c_int64)),
    "network_config": (c_void_p, c_void_p),
    "network_pass": (c_int, c_void_p, c_void_p, POINTER(c_int64), c_int, c_void_p, c_int, c_void_p, c_char_p),
    "task_new": (c_int, c_char_p, POINTER(c_void_p), c_char_p),
    "task_free": (None, c_void_p),
    "task_sizes": (None, c_void_p, POINTER(c_int64), POINTER(c_double)),
    "task_json": (c_void_p, c_void_p),
    "task_sample": (c_int, c_void_p, c_uint64, POINTER(c_uint64), c_void_p, c_void_p, c_char_p),
    "task_solve": (c_int, c_void_p, c_void_p, c_int64, c_void_p, c_char_p),
    "team": (None, c_void_p),
    "scan": (c_int, c_void_p, c_double, c_void_p, c_int),
    "scan_backward": (c_int, c_void_p, c_double, c_void_p, c_int),
    "selective": (c_int, c_void_p, c_void_p, c_int),
    "selective_backward": (c_int, c_void_p, c_void_p, c_int),
    "conv": (c_int, c_void_p, c_void_p, c_int),
    "conv_step": (c_int, c_void_p, c_void_p, c_int),
    "conv_backward": (c_int, c_void_p, c_void_p, c_int),
    "attention": (c_int, c_void_p, c_double, c_void_p, c_int),
    "attention_backward": (c_int, c_void_p, c_double, c_void_p, c_int),
}


def _load():
    try:
        library = ctypes.CDLL(PATH)
    except OSError as reason:
        raise ImportError(f"hopbound: {PATH}: {reason}; it is built by `pip install .`, or by `make` and then named by "
                          "HOPBOUND_LIBRARY") from None
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, "hopflat_" + name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _load()


def taken(address):
    """The text at an address that the library has handed out, which is given back."""
    if not address:
        raise errors.make("ENOMEM", "out of memory")
    try:
        return ctypes.string_at(address).decode("utf-8", "replace")
    finally:
        lib.hopflat_free(address)


def failed(status, line, before=""):
    """The exception for a status; `before`: what the line is about."""
    if isinstance(line, bytes):
        line = line.decode("utf-8", "replace")
    return errors.make(lib.hopflat_status_name(status).decode(), before + line)


def path_bytes(path):
    """A path for C, which has no letter 0 in its texts."""
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError:
        raw = b"\0"
    if b"\0" in raw:
        raise errors.make("EUSAGE", "a path has a letter that no path may have")
    return raw


class Handle:
    """An object of the library's, given back with the last reference to it: the views of a network's weights hold one,
    too."""

    __slots__ = ("address", "_free", "__weakref__")

    def __init__(self, address, free):
        self.address, self._free = address, free

    def __del__(self):
        if self.address:
            self._free(self.address)
            self.address = None


def opened(function, argument, free, before=""):
    """A new object: function(argument, &address, why)."""
    address, why = c_void_p(), ctypes.create_string_buffer(WHY)
    status = function(argument, byref(address), why)
    if status:
        raise failed(status, why.value, before)
    return Handle(address.value, free)
