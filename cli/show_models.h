/* What several models are for people. */
#ifndef HOP_SHOW_MODELS_H
#define HOP_SHOW_MODELS_H

#include <hopbound/ask_audit.h>
#include "cli.h"

/* Text of a file, in a cell of a table or a heading, without what Markdown would make of it. */
void add_cell(hop_text *out, const char *text);
void show_models(hop_text *out, const hop_models_answer *m);
void page_models(hop_text *out, const hop_models_answer *m);
void show_required(hop_text *out, const hop_required_answer *a);

#endif
