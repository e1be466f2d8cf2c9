/* Certificates as texts, whoever wrote them: what is accepted, what must not be, and what is none. */
#include "count_ask.h"

#include <stdlib.h>

static const char *const KNOWN[] = {
    "impossible m 35 fan M 176 A 0 0 by P5",
    "impossible m 35 fan M 0 A 96 by P2",
    "impossible m 173 fan 26 M 0 A 624 by P2",
    "impossible m 173 fan 26 M 304 A 208 208 by P4 76",
    "impossible m 173 fan 26 2 M 304 A 208 208 by P4 76",
    "impossible m 448 fan 495 M 160 A 0 0 0 by P7 14 16 32 1 495 274",
    "impossible m 29667 fan 1080 M 160 A 0 0 1152 by P7 899 33 33 135 8 17911",
    "impossible m 224 fan 2 510 M 160 A 0 0 0 by P9 1 14 16 32 1 510 274",
    "impossible m 240 fan 491 536 M 160 A 0 1152 0 by P9 231 15 16 34 1 536 45263",
    "impossible m 2904612768 fan 2208440188 321 M 160 A 1152 1152 1152 by P6 1574 187268 178926992 24 "
    "2554863908092637945",
    "impossible m 921840756227117317634 fan 3753656928 265 M 160 A 0 0 0 0 by P7G 463312400469000 291177 "
    "86528410370039278742 15 1312472676192960846734939066109",
};

static void what_coq_has_shown_is_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (!accepted(KNOWN[i])) fail_msg("%s", KNOWN[i]);
}

/* One size smaller, one value more, one bit more on the side of the network, another number of layers. */
static void one_bit_or_one_size_less_is_rejected(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "impossible m 34 fan M 176 A 0 0 by P5",
        "impossible m 35 fan M 180 A 0 0 by P5",
        "impossible m 35 fan M 176 A 0 1 by P5",
        "impossible m 35 fan M 176 A 1 0 by P5",
        "impossible m 22 fan M 0 A 99 by P2",
        "impossible m 35 fan M 0 A 96 0 by P2",
        "impossible m 173 fan 26 M 304 A 208 208 by P4 77",
        "impossible m 173 fan 25 M 304 A 208 208 by P4 76",
        "impossible m 172 fan 26 M 304 A 208 208 by P4 76",
        "impossible m 173 fan 26 M 307 A 208 208 by P4 76",
        "impossible m 173 fan 26 M 304 A 208 209 by P4 76",
        "impossible m 173 fan 26 0 M 304 A 208 208 by P4 76",
        "impossible m 448 fan 494 M 160 A 0 0 0 by P7 14 16 32 1 494 274",
        "impossible m 447 fan 495 M 160 A 0 0 0 by P7 14 16 32 1 495 274",
        "impossible m 448 fan 495 M 160 A 0 0 0 by P7 14 16 32 1 495 275",
        "impossible m 448 fan 495 M 160 A 0 0 0 by P7 14 16 32 1 496 274",
        "impossible m 448 fan 495 M 160 A 1 0 0 by P7 14 16 32 1 495 274",
        "impossible m 448 fan 495 M 160 A 0 1 0 by P7 14 16 32 1 495 274",
        "impossible m 224 fan 2 506 M 160 A 0 0 0 by P9 1 14 16 32 1 506 274",
        "impossible m 224 fan 2 510 M 160 A 0 0 0 by P9 1 14 16 32 1 510 275",
        "impossible m 223 fan 2 510 M 160 A 0 0 0 by P9 1 14 16 32 1 510 274",
        "impossible m 240 fan 491 535 M 160 A 0 1152 0 by P9 231 15 16 34 1 535 45263",
        "impossible m 2904612768 fan 2208440188 320 M 160 A 1152 1152 1152 by P6 1574 187268 178926992 24 "
        "2554863908092637945",
        "impossible m 2904612768 fan 2208440188 321 M 160 A 1152 1152 1152 by P6 1574 187268 179926992 24 "
        "2554863908092637945",
        "impossible m 2904612768 fan 2208440188 321 M 160 A 1152 1152 by P6 1574 187268 178926992 24 "
        "2554863908092637945",
        "impossible m 921840756227117317634 fan 3753656928 264 M 160 A 0 0 0 0 by P7G 463312400469000 291177 "
        "86528410370039278742 15 1312472676192960846734939066109",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (accepted(wrong[i])) fail_msg("%s", wrong[i]);
}

static void what_is_no_certificate_is_malformed(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "impossible",
        "possible m 35 fan M 176 A 0 0 by P5",
        "impossible m 35 M 176 A 0 0 by P5",
        "impossible m 35 36 fan M 176 A 0 0 by P5",
        "impossible m -35 fan M 176 A 0 0 by P5",
        "impossible m 35 fan M 176 A by P5",
        "impossible m 35 fan M 176 A 0 0 by P3",
        "impossible m 35 fan M 176 A 0 0 by",
        "impossible m 35 fan M 176 A 0 0 by P5 1",
        "impossible m 35 fan M 176 A 0 0 by P5 x",
        "impossible m 35x fan M 176 A 0 0 by P5",
        "impossible m 173 fan 26 M 304 A 208 208 by P4",
        "impossible m 9 fan 9 M 9 A 9 9 by P6 1 1",
        "impossible m 2679 fan 6 M 160 A 1152 1152 by P4' 57 47 47 47 66825 1422",
        "impossible m 2679 fan 6 M 160 A 1152 1152 by P4' 57 47 47 47 66825 1422 lines 1 2 3 4",
        "impossible m 2679 fan 6 M 160 A 1152 1152 by P4' 57 47 47 47 66825 1422 lines 1 2 3 4 5 6",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        hop_check c;
        assert_int_equal(hop_check_certificate(&c, lines[i], strlen(lines[i]), NULL), HOP_OK);
        if (c.valid || strncmp(c.why, "malformed: ", 11) != 0) fail_msg("%s: %s", lines[i], c.why);
    }
    size_t many = 100000; /* digits */
    char *text = malloc(many + 100);
    assert_non_null(text);
    memcpy(text, "impossible m ", 13);
    memset(text + 13, '7', many);
    strcpy(text + 13 + many, " fan M 1 A 0 0 by P5");
    assert_false(accepted(text));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_coq_has_shown_is_accepted),
        cmocka_unit_test(one_bit_or_one_size_less_is_rejected),
        cmocka_unit_test(what_is_no_certificate_is_malformed),
    };
    return cmocka_run_group_tests_name("check_certificate_lines", tests, NULL, NULL);
}
