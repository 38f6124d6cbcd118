/* The program `flashlab`; all of it is in the library, where tests reach it. */
#include "simulator/cli/command.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
