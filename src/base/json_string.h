/* What JSON's reader and writer share: strings, with quotes on the outside and UTF-8 within. */
#ifndef HOPBOUND_BASE_JSON_STRING_H
#define HOPBOUND_BASE_JSON_STRING_H

#include <hopbound/base.h>

/* Bytes of the character at s, of which `size` are there; 0: it is no UTF-8. */
size_t hop__utf8_length(const char *s, size_t size);

/* Undoes the escapes of [*from, close), where *close is the closing quote, into `to`, which has room for as
 * many bytes as there are, and returns the end of what it wrote; no NUL is added. On failure NULL: *from is
 * then the place and *why the reason. */
char *hop__json_unescape(char *to, const char **from, const char *close, const char **why);

/* Adds `s` with quotes and escapes. What is not UTF-8 becomes U+FFFD, so that the text is always JSON. */
void hop__json_escape(hop_text *out, const char *s);

#endif
