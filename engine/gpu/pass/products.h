/* The products of a pass: a matrix times activations, which an earlier step makes, or each workgroup for itself. Called
 * while a pass is recorded (record.c). */
#ifndef TANDEM_GPU_PASS_PRODUCTS_H
#define TANDEM_GPU_PASS_PRODUCTS_H

#include "engine/gpu/pass/pass.h"

/* The input of act.comp, which makes activations: addresses in the device's memory, 0: none. */
struct act {
    uint64_t x, by, gate, floats, records, index;
    uint32_t columns, ldx, ldg, head;
    float eps, scale;
};

/* One of several products with the same input. */
struct output {
    const struct gpu_matrix *matrix;
    uint32_t region;
    uint64_t out;
    uint32_t ldo;
    bool add;      /* to the residual stream */
    uint64_t bias; /* 0: none */
};

/* Whether each activation depends on its own element of the row alone. */
static inline bool products_of_elements(uint32_t mode)
{
    return mode == ACT_SILU || mode == ACT_GELU || mode == ACT_GELU_GATED || mode == ACT_CLAMPED;
}

/* The smallest power of two that is at least n. */
static inline uint32_t products_power(uint32_t n)
{
    uint32_t p = 1;
    while (p < n) p *= 2;
    return p;
}

/* Makes activations in the forms that these matrices take. */
void products_activations(struct recording *r, uint32_t reads, uint32_t writes, enum act_mode mode, struct act a,
                          const struct forms *to, const struct gpu_matrix *const *matrices, int n, bool keep_floats,
                          uint32_t rows);
/* The address of activations in the form that a matrix takes. */
uint64_t products_taken(const struct forms *x, const struct gpu_matrix *w);
/* out[t][ldo] = (or +=) W x, for `tokens` rows. */
void products_one(struct recording *r, uint32_t reads, uint32_t writes, const struct gpu_matrix *w,
                  const struct forms *x, uint64_t out, uint32_t ldo, bool add, uint32_t tokens);
/* Products of the same activations, which are made first, in `to` (region `made`), or by each product. */
void products_of(struct recording *r, uint32_t reads, enum act_mode mode, struct act a, const struct forms *to,
                 uint32_t made, const struct output *outputs, int n, uint32_t rows);
/* A product of activations that are made already. */
void products_from(struct recording *r, uint32_t reads, const struct forms *x, const struct output *o);
/* A product whose activations were made by the step before, in `inner`. */
void products_made(struct recording *r, const struct output *o);
/* Writes the biases, if any, of the experts chosen for `slots` results; the product adds to them. */
void products_bias_of_experts(struct recording *r, const struct output *o, uint32_t slots);
/* Products with the matrix of the expert chosen for each of `slots` results; `each` results share one input. If experts
 * have several results, these are grouped into batches first; *batch: the size of batches, 0 at first. */
void products_of_experts(struct recording *r, uint32_t reads, const struct forms *x, const struct output *o,
                         uint32_t slots, uint32_t each, uint32_t *batch);

#endif
