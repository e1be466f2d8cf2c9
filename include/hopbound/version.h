/* hopbound/version.h - which version this is (room: base). docs/ABI.md says what may change from one to the next.
 */
#ifndef HOPBOUND_VERSION_H
#define HOPBOUND_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_VERSION "0.2.0" /* of these headers; meson.build has the same (tests/check_headers.sh) */

/* Of the library that runs: a constant text. */
const char *hop_version(void);

#ifdef __cplusplus
}
#endif
#endif
