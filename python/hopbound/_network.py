"""Networks: built with exact weights or loaded, then asked, proved, refuted, played."""
import ctypes
import json
import operator
import os
import tempfile
from collections.abc import Mapping
from ctypes import byref, c_char_p, c_int64, c_void_p

from . import _arrays, _calls, _library, _tables, errors
from ._library import failed, lib, path_bytes, taken

_LAST, _ALL, _HIDDEN = range(3)


class Weights(Mapping):
    """The weights by their names in the file: arrays of numpy that look at the network's own memory."""

    def __init__(self, handle, writable):
        self._handle, self._writable, self._places = handle, writable, {}
        name, shape, data = c_char_p(), (c_int64 * 2)(), c_void_p()
        for i in range(lib.hopflat_network_weights(handle.address)):
            rank = lib.hopflat_network_weight(handle.address, i, byref(name), shape, byref(data))
            self._places[name.value.decode()] = data.value, tuple(shape[:rank])

    def __getitem__(self, name):
        address, shape = self._places[name]
        return _arrays.view(address, shape, self._handle, self._writable)

    def __iter__(self):
        return iter(self._places)

    def __len__(self):
        return len(self._places)

    def torch(self, name):
        """The same as a torch tensor, on the same memory. PyTorch knows no read-only tensors: do not write to it unless
        the network is unlocked."""
        import torch
        address, shape = self._places[name]
        block = _arrays.view(address, shape, self._handle, True)
        return torch.from_numpy(block) if _arrays.numpy() else torch.frombuffer(block, dtype=torch.float32).view(shape)


class Network:
    """A network with weights: a directory with config.json and model.safetensors, open.

    Every verb of the program that takes a network's directory is a method: `prove`, `refute`, `damage`, .. They take the
    verb's options, and answer what `hopbound.VERB(directory, ..)` answers.
    """

    def __init__(self, path, _keep=None):
        self.path = os.fspath(path)
        self._keep, self._unlocked = _keep, False  # a temporary directory, which goes with the network
        self._handle = _library.opened(lib.hopflat_network_open, path_bytes(path), lib.hopflat_network_free)
        sizes = (c_int64 * 4)()
        lib.hopflat_network_sizes(self._handle.address, sizes)
        self.vocab, self.width, self.max_positions, self.parameters = sizes

    @classmethod
    def load(cls, path):
        """The network of a directory with config.json and model.safetensors."""
        return cls(path)

    @classmethod
    def build(cls, kind=None, output=None, **options):
        """Builds a network as the verb `build` does (its options; see hopbound.build) and opens it. Without `output` it
        stands in a temporary directory, as long as the network is used. `built` is what the verb answered."""
        from . import _verbs
        keep = None if output is not None else tempfile.TemporaryDirectory(prefix="hopbound-")
        where = output if output is not None else os.path.join(keep.name, "network")
        given = {} if kind is None else {"kind": kind}
        answer = _verbs.function("build")(output=where, **given, **options)
        network = cls(where, keep)
        network.built = answer
        return network

    def save(self, path):
        """Writes config.json and model.safetensors, with the weights as they are in memory."""
        why = ctypes.create_string_buffer(_library.WHY)
        status = lib.hopflat_network_save(self._handle.address, path_bytes(path), why)
        if status:
            raise failed(status, why.value, "save: ")

    def unlock(self):
        """From here on `weights` may be written to. Verbs then ask about a copy of the weights as they are, saved anew
        for each question. Nobody may run the network meanwhile."""
        self._unlocked = True
        return self

    @property
    def config(self):
        """config.json as a dictionary."""
        return json.loads(taken(lib.hopflat_network_config(self._handle.address)))

    @property
    def task(self):
        """The task that the network was made for, or None."""
        from ._task import Task
        made_for = self.config.get("task")
        return Task.from_dict(made_for) if made_for else None

    @property
    def weights(self):
        """The weights by name: numpy arrays without copies, read-only unless `unlock` was called."""
        return Weights(self._handle, self._unlocked)

    def logits(self, tokens, every=False, threads=0, progress=None):
        """Logits behind the last token, [vocab], or with every=True behind each, [count, vocab]. Of several prompts of one
        length, [rows, count], the same with rows in front."""
        return self._pass(tokens, _ALL if every else _LAST, threads, progress)

    def hidden(self, tokens, threads=0, progress=None):
        """The residual stream behind the last layer, at every token: [count, width], or [rows, count, width]."""
        return self._pass(tokens, _HIDDEN, threads, progress)

    __call__ = logits

    def answer(self, tokens):
        """The likeliest token behind the prompt; of several prompts a list."""
        found = self.logits(tokens)
        rows = found.tolist()
        most = [max(range(self.vocab), key=row.__getitem__) for row in (rows if found.ndim == 2 else [rows])]
        return most if found.ndim == 2 else most[0]

    def _pass(self, tokens, what, threads, progress):
        address, kept, shape = _arrays.tokens(tokens)
        threads = operator.index(threads)
        rows, count = shape if len(shape) == 2 else (1, shape[0])
        if count == 0 or count > self.max_positions:
            raise errors.make("ERANGE", f"tokens: {count}, the network takes 1 to {self.max_positions}")
        wide = self.width if what == _HIDDEN else self.vocab
        place, out = _arrays.empty("f", shape[:-1] + (() if what == _LAST else (count,)) + (wide,))
        why = ctypes.create_string_buffer(_library.WHY)
        status = _calls.run(lambda w: lib.hopflat_network_pass(self._handle.address, address, (c_int64 * 2)(rows, count), what,
                                                               place, threads, w, why), progress)
        if status:
            raise failed(status, why.value, "logits: ")
        del kept
        return out

    def __getattr__(self, name):  # verbs that take a network's directory
        if name.startswith("_") or not takes_network(name):
            raise AttributeError(f"a Network has no {name!r}")
        from . import _verbs
        function = _verbs.function(name)

        def method(*args, **options):
            if not self._unlocked:
                return function(self.path, *args, **options)
            with tempfile.TemporaryDirectory(prefix="hopbound-") as copy:
                self.save(copy)
                return function(copy, *args, **options)

        method.__name__, method.__doc__ = name, function.__doc__
        return method

    def __dir__(self):
        return sorted([*super().__dir__(), *(v for v in _tables.verbs() if takes_network(v))])

    def __repr__(self):
        return f"<hopbound.Network {self.config.get('pattern', '')}, {self.parameters:,} parameters, {self.path}>"


def takes_network(verb):
    """Is that a verb whose first operand is a network's directory?"""
    table = _tables.verbs().get(verb)
    return bool(table) and (table.get("operand") or "").startswith("DIR")
