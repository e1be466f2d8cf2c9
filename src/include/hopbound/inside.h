/* hopbound/inside.h - everything: what is public, and what rooms and the program have besides. */
#ifndef HOPBOUND_INSIDE_H
#define HOPBOUND_INSIDE_H

#include <hopbound/arith.h>
#include <hopbound/grad.h>
#include <hopbound/hopbound.h>
#include <hopbound/kernels.h>
#include <hopbound/layers.h>
#include <hopbound/mixers.h>
#include <hopbound/ops.h>
#include <hopbound/report.h>
#include <hopbound/scans.h>

#endif
