/* The version, for who was compiled with the headers of another. */
#include <hopbound/version.h>

const char *hop_version(void)
{
    return HOP_VERSION;
}
