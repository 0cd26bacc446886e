#ifndef INTEGRATION_CAPTURE_H
#define INTEGRATION_CAPTURE_H

/* Captures stderr from here on, until expect_in_stderr(). That fails the test, and shows what was
 * captured, unless the words occur in it exactly so many times. When a test fails in between, the
 * next capture, or the end of the program, shows what was captured. */
void capture_stderr(void);
void expect_in_stderr(const char *words, int times);

#endif
