"""The operators as torch knows them: what they compute, what comes out for tensors without data, and their gradients. What
people call is in _functions.py. Gradients are operators, too, so that a compiler sees no more than calls."""
from typing import List, Optional, Tuple

import torch
from torch import Tensor

from ._call import call, dense, kept, plain, shared, told

DECAY, DELTA, DPLR, MLSTM = range(4)
_GATES = {None: 0, 1: 1, 3: 2, 4: 3}  # by g's dimensions: hop_gate
_RECURRENT = 2  # tokens up to which a token at a time is as fast as chunks


def _operator(name):
    return torch.library.custom_op("hopbound::" + name, mutates_args=(), device_types="cpu")


def _step(name):
    """One that overwrites its `state` and has no gradients: a token of a decoder. Where a token takes microseconds, so do the
    ways that lead to gradients."""
    def register(function):
        torch.library.define("hopbound::" + name, torch.library.infer_schema(function, mutates_args=("state",)))
        torch.library.impl("hopbound::" + name, "CPU", function)
        return getattr(torch.ops.hopbound, name).default
    return register


# ---- recurrences -------------------------------------------------------------------------------


def _scan_sizes(what, q, v, g, tokens):
    form = 1 if tokens <= _RECURRENT else 0
    return (what, _GATES[None if g is None else g.dim()], form, v.shape[0], tokens, v.shape[2], q.shape[2], q.shape[3], v.shape[3])


def _gate_told(g):
    return shared(g) if g is not None and g.dim() == 1 else told(g)


def _scan_arrays(q, k, v, g, beta, a, b, u, i, f):
    return (told(q), told(k), told(v), _gate_told(g), told(beta), told(a), told(b), shared(u), told(i), told(f))


def _laid(q, k, v, g, beta, a, b, u, i, f):
    """As the kernel wants them: dense rows, a and b where k's are, i where f's."""
    q, k, v = dense(q), dense(k), dense(v)
    g, beta, a, b, i, f = (plain(x) for x in (g, beta, a, b, i, f))
    if a is not None:
        k = plain(k)
    return q, k, v, g, beta, a, b, plain(u), i, f


def _scan_run(what, given, state, scale):
    given = _laid(*given)
    q, _, v, g = given[:4]
    o = v.new_empty(v.shape)
    call("scan", _scan_sizes(what, q, v, g, v.shape[1]), (told(o), kept(state), *_scan_arrays(*given)), scale)
    return o


def state_shape(what, q, v):
    batch, heads, K, V = v.shape[0], v.shape[2], q.shape[3], v.shape[3]
    return (batch, heads, K * V + K + 1) if what == MLSTM else (batch, heads, K, V)


@_operator("scan")
def scan(what: int, q: Tensor, k: Tensor, v: Tensor, g: Optional[Tensor], beta: Optional[Tensor], a: Optional[Tensor],
         b: Optional[Tensor], u: Optional[Tensor], i: Optional[Tensor], f: Optional[Tensor], state: Optional[Tensor],
         scale: float, keep: bool) -> Tuple[Tensor, Tensor]:
    """The outputs and, if `keep`, the state after the last token."""
    if state is not None:
        last = state.clone(memory_format=torch.contiguous_format)
    elif keep:
        last = v.new_zeros(state_shape(what, q, v))
    else:
        last = None
    o = _scan_run(what, (q, k, v, g, beta, a, b, u, i, f), last, scale)
    return o, last if keep else v.new_empty(0)


@scan.register_fake
def _(what, q, k, v, g, beta, a, b, u, i, f, state, scale, keep):
    return v.new_empty(v.shape), v.new_empty(state_shape(what, q, v) if keep else 0)


@_step("scan_step")
def scan_step(what: int, q: Tensor, k: Tensor, v: Tensor, g: Optional[Tensor], beta: Optional[Tensor], a: Optional[Tensor],
              b: Optional[Tensor], u: Optional[Tensor], i: Optional[Tensor], f: Optional[Tensor], state: Tensor,
              scale: float) -> Tensor:
    """The same where nothing asks for gradients: the state is overwritten with that after the last token."""
    where = state if state.is_contiguous() else state.contiguous()
    o = _scan_run(what, (q, k, v, g, beta, a, b, u, i, f), where, scale)
    if where is not state:
        state.copy_(where)
    return o


@torch.library.register_fake("hopbound::scan_step")
def _(what, q, k, v, g, beta, a, b, u, i, f, state, scale):
    return v.new_empty(v.shape)


@_operator("scan_backward")
def scan_backward(what: int, d_o: Tensor, q: Tensor, k: Tensor, v: Tensor, g: Optional[Tensor], beta: Optional[Tensor],
                  a: Optional[Tensor], b: Optional[Tensor], u: Optional[Tensor], i: Optional[Tensor], f: Optional[Tensor],
                  state: Optional[Tensor], scale: float) -> List[Tensor]:
    """Gradients of what is given, in this order: q, k, v, g, beta, a, b, u, i, f, state."""
    given = tuple(plain(x) for x in (q, k, v, g, beta, a, b, u, i, f))
    state, d_o = plain(state), plain(d_o)
    # what all sequences share has a gradient from each
    alone = [x is not None and (x is given[7] or (x is given[3] and x.dim() == 1)) for x in given]
    grads = [None if x is None else v.new_empty((v.shape[0], *x.shape) if own else x.shape) for x, own in zip(given, alone)]
    d_state = None if state is None else torch.empty_like(state)
    sizes = _scan_sizes(what, q, v, g, v.shape[1])
    call("scan_backward", sizes, (told(d_o), kept(state), *_scan_arrays(*given), kept(d_state),
                                  *(kept(x) if own else told(x) for x, own in zip(grads, alone))), scale)
    found = [x.sum(0) if own else x for x, own in zip(grads, alone) if x is not None]
    return found if d_state is None else [*found, d_state]


@scan_backward.register_fake
def _(what, d_o, q, k, v, g, beta, a, b, u, i, f, state, scale):
    return [x.new_empty(x.shape) for x in (q, k, v, g, beta, a, b, u, i, f, state) if x is not None]


def _scan_context(ctx, inputs, output):
    what, *tensors, scale, _ = inputs
    ctx.what, ctx.scale = what, scale
    ctx.save_for_backward(*tensors)
    ctx.set_materialize_grads(False)


def _read_out(what, d_o, d_last, tensors, scale):
    """The gradient of the last state, as a gradient of outputs: K more tokens which change nothing read one row of the state
    each."""
    if what == MLSTM:
        raise NotImplementedError("hopbound.torch.mlstm: no gradient goes through its last state")
    q, k, v, g, beta, a, b, u, i, f, state = tensors
    batch, tokens, heads, V = v.shape
    K = q.shape[3]

    def more(x):
        return None if x is None else torch.cat([x, x.new_zeros(batch, K, *x.shape[2:])], 1)
    if g is not None and g.dim() == 1:
        g = g.expand(batch, tokens, heads)
    eye = torch.eye(K, dtype=q.dtype)[None, :, None].expand(batch, K, q.shape[2], K)
    d_o = v.new_zeros(v.shape) if d_o is None else d_o
    d_o = torch.cat([d_o, d_last.transpose(1, 2) / scale], 1)
    return d_o, (torch.cat([q, eye], 1), more(k), more(v), more(g), more(beta), more(a), more(b), u, i, f, state)


def _scan_grads(ctx, d_o, d_last):
    tensors, tokens = ctx.saved_tensors, ctx.saved_tensors[2].shape[1]
    if d_o is None and d_last is None:
        return (None,) * (len(tensors) + 3)
    if d_last is not None:
        d_o, tensors = _read_out(ctx.what, d_o, d_last, tensors, ctx.scale)
    found = iter(scan_backward(ctx.what, d_o, *tensors, ctx.scale))
    grads = [None if x is None else next(found) for x in tensors]
    if d_last is not None:  # without what was added
        for n, x in enumerate(ctx.saved_tensors[:10]):
            if x is not None and n != 7:
                grads[n] = grads[n][:, :tokens] if x.dim() > 1 else grads[n][:, :tokens].sum((0, 1))
    return (None, *grads, None, None)


scan.register_autograd(_scan_grads, setup_context=_scan_context)


# ---- Mamba's ------------------------------------------------------------------------------------


def _selective_sizes(x, A):
    return x.shape[0], x.shape[1], x.shape[2], A.shape[1]


def _selective_run(x, delta, A, B, C, D, state):
    x, delta, B, C = (dense(y) for y in (x, delta, B, C))
    A, D = plain(A), plain(D)
    o = x.new_empty(x.shape)
    call("selective", _selective_sizes(x, A),
         (told(o), kept(state), told(x), told(delta), shared(A), told(B), told(C), shared(D)))
    return o


@_operator("selective")
def selective(x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Optional[Tensor], state: Optional[Tensor],
              keep: bool) -> Tuple[Tensor, Tensor]:
    if state is not None:
        last = state.clone(memory_format=torch.contiguous_format)
    else:
        last = x.new_zeros(x.shape[0], *A.shape) if keep else None
    o = _selective_run(x, delta, A, B, C, D, last)
    return o, last if keep else x.new_empty(0)


@selective.register_fake
def _(x, delta, A, B, C, D, state, keep):
    return x.new_empty(x.shape), x.new_empty((x.shape[0], *A.shape) if keep else 0)


@_step("selective_step")
def selective_step(x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Optional[Tensor], state: Tensor) -> Tensor:
    where = state if state.is_contiguous() else state.contiguous()
    o = _selective_run(x, delta, A, B, C, D, where)
    if where is not state:
        state.copy_(where)
    return o


@torch.library.register_fake("hopbound::selective_step")
def _(x, delta, A, B, C, D, state):
    return x.new_empty(x.shape)


@_operator("selective_backward")
def selective_backward(d_o: Tensor, x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Optional[Tensor],
                       state: Optional[Tensor]) -> List[Tensor]:
    """Gradients of what is given, in this order."""
    d_o, x, delta, A, B, C, D, state = (plain(y) for y in (d_o, x, delta, A, B, C, D, state))
    batch = x.shape[0]
    dx, ddelta, dB, dC = (torch.empty_like(y) for y in (x, delta, B, C))
    dA = x.new_empty(batch, *A.shape)
    dD = None if D is None else x.new_empty(batch, *D.shape)
    d_state = None if state is None else torch.empty_like(state)
    call("selective_backward", _selective_sizes(x, A),
         (told(d_o), kept(state), told(x), told(delta), shared(A), told(B), told(C), shared(D),
          kept(d_state), told(dx), told(ddelta), kept(dA), told(dB), told(dC), kept(dD)))
    found = [dx, ddelta, dA.sum(0), dB, dC] + ([] if D is None else [dD.sum(0)])
    return found if d_state is None else [*found, d_state]


@selective_backward.register_fake
def _(d_o, x, delta, A, B, C, D, state):
    return [y.new_empty(y.shape) for y in (x, delta, A, B, C, D, state) if y is not None]


def _selective_context(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:-1])
    ctx.set_materialize_grads(False)


def _selective_grads(ctx, d_o, d_last):
    tensors = ctx.saved_tensors
    if d_o is None and d_last is None:
        return (None,) * 8
    x, delta, A, B, C, D, state = tensors
    tokens, states = x.shape[1], A.shape[1]
    if d_last is not None:  # as _read_out: a token for each number that a channel keeps
        def more(y):
            return torch.cat([y, y.new_zeros(y.shape[0], states, y.shape[2])], 1)
        d_o = x.new_zeros(x.shape) if d_o is None else d_o
        d_o = torch.cat([d_o, d_last.transpose(1, 2)], 1)
        eye = torch.eye(states, dtype=x.dtype).expand(x.shape[0], states, states)
        tensors = more(x), more(delta), A, more(B), torch.cat([C, eye], 1), D, state
    found = iter(selective_backward(d_o, *tensors))
    grads = [None if y is None else next(found) for y in tensors]
    if d_last is not None:
        for n in (0, 1, 3, 4):
            grads[n] = grads[n][:, :tokens]
    return (*grads, None)


selective.register_autograd(_selective_grads, setup_context=_selective_context)


# ---- short convolution ----------------------------------------------------------------------------


def _conv_sizes(x, w, silu):
    return (*x.shape, w.shape[1], int(silu))


@_operator("conv")
def conv(x: Tensor, w: Tensor, bias: Optional[Tensor], past: Optional[Tensor], silu: bool) -> Tensor:
    x, w, bias = dense(x), plain(w), plain(bias)
    past = None if past is None else past.clone(memory_format=torch.contiguous_format)
    y = x.new_empty(x.shape)
    call("conv", _conv_sizes(x, w, silu), (told(y), kept(past), told(x), shared(w), shared(bias)))
    return y


@conv.register_fake
def _(x, w, bias, past, silu):
    return x.new_empty(x.shape)


@_operator("conv_backward")
def conv_backward(dy: Tensor, x: Tensor, w: Tensor, bias: Optional[Tensor], past: Optional[Tensor], silu: bool) -> List[Tensor]:
    """Gradients of what is given, in this order."""
    dy, x, w, bias, past = dense(dy), plain(x), plain(w), plain(bias), plain(past)
    dx, dw = torch.empty_like(x), torch.zeros_like(w)
    dbias = None if bias is None else torch.zeros_like(bias)
    dpast = None if past is None else torch.zeros_like(past)
    call("conv_backward", _conv_sizes(x, w, silu),
         (told(dy), kept(past), told(x), shared(w), shared(bias), kept(dpast), told(dx), shared(dw), shared(dbias)))
    return [y for y in (dx, dw, dbias, dpast) if y is not None]


@conv_backward.register_fake
def _(dy, x, w, bias, past, silu):
    return [y.new_empty(y.shape) for y in (x, w, bias, past) if y is not None]


def _conv_context(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:4])
    ctx.silu = inputs[4]


def _conv_grads(ctx, dy):
    found = iter(conv_backward(dy, *ctx.saved_tensors, ctx.silu))
    return (*(None if y is None else next(found) for y in ctx.saved_tensors), None)


conv.register_autograd(_conv_grads, setup_context=_conv_context)


@_step("conv_step")
def conv_step(x: Tensor, state: Tensor, w: Tensor, bias: Optional[Tensor], silu: bool) -> Tensor:
    """One token, as decoders keep their inputs: x [B, W, 1], state [B, W, P] is moved on by it, P >= taps."""
    x, w, bias = plain(x), plain(w), plain(bias)
    y = torch.empty_like(x)
    call("conv_step", (x.shape[0], x.shape[1], w.shape[1], state.shape[2], int(silu)),
         (kept(y), kept(state), kept(x), shared(w), shared(bias)))
    return y


@torch.library.register_fake("hopbound::conv_step")
def _(x, state, w, bias, silu):
    return x.new_empty(x.shape)


# ---- attention --------------------------------------------------------------------------------------


def _attention_sizes(q, k, v, window, causal):
    return (q.shape[0], k.shape[1], q.shape[1], q.shape[2], k.shape[2], q.shape[3], v.shape[3], window, int(not causal))


@_operator("attention")
def attention(q: Tensor, k: Tensor, v: Tensor, scale: float, window: int, causal: bool) -> Tuple[Tensor, Tensor]:
    """The outputs, and the logarithms of the sums of exponentials [sequences, heads, queries]."""
    q, k, v = dense(q), dense(k), dense(v)
    o = q.new_empty(*q.shape[:3], v.shape[3])
    lse = q.new_empty(q.shape[0], q.shape[2], q.shape[1])
    call("attention", _attention_sizes(q, k, v, window, causal), (told(o), kept(lse), told(q), told(k), told(v)), scale)
    return o, lse


@attention.register_fake
def _(q, k, v, scale, window, causal):
    return q.new_empty(*q.shape[:3], v.shape[3]), q.new_empty(q.shape[0], q.shape[2], q.shape[1])


@_operator("attention_backward")
def attention_backward(d_o: Tensor, o: Tensor, lse: Tensor, q: Tensor, k: Tensor, v: Tensor, scale: float, window: int,
                       causal: bool) -> List[Tensor]:
    d_o, o, lse, q, k, v = (plain(x) for x in (d_o, o, lse, q, k, v))
    grads = [torch.empty_like(x) for x in (q, k, v)]
    call("attention_backward", _attention_sizes(q, k, v, window, causal),
         (told(o), kept(lse), told(q), told(k), told(v), told(d_o), *(told(x) for x in grads)), scale)
    return grads


@attention_backward.register_fake
def _(d_o, o, lse, q, k, v, scale, window, causal):
    return [x.new_empty(x.shape) for x in (q, k, v)]


def _attention_context(ctx, inputs, output):
    ctx.rest = inputs[3:]
    ctx.save_for_backward(*output, *inputs[:3])
    ctx.mark_non_differentiable(output[1])


def _attention_grads(ctx, d_o, _):
    return (*attention_backward(d_o, *ctx.saved_tensors, *ctx.rest), None, None, None)


attention.register_autograd(_attention_grads, setup_context=_attention_context)
