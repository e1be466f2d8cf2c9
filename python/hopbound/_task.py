"""Tasks: inputs by seed and number, and right answers."""
import ctypes
import json
import operator
from collections import namedtuple
from ctypes import c_double, c_int64, c_uint64

from . import _arrays, _library, errors
from ._library import failed, lib, taken

_MOST_HOPS = 64  # what is more is refused, and need not be written out first

Instance = namedtuple("Instance", "tokens answer targets")
Instance.__doc__ = """A prompt, the right answer at its last token (None: none is asked there), and the right answer at every
token, -1 where none is asked."""


class Task:
    """What is asked of a network. Instance `index` of a `seed` is the same everywhere and always; it is what
    `hopbound task --seed` prints.

        Task(hops=2, m=4, fan=2)          # function composition; fan: one number, or hops - 1 of them
        Task(name="recall", pairs=8, queries=8, keys=16, values=16)
    """

    def __init__(self, hops=None, m=None, fan=None, *, name="funccomp", **sizes):
        given = {"name": name, **sizes}
        if hops is not None:
            given["hops"] = hops
        if m is not None:
            given["m"] = m
        if fan is not None:
            one = isinstance(fan, int) and isinstance(hops, int)
            given["fan"] = [fan] * min(hops - 1, _MOST_HOPS) if one else list(fan)
        self._open(given)

    @classmethod
    def from_dict(cls, sizes):
        """From what config.json says of a task."""
        task = cls.__new__(cls)
        task._open(sizes)
        return task

    def _open(self, given):
        try:
            text = json.dumps(given).encode()
        except (TypeError, ValueError):
            raise errors.make("EUSAGE", "task: sizes are whole numbers") from None
        self._handle = _library.opened(lib.hopflat_task_new, text, lib.hopflat_task_free, "task: ")
        sizes, inputs = (c_int64 * 3)(), c_double()
        lib.hopflat_task_sizes(self._handle.address, sizes, inputs)
        self.length, self.vocab, self.asks_everywhere = sizes[0], sizes[1], bool(sizes[2])
        self.log10_inputs = inputs.value

    def to_dict(self):
        """The task's name and sizes, as in config.json."""
        return json.loads(taken(lib.hopflat_task_json(self._handle.address)))

    def __getattr__(self, name):  # hops, m, fan, n, ..
        if not name.startswith("_"):
            sizes = self.to_dict()
            if name in sizes:
                return sizes[name]
        raise AttributeError(f"a Task has no {name!r}")

    def batch(self, seed, first, count):
        """Instances first .. first + count - 1 of a seed: tokens [count, length], and targets of the same shape, -1 where
        none is asked."""
        seed, first, count = map(operator.index, (seed, first, count))
        if not (0 <= seed < 2**63 and 0 <= first < 2**63 and 0 <= count < 2**31):
            raise errors.make("ERANGE", "task: seed, first and count are 0 or more")
        at, tokens = _arrays.empty("i", (count, self.length))
        target_at, targets = _arrays.empty("i", (count, self.length))
        why = ctypes.create_string_buffer(_library.WHY)
        status = lib.hopflat_task_sample(self._handle.address, seed, (c_uint64 * 2)(first, count), at, target_at, why)
        if status:
            raise failed(status, why.value, "task: ")
        return tokens, targets

    def sample(self, seed=0, index=0):
        """Instance number `index` of a seed."""
        tokens, targets = (a.tolist()[0] for a in self.batch(seed, index, 1))
        return Instance(tokens, targets[-1] if targets[-1] >= 0 else None, targets)

    def answers(self, tokens):
        """The right answer to a prompt at its last token; of a task that asks everywhere at each, -1 where none is."""
        address, kept, shape = _arrays.tokens(tokens)
        if len(shape) != 1:
            raise errors.make("ERANGE", "task: one prompt at a time")
        place, targets = _arrays.empty("i", (max(shape[0], self.length),))
        why = ctypes.create_string_buffer(_library.WHY)
        status = lib.hopflat_task_solve(self._handle.address, address, shape[0], place, why)
        if status:
            raise failed(status, why.value, "task: ")
        del kept
        return targets.tolist() if self.asks_everywhere else int(targets[self.length - 1])

    def dataset(self, seed=0, count=None):
        """A torch.utils.data.IterableDataset of (tokens, targets), int64, targets -100 where none is asked, which is what
        torch's losses leave out. Several workers share the instances out; count None: without end."""
        import torch
        return _dataset(torch, self, seed, count)

    def __reduce__(self):
        return Task.from_dict, (self.to_dict(),)

    def __eq__(self, other):
        return isinstance(other, Task) and self.to_dict() == other.to_dict()

    __hash__ = None

    def __repr__(self):
        return "Task(" + ", ".join(f"{k}={v!r}" for k, v in self.to_dict().items()) + ")"


def _dataset(torch, task, seed, count):
    class Instances(torch.utils.data.IterableDataset):
        def __iter__(self):
            worker = torch.utils.data.get_worker_info()
            index, step = (worker.id, worker.num_workers) if worker else (0, 1)
            while count is None or index < count:
                tokens, targets = (torch.tensor(a.tolist()[0]) for a in task.batch(seed, index, 1))
                yield tokens, torch.where(targets < 0, -100, targets)
                index += step

    return Instances()
