#include "kf_curl.h"
