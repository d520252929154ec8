#ifndef KF_AVIF_WRITE_H
#define KF_AVIF_WRITE_H

#include "kf_avif.h"

#endif
