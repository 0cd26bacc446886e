/* Prints the reference of all configuration keys, for `make readme`. */
#include "support/reference.h"

int main(void)
{
    reference_print(stdout);
    return ferror(stdout) ? 1 : 0;
}
