/* Hops against length, of models and plans alike. */
#ifndef HOPBOUND_SHOW_OVER_H
#define HOPBOUND_SHOW_OVER_H

#include <hopbound/over.h>

void show_over(hop_text *out, const hop_over_answer *a);

#endif
