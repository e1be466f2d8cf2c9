/* hopbound/words.h - names of verdicts by their numbers, as records take them; each list ends with NULL. */
#ifndef HOPBOUND_WORDS_H
#define HOPBOUND_WORDS_H

extern const char *const hop_answer_words[];         /* bounds.h */
extern const char *const hop_verdict_words[];        /* prove.h */
extern const char *const hop_refute_verdict_words[]; /* refute.h */
extern const char *const hop_cell_verdict_words[];   /* exact.h */

#endif
