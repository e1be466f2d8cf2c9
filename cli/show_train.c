/* What `train` prints for people: the result, and P3's ceiling beside it. */
#include <hopbound/ask_train.h>

#include <math.h>

#include "cli.h"

void show_train(hop_text *out, const hop_response *r)
{
    const hop_train_answer *a = r->data;
    hop_text_printf(out, "accuracy %.2f %% (%.2f to %.2f at 95 %%, %lld instances), chance %.2f %%",
                    100 * a->accuracy, 100 * a->interval.at[0], 100 * a->interval.at[1],
                    (long long)a->instances, 100 * a->chance);
    if (!isnan(a->accuracy_ceiling)) /* rounded up: a ceiling that is printed is one */
        hop_text_printf(out, ", at most %.2f %% by P3", ceil(1e4 * a->accuracy_ceiling) / 100);
    hop_text_printf(out, "\n%lld step%s, loss %.4f, %.0f tokens/s, %.0f s; ", (long long)a->steps,
                    a->steps == 1 ? "" : "s", a->loss, a->tokens_per_second, a->seconds);
    hop_text_name(out, a->dir);
    hop_text_add(out, "\n");
}
