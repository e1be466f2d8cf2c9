"""What people call: shapes are looked at, one line says what is wrong. Batch first, then tokens: q, k [B, T, H, K],
v [B, T, H, V]; there may be fewer heads of q and k than of v, and consecutive heads of v then share one. float32 on CPU."""
import torch
from torch import Tensor

from . import _ops
from ._call import wrong


def _look(function, tensors, **shapes):
    """Every tensor that is there has its shape, told by letters, which stand for one number each."""
    sizes = {}
    for name, letters in shapes.items():
        x = tensors[name]
        if x is None:
            continue
        if not isinstance(x, Tensor) or x.dtype != torch.float32 or x.device.type not in ("cpu", "meta"):
            kind = f"{x.dtype} on {x.device}" if isinstance(x, Tensor) else type(x).__name__
            raise wrong(f"{function}: {name} is {kind}: float32 tensors on a CPU are wanted")
        choices = letters if isinstance(letters, tuple) else (letters,)
        fit = [c for c in choices if len(c) == x.dim()]
        if not fit:
            raise wrong(f"{function}: {name} has {x.dim()} dimensions: {' or '.join(','.join(c) for c in choices)} are wanted")
        for letter, size in zip(fit[0], x.shape):
            if sizes.setdefault(letter, size) != size:
                raise wrong(f"{function}: {name} is {list(x.shape)}, where {','.join(fit[0])} has {letter} = {sizes[letter]}")
    if any(n == 0 for n in sizes.values()):
        raise wrong(f"{function}: a dimension is 0")
    if "H" in sizes and "G" in sizes and sizes["H"] % sizes["G"]:
        raise wrong(f"{function}: {sizes['H']} heads of v cannot share {sizes['G']} of q and k")


def _gradients(*tensors):
    return torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors)


def _scan(what, q, k, v, g, beta, a, b, u, i, f, scale, initial_state, output_final_state):
    scale = q.shape[-1] ** -0.5 if scale is None else float(scale)
    o, last = _ops.scan(what, q, k, v, g, beta, a, b, u, i, f, initial_state, scale, bool(output_final_state))
    return o, last if output_final_state else None


def l2norm(x):
    """x / sqrt(sum of squares + 1e-6) along the last dimension."""
    return x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)


def decay(q, k, v, g=None, *, u=None, scale=None, initial_state=None, output_final_state=False):
    """S = diag(e^g) S + k vᵀ, o = scale·qᵀS: linear attention, RetNet, GLA, HGRN2, Mamba-2, RWKV-6. g, the logarithm of the
    decay, is [H], [B, T, H] or [B, T, H, K]; u [H, K] is RWKV-6's bonus. Returns o [B, T, H, V] and the last state
    [B, H, K, V], or None."""
    _look("decay", locals(), q="BTGK", k="BTGK", v="BTHV", g=("H", "BTH", "BTHK"), u="HK", initial_state="BHKV")
    return _scan(_ops.DECAY, q, k, v, g, None, None, None, u, None, None, scale, initial_state, output_final_state)


def gated_delta(q, k, v, g=None, beta=None, *, scale=None, initial_state=None, output_final_state=False,
                use_qk_l2norm_in_kernel=False):
    """S = e^g S, then S += beta k (v - Sᵀk)ᵀ, o = scale·qᵀS: DeltaNet without g, Gated DeltaNet with g [B, T, H], Kimi Delta
    Attention with g [B, T, H, K]. beta [B, T, H]; None: 1."""
    _look("gated_delta", locals(), q="BTGK", k="BTGK", v="BTHV", g=("H", "BTH", "BTHK"), beta="BTH", initial_state="BHKV")
    if use_qk_l2norm_in_kernel:
        q, k = l2norm(q), l2norm(k)
    beta = v.new_ones(v.shape[:3]) if beta is None else beta
    return _scan(_ops.DELTA, q, k, v, g, beta, None, None, None, None, None, scale, initial_state, output_final_state)


def kda(q, k, v, g, beta, **options):
    """Kimi Delta Attention: gated_delta with a decay for each key element, g [B, T, H, K]."""
    if not isinstance(g, Tensor) or g.dim() != 4:
        raise wrong("kda: g is wanted as B,T,H,K")
    return gated_delta(q, k, v, g, beta, **options)


def dplr(q, k, v, a, b, g=None, *, scale=1.0, initial_state=None, output_final_state=False):
    """S = diag(e^g) S + b (aᵀS) + k vᵀ, where a meets the old S: RWKV-7. g, a, b [B, T, H, K]."""
    _look("dplr", locals(), q="BTHK", k="BTHK", v="BTHV", a="BTHK", b="BTHK", g="BTHK", initial_state="BHKV")
    return _scan(_ops.DPLR, q, k, v, g, None, a, b, None, None, None, scale, initial_state, output_final_state)


def mlstm(q, k, v, i, f, *, scale=None, initial_state=None, output_final_state=False):
    """xLSTM's matrix memory with input gate i, forget gate f [B, T, H] (before their activations), normaliser and
    stabiliser. Its state is [B, H, K*V + K + 1]: matrix, normaliser, stabiliser; no gradient goes through the last one."""
    _look("mlstm", locals(), q="BTGK", k="BTGK", v="BTHV", i="BTH", f="BTH", initial_state="BHS")
    if initial_state is not None and initial_state.shape != _ops.state_shape(_ops.MLSTM, q, v):
        raise wrong(f"mlstm: initial_state is {list(initial_state.shape)}, where B,H,K*V+K+1 is wanted")
    return _scan(_ops.MLSTM, q, k, v, None, None, None, None, None, i, f, scale, initial_state, output_final_state)


def mamba2(x, dt, A, B, C, D=None, *, initial_state=None, output_final_state=False):
    """h = e^(dt A) h + dt x Bᵀ, y = h C + D x. x [B, T, H, P], dt [B, T, H] (after softplus), A and D [H], B and C
    [B, T, G, N]. The state [B, H, P, N] is a view of how `decay` keeps it."""
    _look("mamba2", locals(), x="BTHP", dt="BTH", A="H", B="BTGN", C="BTGN", D="H", initial_state="BHPN")
    start = None if initial_state is None else initial_state.transpose(2, 3)
    y, last = decay(C, B, x * dt[..., None], dt * A, scale=1.0, initial_state=start, output_final_state=output_final_state)
    if D is not None:
        y = torch.addcmul(y, x, D[:, None])
    return y, None if last is None else last.transpose(2, 3)


def selective(x, delta, A, B, C, D=None, *, initial_state=None, output_final_state=False):
    """h = e^(delta A) h + delta B x, y = C·h + D x: Mamba. x and delta (after softplus) [B, T, W], A [W, N], B and C
    [B, T, N], D [W]. Returns y and the last state [B, W, N], or None."""
    _look("selective", locals(), x="BTW", delta="BTW", A="WN", B="BTN", C="BTN", D="W", initial_state="BWN")
    y, last = _ops.selective(x, delta, A, B, C, D, initial_state, bool(output_final_state))
    return y, last if output_final_state else None


def conv(x, weight, bias=None, *, silu=False, initial_state=None, output_final_state=False):
    """Depthwise causal convolution: y_t = bias + sum over j of weight[:, j] x_(t-S+1+j), then SiLU if asked for. x
    [B, T, W], weight [W, S]. The state [B, S - 1, W] is the inputs before. Returns y and the last state, or None."""
    _look("conv", locals(), x="BTW", weight="WS", bias="W", initial_state="BPW")
    size = weight.shape[1]
    if not 1 <= size <= 64 or (initial_state is not None and initial_state.shape[1] != size - 1):
        raise wrong(f"conv: a weight of {size} taps needs S from 1 to 64, and a state of S - 1 inputs")
    y = _ops.conv(x, weight, bias, initial_state, bool(silu))
    if not output_final_state:
        return y, None
    before = x.new_zeros(x.shape[0], size - 1, x.shape[2]) if initial_state is None else initial_state
    return y, torch.cat([before, x], 1)[:, x.shape[1]:]


def attention(q, k, v, *, scale=None, window=None, causal=True):
    """Softmax attention. q [B, Q, H, K], k [B, T, G, K], v [B, T, G, V], where the queries are the last Q of T tokens and
    consecutive query heads share a key head; window: only so many of the last tokens are seen."""
    _look("attention", locals(), q="BQHK", k="BTGK", v="BTGV")
    short = k.shape[1] - q.shape[1]
    if short < 0 or q.shape[2] % k.shape[2]:
        raise wrong(f"attention: {q.shape[1]} queries of {q.shape[2]} heads do not go with {k.shape[1]} keys of {k.shape[2]}")
    if window is not None and window < 1:
        raise wrong("attention: window is at least 1")
    scale = q.shape[-1] ** -0.5 if scale is None else float(scale)
    if short and _gradients(q, k, v):  # gradients are known where every token asks
        q = torch.cat([q.new_zeros(q.shape[0], short, *q.shape[2:]), q], 1)
    o = _ops.attention(q, k, v, scale, window or 0, bool(causal))[0]
    return o[:, -(k.shape[1] - short):] if o.shape[1] != k.shape[1] - short else o
