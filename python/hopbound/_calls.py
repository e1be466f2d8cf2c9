"""Calls that may be long: each runs in a thread of its own, which lets go of the GIL, while this one waits, shows how
far it is, and stops it on Ctrl-C. Threads are kept, since the library keeps some memory for each."""
import ctypes
import os
import sys
import time

from . import errors
from ._library import lib

_QUIET = 2.0  # seconds before anything is shown
_executor = None


def _threads():
    global _executor
    if _executor is None:
        from concurrent.futures import ThreadPoolExecutor
        _executor = ThreadPoolExecutor(max_workers=64, thread_name_prefix="hopbound")
    return _executor


def _forget():  # a child of fork has none of the threads
    global _executor
    _executor = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


class _Line:
    """How far a call is, on one line of standard error."""

    def __init__(self):
        self._width = 0

    def show(self, what, done, total):
        text = f"{what} {done:,.0f}" + (f" of {total:,.0f}" if total > 0 else "")
        self._width = max(self._width, len(text))
        print("\r" + text.ljust(self._width), end="", file=sys.stderr, flush=True)

    def close(self):
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)


class _Bar:
    """The same by tqdm, a bar for each thing that is counted."""

    def __init__(self, tqdm):
        self._tqdm, self._bar, self._what = tqdm, None, None

    def show(self, what, done, total):
        if (what, total) != self._what:
            self.close()
            self._what = what, total
            self._bar = self._tqdm(total=total if total > 0 else None, desc=what, leave=False)
        self._bar.n = done
        self._bar.refresh()

    def close(self):
        if self._bar is not None:
            self._bar.close()


def _shown(wanted):
    """What shows progress, or None. wanted: True, False, or None, which is yes before a person's eyes."""
    notebook = "ipykernel" in sys.modules
    if wanted is False or (wanted is None and not notebook and not sys.stderr.isatty()):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line()
    return _Bar(tqdm)


def _follow(future, watch, shown):
    from concurrent.futures import TimeoutError as Late
    done, total, what = ctypes.c_double(), ctypes.c_double(), ctypes.create_string_buffer(64)
    begun = time.monotonic()
    while True:
        try:
            return future.result(0.1)
        except Late:
            if future.done():
                return future.result()
        if shown and time.monotonic() - begun > _QUIET and lib.hopflat_watch_read(watch, done, total, what):
            shown.show(what.value.decode("utf-8", "replace"), done.value, total.value)


def run(work, progress=None):
    """work(watch), in another thread; `watch` is the address that the library's long calls take."""
    watch = lib.hopflat_watch_new()
    if not watch:
        raise errors.make("ENOMEM", "out of memory")
    future = _threads().submit(work, watch)
    shown = _shown(progress)
    try:
        return _follow(future, watch, shown)
    except KeyboardInterrupt:
        lib.hopflat_watch_stop(watch)
        future.exception()  # it ends at its next tick; a second Ctrl-C is heard here
        raise
    finally:
        if shown:
            shown.close()
        if future.done():
            lib.hopflat_watch_free(watch)
