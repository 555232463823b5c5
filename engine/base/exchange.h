/* EXCHANGE(a, b): two objects of one type change their values. Each is evaluated twice. */
#ifndef TANDEM_BASE_EXCHANGE_H
#define TANDEM_BASE_EXCHANGE_H

#define EXCHANGE(a, b)            \
    do {                          \
        __typeof__(a) kept = (a); \
        (a) = (b);                \
        (b) = kept;               \
    } while (0)

#endif
