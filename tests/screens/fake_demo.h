/* The demo's runs as a script wants them, linked in place of src/demo/run.c: nothing is run, two made-up takes of
 * tests/screens/demo_script.json come when the script says so. */
#ifndef TANDEM_TESTS_SCREENS_FAKE_DEMO_H
#define TANDEM_TESTS_SCREENS_FAKE_DEMO_H

/* How far the runs are: 0 measuring, 1 or 2 which one, thousandths of it. */
void fake_demo_at(int run, int done_of);
/* Both have their first turn. */
void fake_demo_first(void);
/* They are made; why not NULL: they have failed. */
void fake_demo_made(const char *why);

#endif
