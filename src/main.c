#include <stdio.h>

int main(void)
{
    puts("tandem " TANDEM_VERSION);
    return 0;
}
