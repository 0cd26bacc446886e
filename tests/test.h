#ifndef TESTS_TEST_H
#define TESTS_TEST_H

/* cmocka, and the headers that it wants before its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
