#include "kf_codecs.h"
