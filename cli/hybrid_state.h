/* The separation with a mixer's own state instead of the narrowest one. */
#ifndef HOPBOUND_CLI_HYBRID_STATE_H
#define HOPBOUND_CLI_HYBRID_STATE_H

#include "cli.h"

/* Makes the search count with what the linear layer of `build hybrid --mixer MIXER` keeps, which is kept. */
void separation_of_mixer(hop_separation *s, const char *mixer);

#endif
