#!/usr/bin/env python3
"""hopbound.torch beside plain loops in double precision: outputs, states, gradients; torch's own checks of operators; compiled;
the same bits with any number of threads. operators.py LIBRARY."""
import os
import pathlib
import sys
import unittest

import own

own.python("hf operators")
os.environ["HOPBOUND_LIBRARY"] = os.path.abspath(sys.argv[1])
sys.path.insert(0, str(own.ROOT / "python"))
import torch  # noqa: E402
import hopbound  # noqa: E402
import hopbound.torch as ht  # noqa: E402
from hopbound.torch import _ops  # noqa: E402

B, T, G, H, K, V = 2, 37, 2, 4, 10, 7
NEAR = 2e-5  # of the largest number; float32 against double, sums of some hundred terms


def shared(x, heads):
    return x.repeat_interleave(heads // x.shape[2], 2)


def spread(g, batch, tokens, heads):
    """A decay as [B, T, H, K or 1]."""
    if g is None:
        return torch.zeros(batch, tokens, heads, 1, dtype=torch.float64)
    return g.expand(batch, tokens, heads)[..., None] if g.dim() < 4 else g


def linear(q, k, v, g, state, scale, rule):
    """One token after the other: rule(old state, its decayed self, t) is the new state and what is read."""
    q, k, g = shared(q, v.shape[2]), shared(k, v.shape[2]), spread(g, *v.shape[:3])
    out = []
    for t in range(v.shape[1]):
        state, seen = rule(state, state * g[:, t].exp()[..., None], q[:, t], k[:, t], v[:, t], t)
        out.append(scale * (seen * q[:, t][..., None]).sum(-2))
    return torch.stack(out, 1), state


def outer(k, v):
    return k[..., None] * v[..., None, :]


def read(k, state):
    return (state * k[..., None]).sum(-2)


def decay(q, k, v, g, u, state, scale):
    def rule(old, faded, q, k, v, t):
        new = faded + outer(k, v)
        return new, new if u is None else old + u[..., None] * outer(k, v)
    return linear(q, k, v, g, state, scale, rule)


def gated_delta(q, k, v, g, beta, state, scale):
    def rule(old, faded, q, k, v, t):
        new = faded + outer(k, (v - read(k, faded)) * beta[:, t][..., None])
        return new, new
    return linear(q, k, v, g, state, scale, rule)


def dplr(q, k, v, a, b, g, state, scale):
    def rule(old, faded, q, k, v, t):
        new = faded + outer(b[:, t], read(a[:, t], old)) + outer(k, v)
        return new, new
    return linear(q, k, v, g, state, scale, rule)


def mlstm(q, k, v, i, f, scale):
    q, k = shared(q, v.shape[2]), shared(k, v.shape[2])
    C, n, m, out = 0.0, 0.0, torch.zeros(v.shape[0], v.shape[2], dtype=torch.float64), []
    for t in range(v.shape[1]):
        f_t = torch.nn.functional.logsigmoid(f[:, t]) + m
        m = torch.maximum(f_t, i[:, t])
        C = (f_t - m).exp()[..., None, None] * C + (i[:, t] - m).exp()[..., None, None] * outer(k[:, t], v[:, t])
        n = (f_t - m).exp()[..., None] * n + (i[:, t] - m).exp()[..., None] * k[:, t]
        under = torch.maximum((scale * (q[:, t] * n).sum(-1)).abs(), (-m).exp()) + 1e-6
        out.append(scale * read(q[:, t], C) / under[..., None])
    return torch.stack(out, 1)


def selective(x, delta, A, B, C, D, state):
    out = []
    for t in range(x.shape[1]):
        state = (delta[:, t][..., None] * A).exp() * state + (delta[:, t] * x[:, t])[..., None] * B[:, t][:, None]
        out.append((state * C[:, t][:, None]).sum(-1) + D * x[:, t])
    return torch.stack(out, 1), state


def mamba2(x, dt, A, B, C, D, state):
    y, last = decay(C, B, x * dt[..., None], dt * A, None, state.transpose(2, 3), 1.0)
    return y + D[:, None] * x, last.transpose(2, 3)


def conv(x, w, bias, past):
    row = torch.cat([past, x], 1)
    y = sum(row[:, j:j + x.shape[1]] * w[:, j] for j in range(w.shape[1])) + bias
    return torch.nn.functional.silu(y), row[:, x.shape[1]:]


def attention(q, k, v, scale, window):
    k, v = shared(k, q.shape[2]), shared(v, q.shape[2])
    at = torch.arange(k.shape[1] - q.shape[1], k.shape[1])[:, None] - torch.arange(k.shape[1])
    seen = (at >= 0) & (at < (window or k.shape[1]))
    scores = torch.einsum("bqhk,bthk->bhqt", q, k) * scale
    return torch.einsum("bhqt,bthv->bqhv", scores.masked_fill(~seen, -torch.inf).softmax(-1), v)


def normal(*shape):
    return torch.randn(shape)


def heads(tokens=T, keys=G):
    return normal(B, tokens, keys, K), normal(B, tokens, keys, K) / K ** 0.5, normal(B, tokens, H, V)


def gates():
    """Every shape that a decay may have."""
    return {"none": None, "a head": -torch.rand(H), "a token": -torch.rand(B, T, H), "a key": -torch.rand(B, T, H, K)}


class Operators(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch.set_num_threads(2)

    def close(self, found, truth, what):
        for n, (x, y) in enumerate(zip(found, truth)):
            self.assertEqual(x.shape, y.shape)
            self.assertLess(((x.double() - y).abs().max() / y.abs().max()).item(), NEAR, f"{what}: number {n}")

    def both(self, ours, loop, tensors, what):
        """Outputs, and gradients of a sum of all of them with random weights, of every tensor."""
        here = [None if x is None else x.detach().clone().requires_grad_() for x in tensors]
        there = [None if x is None else x.detach().double().requires_grad_() for x in tensors]
        found, truth = ours(*here), loop(*there)
        found, truth = (x if isinstance(x, tuple) else (x,) for x in (found, truth))
        self.close(found, truth, what)
        weights = [torch.randn_like(x) for x in found]
        grads = torch.autograd.grad(sum((x * w).sum() for x, w in zip(found, weights)), [x for x in here if x is not None])
        right = torch.autograd.grad(sum((x * w).sum() for x, w in zip(truth, weights)), [x for x in there if x is not None])
        self.close(grads, right, what + ", gradients")

    def test_decay_is_the_loop_with_its_gradients(self):
        for what, g in gates().items():
            for u in (None, normal(H, K)):
                self.both(lambda q, k, v, g, u, s: ht.decay(q, k, v, g, u=u, initial_state=s, output_final_state=True),
                          lambda q, k, v, g, u, s: decay(q, k, v, g, u, s, K ** -0.5), (*heads(), g, u, normal(B, H, K, V)), what)

    def test_gated_delta_and_kda_are_the_loop_with_their_gradients(self):
        for what, g in gates().items():
            self.both(lambda q, k, v, g, b, s: ht.gated_delta(q, k, v, g, b, initial_state=s, output_final_state=True, scale=0.7),
                      lambda q, k, v, g, b, s: gated_delta(q, k, v, g, b, s, 0.7),
                      (*heads(), g, torch.rand(B, T, H), normal(B, H, K, V)), what)

    def test_the_norm_of_keys_is_the_one_of_others(self):
        q, k, v = heads()
        g, beta = -torch.rand(B, T, H), torch.rand(B, T, H)
        def unit(x):
            return x / (x.square().sum(-1, keepdim=True) + 1e-6).sqrt()
        zero = torch.zeros(B, H, K, V, dtype=torch.float64)
        self.both(lambda *x: ht.gated_delta(*x, use_qk_l2norm_in_kernel=True)[0],
                  lambda q, k, *x: gated_delta(unit(q), unit(k), *x, zero, K ** -0.5)[0], (q, k, v, g, beta), "norm")

    def test_dplr_is_the_loop_with_its_gradients(self):
        for g in (None, -torch.rand(B, T, H, K)):
            a, b = normal(B, T, H, K) / K, normal(B, T, H, K) / K
            self.both(lambda q, k, v, a, b, g, s: ht.dplr(q, k, v, a, b, g, initial_state=s, output_final_state=True),
                      lambda q, k, v, a, b, g, s: dplr(q, k, v, a, b, g, s, 1.0),
                      (*heads(keys=H), a, b, g, normal(B, H, K, V)), "dplr")

    def test_mlstm_is_the_loop_with_its_gradients(self):
        self.both(lambda *x: ht.mlstm(*x)[0], lambda *x: mlstm(*x, K ** -0.5), (*heads(), normal(B, T, H), normal(B, T, H) + 2), "mlstm")
        q, k, v = (x.requires_grad_() for x in heads())
        _, last = ht.mlstm(q, k, v, normal(B, T, H), normal(B, T, H), output_final_state=True)
        with self.assertRaises(NotImplementedError):
            last.sum().backward()

    def test_the_scans_of_mamba_are_the_loop_with_their_gradients(self):
        W, N = 35, 6
        self.both(lambda x, d, A, B, C, D, s: ht.selective(x, d, A, B, C, D, initial_state=s, output_final_state=True), selective,
                  (normal(B, T, W), torch.rand(B, T, W), -torch.rand(W, N), normal(B, T, N), normal(B, T, N), normal(W),
                   normal(B, W, N)), "selective")
        self.both(lambda x, d, A, B, C, D, s: ht.mamba2(x, d, A, B, C, D, initial_state=s, output_final_state=True), mamba2,
                  (normal(B, T, H, V), torch.rand(B, T, H), -torch.rand(H), normal(B, T, G, K), normal(B, T, G, K), normal(H),
                   normal(B, H, V, K)), "mamba2")

    def test_convolution_is_the_loop_with_its_gradients(self):
        for tokens, width, taps in ((T, 300, 4), (70, 257, 4), (2, 17, 4), (40, 30, 7)):
            self.both(lambda x, w, b, p: ht.conv(x, w, b, silu=True, initial_state=p, output_final_state=True), conv,
                      (normal(B, tokens, width), normal(width, taps), normal(width), normal(B, taps - 1, width)),
                      f"{tokens} tokens, {width} wide, {taps} taps")
        self.both(lambda x, w, b: ht.conv(x, w, b, silu=True)[0], lambda x, w, b: conv(x, w, b, x[:, :0])[0],
                  (normal(B, T, 20), normal(20, 1), normal(20)), "one tap")

    def test_attention_is_the_loop_with_its_gradients(self):
        for queries, window in ((T, None), (T, 9), (5, None), (1, 4)):
            self.both(lambda q, k, v: ht.attention(q, k, v, window=window), lambda q, k, v: attention(q, k, v, K ** -0.5, window),
                      (normal(B, queries, H, K), normal(B, T, G, K), normal(B, T, G, V)), f"{queries} queries, window {window}")

    def test_views_give_what_copies_give(self):
        row = normal(B, T, 2 * G * K + H * V)
        q, k, v = row.split([G * K, G * K, H * V], -1)
        q, k, v = q.view(B, T, G, K), k.view(B, T, G, K), v.view(B, T, H, V)
        g, beta = -torch.rand(B, H, T).transpose(1, 2), torch.rand(B, T, H)
        near = ht.gated_delta(q, k, v, g, beta)[0]
        self.assertTrue(torch.equal(near, ht.gated_delta(q.clone(), k.clone(), v.clone(), g.contiguous(), beta)[0]))
        x = normal(B, 50, T).transpose(1, 2)
        self.assertTrue(torch.equal(ht.conv(x, normal(50, 4).fill_(0.3))[0], ht.conv(x.contiguous(), normal(50, 4).fill_(0.3))[0]))

    def test_a_sequence_in_parts_is_the_sequence(self):
        (q, k, v), g, beta = heads(), -torch.rand(B, T, H), torch.rand(B, T, H)
        whole, end = ht.gated_delta(q, k, v, g, beta, output_final_state=True)
        state, parts = None, []
        for first, last in ((0, 20), (20, 21), (21, 22), (22, T)):
            o, state = ht.gated_delta(*(x[:, first:last] for x in (q, k, v, g, beta)), initial_state=state, output_final_state=True)
            parts.append(o)
        self.close((torch.cat(parts, 1), state), (whole.double(), end.double()), "parts")

    def test_bits_do_not_depend_on_threads(self):
        def run(threads):
            torch.set_num_threads(threads)
            torch.manual_seed(1)
            found = []
            for batch in (1, 2, 8):
                xs = [x.requires_grad_() for x in (normal(batch, 90, 4, 32), normal(batch, 90, 4, 32) / 6, normal(batch, 90, 8, 32),
                                                   -torch.rand(batch, 90, 8), torch.rand(batch, 90, 8))]
                o, _ = ht.gated_delta(*xs)
                y, _ = ht.conv(o.reshape(batch, 90, 256), normal(256, 4), silu=True)
                found += [o, y, *torch.autograd.grad(y.sin().sum(), xs)]
            return found
        one, two, three = run(1), run(2), run(3)
        self.assertTrue(all(torch.equal(x, y) and torch.equal(x, z) for x, y, z in zip(one, two, three)))

    def test_compiled_is_what_is_not_compiled(self):
        (q, k, v), g, beta = heads(), -torch.rand(B, T, H), torch.rand(B, T, H)
        w = normal(H * V, 4)

        def net(q, k, v, g, beta, w):
            o, state = ht.gated_delta(q, k, v, g, beta, output_final_state=True, use_qk_l2norm_in_kernel=True)
            y, _ = ht.conv(o.flatten(2), w, silu=True)
            return y.sin(), state
        xs = [x.requires_grad_() for x in (q, k, v, g, beta, w)]
        plain, compiled = net(*xs), torch.compile(net, fullgraph=True, backend="aot_eager")(*xs)
        self.close(compiled, [x.double() for x in plain], "compiled")
        right = torch.autograd.grad(plain[0].sum(), xs)
        self.close(torch.autograd.grad(compiled[0].sum(), xs), [x.double() for x in right], "compiled, gradients")

    def test_torch_finds_the_operators_right(self):
        def grad(x):
            return x.requires_grad_()
        (q, k, v), g, beta, state = heads(9), -torch.rand(B, 9, H), torch.rand(B, 9, H), normal(B, H, K, V)
        none = (None,) * 5
        asked = {
            _ops.scan: (_ops.DELTA, grad(q), grad(k), grad(v), grad(g), grad(beta), *none, grad(state), 0.5, True),
            _ops.scan_step: (_ops.DELTA, *(x.detach() for x in (q, k, v, g, beta)), *none, state.detach().clone(), 0.5),
            _ops.conv: (grad(normal(B, 9, 20)), grad(normal(20, 4)), grad(normal(20)), None, True),
            _ops.conv_step: (normal(B, 20, 1), normal(B, 20, 4), normal(20, 4), normal(20), True),
            _ops.selective: (grad(normal(B, 9, 20)), grad(torch.rand(B, 9, 20)), grad(-torch.rand(20, 3)), grad(normal(B, 9, 3)),
                             grad(normal(B, 9, 3)), grad(normal(20)), None, True),
            _ops.attention: (grad(normal(B, 9, H, K)), grad(normal(B, 9, G, K)), grad(normal(B, 9, G, V)), 0.3, 0, True),
        }
        for operator, arguments in asked.items():
            torch.library.opcheck(operator, arguments)

    def test_what_is_wrong_is_said_in_one_line(self):
        (q, k, v), beta = heads(), torch.rand(B, T, H)
        for call, part in ((lambda: ht.gated_delta(q.double(), k, v), "float32"), (lambda: ht.gated_delta(q, k[:, 1:], v), "k is"),
                           (lambda: ht.gated_delta(q, k, v, beta=beta[0]), "dimensions"), (lambda: ht.decay(q, k, v[:, :, :3]), "share"),
                           (lambda: ht.kda(q, k, v, beta, beta), "kda"), (lambda: ht.decay(q[:, :0], k[:, :0], v[:, :0]), "is 0"),
                           (lambda: ht.conv(normal(B, T, 8), normal(8, 65)), "taps"), (lambda: ht.attention(q, k[:, 1:], v[:, 1:, :G]), "queries"),
                           (lambda: ht.decay(q.tolist(), k, v), "list"), (lambda: ht.mlstm(q, k, v, beta, beta, initial_state=normal(B, H, 3)), "K*V"),
                           (lambda: ht.patch(torch.nn.Linear(2, 2)), "Linear"), (lambda: ht.patch(7), "int")):
            with self.assertRaises(hopbound.Error) as caught:
                call()
            self.assertIn(part, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))


if __name__ == "__main__":
    del sys.argv[1]
    unittest.main(verbosity=1)
