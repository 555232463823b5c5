#include "engine/tandem.h"

TDM_API const char *tdm_version(void)
{
    return TDM_VERSION;
}

TDM_API int tdm_version_number(void)
{
    return TDM_VERSION_NUMBER;
}
