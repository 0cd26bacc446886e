#ifndef INTEGRATION_CAPTURE_H
#define INTEGRATION_CAPTURE_H

/* From here on what is written to stderr is kept, until release_stderr() says how many times the
 * words are in it. What a test that fails in between has left, the reason with it, is shown. */
void capture_stderr(void);
int release_stderr(const char *words);

#endif
