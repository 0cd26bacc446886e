#ifndef INTEGRATION_CAPTURE_H
#define INTEGRATION_CAPTURE_H

/* From here on what is written to stderr is kept, until expect_in_stderr(), which fails the test,
 * and shows what was kept, unless the words are in it so many times. What a test that failed in
 * between has left, the reason with it, is shown too. */
void capture_stderr(void);
void expect_in_stderr(const char *words, int times);

#endif
