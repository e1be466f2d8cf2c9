"""Models of transformers on these operators.

A modelling file of transformers calls its recurrences as functions of its own, under the same names and with the same
arguments in every family. `patch` puts others in their place. Each computes the same from the same arguments; what it
does not know (another dtype or device, packed sequences) it hands to the one that stood there."""
import functools
import sys
import weakref

import torch
import torch.nn.functional as F

from . import _functions as ours
from . import _ops
from ._call import wrong


def _known(*tensors):
    return all(t is None or (t.dtype == torch.float32 and t.device.type == "cpu") for t in tensors)


def _packed(rest):
    return rest.get("cu_seqlens") is not None or rest.get("seq_idx") is not None


# ---- short convolution: [B, C, T], kept as a view of [B, T, C] ----------------------------------


def _convolves(x, weight, bias, activation, rest):
    return _known(x, weight, bias) and activation in (None, "silu", "swish") and weight.shape[1] <= 64 and not _packed(rest)


def _causal_conv1d_fn(original, hidden_states, weight, bias=None, activation=None, **rest):
    if not _convolves(hidden_states, weight, bias, activation, rest):
        return original(hidden_states, weight, bias, activation, **rest)
    return _ops.conv(hidden_states.transpose(1, 2), weight, bias, None, activation is not None).transpose(1, 2)


def _causal_conv1d_update(original, hidden_states, conv_state, weight, bias=None, activation=None, **rest):
    if (not _convolves(hidden_states, weight, bias, activation, rest) or hidden_states.shape[2] != 1
            or not _known(conv_state) or conv_state.shape[2] < weight.shape[1] or not conv_state.is_contiguous()
            or ours._gradients(hidden_states, conv_state, weight, bias)):
        return original(hidden_states, conv_state, weight, bias, activation, **rest)
    return _ops.conv_step(hidden_states, conv_state, weight, bias, activation is not None)


# ---- delta rules ------------------------------------------------------------------------------


def _delta(original, query, key, value, g, beta, initial_state=None, output_final_state=False, use_qk_l2norm_in_kernel=False,
           **rest):
    if not _known(query, key, value, g, beta, initial_state) or _packed(rest):
        return original(query, key, value, g=g, beta=beta, initial_state=initial_state, output_final_state=output_final_state,
                        use_qk_l2norm_in_kernel=use_qk_l2norm_in_kernel, **rest)
    return ours.gated_delta(query, key, value, g, beta, initial_state=initial_state, output_final_state=output_final_state,
                            use_qk_l2norm_in_kernel=use_qk_l2norm_in_kernel)


def _delta_step(original, query, key, value, g, beta, initial_state=None, output_final_state=False,
                use_qk_l2norm_in_kernel=False, **rest):
    """A cached state is overwritten: who called writes the new one to the same place."""
    tensors = (query, key, value, g, beta, initial_state)
    if initial_state is None or not _known(*tensors) or _packed(rest) or ours._gradients(*tensors):
        return _delta(original, query, key, value, g, beta, initial_state, output_final_state, use_qk_l2norm_in_kernel, **rest)
    if use_qk_l2norm_in_kernel:
        query, key = ours.l2norm(query), ours.l2norm(key)
    o = _ops.scan_step(_ops.DELTA, query, key, value, g, beta, None, None, None, None, None, initial_state,
                       query.shape[-1] ** -0.5)
    return o, initial_state if output_final_state else None


# ---- Mamba-2 ----------------------------------------------------------------------------------


def _time_step(dt, bias, softplus):
    dt = dt if bias is None else dt + bias
    return F.softplus(dt) if softplus else dt


def _mamba2_chunk_scan(original, hidden_states, dt, A, B, C, chunk_size, D=None, dt_bias=None, initial_states=None,
                       dt_softplus=False, dt_limit=(0.0, float("inf")), return_final_states=False, **rest):
    if (not _known(hidden_states, dt, A, B, C, D, dt_bias, initial_states) or _packed(rest) or rest.get("z") is not None
            or A.dim() != 1 or (D is not None and D.dim() != 1)):
        return original(hidden_states, dt, A, B, C, chunk_size, D=D, dt_bias=dt_bias, initial_states=initial_states,
                        dt_softplus=dt_softplus, dt_limit=dt_limit, return_final_states=return_final_states, **rest)
    dt = _time_step(dt, dt_bias, dt_softplus)
    if tuple(dt_limit) != (0.0, float("inf")) or not dt_softplus:
        dt = torch.clamp(dt, min=dt_limit[0], max=dt_limit[1])
    y, last = ours.mamba2(hidden_states, dt, A, B, C, D, initial_state=initial_states, output_final_state=return_final_states)
    return (y, last) if return_final_states else y


def _one_a_head(tensor, over):
    """A number for each head that was spread over its last `over` dimensions: it as it was, or None."""
    if tensor is None or any(s != 0 and n > 1 for n, s in zip(tensor.shape[-over:], tensor.stride()[-over:])):
        return None
    return tensor[(..., *(0,) * over)]


def _mamba2_state_update(original, state, hidden_states, dt, A, B, C, D=None, dt_bias=None, dt_softplus=False, z=None, **rest):
    heads = (_one_a_head(dt, 1), _one_a_head(A, 2), _one_a_head(D, 1), _one_a_head(dt_bias, 1))
    tensors = (state, hidden_states, dt, A, B, C, D, dt_bias)
    if any(h is None for h in heads) or z is not None or not _known(*tensors) or ours._gradients(*tensors):
        return original(state, hidden_states, dt, A, B, C, D=D, dt_bias=dt_bias, dt_softplus=dt_softplus, z=z, **rest)
    dt, A, D, bias = heads
    dt = _time_step(dt, bias, dt_softplus)
    y = _ops.scan_step(_ops.DECAY, C[:, None], B[:, None], (hidden_states * dt[..., None])[:, None], (dt * A)[:, None], None,
                       None, None, None, None, None, state.transpose(2, 3), 1.0)
    return torch.addcmul(y[:, 0], hidden_states, D[:, None])


# ---- Mamba: [B, W, T] --------------------------------------------------------------------------


def _selective_scan(original, hidden_states, dt, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False,
                    return_last_state=False, **rest):
    if not _known(hidden_states, dt, A, B, C, D, z, delta_bias) or _packed(rest):
        return original(hidden_states, dt, A, B, C, D=D, z=z, delta_bias=delta_bias, delta_softplus=delta_softplus,
                        return_last_state=return_last_state, **rest)
    dt = _time_step(dt.transpose(1, 2), delta_bias, delta_softplus)
    y, last = ours.selective(hidden_states.transpose(1, 2), dt, A, B.transpose(1, 2), C.transpose(1, 2), D,
                             output_final_state=return_last_state)
    y = y.transpose(1, 2)
    y = y if z is None else y * F.silu(z)
    return (y, last) if return_last_state else y


def _selective_state_update(original, state, hidden_states, dt, A, B, C, D=None, dt_bias=None, dt_softplus=False, z=None,
                            **rest):
    tensors = (state, hidden_states, dt, A, B, C, D, dt_bias, z)
    if not _known(*tensors) or ours._gradients(*tensors):
        return original(state, hidden_states, dt, A, B, C, D=D, dt_bias=dt_bias, dt_softplus=dt_softplus, z=z, **rest)
    dt = _time_step(dt, dt_bias, dt_softplus)
    y = _ops.selective_step(hidden_states[:, None], dt[:, None], A, B[:, None], C[:, None], D, state)[:, 0]
    return y if z is None else y * F.silu(z)


_OURS = {
    "causal_conv1d_fn": _causal_conv1d_fn,
    "causal_conv1d_update": _causal_conv1d_update,
    "torch_chunk_gated_delta_rule": _delta,
    "torch_recurrent_gated_delta_rule": _delta_step,
    "chunk_kimi_delta_attention": _delta,
    "recurrent_kimi_delta_attention": _delta_step,
    "mamba2_chunk_scan": _mamba2_chunk_scan,
    "mamba2_selective_state_update": _mamba2_state_update,
    "mamba_selective_scan": _selective_scan,
    "mamba_selective_state_update": _selective_state_update,
}

_users = weakref.WeakKeyDictionary()  # patched model: the modules whose functions it calls
_stood = {}  # module: {name: the function that stood there}


def _modules(model):
    """The modelling files of a model's layers that call what we have."""
    found = {sys.modules.get(type(part).__module__) for part in model.modules()}
    return [m for m in found if m is not None and m.__name__.startswith("transformers.models.") and _OURS.keys() & vars(m).keys()]


def patch(model):
    """Recurrences and short convolutions of a transformers model run on hopbound's kernels, for prompts, cached decoding
    and training; returns the model. Functions stand in the model's file, so all models of its class run so until the last
    one that was patched is unpatched."""
    if not isinstance(model, torch.nn.Module):
        raise wrong(f"patch: a model is wanted, not {type(model).__name__}")
    modules = _modules(model)
    if not modules:
        raise wrong(f"patch: {type(model).__name__} has no layer of transformers that runs on hopbound's kernels")
    for module in modules:
        if module in _stood:
            continue
        _stood[module] = {name: vars(module)[name] for name in _OURS if name in vars(module)}
        for name, original in _stood[module].items():
            setattr(module, name, functools.wraps(original)(functools.partial(_OURS[name], original)))
    _users[model] = modules
    return model


def unpatch(model):
    """Puts back what `patch` took away; returns the model."""
    mine = _users.pop(model, [])
    wanted = {module for modules in _users.values() for module in modules}
    for module in mine:
        if module not in wanted:
            for name, original in _stood.pop(module, {}).items():
                setattr(module, name, original)
    return model
