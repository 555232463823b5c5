/* EXCHANGE(a, b): exchanges the values of two objects of one type. Each argument is evaluated twice. */
#ifndef TANDEM_BASE_EXCHANGE_H
#define TANDEM_BASE_EXCHANGE_H

#define EXCHANGE(a, b)            \
    do {                          \
        __typeof__(a) kept = (a); \
        (a) = (b);                \
        (b) = kept;               \
    } while (0)

#endif
