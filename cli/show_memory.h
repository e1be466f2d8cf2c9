#ifndef HOP_CLI_SHOW_MEMORY_H
#define HOP_CLI_SHOW_MEMORY_H

#include <hopbound/ask_memory.h>

void show_memory(hop_text *out, const hop_memory_answer *a);

#endif
