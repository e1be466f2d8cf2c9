/* hopbound/version.h - the version; meson.build's must be the same (tests/test_headers.sh checks). */
#ifndef HOPBOUND_VERSION_H
#define HOPBOUND_VERSION_H

#define HOP_VERSION "0.1.0"

#endif
