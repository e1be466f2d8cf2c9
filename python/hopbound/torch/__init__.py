"""The recurrences of linear mixers, attention and the short convolution as operators of PyTorch, float32 on CPUs.

    >>> import hopbound.torch as ht
    >>> o, state = ht.gated_delta(q, k, v, g, beta, output_final_state=True)
    >>> ht.patch(model)                # a model of transformers runs on them; ht.unpatch(model) puts it back

They have gradients, work under torch.compile, and share torch's threads. `python -m hopbound.torch.bench` measures them
against transformers' own. See docs/PYTHON.md.
"""
try:
    import torch as _torch
except ImportError:
    raise ImportError("hopbound.torch needs PyTorch 2.5 or later: pip install torch") from None
if not hasattr(_torch.library, "infer_schema"):
    raise ImportError(f"hopbound.torch needs PyTorch 2.5 or later; this is {_torch.__version__}")

from ._functions import attention, conv, decay, dplr, gated_delta, kda, l2norm, mamba2, mlstm, selective  # noqa: E402
from ._patch import patch, unpatch  # noqa: E402

__all__ = ["attention", "conv", "decay", "dplr", "gated_delta", "kda", "l2norm", "mamba2", "mlstm", "patch", "selective",
           "unpatch"]
