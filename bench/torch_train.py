"""The training step of bench_train.c in PyTorch, eager, float32: the peer of `hopbound bench --compare torch`.

Pre-norm decoder: token and position tables, mixer (q, k, v and output projections), MLP of 4 d with GELU, final norm,
head of its own, cross entropy at every position, AdamW. Linear mixers in chunks of 64, the delta rule by a triangular
solve. Reads lines "MIXER D SECONDS" and answers with the seconds of each step, three of them having gone before at
the first line of its kind; "ready VERSION" comes first."""
import math, sys, time

try:
    import torch, torch.nn as nn, torch.nn.functional as F
except ImportError:
    print("none", flush=True)
    sys.exit(0)

LAYERS, HEADS, TOKENS, BATCH, VOCAB, CHUNK = 3, 4, 128, 64, 64, 64
torch.set_num_threads(int(sys.argv[1]))
torch.manual_seed(0)


def chunks(x):
    return x.reshape(*x.shape[:2], TOKENS // CHUNK, CHUNK, *x.shape[3:])


def below(decay, diagonal):
    keep = torch.ones(CHUNK, CHUNK, dtype=torch.bool).tril(diagonal)
    return (decay[..., :, None] - decay[..., None, :]).masked_fill(~keep, -math.inf).exp()


def retention(q, k, v, gate):
    q, k, v, c = chunks(q), chunks(k), chunks(v), chunks(gate).cumsum(-1)
    own = (q @ k.transpose(-1, -2) * below(c, 0)) @ v
    new = (k * (c[..., -1:] - c).exp()[..., None]).transpose(-1, -2) @ v
    state, before = torch.zeros_like(new[:, :, 0]), []
    for decay, add in zip(c[..., -1].exp()[..., None, None].unbind(2), new.unbind(2)):
        before.append(state)
        state = state * decay + add
    return (own + (q * c.exp()[..., None]) @ torch.stack(before, 2)).reshape(*q.shape[:2], TOKENS, -1)


def delta(q, k, v, gate, beta):
    q, k, v, c, b = chunks(q), chunks(k), chunks(v), chunks(gate).cumsum(-1), chunks(beta)[..., None]
    pairs = torch.eye(CHUNK) + (k * b) @ k.transpose(-1, -2) * below(c, -1)
    right = torch.cat([v * b, k * b * c.exp()[..., None]], -1)
    solved = torch.linalg.solve_triangular(pairs, right, upper=False, unitriangular=True)
    u, w = solved[..., :v.shape[-1]], solved[..., v.shape[-1]:]
    own, far = q @ k.transpose(-1, -2) * below(c, 0), q * c.exp()[..., None]
    end, decay = k * (c[..., -1:] - c).exp()[..., None], c[..., -1].exp()[..., None, None]
    state, out = torch.zeros(*q.shape[:2], q.shape[-1], v.shape[-1]), []
    for i in range(TOKENS // CHUNK):
        x = u[:, :, i] - w[:, :, i] @ state
        out.append(far[:, :, i] @ state + own[:, :, i] @ x)
        state = state * decay[:, :, i] + end[:, :, i].transpose(-1, -2) @ x
    return torch.stack(out, 2).reshape(*q.shape[:2], TOKENS, -1)


class Block(nn.Module):
    def __init__(self, mixer, d):
        super().__init__()
        self.mixer, self.before, self.after = mixer, nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.gates = nn.Linear(d, {"gdn": 2 * HEADS, "mamba2": HEADS}[mixer]) if mixer in ("gdn", "mamba2") else None
        if mixer == "mamba2":
            self.rate, self.skip = nn.Parameter(torch.zeros(HEADS, 1)), nn.Parameter(torch.ones(HEADS, 1, 1))
        self.register_buffer("mask", torch.full((TOKENS, TOKENS), -math.inf).triu(1))
        self.register_buffer("decay", torch.log1p(-torch.exp2(-5.0 - torch.arange(HEADS)))[None, :, None])

    def mix(self, x):
        q, k, v = self.qkv(x).view(BATCH, TOKENS, 3, HEADS, -1).permute(2, 0, 3, 1, 4).unbind(0)
        if self.mixer == "full":
            return torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + self.mask, -1) @ v
        if self.mixer == "retnet":
            return retention(q / math.sqrt(q.shape[-1]), k, v, self.decay.expand(BATCH, HEADS, TOKENS))
        if self.mixer == "mamba2":
            step = F.softplus(self.gates(x).transpose(1, 2))
            return retention(q, k, v * step[..., None], -self.rate.exp() * step) + self.skip * v
        gate, beta = self.gates(x).transpose(1, 2).chunk(2, 1)
        q, k = F.normalize(q, dim=-1) / math.sqrt(q.shape[-1]), F.normalize(k, dim=-1)
        return delta(q, k, v, -F.softplus(gate), torch.sigmoid(beta))

    def forward(self, x):
        x = x + self.out(self.mix(self.before(x)).transpose(1, 2).reshape(BATCH, TOKENS, -1))
        return x + self.down(F.gelu(self.up(self.after(x))))


class Network(nn.Module):
    def __init__(self, mixer, d):
        super().__init__()
        self.table, self.positions = nn.Embedding(VOCAB, d), nn.Parameter(torch.zeros(TOKENS, d))
        self.blocks = nn.Sequential(*(Block(mixer, d) for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, VOCAB, bias=False)
        self.optimiser = torch.optim.AdamW(self.parameters(), lr=1e-3)

    def step(self):
        x, y = torch.randint(0, VOCAB, (2, BATCH, TOKENS))
        start = time.perf_counter()
        self.optimiser.zero_grad(set_to_none=True)
        logits = self.head(self.norm(self.blocks(self.table(x) + self.positions)))
        F.cross_entropy(logits.view(-1, VOCAB), y.view(-1)).backward()
        self.optimiser.step()
        return time.perf_counter() - start


networks = {}
print("ready", torch.__version__, flush=True)
for line in sys.stdin:
    mixer, d, seconds = line.split()
    if (mixer, d) not in networks:
        networks[mixer, d] = Network(mixer, int(d))
        for _ in range(3):
            networks[mixer, d].step()
    start, took = time.perf_counter(), []
    while not took or (time.perf_counter() - start < float(seconds) and len(took) < 60):
        took.append(networks[mixer, d].step())
    print(*took, flush=True)
