/* hopbound play: runs a network as the proof's communication game, in this process or over the ranks of
 * mpirun, and compares it with the plain pass under the same arithmetic. */
#include "outside.h"
#include "play.h"

#include <stdlib.h>
#include <string.h>

typedef struct play_args {
    common_args common;
    hop_size_args sizes;
    seat_args seats;
    hop_opt_value count, input, bits, no_compare;
} play_args;

/* clang-format off */
#define AT(member) offsetof(play_args, member)
static const hop_opt OPTIONS[] = {
    {"count", 'n', HOP_OPT_INT, AT(count), "N", "4", 1, INT64_MAX, .initial_help = "4; with --input, all",
     .help = "instances to sample; with --input, lines to read at most"},
    {"input", 'i', HOP_OPT_TEXT, AT(input), "FILE",
     .help = "read instances from FILE, as run does; all of one length; - is standard input"},
    {"bits", 0, HOP_OPT_INT, AT(bits), "P", "32", HOP_MIN_NUMBER_BITS, 32,
     .help = "of a number in a message: float32's sign and exponent and P-9 bits of fraction; 16 is "
             "bfloat16"},
    {"no-compare", 0, HOP_OPT_FLAG, AT(no_compare),
     .help = "do not run the plain pass beside it, which needs the memory of the whole sequence in one "
             "process"},
    {0},
};
/* clang-format on */

typedef struct playing {
    const play_args *args;
    hop_transport *transport;
    hop_model *model;
    hop_pool *pool;
    hop_task task;
    bool sized;
    hop_jsonl in;
    bool ended;
    bool together; /* all ranks know how it ends */
    hop_instance one;
    seats seats;
    hop_game *game;
    hop_forward *forward; /* under the game's arithmetic */
    float *hidden;
    hop_forward *ordinary; /* as `run` does */
    play_result result;
} playing;

/* ---- instances ------------------------------------------------------------------------------ */

/* A rank would look at its own players' tokens only, when the others already wait for it. */
static hop_status check_tokens(const playing *p, hop_error *err)
{
    int64_t vocab = hop_model_config(p->model)->vocab;
    for (int64_t t = 0; t < p->one.count; t++)
        if (p->one.tokens[t] < 0 || p->one.tokens[t] >= vocab)
            return hop_fail(err, HOP_ERANGE, "token %d at position %lld is outside the vocabulary of %lld",
                            p->one.tokens[t], (long long)t, (long long)vocab);
    return HOP_OK;
}

/* The next one; p->ended when there is none. */
static hop_status next_instance(playing *p, hop_error *err)
{
    const play_args *a = p->args;
    int64_t number = p->result.instances;
    if (number >= a->count.integer && (!p->in.file || a->count.given)) {
        p->ended = true;
        return HOP_OK;
    }
    if (!p->in.file)
        return hop_instance_sample(&p->one, &p->task, (uint64_t)a->common.seed.integer, (uint64_t)number,
                                   err);
    hop_json_doc doc = {0};
    hop_status s = hop_jsonl_next(&p->in, &doc, err);
    if (s != HOP_OK) return s;
    p->ended = !doc.root;
    if (p->ended) return HOP_OK;
    s = hop_instance_read(&p->one, doc.root, err);
    hop_json_free(&doc);
    if (s == HOP_OK) s = check_tokens(p, err);
    if (s == HOP_OK && p->game && p->one.count != p->result.tokens)
        s = hop_fail(err, HOP_EFORMAT,
                     "%lld tokens where the first instance has %lld: a game is of one length",
                     (long long)p->one.count, (long long)p->result.tokens);
    if (s != HOP_OK) return hop_jsonl_fail(&p->in, s, err);
    if (p->one.asked == 0 && p->sized) hop_instance_solve(&p->one, &p->task);
    return HOP_OK;
}

/* Names the line. Of ranks that a signal stops only the first says so. */
static int fail_at_instance(const playing *p, hop_error *err)
{
    bool signal = err->status == HOP_ESTOPPED || terminal_stopped();
    if (signal && p->transport->rank > 0) return EXIT_FAILED;
    if (p->in.file && !signal) hop_jsonl_fail(&p->in, err->status, err);
    return fail_error(&p->args->common, err);
}

/* ---- the game -------------------------------------------------------------------------------- */

static bool compares(const playing *p)
{
    return !p->args->no_compare.flag && p->transport->rank == 0;
}

/* Numbers of 32 bits are not rounded on their way: what differs from `run` is the order of sums. */
static bool is_near_run(const playing *p)
{
    return !p->args->no_compare.flag && p->args->bits.integer == 32;
}

/* The passes that the game is compared with. */
static int open_passes(playing *p)
{
    const common_args *c = &p->args->common;
    int64_t tokens = p->result.tokens, starts[HOP_MAX_PLAYERS];
    hop_error err = {0};
    hop_cuts cuts = seats_cuts(&p->seats, starts, (int)p->args->bits.integer);
    hop_forward_options plain = {.max_tokens = tokens, .pool = p->pool, .progress = &c->progress};
    if (is_near_run(p) && hop_forward_new(&p->ordinary, p->model, &plain, &err) != HOP_OK)
        return fail_error(c, &err);
    plain.cuts = &cuts;
    if (hop_forward_new(&p->forward, p->model, &plain, &err) != HOP_OK) return fail_error(c, &err);
    p->hidden = hop_alloc(sizeof(float) * (size_t)(tokens * hop_model_config(p->model)->d_model));
    return p->hidden ? EXIT_DONE
                     : fail(c, EXIT_FAILED, "no memory to compare %lld tokens; --no-compare needs less",
                            (long long)tokens);
}

/* What the first instance's length decides. */
static int open_game(playing *p)
{
    const play_args *a = p->args;
    const common_args *c = &a->common;
    int64_t tokens = p->result.tokens = p->one.count;
    hop_error err = {0};
    int code = seats_from_options(c, &a->seats, p->sized ? &p->task : NULL, tokens, &p->seats);
    if (code != EXIT_DONE) return code;
    hop_game_options o = {.players = p->seats.players, .count = p->seats.count, .bits = (int)a->bits.integer};
    o.transport = p->transport;
    o.pool = p->pool;
    o.progress = &c->progress;
    o.instances = p->in.file && !a->count.given ? 0 : a->count.integer;
    if (hop_game_new(&p->game, p->model, &o, &err) != HOP_OK) return fail_at_instance(p, &err);
    return compares(p) ? open_passes(p) : EXIT_DONE;
}

static void score(playing *p)
{
    const hop_instance *i = &p->one;
    int64_t right = 0;
    for (int64_t t = 0; t < i->count; t++) right += i->targets[t] >= 0 && i->answers[t] == i->targets[t];
    p->result.with_answer += i->asked > 0;
    p->result.correct += i->asked > 0 && right == i->asked;
}

/* How far the logits are from `run`'s wherever an answer is wanted; where none is known, at the end. */
static hop_status measure(playing *p, hop_error *err)
{
    const hop_instance *i = &p->one;
    int64_t vocab = hop_model_config(p->model)->vocab;
    bool several = i->asked > 0 && !hop_instance_ends_in_answer(i);
    float *logits =
        p->ordinary ? hop_alloc(sizeof(float) * (size_t)(vocab * (several ? i->count : 1))) : NULL;
    if (p->ordinary && !logits)
        return hop_fail(err, HOP_ENOMEM, "no memory for the logits of %lld tokens; --no-compare needs less",
                        (long long)i->count);
    hop_status s = HOP_OK;
    if (p->ordinary)
        s = (several ? hop_forward_all : hop_forward_logits)(p->ordinary, i->tokens, i->count, logits, err);
    for (int64_t t = several ? 0 : i->count - 1; s == HOP_OK && t < i->count; t++) {
        double part = 0;
        if (several && i->targets[t] < 0) continue;
        s = hop_game_difference(p->game, t, logits ? logits + (several ? t * vocab : 0) : NULL, &part, err);
        if (part > p->result.difference) p->result.difference = part;
    }
    hop_free(logits);
    return s;
}

static hop_status play_one(playing *p, hop_error *err)
{
    bool same = true;
    hop_status s = hop_game_play(p->game, p->one.tokens, err);
    if (s == HOP_OK) s = hop_game_count(p->game, err);
    if (s == HOP_OK) s = hop_game_answers(p->game, p->one.targets, p->one.answers, err);
    if (s == HOP_OK && p->forward)
        s = hop_forward_hidden(p->forward, p->one.tokens, p->one.count, p->hidden, err);
    if (s == HOP_OK && !p->args->no_compare.flag) s = hop_game_compare(p->game, p->hidden, &same, err);
    if (s == HOP_OK && is_near_run(p)) s = measure(p, err);
    if (s != HOP_OK) return s;
    if (!same) p->result.identical = false;
    score(p);
    p->result.instances++;
    return HOP_OK;
}

/* ---- ranks in step ---------------------------------------------------------------------------- */

static uint64_t fold(uint64_t h, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) h = (h ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return h; /* FNV-1a */
}

/* Of all that decides which messages come next: ranks that differ in it would wait for each other. */
static int64_t digest(const playing *p)
{
    const hop_config *c = hop_model_config(p->model);
    const int64_t sizes[] = {
        p->ended,          p->args->bits.integer, p->args->no_compare.flag, p->seats.count, c->d_model,
        c->pattern.layers, p->one.count};
    uint64_t h = fold(0xcbf29ce484222325u, sizes, sizeof sizes);
    for (int i = 0; i < p->seats.count; i++) h = fold(h, &p->seats.players[i].first, sizeof(int64_t));
    h = fold(h, p->one.tokens, sizeof *p->one.tokens * (size_t)p->one.count);
    return (int64_t)(fold(h, p->one.targets, sizeof *p->one.targets * (size_t)p->one.count) >> 1);
}

/* Whether all ranks did their step, and are where rank 0 is; p->together when they all know that not. */
static int compare_ranks(playing *p, int code)
{
    hop_transport *t = p->transport;
    hop_error err = {0};
    int64_t mine = code == EXIT_DONE ? digest(p) : 0, first = mine;
    if (t->broadcast(t, &first, &err) != HOP_OK) return fail_at_instance(p, &err);
    int64_t worst = code != EXIT_DONE ? 2 * code : mine != first; /* who failed has said why */
    if (t->largest(t, &worst, &err) != HOP_OK) return fail_at_instance(p, &err);
    if (worst == 0) return EXIT_DONE;
    p->together = true;
    if (worst > 1) return (int)(worst / 2);
    if (t->rank == 0)
        fail(&p->args->common, EXIT_FAILED,
             "ranks differ at instance %lld: give all of them the same network, options and --input",
             (long long)p->result.instances + 1);
    return EXIT_FAILED;
}

/* Rank 0 goes first, so that what is wrong everywhere is said once; then the others do. When one fails all
 * end with its code, and none by force. */
static int in_turn(playing *p, int (*step)(playing *p))
{
    hop_transport *t = p->transport;
    hop_error err = {0};
    int code = t->rank == 0 ? step(p) : EXIT_DONE;
    int64_t said = code;
    if (t->broadcast(t, &said, &err) != HOP_OK) return code != EXIT_DONE ? code : fail_at_instance(p, &err);
    if (said != EXIT_DONE) {
        p->together = true;
        return (int)said;
    }
    return compare_ranks(p, t->rank > 0 ? step(p) : EXIT_DONE);
}

static int take_next(playing *p)
{
    hop_error err = {0};
    return next_instance(p, &err) == HOP_OK ? EXIT_DONE : fail_error(&p->args->common, &err);
}

static int play_all(playing *p)
{
    hop_error err = {0};
    int code = EXIT_DONE;
    double began = hop_now();
    p->result.identical = true;
    p->result.difference = is_near_run(p) ? 0 : -1;
    while (code == EXIT_DONE && !p->ended) {
        if (play_one(p, &err) != HOP_OK) return fail_at_instance(p, &err);
        code = in_turn(p, take_next);
    }
    p->result.seconds = hop_now() - began;
    return code;
}

static int tell(playing *p)
{
    play_result *r = &p->result;
    r->common = &p->args->common;
    r->model = p->model;
    r->seats = &p->seats;
    r->transcript = hop_game_transcript(p->game);
    r->transport = p->transport->name;
    r->ranks = p->transport->ranks;
    r->bits = (int)p->args->bits.integer;
    r->compared = !p->args->no_compare.flag;
    int code = play_report(r);
    if (code == EXIT_DONE && r->compared && !r->identical)
        code = fail(r->common, EXIT_FAILED, "%.200s: the messages did not lead to the plain pass's bits",
                    r->common->operand);
    return code;
}

/* ---- the verb -------------------------------------------------------------------------------- */

/* Whether the network can play at all. */
static int ask_network(playing *p)
{
    const play_args *a = p->args;
    hop_error err = {0};
    int64_t generate = 0;
    int code = sizes_of_network(&a->common, &a->sizes, p->model, &p->task, &p->sized);
    if (code != EXIT_DONE) return code;
    if (!p->sized && !a->input.text)
        return fail(&a->common, EXIT_USAGE, "--task: missing, and %.200s names none", a->common.operand);
    if (hop_generated_tokens(hop_model_config(p->model), &generate, &err) != HOP_OK)
        return fail_error(&a->common, &err);
    if (generate)
        return fail(&a->common, EXIT_FAILED,
                    "%.200s: it generates its answer; the game is of one forward pass", a->common.operand);
    if (hop_model_config(p->model)->bidirectional)
        return fail(&a->common, EXIT_FAILED, "%.200s: it looks both ways; in the game players only look back",
                    a->common.operand);
    return EXIT_DONE;
}

/* Up to where the first message would be sent. */
static int prepare(playing *p)
{
    const play_args *a = p->args;
    const common_args *c = &a->common;
    hop_error err = {0};
    if (hop_model_open(&p->model, c->operand, &err) != HOP_OK) return fail_error(c, &err);
    int code = ask_network(p);
    if (code == EXIT_DONE) code = pool_open(c, &p->pool);
    if (code != EXIT_DONE) return code;
    if (a->input.text && strcmp(a->input.text, "-") == 0 && p->transport->ranks > 1)
        return fail(c, EXIT_USAGE, "--input: ranks do not share standard input; give a file");
    if (a->input.text && hop_jsonl_open(&p->in, a->input.text, &err) != HOP_OK) return fail_error(c, &err);
    if (next_instance(p, &err) != HOP_OK) return fail_error(c, &err);
    if (p->ended) return fail(c, EXIT_FAILED, "%.200s: no instance in it", a->input.text);
    return open_game(p);
}

static void playing_free(playing *p)
{
    hop_game_free(p->game);
    hop_forward_free(p->forward);
    hop_forward_free(p->ordinary);
    hop_free(p->hidden);
    hop_instance_free(&p->one);
    hop_jsonl_close(&p->in);
    hop_pool_free(p->pool);
    hop_model_free(p->model);
    free(p);
}

static int cmd_play(common_args *common)
{
    hop_error err = {0};
    playing *p = calloc(1, sizeof *p);
    if (!p) return fail(common, EXIT_FAILED, "out of memory");
    p->args = (const play_args *)common;
    if (ranks_open(&p->transport, &err) != HOP_OK) {
        free(p);
        return fail_error(common, &err);
    }
    hop_transport *t = p->transport;
    t->stopped = terminal_stopped;
    if (t->rank > 0) terminal_mute();
    int code = in_turn(p, prepare);
    if (code == EXIT_DONE) code = play_all(p);
    if (code == EXIT_DONE && t->rank == 0) {
        code = tell(p);
        p->together = true;
    }
    bool together = code == EXIT_DONE || p->together;
    playing_free(p);
    /* A signal comes from the launcher, which ends all ranks and says why. */
    hop_transport_close(t, code != EXIT_DONE && terminal_stopped() ? HOP_TRANSPORT_LEAVE
                           : together                              ? 0
                                                                   : code);
    return code;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    SEAT_GROUP(play_args, seats),
    HOP_NETWORK_SIZE_GROUP(play_args, sizes),
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound play net",
     "Four instances, a player for each function; who told whom how many bits, in which layer."},
    {"hopbound play net --bits 16 --json",
     "The same with numbers of 16 bits in all messages."},
    {"hopbound play net --players 3 --count 1",
     "One instance cut into three nearly equal segments."},
    {"mpirun -n 5 hopbound play net",
     "Every player a process: the same bits, in real messages."},
    {"mpirun -n 8 hopbound play net --players 8 --no-compare --count 1",
     "A sequence too long for one machine: each rank holds the activations of its own tokens only."},
    {0},
};
const verb verb_play = {
    .name = "play",
    .summary = "runs a network as the proof's communication game and counts the bits of every message",
    .operand = "DIR",
    .operand_help = "the network: config.json and model.safetensors",
    .description =
        "Players hold consecutive segments of the prompt: L, .., 1, 0, -1 hold z_L, .., z_0 and w. A full "
        "layer is an epoch: the tokens of a later player send their queries to every earlier one, which "
        "replies with its partial softmax, value_dim+2 numbers for each token and head, and keeps nothing. "
        "Every other layer is a chain: its state passes from each player to the next. Every message is packed "
        "into bytes at the precision of --bits, and its bits are counted; queries apart, because they flow to "
        "players that forget them, and the lower bounds do not charge them.\n\n"
        "The residual stream at every token is then compared, bit by bit, with a pass over the whole sequence "
        "under the same arithmetic but without a message (`run --message-bits`); a difference is exit 1. "
        "That pass folds and steps as the game does; so, with numbers of 32 bits, the logits where an answer is "
        "wanted are compared with those of an ordinary `run`, too, which does neither: the largest difference, "
        "as a part of the largest logit, should be that of rounding, which grows with depth. "
        "Networks that look both ways (kind encoder) or generate their answer (kind cot) are refused: the game "
        "is of one pass that looks back.\n\n"
        "Under mpirun each rank is a player, or holds several neighbours when there are fewer ranks than "
        "players; ranks beyond the players idle. Messages are then real ones, and the counts the same. Weights "
        "are loaded by every rank, activations are those of its own tokens, and long blocks of queries travel "
        "in pieces: this is sequence-parallel inference, and the way to run a sequence that is too long for "
        "one machine's memory. Give --no-compare then, since the plain pass holds all of it in rank 0, and as "
        "many --players as ranks. Each rank takes the cores that the launcher binds it to, unless --threads says "
        "otherwise; all ranks must have the same kernels (--isa). A rank that fails or is killed ends the job. "
        "Open MPI starts more ranks than there are cores only with `mpirun --oversubscribe`, and runs as root only "
        "with `--allow-run-as-root`.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(play_args),
    .run = cmd_play,
};
/* clang-format on */
