/* The verb play: a network as the proof's communication game, in this process or over ranks, beside the plain pass
 * under the same arithmetic. */
#include "play.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    {"transcript", 0, HOP_OPT_TEXT, AT(transcript), "FILE.jsonl", .use = HOP_OPT_WRITES,
     .help = "write every message, its numbers as they were packed, a line each (docs/FORMATS.md); in one process"},
    {"no-compare", 0, HOP_OPT_FLAG, AT(no_compare),
     .help = "do not run the plain pass beside it, which needs the memory of the whole sequence in one "
             "process"},
    {0},
};
/* clang-format on */

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
    if (p->instances >= a->count.integer && (!p->in.file || a->count.given)) {
        p->ended = true;
        return HOP_OK;
    }
    if (!p->in.file)
        return hop_instance_sample(&p->one, &p->task, (uint64_t)a->ask.seed.integer, (uint64_t)p->instances,
                                   err);
    hop_json_doc doc = {0};
    hop_status s = hop_jsonl_next(&p->in, &doc, err);
    if (s != HOP_OK) return s;
    p->ended = !doc.root;
    if (p->ended) return HOP_OK;
    s = hop_instance_read(&p->one, doc.root, err);
    hop_json_free(&doc);
    if (s == HOP_OK) s = check_tokens(p, err);
    if (s == HOP_OK && p->game && p->one.count != p->tokens)
        s = hop_fail(err, HOP_EFORMAT,
                     "%lld tokens where the first instance has %lld: a game is of one length",
                     (long long)p->one.count, (long long)p->tokens);
    if (s != HOP_OK) return hop_jsonl_fail(&p->in, s, err);
    if (p->one.asked == 0 && p->sized) hop_instance_solve(&p->one, &p->task);
    return HOP_OK;
}

hop_status hop__play_fail(playing *p, hop_status s, hop_error *err)
{
    const hop_transport *t = p->transport;
    const bool stopped = s == HOP_ESTOPPED || (t->stopped && t->stopped());
    if (stopped && t->rank > 0) {
        p->told = HOP_EXIT_FAILED;
        return HOP_OK;
    }
    return p->in.file && !stopped ? hop_jsonl_fail(&p->in, s, err) : s;
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
static hop_status open_passes(playing *p, hop_error *err)
{
    const int64_t tokens = p->tokens;
    int64_t starts[HOP_MAX_PLAYERS];
    hop_status s = HOP_OK;
    hop_cuts cuts = hop__seats_cuts(&p->seats, starts, (int)p->args->bits.integer);
    hop_forward_options plain = {.max_tokens = tokens, .pool = p->pool, .progress = &p->args->ask.progress};
    if (is_near_run(p)) s = hop_forward_new(&p->ordinary, p->model, &plain, err);
    plain.cuts = &cuts;
    if (s == HOP_OK) s = hop_forward_new(&p->forward, p->model, &plain, err);
    if (s != HOP_OK) return s;
    p->hidden = hop_alloc(sizeof(float) * (size_t)(tokens * hop_model_config(p->model)->d_model));
    if (p->hidden) return HOP_OK;
    return hop_fail(err, HOP_ENOMEM, "no memory to compare %lld tokens; --no-compare needs less",
                    (long long)tokens);
}

/* What the first instance's length decides. */
static hop_status open_game(playing *p, hop_error *err)
{
    const play_args *a = p->args;
    p->tokens = p->one.count;
    hop_status s = hop__seats_read(&a->seats, p->sized ? &p->task : NULL, p->tokens, &p->seats, err);
    if (s != HOP_OK) return s;
    const hop_game_options o = {.players = p->seats.players,
                                .count = p->seats.count,
                                .bits = (int)a->bits.integer,
                                .transport = p->transport,
                                .pool = p->pool,
                                .progress = &a->ask.progress,
                                .each = p->writes ? hop__play_message : NULL,
                                .ctx = p,
                                .instances = p->in.file && !a->count.given ? 0 : a->count.integer};
    s = hop_game_new(&p->game, p->model, &o, err);
    if (s != HOP_OK) return hop__play_fail(p, s, err);
    if (p->writes) hop__play_begin(p);
    return compares(p) ? open_passes(p, err) : HOP_OK;
}

static void score(playing *p)
{
    const hop_instance *i = &p->one;
    int64_t right = 0;
    for (int64_t t = 0; t < i->count; t++) right += i->targets[t] >= 0 && i->answers[t] == i->targets[t];
    p->with_answer += i->asked > 0;
    p->correct += i->asked > 0 && right == i->asked;
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
        if (!(part <= p->difference)) p->difference = part;
    }
    hop_free(logits);
    return s;
}

static hop_status play_one(playing *p, hop_error *err)
{
    bool same = true;
    if (p->writes) hop__play_instance(p);
    hop_status s = hop_game_play(p->game, p->one.tokens, err);
    if (s == HOP_OK) s = hop_game_count(p->game, err);
    if (s == HOP_OK) s = hop_game_answers(p->game, p->one.targets, p->one.answers, err);
    if (s == HOP_OK && p->forward)
        s = hop_forward_hidden(p->forward, p->one.tokens, p->one.count, p->hidden, err);
    if (s == HOP_OK && !p->args->no_compare.flag) s = hop_game_compare(p->game, p->hidden, &same, err);
    if (s == HOP_OK && is_near_run(p)) s = measure(p, err);
    if (s != HOP_OK) return hop__play_fail(p, s, err);
    if (!same) p->identical = false;
    score(p);
    p->instances++;
    return HOP_OK;
}

static hop_status play_all(playing *p, hop_error *err)
{
    hop_status s = HOP_OK;
    const double began = hop_now();
    p->identical = true;
    p->difference = is_near_run(p) ? 0 : NAN;
    while (s == HOP_OK && !p->told && !p->ended) {
        p->apart = true; /* until all have played it */
        s = play_one(p, err);
        if (s == HOP_OK && !p->told) s = hop__play_in_turn(p, next_instance, err);
    }
    p->seconds = hop_now() - began;
    return s;
}

/* ---- the verb -------------------------------------------------------------------------------- */

/* Whether the network can play at all. */
static hop_status ask_network(playing *p, hop_error *err)
{
    const play_args *a = p->args;
    int64_t generate = 0;
    hop_status s = hop_sizes_of_network(&a->sizes, p->model, p->dir, &p->task, &p->sized, err);
    if (s == HOP_OK && !p->sized && !a->input.text)
        return hop_fail(err, HOP_EUSAGE, "--task: missing, and %.200s names none", p->dir);
    if (s == HOP_OK) s = hop_generated_tokens(hop_model_config(p->model), &generate, err);
    if (s == HOP_OK && generate)
        return hop_fail(err, HOP_EDOMAIN, "%.200s: it generates its answer; the game is of one forward pass",
                        p->dir);
    if (s == HOP_OK && hop_model_config(p->model)->bidirectional)
        return hop_fail(err, HOP_EDOMAIN, "%.200s: it looks both ways; in the game players only look back",
                        p->dir);
    return s;
}

/* Up to where the first message would be sent. */
static hop_status prepare(playing *p, hop_error *err)
{
    const play_args *a = p->args;
    hop_status s = hop_model_open(&p->model, p->dir, err);
    if (s == HOP_OK) s = ask_network(p, err);
    if (s == HOP_OK) s = hop__pool(&p->pool, &a->ask, err);
    if (s == HOP_OK && a->input.text && strcmp(a->input.text, "-") == 0 && p->transport->ranks > 1)
        return hop_fail(err, HOP_EUSAGE, "--input: ranks do not share standard input; give a file");
    if (s == HOP_OK && a->transcript.text && p->transport->ranks > 1)
        return hop_fail(err, HOP_EUSAGE, "--transcript: in one process, not over ranks");
    if (s == HOP_OK && a->transcript.text) s = hop_output_open(&p->written, a->transcript.text, err);
    p->writes = s == HOP_OK && a->transcript.text;
    if (s == HOP_OK && a->input.text) s = hop_jsonl_open(&p->in, a->input.text, err);
    if (s == HOP_OK) s = next_instance(p, err);
    if (s == HOP_OK && p->ended)
        return hop_fail(err, HOP_EFORMAT, "%.200s: no instance in it", a->input.text);
    return s == HOP_OK ? open_game(p, err) : s;
}

static void playing_free(playing *p)
{
    if (p->writes) hop_output_abort(&p->written);
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

static hop_status ask_play(hop_response *out, const void *request, hop_error *err)
{
    playing *p = calloc(1, sizeof *p);
    if (!p) return hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_transport *own = NULL;
    p->args = request;
    p->dir = hop_request_operand(&p->args->ask, 0);
    p->transport = hop__ranks(&p->args->ask, &own, err);
    hop_status s = p->transport ? hop__play_in_turn(p, prepare, err) : HOP_ENOMEM;
    if (s == HOP_OK && !p->told) s = play_all(p, err);
    if (s == HOP_OK && p->writes) {
        p->writes = false;
        s = hop_output_commit(&p->written, err);
    }
    out->exit = p->told;
    out->apart = p->apart;
    if (s == HOP_OK && !p->told && p->transport->rank == 0) s = hop__play_record(out, p, err);
    playing_free(p);
    hop_transport_close(own, 0);
    return s;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    HOP_SEAT_GROUP(play_args, seats),
    HOP_NETWORK_SIZE_GROUP(play_args, sizes),
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound play net",
     "Four instances, a player for each function; who told whom how many bits, in which layer."},
    {"hopbound play net --bits 16 --json",
     "The same with numbers of 16 bits in all messages."},
    {"hopbound play net --count 1 --transcript said.jsonl",
     "Every message of one instance, with its numbers as they crossed."},
    {"hopbound play net --players 3 --count 1",
     "One instance cut into three nearly equal segments."},
    {"mpirun -n 5 hopbound play net",
     "Every player a process: the same bits, in real messages."},
    {"mpirun -n 8 hopbound play net --players 8 --no-compare --count 1",
     "A sequence too long for one machine: each rank holds the activations of its own tokens only."},
    {0},
};
const hop_verb hop__verb_play = {
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
    .answer = &hop_play_answer_record,
    .ranks = true,
    .rows = "edges",
    .request_size = sizeof(play_args),
    .ask = ask_play,
};
/* clang-format on */
