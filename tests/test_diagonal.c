/* test_diagonal.c - the elementwise recurrence and the short convolution: every table against double loops.
 */
#include <stdio.h>

#include "scan_case.h"

static void the_diagonal_recurrence_equals_its_equation(void **state)
{
    const hop__kernels *t;
    (void)state;
    for (int64_t width = 1; width < 50; width += 6) {
        const int64_t T = 77, stride = width + 2;
        float *a = random_new(T * stride, 500, 1.0), *b = random_new(T * stride, 501, 1.0),
              *start = random_new(width, 502, 1.0);
        float *h = floats_new(T * stride), *now = floats_new(width);
        double *want = doubles_new(T * stride);
        for (int64_t i = 0; i < T * stride; i++) {
            const int64_t row = i / stride, ch = i % stride;
            if (ch < width) want[i] = a[i] * (row ? want[i - stride] : start[ch]) + b[i];
        }
        FOR_EACH_TABLE(t)
        {
            memcpy(now, start, sizeof(float) * (size_t)width);
            poison(h, T * stride);
            hop_diagonal_forward(h, now, a, b, 50, width, stride);
            hop_diagonal_forward(h + 50 * stride, now, a + 50 * stride, b + 50 * stride, T - 50, width,
                                 stride);
            assert_all_near("diagonal", h, want, T, stride, width, 1e-6);
            assert_all_near("diagonal's state", now, want + (T - 1) * stride, 1, width, width, 1e-6);
        }
        hop_free(a), hop_free(b), hop_free(start), hop_free(h), hop_free(now), hop_free(want);
    }
}

/* In two calls, the first shorter than the kernel, so that the past is in part its own. */
static void the_short_convolution_equals_its_sum(void **state)
{
    static const int64_t kernels[] = {1, 2, 4, 20};
    const hop__kernels *t;
    (void)state;
    for (int z = 0; z < 8; z++) {
        const int64_t T = 40, width = 5 + 9 * z, size = kernels[z % 4], old = size - 1;
        hop_conv c = {T, width, size, width + 1, width + 2, z % 2 == 1, 0};
        float *x = random_new(T * c.x_stride, 600, 1.0), *w = random_new(width * size, 601, 1.0),
              *bias = random_new(width, 602, 1.0);
        float *past = random_new(old * width, 603, 1.0), *now = floats_new(old * width),
              *y = floats_new(T * c.y_stride);
        double *want = doubles_new(T * c.y_stride);
        for (int64_t i = 0; i < T * width; i++) {
            const int64_t row = i / width, ch = i % width;
            double sum = bias[ch];
            for (int64_t j = 0; j < size; j++) {
                const int64_t from = row - old + j;
                sum += w[ch * size + j] *
                       (from < 0 ? past[(from + old) * width + ch] : x[from * c.x_stride + ch]);
            }
            want[row * c.y_stride + ch] = c.silu ? sum / (1.0 + exp(-sum)) : sum;
        }
        FOR_EACH_TABLE(t)
        {
            hop_conv some = c;
            memcpy(now, past, sizeof(float) * (size_t)(old * width));
            poison(y, T * c.y_stride);
            some.tokens = 2;
            hop_conv_forward(y, now, x, w, bias, &some);
            some.tokens = T - 2;
            hop_conv_forward(y + 2 * c.y_stride, now, x + 2 * c.x_stride, w, bias, &some);
            assert_all_near("convolution", y, want, T, c.y_stride, width, 1e-6);
            memcpy(now, past, sizeof(float) * (size_t)(old * width));
            poison(y, T * c.y_stride);
            for (int64_t at = 0; at < width; at += 3) { /* channel by channel, but for a few */
                some = c;
                some.width = at + 3 < width ? 3 : width - at;
                some.past_stride = width;
                hop_conv_forward(y + at, now + at, x + at, w + at * size, bias + at, &some);
            }
            assert_all_near("convolution by channels", y, want, T, c.y_stride, width, 1e-6);
            for (int64_t i = 0; i < old; i++)
                assert_memory_equal(now + i * width, x + (T - old + i) * c.x_stride,
                                    sizeof(float) * (size_t)width);
        }
        hop_free(x), hop_free(w), hop_free(bias), hop_free(past), hop_free(now), hop_free(y), hop_free(want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_diagonal_recurrence_equals_its_equation),
        cmocka_unit_test(the_short_convolution_equals_its_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
