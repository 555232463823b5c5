/* Private to engine/backend: the models on a GPU. Units that want the same model share it, and a unit waits for a model
 * that is already being loaded. No lock is held while a model is loaded, so others are loaded, unloaded and used
 * meanwhile. */
#ifndef TANDEM_BACKEND_LOADING_H
#define TANDEM_BACKEND_LOADING_H

#include <pthread.h>

#include "engine/backend/backend.h"
#include "engine/gpu/gpu.h"

enum {
    PASS_TOKENS = 128, /* longer runs are evaluated in pieces */
    PASS_RUNS = 8,
};

struct device {
    struct backend_device base;
    struct gpu *gpu;
    char name[16];
    char *folder; /* where the tilings of products are kept (known.h); set before models are loaded; or NULL */
    /* Guards what follows; held for a moment, never while a model is loaded or progress is reported. */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a model's loading, loads */
    struct model *models;   /* loaded, or being loaded */
    uint32_t loads;         /* threads in loading_load */
    bool closing;
};

struct model {
    struct backend_model base;
    struct gpu_model *gpu;
    struct gpu_needs needs;
    enum kv_type kv;
    uint32_t context;
    int users;
    bool loading;  /* the thread that put it into the list is loading it, and removes it if that fails */
    tdm_step step; /* how far loading has come */
    uint64_t done, total;
    struct model *next;
};

void loading_init(struct device *d);
/* Cancels what is being loaded, and waits for that. After all models. */
void loading_end(struct device *d);

/* The functions `load` and `unload` of backend.h. */
tdm_status loading_load(struct backend_model **out, struct backend_device *device, const struct backend_load *what,
                        tdm_error *err);
void loading_unload(struct backend_model *model);

#endif
