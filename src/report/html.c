/* The page's frame, style and tables. */
#include "page.h"

/* One column of text as in a paper; drawings and tables may be wider. Where the main table does not fit, its
 * rows become cards: each cell shows its column's name (data-label) above its value. */
static const char *const style[] = {
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:17px/1.58 'Iowan Old Style','Palatino "
    "Linotype',"
    "Palatino,P052,'Liberation Serif',Georgia,serif;font-variant-numeric:lining-nums}\n"
    "main,footer{max-width:86rem;margin:0 auto;padding:0 1.25rem}\n"
    "main>p,main>ul,main>dl,header,h2,h3,.key{max-width:42rem;margin-left:auto;margin-right:auto}\n"
    "header{padding:3.2rem 0 .6rem}\n"
    ".brow{margin:0;font:600 .74rem/1.4 var(--sans);letter-spacing:.14em;text-transform:uppercase;"
    "color:var(--soft)}\n"
    "h1{margin:.35rem 0 1.1rem;font-weight:500;font-size:clamp(2.1rem,5vw,3rem);line-height:1.1;"
    "letter-spacing:-.012em}\n"
    ".lede{margin:0 0 1.1rem;font-size:1.24rem;line-height:1.48;font-style:italic}\n"
    "h2{margin-top:3.2rem;margin-bottom:.5rem;font-weight:600;font-size:1.42rem;line-height:1.25}\n"
    "p{margin:.7rem 0}main>p,main>ul{hyphens:auto}sub,sup{font-size:.7em;line-height:0}\n"
    "code,pre{font:.86em/1.5 ui-monospace,'SF Mono',Menlo,Consolas,'Liberation Mono',monospace}\n"
    "pre{margin:.8rem 0;padding:.7rem .9rem;background:var(--tint);border-radius:6px;white-space:pre-wrap;"
    "overflow-wrap:anywhere}\n",
    ":root{--sans:-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}"
    "th var,td var,dt var{font:italic 1.1em/1 'Iowan Old Style','Palatino "
    "Linotype',Palatino,P052,'Liberation Serif',serif}\n"
    ".sum{font-size:1.06rem}.why{list-style:none;padding:0;margin-top:0}.why li{margin:.6rem 0;padding:.1rem "
    "0 "
    ".1rem .9rem;border-left:3px solid var(--c);overflow-wrap:anywhere}\n"
    ".mark{white-space:nowrap;font-family:var(--sans);font-weight:600;font-size:.94em;color:var(--c)}\n"
    ".mark svg{width:1.3em;height:1.3em;vertical-align:-.3em;margin-right:.3em;overflow:visible}\n"
    "figure{margin:2.4rem auto 0}.scroll{overflow-x:auto;padding-bottom:2px}"
    "svg.d{display:block;width:100%;height:auto;margin:0 auto}\n"
    "figcaption{max-width:42rem;margin:.8rem auto 0;font-size:.9rem;line-height:1.5;color:var(--soft)}\n"
    "table{border-collapse:collapse;margin:0 auto;font:13px/1.35 var(--sans);"
    "font-variant-numeric:lining-nums tabular-nums}\n"
    "table.narrow{font-size:14px}caption{padding:0 0 .9rem;font:.95rem/1.5 'Iowan Old Style','Palatino "
    "Linotype',"
    "Palatino,P052,'Liberation Serif',Georgia,serif;text-align:left;color:var(--soft)}\n"
    "caption b{color:var(--ink);font-weight:600}\n"
    "thead{border-top:1.6px solid var(--ink);border-bottom:.8px solid var(--ink)}"
    "tbody{border-bottom:1.6px solid var(--ink)}\n"
    "th,td{padding:.5em .52em;text-align:left;vertical-align:baseline}table.narrow th,table.narrow td"
    "{padding:.36em .9em}\n"
    "th{font-weight:600;vertical-align:bottom}th.group{font-weight:400;color:var(--soft);padding-bottom:0}"
    "td:nth-child(2):not(.num){min-width:7.2em}th.num,td.num{text-align:right}td.num{white-space:nowrap}\n"
    "th.group span{display:block;border-bottom:.8px solid var(--hair);padding-bottom:.3em}\n"
    "tbody tr+tr.first td{border-top:.8px solid var(--hair)}\n"
    "small{display:block;font-size:.88em;color:var(--soft);white-space:nowrap}.bad{color:var(--refuted);"
    "font-weight:600}\n",
    "dl{display:grid;grid-template-columns:9.5rem 1fr;gap:.55rem 1.4rem;margin-top:1rem}"
    "dt{font:600 .84rem/1.9 var(--sans)}dd{margin:0}\n"
    "footer{margin-top:3.5rem;padding-bottom:3rem;font:.8rem/1.5 "
    "var(--sans);color:var(--soft);text-align:center}\n"
    "@media (max-width:74rem){\n"
    "table.cards,.cards caption,.cards tbody,.cards tr,.cards td{display:block}.cards thead{display:none}\n"
    "table.cards{max-width:42rem}.cards tbody{border:0}\n"
    ".cards tr{display:grid;grid-template-columns:repeat(auto-fill,minmax(7.4rem,1fr));gap:.7rem 1rem;"
    "padding:.9rem 0 1.1rem;border-top:1.6px solid var(--ink)}\n"
    ".cards td,.cards td.num{padding:0;text-align:left;border:0!important;font-size:15px;white-space:normal;"
    "overflow-wrap:anywhere}\n"
    ".cards td::before{content:attr(data-label);display:block;font-size:11.5px;color:var(--soft)}\n"
    "}\n"
    "@media (max-width:36rem){body{font-size:16px}header{padding-top:1.8rem}.lede{font-size:1.14rem}"
    "dl{display:block}dt{margin-top:.9rem;line-height:1.4}\n"
    "table.narrow{font-size:12.5px}table.narrow th,table.narrow td{padding:.36em .28em}}\n"
    "@media print{@page{margin:16mm 15mm}body{font-size:10.5pt}main,footer{padding:0}header{padding-top:0}"
    "h2{break-after:avoid}figure,tr,.why li,dd{break-inside:avoid}dt{break-after:avoid}"
    ".scroll{overflow:visible}svg.d{max-width:92mm!important}figure{margin-top:5mm}"
    "h1{font-size:22pt;margin:1mm 0 "
    "3mm}.lede{font-size:12pt;margin-bottom:3mm}figcaption{font-size:8.5pt}}\n",
};

void hop__html_open(hop_text *out, const char *title)
{
    hop_text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                      /* The page promises to need nothing from outside; let the browser hold it to that. */
                      "<meta http-equiv=\"Content-Security-Policy\" "
                      "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>");
    hop__escape(out, title, 0);
    hop_text_add(out, "</title>\n<style>\n");
    hop_text_add(out, hop__svg_style());
    for (size_t i = 0; i < sizeof style / sizeof style[0]; i++) hop_text_add(out, style[i]);
    hop_text_add(out, "</style>\n</head>\n<body>\n");
}

void hop__html_close(hop_text *out)
{
    hop_text_add(out, "</body>\n</html>\n");
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

void hop__html_mark(hop_text *out, const char *verdict)
{
    hop_text_printf(out, "<span class=\"mark %s\"><svg viewBox=\"-10 -10 20 20\" aria-hidden=\"true\">",
                    hop__svg_mark_class(verdict));
    hop__svg_mark(out, verdict, 0, 0);
    hop_text_add(out, "</svg>");
    hop__escape(out, verdict, 0);
    hop_text_add(out, "</span>");
}

void hop__html_table_open(hop_text *out, const char *caption, bool cards)
{
    hop_text_printf(out, "<figure>\n<div class=\"scroll\">\n<table class=\"%s\">\n<caption>",
                    cards ? "cards" : "narrow");
    hop_text_add(out, caption);
    hop_text_add(out, "</caption>\n");
}

void hop__html_table_close(hop_text *out)
{
    hop_text_add(out, "</table>\n</div>\n</figure>\n");
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
