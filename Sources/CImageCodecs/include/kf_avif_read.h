#ifndef KF_AVIF_READ_H
#define KF_AVIF_READ_H

#include "kf_avif.h"

#endif
