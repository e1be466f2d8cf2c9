/* hopbound/hopbound.h - everything of libhopbound. Beside it stand libhopbound-mpi (mpi.h) and
 * libhopbound-sqlite (sqlite.h).
 *
 * Calls that share no object may run at once; of one object, those that take it as const may, unless its type
 * says otherwise. Who makes an object frees it: _new and _free, _open and _close. docs/ABI.md has a row a type.
 */
#ifndef HOPBOUND_HOPBOUND_H
#define HOPBOUND_HOPBOUND_H

#include <hopbound/ask.h>
#include <hopbound/base.h>
#include <hopbound/bounds.h>
#include <hopbound/check.h>
#include <hopbound/config.h>
#include <hopbound/construct.h>
#include <hopbound/eval.h>
#include <hopbound/exact.h>
#include <hopbound/hf.h>
#include <hopbound/isa.h>
#include <hopbound/json.h>
#include <hopbound/model.h>
#include <hopbound/protocol.h>
#include <hopbound/prove.h>
#include <hopbound/ranks.h>
#include <hopbound/refute.h>
#include <hopbound/sweep.h>
#include <hopbound/tasks.h>
#include <hopbound/train.h>
#include <hopbound/verdict.h>
#include <hopbound/version.h>

#endif
