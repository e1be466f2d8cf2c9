/* hopbound/export.h - a network of ours in a directory that other people's classes load (room: model). */
#ifndef HOPBOUND_EXPORT_H
#define HOPBOUND_EXPORT_H

#include <hopbound/hf_network.h>
#include <hopbound/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Gives the network, which has n's configuration, the numbers that follow from it: frequencies of rotary embedding. */
hop_status hop_model_give(hop_model *m, const hop_hf_network *n, hop_error *err);

/* A text beside the weights. */
typedef struct hop_export_file {
    const char *name, *text;
} hop_export_file;

/* Writes the weights under their names into `dir`, by the table that n is, and the `count` texts; all appear together,
 * the last text, config.json, when everything stands. HOP_EDOMAIN: a tensor that the table cannot be read backwards for. */
hop_status hop_model_export(const hop_model *m, const hop_hf_network *n, const char *dir,
                            const hop_export_file *texts, int count, hop_error *err);

#ifdef __cplusplus
}
#endif
#endif
