"""Numbers in and out: numpy arrays where there is numpy, else the standard library's."""
import array
import ctypes
import functools

from . import errors


@functools.lru_cache(maxsize=None)
def numpy():
    """numpy, or None."""
    try:
        import numpy as np
    except ImportError:
        return None
    return np


def tokens(value):
    """Token ids as C wants them: (address, what keeps it alive, shape). Anything that is a list of whole numbers, or a
    list of such lists of one length, arrays and tensors, too."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy() if numpy() else value.tolist()
    np = numpy()
    if np is not None:
        return _from_numpy(np, value)
    rows = list(value)
    shape = (len(rows),)
    if rows and hasattr(rows[0], "__len__"):
        shape = (len(rows), len(rows[0]))
        if any(len(r) != shape[1] for r in rows):
            raise errors.make("ERANGE", "tokens: rows of different lengths")
        rows = [t for r in rows for t in r]
    try:
        flat = array.array("i", rows)
    except (TypeError, OverflowError):
        raise errors.make("ERANGE", "tokens: not whole numbers that fit 32 bits") from None
    return flat.buffer_info()[0], flat, shape


def _from_numpy(np, value):
    try:
        given = np.asarray(value)
    except (ValueError, TypeError):
        raise errors.make("ERANGE", "tokens: rows of different lengths") from None
    if given.size == 0:
        given = given.astype(np.int32)
    if given.dtype.kind not in "iu" or given.ndim not in (1, 2):
        raise errors.make("ERANGE", "tokens: not a list of whole numbers, nor a list of such lists")
    if given.size and (int(given.min()) < -2**31 or int(given.max()) >= 2**31):
        raise errors.make("ERANGE", "tokens: not whole numbers that fit 32 bits")
    flat = np.ascontiguousarray(given, dtype=np.int32)
    return flat.ctypes.data, flat, given.shape


def empty(kind, shape):
    """(address, array) of uninitialised numbers, kind "f" or "i"; without numpy a memoryview of that shape."""
    np = numpy()
    count = 1
    for n in shape:
        count *= n
    if np is not None:
        made = np.empty(shape, {"f": np.float32, "i": np.int32}[kind])
        return made.ctypes.data, made
    made = ((ctypes.c_float if kind == "f" else ctypes.c_int32) * count)()
    view = memoryview(made).cast("B").cast(kind, shape) if count else memoryview(made)
    return ctypes.addressof(made), view


def view(address, shape, owner, writable):
    """Numbers where they are: no copy, and `owner` lives as long as the view does."""
    count = 1
    for n in shape:
        count *= n
    block = (ctypes.c_float * count).from_address(address)
    block.owner = owner
    np = numpy()
    if np is None:
        made = memoryview(block).cast("B").cast("f", shape)
        return made if writable else made.toreadonly()
    made = np.frombuffer(block, np.float32).reshape(shape)
    made.flags.writeable = writable
    return made
