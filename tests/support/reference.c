/* Prints the reference of all configuration keys, for `make readme`. */
#include "config/config.h"

int main(void)
{
    config_print_reference(stdout);
    return ferror(stdout) ? 1 : 0;
}
