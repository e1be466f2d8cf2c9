/* The page's frame, style and tables. */
#include "page.h"

#include <stdarg.h>
#include <string.h>

extern const char *const hop__page_assets[]; /* made of the files by tools/embed.c */

const char *hop__asset(const char *name)
{
    const char *const *a = hop__page_assets;
    while (*a && strcmp(*a, name) != 0) a += 2;
    return *a ? a[1] : "";
}

/* The text of `name` in prose.html, up to the next part; NULL: there is none, a bug. */
static const char *prose_find(const char *name, size_t *length)
{
    size_t n = strlen(name);
    for (const char *at = hop__asset("prose.html"); (at = strstr(at, "\n=== ")); at++) {
        if (strncmp(at + 5, name, n) != 0 || at[5 + n] != '\n') continue;
        const char *text = at + 6 + n, *end = strstr(text - 1, "\n=== ");
        *length = end ? (size_t)(end + 1 - text) : strlen(text);
        if (*length > 1 && text[*length - 2] == '\\') *length -= 2; /* it ends without a new line */
        return text;
    }
    return NULL;
}

void hop__prose(hop_text *out, const char *name, ...)
{
    size_t left = 0;
    const char *at = prose_find(name, &left);
    va_list fill;
    va_start(fill, name);
    for (const char *hole; at && (hole = memchr(at, '{', left));) {
        const char *behind = (const char *)memchr(hole, '}', left - (size_t)(hole - at)) + 1;
        hop_text_addn(out, at, (size_t)(hole - at));
        hop__escape(out, va_arg(fill, const char *), 0);
        left -= (size_t)(behind - at);
        at = behind;
    }
    va_end(fill);
    hop_text_addn(out, at ? at : name, at ? left : strlen(name));
}

void hop__html_open(hop_text *out, const char *title)
{
    hop_text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                      /* The page promises to need nothing from outside; let the browser hold it to that. */
                      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                      "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>");
    hop__escape(out, title, 0);
    hop_text_add(out, "</title>\n<style>\n");
    hop_text_add(out, hop__svg_style());
    hop_text_add(out, hop__asset("page.css"));
    hop_text_add(out, "</style>\n</head>\n<body>\n");
}

void hop__html_close(hop_text *out, bool moves)
{
    if (moves) hop_text_printf(out, "<script>\n%s</script>\n", hop__asset("page.js"));
    hop_text_add(out, "</body>\n</html>\n");
}

void hop__section_open(hop_text *out, const char *id, const char *title)
{
    hop_text_printf(out, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n",
                    id, id, id, title);
}

void hop__section_close(hop_text *out)
{
    hop_text_add(out, "</section>\n");
}

void hop__fold_open(hop_text *out, const char *summary)
{
    hop_text_printf(out, "<details>\n<summary>%s</summary>\n", summary);
}

void hop__fold_close(hop_text *out)
{
    hop_text_add(out, "</details>\n");
}

void hop__html_data(hop_text *out, const char *id, const hop_text *json)
{
    hop_text_printf(out, "<script type=\"application/json\" id=\"%s\">", id);
    for (const char *s = json->s ? json->s : "null"; *s; s++) /* no text in it may look like a tag's end */
        if (*s == '<')
            hop_text_add(out, "\\u003c");
        else
            hop_text_addn(out, s, 1);
    hop_text_add(out, "</script>\n");
}

void hop__html_rich(hop_text *out, const char *rich)
{
    static const char *const tags[] = {NULL, "sub", "sup", "var"};
    hop__run run;
    while (hop__rich_next(&rich, &run)) {
        const char *tag = tags[run.kind];
        if (tag) hop_text_printf(out, "<%s>", tag);
        hop__escape_run(out, run.s, run.len);
        if (tag) hop_text_printf(out, "</%s>", tag);
    }
}

void hop__html_mark(hop_text *out, hop_ladder_verdict verdict)
{
    hop_text_printf(out, "<span class=\"mark %s\"><svg viewBox=\"-10 -10 20 20\" aria-hidden=\"true\">",
                    hop__svg_mark_class(verdict));
    hop__svg_mark(out, verdict, 0, 0);
    hop_text_add(out, "</svg>");
    hop__escape(out, hop__svg_mark_word(verdict), 0);
    hop_text_add(out, "</span>");
}

void hop__html_table_open(hop_text *out, const char *caption, bool cards)
{
    hop_text_printf(out, "<table class=\"%s\">\n<caption>", cards ? "cards" : "cards slim");
    hop_text_add(out, caption);
    hop_text_add(out, "</caption>\n");
}

void hop__html_table_close(hop_text *out)
{
    hop_text_add(out, "</table>\n");
}

void hop__html_head(hop_text *out, const char *rich, bool number)
{
    hop_text_printf(out, "<th scope=\"col\"%s>", number ? " class=\"num\"" : "");
    hop__html_rich(out, rich);
    hop_text_add(out, "</th>\n");
}

void hop__html_cell_open(hop_text *out, const char *label, bool number)
{
    hop_text_printf(out, "<td data-label=\"%s\"%s>", label, number ? " class=\"num\"" : "");
}

void hop__html_cell(hop_text *out, const char *label, const char *rich)
{
    hop__html_cell_open(out, label, true);
    hop__html_rich(out, rich);
    hop_text_add(out, "</td>\n");
}
