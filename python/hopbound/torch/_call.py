"""Calls into the library with tensors where they lie. Work runs on the threads that torch has already started, as many as
torch.get_num_threads() says: two sets of threads on the same cores would wait for each other."""
import ctypes

import torch

from .. import errors
from .._library import failed, lib


def _team():
    """OpenMP's entry, which torch has loaded; where it is another's, operators run in the library's own pool."""
    try:
        return ctypes.cast(ctypes.CDLL(None).GOMP_parallel, ctypes.c_void_p)
    except (AttributeError, OSError):
        return None


if _team():
    lib.hopflat_team(_team())


def told(tensor):
    """A tensor [sequences, tokens, ..] as the library is told of it; None: there is none."""
    if tensor is None:
        return 0, 0, 0
    return tensor.data_ptr(), tensor.stride(0), tensor.stride(1)


def kept(tensor):
    """What has no tokens, but sequences: states."""
    return (0, 0, 0) if tensor is None else (tensor.data_ptr(), tensor.stride(0), 0)


def shared(tensor):
    """What all sequences have in common: weights."""
    return (0, 0, 0) if tensor is None else (tensor.data_ptr(), 0, 0)


def call(name, sizes, arrays, scale=None):
    numbers = [n for array in arrays for n in array]
    arguments = [(ctypes.c_int64 * len(sizes))(*sizes)]
    if scale is not None:
        arguments.append(scale)
    status = getattr(lib, "hopflat_" + name)(*arguments, (ctypes.c_int64 * len(numbers))(*numbers), torch.get_num_threads())
    if status:
        raise failed(status, "out of memory")


def dense(tensor):
    """The tensor, if what stands for one token lies together, else a copy."""
    if tensor is None:
        return None
    apart = 1
    for size, stride in zip(reversed(tensor.shape[2:]), reversed(tensor.stride()[2:])):
        if size > 1 and stride != apart:
            return tensor.contiguous()
        apart *= size
    return tensor


def plain(tensor):
    """The tensor, if it lies without gaps, else a copy."""
    return None if tensor is None else tensor.contiguous()


def wrong(line):
    return errors.make("ESHAPE", line)
