/* hopbound/hopbound.h - everything. */
#ifndef HOPBOUND_HOPBOUND_H
#define HOPBOUND_HOPBOUND_H

#include <hopbound/arith.h>
#include <hopbound/base.h>
#include <hopbound/bounds.h>
#include <hopbound/check.h>
#include <hopbound/config.h>
#include <hopbound/construct.h>
#include <hopbound/eval.h>
#include <hopbound/exact.h>
#include <hopbound/grad.h>
#include <hopbound/hf.h>
#include <hopbound/json.h>
#include <hopbound/kernels.h>
#include <hopbound/mixers.h>
#include <hopbound/model.h>
#include <hopbound/ops.h>
#include <hopbound/protocol.h>
#include <hopbound/prove.h>
#include <hopbound/ranks.h>
#include <hopbound/refute.h>
#include <hopbound/report.h>
#include <hopbound/scans.h>
#include <hopbound/sweep.h>
#include <hopbound/tasks.h>
#include <hopbound/train.h>
#include <hopbound/verdict.h>
#include <hopbound/version.h>

#endif
